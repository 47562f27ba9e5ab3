#pragma once
/*
 * The rows of Batch.culled: blocks that lived so short that the agent sent sums in their stead.
 * README.md, "Culled blocks".
 *
 * A row is a sum over blocks of one thread and stack whose lifetimes fall into one class and whose
 * sizes have the same highest bit, so that histograms of both are exact. Sampled blocks share a row
 * only if they are of one size and weight: then the row says all that an estimate and its error are
 * made of.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "heapcast.pb-c.h"

struct err_text;

#define CULLED_ROWS_MAX (1u << 20) /* in one message */
#define CULLED_ROW_MAX	90	   /* longest encoding of a row, in bytes */
#define CULLED_TICK_NS	1000000

/* X(nanoseconds): where classes of lifetimes end; the end is in the next class. They are those of
 * `collector histogram`, and some between. The number of a class is part of the format. */
/* clang-format off */
#define CULLED_LIFETIMES(X) \
	X(1000) X(2000) X(5000) X(10000) X(20000) X(50000) X(100000) X(200000) X(500000) \
	X(1000000) X(2000000) X(5000000) X(10000000) X(20000000) X(50000000) X(100000000) \
	X(200000000) X(500000000) X(1000000000) X(2000000000) X(5000000000) X(10000000000) \
	X(20000000000) X(30000000000) X(60000000000) X(120000000000) X(300000000000) \
	X(600000000000) X(1800000000000) X(3600000000000)
/* clang-format on */

extern const uint64_t culled_lifetime_ends[];
extern const uint8_t culled_lifetimes; /* how many classes there are: the last has no end */

/* The class of a lifetime. */
uint8_t culled_lifetime(uint64_t lived_ns);
/* The bounds of a class, both included; the last one ends at UINT64_MAX. */
uint64_t culled_lifetime_least(uint8_t class);
uint64_t culled_lifetime_most(uint8_t class);

struct culled_row {
	uint32_t thread;
	uint32_t stack;	  /* number of the node; 0: none */
	uint8_t lifetime; /* class */
	uint64_t blocks, bytes;
	uint64_t reallocated; /* of the blocks: ended by a reallocation, the others by a free */
	uint64_t size_least, size_most;
	uint64_t weight;	    /* of each block, all of one size; 0: none was sampled */
	uint64_t first_ns, last_ns; /* births, in whole CULLED_TICK_NS */
};

enum culled_column {
	CULLED_THREAD,
	CULLED_STACK,
	CULLED_LIFETIME,
	CULLED_BLOCKS,
	CULLED_SIZE,
	CULLED_SIZE_RANGE,
	CULLED_BYTES_OVER,
	CULLED_FIRST,
	CULLED_LAST,
	CULLED_WEIGHT,
	CULLED_REALLOCATED,
	CULLED_COLUMNS,
};

struct culled_encoder {
	uint8_t *data[CULLED_COLUMNS];
	size_t length[CULLED_COLUMNS];
	uint32_t count, limit;
	uint64_t base_ns;
	uint64_t allocations, bytes, frees;
	int weighted;
};

/* Up to `rows` rows go into `memory`, which has CULLED_ROW_MAX bytes for each and is the caller's.
 * `base_ns`: no birth is older. */
void culled_encoder_init(struct culled_encoder *encoder, void *memory, uint32_t rows,
			 uint64_t base_ns);
/* Appends. 0; -ENOSPC. */
int culled_encoder_put(struct culled_encoder *encoder, const struct culled_row *row);
/* Fills in the columns and the sums of them; `early` is the caller's. */
void culled_encoder_fill(const struct culled_encoder *encoder, Heapcast__Culled *ret_culled);

struct culled_decoder {
	struct reader column[CULLED_COLUMNS];
	const Heapcast__Culled *from;
	uint32_t index;
	uint64_t allocations, bytes, frees;
};

/* 0; -EBADMSG with the reason. */
int culled_decoder_init(struct culled_decoder *decoder, const Heapcast__Culled *culled,
			struct err_text *err);
/* The next row. 1: in ret_row; 0: that was all, every column has ended and the sums agree;
 * -EBADMSG. Whether thread and node are known is the caller's to check. */
int culled_decoder_next(struct culled_decoder *decoder, struct culled_row *ret_row,
			struct err_text *err);
