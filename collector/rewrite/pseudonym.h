#pragma once
/*
 * Other names for the names of a recording, for anonymise.c: the same one for the same name
 * wherever it comes, in all recordings that are written with one salt, and none that tells anything
 * to whoever has not the salt. They are bytes of HMAC-SHA-256 (RFC 2104) under it, in 32 letters
 * and digits:
 *
 *	parse_header(char const*)   fn_mzq4ru2e6ohd     12 of them: 60 bits
 *	/usr/bin/app                /k3vjw7x2qa/e5m... part by part, so that files of one folder
 *				    still are
 *
 * Addresses keep their distances: one offset is added to all of them. Offsets within a module are
 * dealt out anew, each to another one of the same module, by a permutation (a Feistel network of
 * four rounds, walked along until it is back in range).
 */
#include <stddef.h>
#include <stdint.h>

struct err_text;

#define PSEUDONYM_SIZE 32 /* of a word with its NUL */

struct pseudonyms {
	uint8_t key[32];
	uint64_t address_offset; /* a multiple of 64 KiB */
	uint64_t wall_offset_ns;
	int error; /* of libcrypto: what was made since then is of no use */
};

/* -ENOTSUP: there is no libcrypto. */
int pseudonyms_init(struct pseudonyms *p, const void *salt, size_t length, struct err_text *err);
/* `prefix` and 12 letters; the same bytes have another one for another prefix. An empty text has
 * none: "". */
char *pseudonym_word(struct pseudonyms *p, const char *prefix, const void *data, size_t length,
		     char out[PSEUDONYM_SIZE]);
uint64_t pseudonym_number(struct pseudonyms *p, const char *purpose, const void *data,
			  size_t length);
/* 16 bytes for 16 bytes. */
void pseudonym_id(struct pseudonyms *p, uint8_t id[16]);
/* As many bytes for those of a build id. */
void pseudonym_build_id(struct pseudonyms *p, const uint8_t *id, size_t length, uint8_t *out);
/* A path, part by part, with its slashes. Free it; NULL: no memory. */
char *pseudonym_path(struct pseudonyms *p, const char *path, size_t length);
/* 0 stays 0, and so does what lies in the kernel's half. */
static inline uint64_t pseudonym_address(const struct pseudonyms *p, uint64_t address)
{
	return address && !(address >> 63) ? address + p->address_offset : address;
}

/* Offsets of one module, or of all of its build. */
struct pseudonym_offsets {
	uint64_t round[4];
	uint64_t first, count; /* those from `first` on */
	unsigned half_bits;
};

/* `name`: what the module is known by in every recording, a build id or a path. */
void pseudonym_offsets_init(struct pseudonyms *p, const void *name, size_t length, uint64_t first,
			    uint64_t end, struct pseudonym_offsets *ret_offsets);
/* One outside of the range goes to far above all of it. */
uint64_t pseudonym_offset(const struct pseudonym_offsets *o, uint64_t offset);
