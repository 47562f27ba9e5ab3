/* Encodes and decodes rows of culled blocks. culled.h describes the interface. */
#include "proto/culled.h"

#include <errno.h>

#include "base/error.h"
#include "proto/columns.h"
#include "base/ban.h"

#define TIME_MAX ((uint64_t)1 << 63)

static const char *const column_names[CULLED_COLUMNS] = {
	"thread",     "stack", "lifetime", "blocks", "size",	    "size_range",
	"bytes_over", "first", "last",	   "weight", "reallocated",
};

#define X(ns) ns##ull,
const uint64_t culled_lifetime_ends[] = {CULLED_LIFETIMES(X) UINT64_MAX};
#undef X
const uint8_t culled_lifetimes = sizeof(culled_lifetime_ends) / sizeof(culled_lifetime_ends[0]);

uint8_t culled_lifetime(uint64_t lived_ns)
{
	uint8_t low = 0, high = culled_lifetimes - 1;

	while (low < high) {
		uint8_t middle = (uint8_t)((low + high) / 2);

		if (lived_ns < culled_lifetime_ends[middle])
			high = middle;
		else
			low = (uint8_t)(middle + 1);
	}
	return low;
}

uint64_t culled_lifetime_least(uint8_t class)
{
	return class ? culled_lifetime_ends[class - 1] : 0;
}

uint64_t culled_lifetime_most(uint8_t class)
{
	return class + 1 < culled_lifetimes ? culled_lifetime_ends[class] - 1 : UINT64_MAX;
}

/* ---- encoding ---- */

/* The longest value of each column, in bytes; the sum is CULLED_ROW_MAX. */
static const uint8_t column_room[CULLED_COLUMNS] = {5, 5, 1, 10, 10, 10, 10, 10, 9, 10, 10};

void culled_encoder_init(struct culled_encoder *e, void *memory, uint32_t rows, uint64_t base_ns)
{
	uint8_t *at = memory;

	*e = (struct culled_encoder){.limit = rows,
				     .base_ns = base_ns / CULLED_TICK_NS * CULLED_TICK_NS};
	for (unsigned i = 0; i < CULLED_COLUMNS; i++) {
		e->data[i] = at;
		at += (size_t)rows * column_room[i];
	}
}

static void put(struct culled_encoder *e, enum culled_column column, uint64_t value)
{
	uint8_t *at = e->data[column] + e->length[column];

	e->length[column] += (size_t)(varint_put(at, value) - at);
}

int culled_encoder_put(struct culled_encoder *e, const struct culled_row *row)
{
	uint64_t first = (row->first_ns - e->base_ns) / CULLED_TICK_NS;

	if (e->count == e->limit)
		return -ENOSPC;
	put(e, CULLED_THREAD, row->thread);
	put(e, CULLED_STACK, row->stack);
	put(e, CULLED_LIFETIME, row->lifetime);
	put(e, CULLED_BLOCKS, row->blocks);
	put(e, CULLED_SIZE, row->size_least);
	put(e, CULLED_SIZE_RANGE, row->size_most - row->size_least);
	put(e, CULLED_BYTES_OVER, row->bytes - row->blocks * row->size_least);
	put(e, CULLED_FIRST, first);
	put(e, CULLED_LAST, (row->last_ns - e->base_ns) / CULLED_TICK_NS - first);
	put(e, CULLED_WEIGHT, row->weight);
	put(e, CULLED_REALLOCATED, row->reallocated);
	e->weighted |= row->weight != 0;
	e->allocations += row->blocks;
	e->bytes += row->bytes;
	e->frees += row->blocks - row->reallocated;
	e->count++;
	return 0;
}

static ProtobufCBinaryData culled_column(const struct culled_encoder *e, enum culled_column column)
{
	return (ProtobufCBinaryData){.len = e->length[column], .data = e->data[column]};
}

void culled_encoder_fill(const struct culled_encoder *e, Heapcast__Culled *ret)
{
	heapcast__culled__init(ret);
	ret->allocations = e->allocations;
	ret->bytes = e->bytes;
	ret->frees = e->frees;
	ret->count = e->count;
	ret->tick_ns = CULLED_TICK_NS;
	ret->base_ns = e->base_ns;
	ret->thread = culled_column(e, CULLED_THREAD);
	ret->stack = culled_column(e, CULLED_STACK);
	ret->lifetime = culled_column(e, CULLED_LIFETIME);
	ret->blocks = culled_column(e, CULLED_BLOCKS);
	ret->size = culled_column(e, CULLED_SIZE);
	ret->size_range = culled_column(e, CULLED_SIZE_RANGE);
	ret->bytes_over = culled_column(e, CULLED_BYTES_OVER);
	ret->first = culled_column(e, CULLED_FIRST);
	ret->last = culled_column(e, CULLED_LAST);
	ret->reallocated = culled_column(e, CULLED_REALLOCATED);
	if (e->weighted)
		ret->weight = culled_column(e, CULLED_WEIGHT);
}

/* ---- decoding ---- */

static int culled_damaged(const struct culled_decoder *d, enum culled_column column,
			  const char *what, struct err_text *err)
{
	return err_set(err, -EBADMSG, "short-lived: column %s, row %u: %s", column_names[column],
		       d->index, what);
}

int culled_decoder_init(struct culled_decoder *d, const Heapcast__Culled *culled,
			struct err_text *err)
{
	const ProtobufCBinaryData *columns[CULLED_COLUMNS] = {
		&culled->thread, &culled->stack,      &culled->lifetime,    &culled->blocks,
		&culled->size,	 &culled->size_range, &culled->bytes_over,  &culled->first,
		&culled->last,	 &culled->weight,     &culled->reallocated,
	};

