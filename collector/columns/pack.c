/* Packs and unpacks values. pack.h describes the format. */
#include "collector/columns/pack.h"

#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/ban.h"

enum mode { MODE_ONE, MODE_DIFFERENCES, MODE_DICTIONARY };

#define ENTRIES_MAX 1024 /* entries of a dictionary */
#define TABLE_SIZE  4096 /* slots of the dictionary's hash table; a power of two */
#define TABLE_SHIFT 52
#define PLACE_BITS  12 /* bits of an exception's place: log2(PACK_VALUES) */
#define SPARE	    8  /* bytes that a load may reach beyond the last value */

/* ---- bits ---- */

static inline uint64_t pack_load(const uint8_t *from)
{
	uint64_t word;

	memcpy(&word, from, sizeof(word));
	return le64toh(word);
}

static inline uint64_t mask_of(unsigned width)
{
	return width >= 64 ? UINT64_MAX : (1ull << width) - 1;
}

static size_t packed_bytes(uint32_t count, unsigned width)
{
	return (size_t)((count + 7) / 8) * width;
}

/*
 * Unpacks groups of eight numbers x in `width` bytes as base + scale * x. With a constant width the
 * compiler turns shifts into constants.
 */
#define UNPACK(w)                                                                                  \
	case (w):                                                                                  \
		for (uint32_t i = 0; i < groups; i++, from += (w), to += 8)                        \
			for (unsigned k = 0; k < 8; k++)                                           \
				to[k] = base +                                                     \
					scale * (pack_load(from + k * (w) / 8) >> (k * (w) % 8) &  \
						 mask_of(w));                                      \
		break;
#define UNPACK8(w)                                                                                 \
	UNPACK(w)                                                                                  \
	UNPACK(w + 1)                                                                              \
	UNPACK(w + 2) UNPACK(w + 3) UNPACK(w + 4) UNPACK(w + 5) UNPACK(w + 6) UNPACK(w + 7)

/* `from` must be readable for SPARE bytes behind the last group. */
static void unpack_bits(const uint8_t *from, uint64_t *to, uint32_t groups, unsigned width,
			uint64_t base, uint64_t scale)
{
	switch (width) {
		UNPACK8(1)
		UNPACK8(9)
		UNPACK8(17)
		UNPACK8(25)
		UNPACK8(33)
		UNPACK8(41)
		UNPACK8(49)
		UNPACK(57)
		UNPACK(64)
	default:
		for (uint32_t i = 0; i < groups * 8; i++)
			to[i] = base;
	}
}

/* Concatenates `count` values of `width` bits each, at most 64 bits in total. */
static inline uint64_t pack_join(const uint64_t *values, uint32_t count, unsigned width,
				 uint64_t mask)
{
	uint64_t word = 0;

	for (uint32_t i = count; i--;)
		word = word << width | (values[i] & mask);
	return word;
}

/* Packs `some` values at a time as one wide number. `some` divides eight. */
static inline __attribute__((always_inline)) void
pack_some(uint8_t *to, const uint64_t *values, uint32_t count, unsigned width, const uint32_t some)
{
	const uint64_t mask = mask_of(width);
	const unsigned wide = width * some;
	unsigned bit = 0;
	uint64_t word = 0, full;

	for (uint32_t i = 0; i < count; i += some) {
		uint64_t value = values[i] & mask;

		if (some > 1)
			value = pack_join(values + i, i + some <= count ? some : count - i, width,
					  mask);
		word |= value << bit;
		bit += wide;
		if (bit < 64)
			continue;
		full = htole64(word);
		memcpy(to, &full, sizeof(full));
		to += sizeof(full);
		bit -= 64;
		word = bit ? value >> (wide - bit) : 0;
	}
	full = htole64(word);
	memcpy(to, &full, (bit + 7) / 8);
}

/* Packs the low `width` bits of `count` values. */
static void pack_bits(struct buf *out, const uint64_t *values, uint32_t count, unsigned width)
{
	size_t length = packed_bytes(count, width);
	uint8_t *to = buf_reserve(out, length + SPARE);

	if (!to || !width)
		return;
	memset(to + length - width, 0, width + SPARE);
	out->length += length;
	if (width <= 8)
		pack_some(to, values, count, width, 8);
	else if (width <= 16)
		pack_some(to, values, count, width, 4);
	else if (width <= 32)
		pack_some(to, values, count, width, 2);
	else
		pack_some(to, values, count, width, 1);
}

static unsigned width_of(uint64_t value)
{
	return 64 - (unsigned)__builtin_clzll(value | 1) - !value;
}

/* ---- differences ---- */

