#pragma once
/*
 * Keys that an agent and a collector share, and proofs that a peer has such a key.
 *
 * A key file holds one key: a line "NAME:HEX" or "HEX" with 32 to 128 hexadecimal digits (16 to 64
 * bytes). Empty lines and lines that begin with # are skipped. `openssl rand -hex 32 > FILE` makes
 * a key file. A file that another user (except root) owns, or that other users may access, is
 * refused.
 *
 * Proofs are HMAC-SHA-256, computed by OpenSSL's libcrypto. Without it (HEAPCAST_TLS=OFF) the
 * functions here return -ENOTSUP.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err_text;

#define SECRET_KEY_MIN	16
#define SECRET_KEY_MAX	64
#define SECRET_NAME_MAX 64
#define SECRET_ID_SIZE	8
#define SECRET_MAC_SIZE 32

struct secret {
	uint8_t key[SECRET_KEY_MAX];
	size_t key_length;
	char name[SECRET_NAME_MAX]; /* identity in TLS; "heapcast" unless the file names another */
	uint8_t id[SECRET_ID_SIZE]; /* identifies the key without revealing anything about it: the
				     * first bytes of a MAC of the name */
};

/*
 * Reads a key file. Returns 0, or a negative errno with a sentence that names the file, the fault
 * and the remedy. Returns -ENOTSUP if OpenSSL is not built in.
 */
int secret_read(const char *path, struct secret *ret_secret, struct err_text *err);
/* Does the same for an open file; `path` is for error messages. */
int secret_read_fd(int fd, const char *path, struct secret *ret_secret, struct err_text *err);
/*
 * Makes a secret from `length` bytes, SECRET_KEY_MIN to SECRET_KEY_MAX. Returns 0, -ENOTSUP if
 * OpenSSL is not available, or another negative errno.
 */
int secret_make(const void *key, size_t length, const char *name, struct secret *ret_secret);
/*
 * Computes HMAC-SHA-256 (RFC 2104, FIPS 180-4) of `data`. The key is derived from the secret for
 * this `purpose` ("beacon", "probe"): it is the HMAC of "heapcast PURPOSE" under the secret. A MAC
 * for one purpose is therefore never valid for another. Returns 0 or a negative errno.
 */
int secret_mac(const struct secret *secret, const char *purpose, const void *data, size_t length,
	       uint8_t ret_mac[SECRET_MAC_SIZE]);
/* Compares in constant time. */
bool secret_mac_equal(const uint8_t a[SECRET_MAC_SIZE], const uint8_t b[SECRET_MAC_SIZE]);
/* Wipes the secret. */
void secret_clear(struct secret *secret);
