/* Pseudonyms. pseudonym.h describes them. */
#include "collector/rewrite/pseudonym.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/secure/secret.h"
#include "base/secure/secret_hmac.h"
#include "base/ban.h"

#define ADDRESS_ALIGNMENT ((uint64_t)64 << 10)
#define ADDRESS_STEPS	  ((uint64_t)1 << 27)			/* at most 8 TiB in total */
#define WALL_NS		  ((uint64_t)10 * 365 * 86400000000000) /* ten years */
#define WORD_LETTERS	  12
#define PART_LETTERS	  10

/* Computes a MAC with a separate key for each purpose. */
static void mac(struct pseudonyms *p, const char *purpose, const void *data, size_t length,
		uint8_t out[SECRET_MAC_SIZE])
{
	uint8_t key[SECRET_MAC_SIZE];
	int r = secret_hmac(p->key, sizeof(p->key), purpose, strlen(purpose), key);

	if (!r)
		r = secret_hmac(key, sizeof(key), data, length, out);
	if (!r)
		return;
	p->error = r;
	memset(out, 0, SECRET_MAC_SIZE);
}

uint64_t pseudonym_number(struct pseudonyms *p, const char *purpose, const void *data,
			  size_t length)
{
	uint8_t bytes[SECRET_MAC_SIZE];
	struct reader r = reader_of(bytes, sizeof(bytes));

	mac(p, purpose, data, length, bytes);
	return reader_u64le(&r);
}

int pseudonyms_init(struct pseudonyms *p, const void *salt, size_t length, struct err_text *err)
{
	static const char label[] = "heapcast anonymise";
	int r = secret_hmac(salt, length, label, sizeof(label) - 1, p->key);

	p->error = 0;
	if (r < 0)
		return err_set(err, r, "anonymising needs libcrypto (OpenSSL): %s", strerror(-r));
	p->address_offset =
		(1 + pseudonym_number(p, "address", "", 0) % ADDRESS_STEPS) * ADDRESS_ALIGNMENT;
	p->wall_offset_ns = 1 + pseudonym_number(p, "wall", "", 0) % WALL_NS;
	return 0;
}

/* ---- words ---- */

static void put_letters(char *out, const uint8_t *bytes, unsigned letters)
{
	static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz234567";
	uint64_t bits = 0;

	for (unsigned i = 0; i < 8; i++)
		bits = bits << 8 | bytes[i];
	for (unsigned i = 0; i < letters; i++, bits <<= 5)
		out[i] = alphabet[bits >> 59];
	out[letters] = '\0';
}

char *pseudonym_word(struct pseudonyms *p, const char *prefix, const void *data, size_t length,
		     char out[PSEUDONYM_SIZE])
{
	uint8_t bytes[SECRET_MAC_SIZE];
	int n;

	out[0] = '\0';
	if (!length)
		return out;
	mac(p, prefix, data, length, bytes);
	n = snprintf(out, PSEUDONYM_SIZE - WORD_LETTERS, "%s", prefix);
	put_letters(out + n, bytes, WORD_LETTERS);
	return out;
}

char *pseudonym_path(struct pseudonyms *p, const char *path, size_t length)
{
	struct buf out = {0};

	while (length) {
		const char *slash = memchr(path, '/', length);
		size_t part = slash ? (size_t)(slash - path) : length;
		uint8_t bytes[SECRET_MAC_SIZE];
		char letters[PART_LETTERS + 1];

		if (part) {
			mac(p, "path", path, part, bytes);
			put_letters(letters, bytes, PART_LETTERS);
			buf_string(&out, letters);
		} else {
			buf_byte(&out, '/');
			part = 1;
		}
		path += part;
		length -= part;
	}
	buf_byte(&out, '\0');
	if (!buf_error(&out))
		return (char *)buf_take(&out, &length);
	buf_done(&out);
	return NULL;
}

/* ---- ids ---- */

void pseudonym_id(struct pseudonyms *p, uint8_t id[16])
{
	uint8_t bytes[SECRET_MAC_SIZE];

	mac(p, "id", id, 16, bytes);
	memcpy(id, bytes, 16);
}

void pseudonym_build_id(struct pseudonyms *p, const uint8_t *id, size_t length, uint8_t *out)
{
	uint8_t bytes[SECRET_MAC_SIZE];

	mac(p, "build id", id, length, bytes);
	for (size_t i = 0; i < length; i++)
		out[i] = bytes[i % sizeof(bytes)];
}

/* ---- offsets ---- */

static uint64_t pseudonym_mix(uint64_t x, uint64_t key)
{
	x ^= key;
	x = (x ^ x >> 31) * UINT64_C(0x7fb5d329728ea185);
	x = (x ^ x >> 27) * UINT64_C(0x81dadef4bc2dd44d);
	return x ^ x >> 33;
}

void pseudonym_offsets_init(struct pseudonyms *p, const void *name, size_t length, uint64_t first,
			    uint64_t end, struct pseudonym_offsets *ret)
{
	uint8_t bytes[SECRET_MAC_SIZE];
	struct reader r = reader_of(bytes, sizeof(bytes));

	*ret = (struct pseudonym_offsets){.first = first, .count = end - first, .half_bits = 1};
	mac(p, "offset", name, length, bytes);
	for (unsigned i = 0; i < 4; i++)
		ret->round[i] = reader_u64le(&r);
	while (ret->half_bits < 31 && ret->count >> 2 * ret->half_bits)
		ret->half_bits++;
}

static uint64_t permute(const struct pseudonym_offsets *o, uint64_t value)
{
	uint64_t mask = ((uint64_t)1 << o->half_bits) - 1, left = value >> o->half_bits,
		 right = value & mask;

	for (unsigned i = 0; i < 4; i++) {
		uint64_t next = left ^ (pseudonym_mix(right, o->round[i]) & mask);

		left = right;
		right = next;
	}
	return left << o->half_bits | right;
}

uint64_t pseudonym_offset(const struct pseudonym_offsets *o, uint64_t offset)
{
	uint64_t at = offset - o->first;

	if (at >= o->count || o->count >> 2 * o->half_bits)
		return (pseudonym_mix(pseudonym_mix(offset, o->round[0]), o->round[1]) &
			(UINT64_MAX >> 12)) |
		       (uint64_t)1 << 52;
	do
		at = permute(o, at);
	while (at >= o->count);
	return o->first + at;
}