struct differences {
	uint64_t base, scale;
	unsigned width, high_width;
	uint32_t exceptions;
	size_t bits; /* approximate length of the result */
	uint64_t x[PACK_VALUES];
};

static inline int64_t less(int64_t a, uint64_t b)
{
	return (int64_t)b < a ? (int64_t)b : a;
}

/* Four independent minima, so that iterations do not wait for each other. */
static uint64_t pack_least(const uint64_t *values, uint32_t count)
{
	int64_t a = (int64_t)values[0], b = a, c = a, d = a;
	uint32_t i;

	for (i = 0; i + 3 < count; i += 4) {
		a = less(a, values[i]);
		b = less(b, values[i + 1]);
		c = less(c, values[i + 2]);
		d = less(d, values[i + 3]);
	}
	for (; i < count; i++)
		a = less(a, values[i]);
	return (uint64_t)less(less(a, (uint64_t)b), (uint64_t)less(c, (uint64_t)d));
}

static bool all_same(const uint64_t *values, uint32_t count)
{
	uint64_t other = 0;

	for (uint32_t i = 1; i < count; i++)
		other |= values[i] ^ values[0];
	return !other;
}

/*
 * Returns the largest power of two that divides all x, or PACK_TICK if that divides all. `any` is
 * the bitwise or of all x.
 */
static uint64_t common_scale(const uint64_t *x, uint32_t count, uint64_t any)
{
	if (any % 8) /* PACK_TICK is a multiple of 8 */
		return 1ull << __builtin_ctzll(any);
	for (uint32_t i = 0; i < count; i++)
		if (x[i] % PACK_TICK)
			return 1ull << __builtin_ctzll(any);
	return PACK_TICK;
}

static void scale_down(uint64_t *x, uint32_t count, uint64_t scale)
{
	if (scale == PACK_TICK)
		for (uint32_t i = 0; i < count; i++)
			x[i] /= PACK_TICK;
	else if (scale > 1)
		for (uint32_t i = 0; i < count; i++)
			x[i] >>= __builtin_ctzll(scale);
}

/* Chooses the width with the fewest bits for low bits and exceptions together. */
static void choose_width(struct differences *d, uint32_t count)
{
	uint32_t counts[4][65] = {{0}}, *of_width = counts[0], exceptions = 0, i;
	unsigned most;

	/* Four counters, so that increments of the same width do not wait for each other. */
	for (i = 0; i + 3 < count; i += 4)
		for (unsigned k = 0; k < 4; k++)
			counts[k][width_of(d->x[i + k])]++;
	for (; i < count; i++)
		of_width[width_of(d->x[i])]++;
	for (unsigned w = 0; w <= 64; w++)
		of_width[w] += counts[1][w] + counts[2][w] + counts[3][w];
	for (most = 64; most && !of_width[most];)
		most--;
	d->width = most > PACK_WIDTH_MAX ? 64 : most;
	d->high_width = d->exceptions = 0;
	d->bits = packed_bytes(count, d->width) * 8;
	for (unsigned w = most; w--;) {
		unsigned high;
		size_t bits;

		exceptions += of_width[w + 1];
		high = most - w > PACK_WIDTH_MAX ? 64 : most - w;
		if (w > PACK_WIDTH_MAX)
			continue;
		bits = packed_bytes(count, w) * 8 + (size_t)exceptions * (PLACE_BITS + high);
		if (bits >= d->bits)
			continue;
		d->bits = bits;
		d->width = w;
		d->high_width = high;
		d->exceptions = exceptions;
	}
}

static void differ(struct differences *d, const uint64_t *values, uint32_t count)
{
	uint64_t any = 0;

	d->base = values[0];
	d->scale = 1;
	d->width = d->exceptions = 0;
	d->bits = 0;
	if (all_same(values, count))
		return;
	d->base = pack_least(values, count);
	for (uint32_t i = 0; i < count; i++) {
		d->x[i] = values[i] - d->base;
		any |= d->x[i];
	}
	d->scale = common_scale(d->x, count, any);
	scale_down(d->x, count, d->scale);
	choose_width(d, count);
}

static void put_exceptions(struct buf *out, const struct differences *d, uint32_t count)
{
	uint64_t place[PACK_VALUES], high[PACK_VALUES];
	uint32_t n = 0;

	for (uint32_t i = 0; i < count; i++) {
		place[n] = i;
		high[n] = d->x[i] >> d->width;
		n += high[n] != 0;
	}
	buf_varint(out, d->high_width);
	pack_bits(out, place, n, PLACE_BITS);
	pack_bits(out, high, n, d->high_width);
}

