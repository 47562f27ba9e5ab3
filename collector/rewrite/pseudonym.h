#pragma once
/*
 * Pseudonyms for the names in a recording, for anonymise.c. Equal names have equal pseudonyms in
 * all recordings written with the same salt. Without the salt a pseudonym reveals nothing.
 * Pseudonyms are bytes of HMAC-SHA-256 (RFC 2104) under the salt, in 32 letters and digits:
 *
 *        parse_header(char const*)   fn_mzq4ru2e6ohd       12 letters: 60 bits
 *        /usr/bin/app                /k3vjw7x2qa/e5m...    part by part, so that files of one
 *                                                          folder stay together
 *
 * Addresses keep their distances: one offset is added to all of them. Offsets within a module are
 * permuted within the module (a Feistel network of four rounds, repeated until the result is in
 * range).
 */
#include <stddef.h>
#include <stdint.h>

struct err_text;

#define PSEUDONYM_SIZE 32 /* bytes of a word with its NUL */

struct pseudonyms {
	uint8_t key[32];
	uint64_t address_offset; /* a multiple of 64 KiB */
	uint64_t wall_offset_ns;
	int error; /* error of libcrypto; pseudonyms made since then are invalid */
};

/* Returns 0, or -ENOTSUP if libcrypto is missing. */
int pseudonyms_init(struct pseudonyms *p, const void *salt, size_t length, struct err_text *err);
/*
 * Writes `prefix` and 12 letters. Equal bytes have different words under different prefixes. An
 * empty text gives "".
 */
char *pseudonym_word(struct pseudonyms *p, const char *prefix, const void *data, size_t length,
		     char out[PSEUDONYM_SIZE]);
uint64_t pseudonym_number(struct pseudonyms *p, const char *purpose, const void *data,
			  size_t length);
/* Replaces 16 bytes. */
void pseudonym_id(struct pseudonyms *p, uint8_t id[16]);
/* Replaces a build id by as many bytes. */
void pseudonym_build_id(struct pseudonyms *p, const uint8_t *id, size_t length, uint8_t *out);
/*
 * Replaces a path part by part and keeps its slashes. The caller frees the result. Returns NULL if
 * memory is short.
 */
char *pseudonym_path(struct pseudonyms *p, const char *path, size_t length);
/* 0 and addresses of the kernel's half stay. */
static inline uint64_t pseudonym_address(const struct pseudonyms *p, uint64_t address)
{
	return address && !(address >> 63) ? address + p->address_offset : address;
}

/* The permutation of the offsets of a module in all recordings with the same build. */
struct pseudonym_offsets {
	uint64_t round[4];
	uint64_t first, count; /* number of offsets, from `first` on */
	unsigned half_bits;
};

/* `name`: a build id or a path, which identifies the module in every recording. */
void pseudonym_offsets_init(struct pseudonyms *p, const void *name, size_t length, uint64_t first,
			    uint64_t end, struct pseudonym_offsets *ret_offsets);
/* Permutes an offset. An offset outside the range is mapped far above it. */
uint64_t pseudonym_offset(const struct pseudonym_offsets *o, uint64_t offset);
