/* HMAC-SHA-256 by OpenSSL. secret_hmac.h describes the interface. */
#include "base/secure/secret_hmac.h"

#include <errno.h>
#include <limits.h>

#include "base/secure/openssl.h"
#include "base/ban.h"

int secret_hmac(const void *key, size_t key_length, const void *data, size_t length,
		uint8_t *ret_mac)
{
	const struct openssl *o = openssl_load(NULL);
	unsigned written = 0;

	if (!o)
		return -ENOTSUP;
	if (key_length > INT_MAX ||
	    !o->HMAC(o->EVP_sha256(), key, (int)key_length, data, length, ret_mac, &written))
		return -EIO;
	return 0;
}

int secret_sha256(const void *data, size_t length, uint8_t ret_digest[32])
{
	const struct openssl *o = openssl_load(NULL);

	if (!o)
		return -ENOTSUP;
	return o->EVP_Digest(data, length, ret_digest, NULL, o->EVP_sha256(), NULL) ? 0 : -EIO;
}