static void put_differences(struct buf *out, const struct differences *d, uint32_t count)
{
	if (!d->width && !d->exceptions) {
		buf_byte(out, MODE_ONE);
		buf_varint(out, d->base);
		return;
	}
	buf_byte(out, MODE_DIFFERENCES);
	buf_byte(out, (uint8_t)d->width);
	buf_varint(out, d->base);
	buf_varint(out, d->scale);
	buf_varint(out, d->exceptions);
	pack_bits(out, d->x, count, d->width);
	if (d->exceptions)
		put_exceptions(out, d, count);
}

/* ---- dictionary ---- */

struct dictionary {
	uint64_t entry[ENTRIES_MAX];
	uint32_t count;
	uint16_t slot[TABLE_SIZE]; /* index of the entry + 1; 0: empty */
	uint64_t index[PACK_VALUES];
};

static unsigned index_width(uint32_t entries)
{
	return entries > 1 ? width_of(entries - 1) : 0;
}

/* Not base/map or base/places: the size is a constant, and entries take two bytes. */
static uint16_t *pack_find(struct dictionary *d, uint64_t value)
{
	size_t at = value * 0x9E3779B97F4A7C15ull >> TABLE_SHIFT;

	while (d->slot[at] && d->entry[d->slot[at] - 1] != value)
		at = (at + 1) % TABLE_SIZE;
	return &d->slot[at];
}

/*
 * Returns the most entries that a dictionary may have. With more, the indices alone would be as
 * long as the alternative.
 */
static uint32_t most_entries(uint32_t count, size_t bits)
{
	uint32_t most = count / 2 < ENTRIES_MAX ? count / 2 : ENTRIES_MAX;

	while (most && packed_bytes(count, index_width(most)) * 8 >= bits)
		most = most > 1 ? 1u << (index_width(most) - 1) : 0;
	return most;
}

/* Returns false if there are more than `most` distinct values. */
static bool pack_gather(struct dictionary *d, const uint64_t *values, uint32_t count, uint32_t most)
{
	d->count = 0;
	memset(d->slot, 0, sizeof(d->slot));
	for (uint32_t i = 0; i < count; i++) {
		uint16_t *slot = pack_find(d, values[i]);

		if (!*slot) {
			if (d->count == most)
				return false;
			d->entry[d->count++] = values[i];
			*slot = (uint16_t)d->count;
		}
		d->index[i] = *slot - 1u;
	}
	return true;
}

static void put_dictionary(struct buf *out, const struct dictionary *d,
			   const struct differences *entries, uint32_t count)
{
	buf_byte(out, MODE_DICTIONARY);
	buf_varint(out, d->count);
	put_differences(out, entries, d->count);
	buf_byte(out, (uint8_t)index_width(d->count));
	pack_bits(out, d->index, count, index_width(d->count));
}

void pack_values(struct buf *out, const uint64_t *values, uint32_t count, enum pack_hint hint)
{
	struct differences plain, entries;
	struct dictionary dictionary;

	differ(&plain, values, count);
	if (hint == PACK_REPEATS && plain.width + plain.exceptions > 1 &&
	    pack_gather(&dictionary, values, count, most_entries(count, plain.bits))) {
		differ(&entries, dictionary.entry, dictionary.count);
		if (entries.bits + packed_bytes(count, index_width(dictionary.count)) * 8 <
		    plain.bits) {
			put_dictionary(out, &dictionary, &entries, count);
			return;
		}
	}
	put_differences(out, &plain, count);
}

/* ---- unpacking ---- */

/*
 * Unpacks `count` numbers x of `width` bits as base + scale * x. A load reaches at most SPARE bytes
 * behind its group. The last groups are therefore unpacked from a copy with room behind it.
 */
static int take_scaled(struct reader *in, uint64_t *values, uint32_t count, unsigned width,
		       uint64_t base, uint64_t scale)
{
	uint8_t end[64 + 2 * SPARE] = {0};
	uint32_t groups = (count + 7) / 8, tail = width ? SPARE / width + 1 : 1;
	const uint8_t *from;

	if (width > PACK_WIDTH_MAX && width != 64)
		return -EBADMSG;
	from = reader_bytes(in, (size_t)groups * width);
	if (!from)
		return -EBADMSG;
	if (tail > groups)
		tail = groups;
	memcpy(end, from + (size_t)(groups - tail) * width, (size_t)tail * width);
	unpack_bits(from, values, groups - tail, width, base, scale);
	unpack_bits(end, values + (size_t)(groups - tail) * 8, tail, width, base, scale);
	return 0;
}

static int take_bits(struct reader *in, uint64_t *values, uint32_t count, unsigned width)
{
	return take_scaled(in, values, count, width, 0, 1);
}