	if (culled->count > CULLED_ROWS_MAX)
		return err_set(err, -EBADMSG, "short-lived: %u rows in one batch, more than %u",
			       culled->count, CULLED_ROWS_MAX);
	if (!culled->tick_ns || culled->tick_ns > EVENTS_MAX_TICK_NS)
		return err_set(err, -EBADMSG, "short-lived: ticks of %u ns", culled->tick_ns);
	if (culled->base_ns >= TIME_MAX)
		return err_set(err, -EBADMSG, "short-lived: a time that is too large");
	*d = (struct culled_decoder){.from = culled};
	for (unsigned i = 0; i < CULLED_COLUMNS; i++)
		d->column[i] = reader_of(columns[i]->data, columns[i]->len);
	return 0;
}

static int culled_ended(const struct culled_decoder *d, struct err_text *err)
{
	for (unsigned i = 0; i < CULLED_COLUMNS; i++)
		if (reader_left(&d->column[i]))
			return culled_damaged(d, i, "goes on behind the last row", err);
	if (d->allocations != d->from->allocations || d->bytes != d->from->bytes ||
	    d->frees != d->from->frees)
		return err_set(err, -EBADMSG,
			       "short-lived: the rows don't add up to what the message says");
	return 0;
}

/* Decodes the sizes of a row and checks that blocks of these sizes can have this sum. */
static int read_sizes(struct culled_decoder *d, struct culled_row *row, struct err_text *err)
{
	uint64_t range = reader_varint(&d->column[CULLED_SIZE_RANGE]),
		 over = reader_varint(&d->column[CULLED_BYTES_OVER]), most;

	row->reallocated = reader_varint(&d->column[CULLED_REALLOCATED]);
	if (row->reallocated > row->blocks)
		return culled_damaged(d, CULLED_REALLOCATED, "more than there are blocks", err);
	if (!row->blocks)
		return culled_damaged(d, CULLED_BLOCKS, "no block", err);
	if (__builtin_add_overflow(row->size_least, range, &row->size_most))
		return culled_damaged(d, CULLED_SIZE_RANGE, "a size beyond all", err);
	if (__builtin_mul_overflow(row->blocks, range, &most))
		most = UINT64_MAX;
	if (over > most || __builtin_mul_overflow(row->blocks, row->size_least, &row->bytes) ||
	    __builtin_add_overflow(row->bytes, over, &row->bytes))
		return culled_damaged(d, CULLED_BYTES_OVER, "more than the blocks can have", err);
	if (row->weight && (range || row->weight <= row->size_least))
		return culled_damaged(d, CULLED_WEIGHT,
				      "not of blocks of one size, or less than that", err);
	return 0;
}

static int read_times(struct culled_decoder *d, struct culled_row *row, struct err_text *err)
{
	uint64_t first = reader_varint(&d->column[CULLED_FIRST]),
		 last = reader_varint(&d->column[CULLED_LAST]);
	uint64_t tick = d->from->tick_ns;

	if (__builtin_mul_overflow(first, tick, &row->first_ns) ||
	    __builtin_add_overflow(row->first_ns, d->from->base_ns, &row->first_ns) ||
	    __builtin_mul_overflow(last, tick, &row->last_ns) ||
	    __builtin_add_overflow(row->last_ns, row->first_ns, &row->last_ns) ||
	    row->last_ns >= TIME_MAX)
		return culled_damaged(d, CULLED_FIRST, "a time beyond all", err);
	return 0;
}

static int read_row(struct culled_decoder *d, struct culled_row *row, struct err_text *err)
{
	uint64_t thread = reader_varint(&d->column[CULLED_THREAD]),
		 stack = reader_varint(&d->column[CULLED_STACK]);
	uint64_t lifetime = reader_varint(&d->column[CULLED_LIFETIME]);
	int r;

	if (!thread || thread > UINT32_MAX)
		return culled_damaged(d, CULLED_THREAD, "no number of a thread", err);
	if (stack > UINT32_MAX)
		return culled_damaged(d, CULLED_STACK, "no number of a node", err);
	if (lifetime >= culled_lifetimes)
		return culled_damaged(d, CULLED_LIFETIME, "a class that this version does not know",
				      err);
	*row = (struct culled_row){.thread = (uint32_t)thread,
				   .stack = (uint32_t)stack,
				   .lifetime = (uint8_t)lifetime,
				   .blocks = reader_varint(&d->column[CULLED_BLOCKS]),
				   .size_least = reader_varint(&d->column[CULLED_SIZE])};
	if (d->column[CULLED_WEIGHT].length)
		row->weight = reader_varint(&d->column[CULLED_WEIGHT]);
	r = read_sizes(d, row, err);
	return r ? r : read_times(d, row, err);
}

int culled_decoder_next(struct culled_decoder *d, struct culled_row *ret_row, struct err_text *err)
{
	struct culled_row row;
	int r;

	if (d->index == d->from->count)
		return culled_ended(d, err);
	r = read_row(d, &row, err);
	for (unsigned i = 0; i < CULLED_COLUMNS; i++)
		if (reader_error(&d->column[i]))
			return culled_damaged(d, i, "ends too early, or is no varint", err);
	if (r < 0)
		return r;
	if (__builtin_add_overflow(d->allocations, row.blocks, &d->allocations) ||
	    __builtin_add_overflow(d->bytes, row.bytes, &d->bytes))
		return culled_damaged(d, CULLED_BYTES_OVER, "the sum is beyond all", err);
	d->frees += row.blocks - row.reallocated;
	d->index++;
	*ret_row = row;
	return 1;
}
