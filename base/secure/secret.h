#pragma once
/*
 * Keys that agent and collector share, and what proves that somebody has one.
 *
 * A key file holds one key: a line "NAME:HEX" or "HEX" with 32 to 128 hexadecimal digits (16 to 64
 * bytes); empty lines and lines that begin with # are skipped. `openssl rand -hex 32 > FILE` makes
 * one. A file that is not the caller's own (or root's), or that anybody else may read or write, is
 * refused.
 *
 * What proves it is HMAC-SHA-256 by OpenSSL's libcrypto; built without (HEAPCAST_TLS=OFF), all of
 * this says -ENOTSUP.
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
	char name[SECRET_NAME_MAX]; /* identity in TLS; "heapcast" unless the file says another */
	uint8_t id[SECRET_ID_SIZE]; /* tells keys apart, without telling anything of them: first
				       bytes of a MAC of the name */
};

/* 0; a negative errno with a sentence: what is wrong with which file, and what to do. -ENOTSUP:
 * built without. */
int secret_read(const char *path, struct secret *ret_secret, struct err_text *err);
/* The same of a file that is open; `path` is for sentences. */
int secret_read_fd(int fd, const char *path, struct secret *ret_secret, struct err_text *err);
/* One of these bytes, SECRET_KEY_MIN to SECRET_KEY_MAX of them. 0; -ENOTSUP: built without OpenSSL;
 * another negative errno. */
int secret_make(const void *key, size_t length, const char *name, struct secret *ret_secret);
/* HMAC-SHA-256 (RFC 2104, FIPS 180-4) of `data`, under a key derived from the secret for this
 * `purpose` ("beacon", "probe"): the HMAC of "heapcast PURPOSE" under the secret. So no message of
 * one kind is one of another. 0 or a negative errno. */
int secret_mac(const struct secret *secret, const char *purpose, const void *data, size_t length,
	       uint8_t ret_mac[SECRET_MAC_SIZE]);
/* In constant time. */
bool secret_mac_equal(const uint8_t a[SECRET_MAC_SIZE], const uint8_t b[SECRET_MAC_SIZE]);
/* Forgets it. */
void secret_clear(struct secret *secret);