/* Adds the high bits of exceptions to the values, which hold the low bits so far. */
static int take_exceptions(struct reader *in, uint64_t *values, uint32_t count, uint32_t exceptions,
			   unsigned width, uint64_t scale)
{
	uint64_t place[PACK_VALUES], high[PACK_VALUES], high_width = reader_varint(in);

	if (high_width > 64 || width >= 64 || take_bits(in, place, exceptions, PLACE_BITS) < 0 ||
	    take_bits(in, high, exceptions, (unsigned)high_width) < 0)
		return -EBADMSG;
	for (uint32_t i = 0; i < exceptions; i++) {
		if (place[i] >= count)
			return -EBADMSG;
		values[place[i]] += scale * (high[i] << width);
	}
	return 0;
}

static int take_differences(struct reader *in, uint64_t *values, uint32_t count)
{
	unsigned width = reader_u8(in);
	uint64_t base = reader_varint(in), scale = reader_varint(in),
		 exceptions = reader_varint(in);

	if (exceptions > count || take_scaled(in, values, count, width, base, scale) < 0)
		return -EBADMSG;
	return exceptions ? take_exceptions(in, values, count, (uint32_t)exceptions, width, scale)
			  : 0;
}

static int take_simple(struct reader *in, unsigned mode, uint64_t *values, uint32_t count)
{
	uint64_t value;

	if (mode == MODE_DIFFERENCES)
		return take_differences(in, values, count);
	value = reader_varint(in);
	if (mode != MODE_ONE || reader_error(in))
		return -EBADMSG;
	for (uint32_t i = 0; i < count; i++)
		values[i] = value;
	return 0;
}

static int take_dictionary(struct reader *in, uint64_t *values, uint32_t count)
{
	uint64_t entry[PACK_VALUES] = {0}, entries = reader_varint(in);
	unsigned width;

	if (!entries || entries > ENTRIES_MAX ||
	    take_simple(in, reader_u8(in), entry, (uint32_t)entries) < 0)
		return -EBADMSG;
	width = reader_u8(in);
	if (width > PLACE_BITS || take_bits(in, values, count, width) < 0)
		return -EBADMSG;
	/* The check of `width` keeps every index below PACK_VALUES, the size of `entry`. */
	for (uint32_t i = 0; i < count; i++)
		values[i] = entry[values[i]];
	return 0;
}

int unpack_values(struct reader *in, uint64_t *values, uint32_t count)
{
	unsigned mode = reader_u8(in);
	int r;

	if (!count || count > PACK_VALUES)
		return -EBADMSG;
	if (mode == MODE_DICTIONARY)
		r = take_dictionary(in, values, count);
	else
		r = take_simple(in, mode, values, count);
	return r ? r : reader_error(in);
}

/* ---- skipping ---- */

static int skip_bits(struct reader *in, uint64_t count, uint64_t width)
{
	if (width > PACK_WIDTH_MAX && width != 64)
		return -EBADMSG;
	return reader_bytes(in, packed_bytes((uint32_t)count, (unsigned)width)) ? 0 : -EBADMSG;
}

static int skip_differences(struct reader *in, uint32_t count)
{
	unsigned width = reader_u8(in);
	uint64_t exceptions, high_width;

	reader_varint(in); /* base */
	reader_varint(in); /* scale */
	exceptions = reader_varint(in);
	if (exceptions > count || skip_bits(in, count, width) < 0)
		return -EBADMSG;
	if (!exceptions)
		return 0;
	high_width = reader_varint(in);
	return width >= 64 || skip_bits(in, exceptions, PLACE_BITS) < 0
		       ? -EBADMSG
		       : skip_bits(in, exceptions, high_width);
}

static int skip_simple(struct reader *in, unsigned mode, uint32_t count)
{
	if (mode == MODE_DIFFERENCES)
		return skip_differences(in, count);
	reader_varint(in);
	return mode == MODE_ONE ? reader_error(in) : -EBADMSG;
}

static int skip_dictionary(struct reader *in, uint32_t count)
{
	uint64_t entries = reader_varint(in);
	unsigned width;

	if (!entries || entries > ENTRIES_MAX ||
	    skip_simple(in, reader_u8(in), (uint32_t)entries) < 0)
		return -EBADMSG;
	width = reader_u8(in);
	return width > PLACE_BITS ? -EBADMSG : skip_bits(in, count, width);
}

int skip_values(struct reader *in, uint32_t count)
{
	unsigned mode = reader_u8(in);
	int r;

	if (!count || count > PACK_VALUES)
		return -EBADMSG;
	r = mode == MODE_DICTIONARY ? skip_dictionary(in, count) : skip_simple(in, mode, count);
	return r ? r : reader_error(in);
}
