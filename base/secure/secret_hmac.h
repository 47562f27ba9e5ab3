#pragma once
/* The HMAC primitive behind base/secure/secret. The build selects the implementation. */
#include <stddef.h>
#include <stdint.h>

/*
 * Computes HMAC-SHA-256. Returns 0, -ENOTSUP if OpenSSL is not built in or cannot be loaded, or
 * -EIO if the library fails.
 */
int secret_hmac(const void *key, size_t key_length, const void *data, size_t length,
		uint8_t *ret_mac);
/* Computes SHA-256 (FIPS 180-4). Returns 0, or the errors of secret_hmac. */
int secret_sha256(const void *data, size_t length, uint8_t ret_digest[32]);
