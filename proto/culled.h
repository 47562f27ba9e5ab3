#pragma once
/*
 * The rows of Batch.culled: sums that the agent sends in place of very short-lived blocks.
 * README.md, "Culled blocks", is the specification.
 *
 * A row sums up blocks of one thread and stack whose lifetimes are in one class and whose sizes
 * have the same highest bit. Histograms of both are therefore exact. Sampled blocks share a row
 * only if they have the same size and weight. The row then holds everything that an estimate and
 * its error need.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "heapcast.pb-c.h"

struct err_text;

#define CULLED_ROWS_MAX (1u << 20) /* per message */
#define CULLED_ROW_MAX	90	   /* longest encoding of a row, in bytes */
#define CULLED_TICK_NS	1000000

/*
 * X(nanoseconds): the ends of the lifetime classes; an end belongs to the next class. They include
 * those of `collector histogram`. The number of a class is part of the format.
 */
/* clang-format off */
#define CULLED_LIFETIMES(X) \
	X(1000) X(2000) X(5000) X(10000) X(20000) X(50000) X(100000) X(200000) X(500000) \
	X(1000000) X(2000000) X(5000000) X(10000000) X(20000000) X(50000000) X(100000000) \
	X(200000000) X(500000000) X(1000000000) X(2000000000) X(5000000000) X(10000000000) \
	X(20000000000) X(30000000000) X(60000000000) X(120000000000) X(300000000000) \
	X(600000000000) X(1800000000000) X(3600000000000)
/* clang-format on */

extern const uint64_t culled_lifetime_ends[];
extern const uint8_t culled_lifetimes; /* number of classes; the last has no end */

/* Returns the class of a lifetime. */
uint8_t culled_lifetime(uint64_t lived_ns);
/* Return the bounds of a class, both inclusive. The last class ends at UINT64_MAX. */
uint64_t culled_lifetime_least(uint8_t class);
uint64_t culled_lifetime_most(uint8_t class);

struct culled_row {
	uint32_t thread;
	uint32_t stack;	  /* number of the node; 0: no stack */
	uint8_t lifetime; /* class */
	uint64_t blocks, bytes;
	uint64_t reallocated; /* blocks that a reallocation ended; a free ended the others */
	uint64_t size_least, size_most;
	uint64_t weight;	    /* of each block, all of one size; 0: not sampled */
	uint64_t first_ns, last_ns; /* births, in multiples of CULLED_TICK_NS */
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

/*
 * Encodes up to `rows` rows into `memory`, which the caller owns and which has CULLED_ROW_MAX bytes
 * per row. No birth is earlier than `base_ns`.
 */
void culled_encoder_init(struct culled_encoder *encoder, void *memory, uint32_t rows,
			 uint64_t base_ns);
/* Appends a row. Returns 0 or -ENOSPC. */
int culled_encoder_put(struct culled_encoder *encoder, const struct culled_row *row);
/* Fills in the columns and their sums. The caller sets `early`. */
void culled_encoder_fill(const struct culled_encoder *encoder, Heapcast__Culled *ret_culled);

struct culled_decoder {
	struct reader column[CULLED_COLUMNS];
	const Heapcast__Culled *from;
	uint32_t index;
	uint64_t allocations, bytes, frees;
};

/* Returns 0, or -EBADMSG with a sentence. */
int culled_decoder_init(struct culled_decoder *decoder, const Heapcast__Culled *culled,
			struct err_text *err);
/*
 * Decodes the next row. Returns 1 with the row in ret_row; 0 if no row is left, every column has
 * ended and the sums agree; or -EBADMSG with a sentence. The caller checks that the thread and the
 * node are known.
 */
int culled_decoder_next(struct culled_decoder *decoder, struct culled_row *ret_row,
			struct err_text *err);
