/* Unpacks blocks of rows. block.h describes the format. All input is untrusted. */
#include "collector/columns/block_parts.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "base/error.h"
#include "collector/columns/row_block.h"
#include "base/ban.h"

/* Stores values and returns false if one of them is above the limit. */
#define NARROW(to, limit)                                                                          \
	do {                                                                                       \
		uint64_t most = 0;                                                                 \
		for (uint32_t i = 0; i < n; i++) {                                                 \
			most = v[i] > most ? v[i] : most;                                          \
			(to)[from + i] = (__typeof__((to)[0]))v[i];                                \
		}                                                                                  \
		return most <= (limit);                                                            \
	} while (0)

static bool births(struct rows_block *b, uint32_t from, uint32_t n, uint64_t first,
		   const uint64_t *v)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < n; i++) {
		first += v[i];
		b->birth_ns[from + i] = first;
		most = first > most ? first : most;
	}
	return most <= ROWS_TIME_MAX;
}

static bool deaths(struct rows_block *b, uint32_t from, uint32_t n, const uint64_t *v)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t in_use = b->end[from + i] == BLOCK_IN_USE;

		most = v[i] > most ? v[i] : most;
		b->death_ns[from + i] = (b->birth_ns[from + i] + v[i]) | (0 - in_use);
	}
	return most <= ROWS_TIME_MAX;
}

static void death_threads(struct rows_block *b, uint32_t from, uint32_t n, const uint64_t *v)
{
	for (uint32_t i = from; i < from + n; i++)
		b->death_thread[i] =
			(uint32_t)v[i - from] + (block_ended_by_free(b->end[i]) ? b->thread[i] : 0);
}

static bool none_above(const uint32_t *value, uint32_t n, uint32_t limit)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < n; i++)
		most = value[i] > most ? value[i] : most;
	return most <= limit;
}

static bool chains(uint32_t *to, uint64_t row, uint32_t n, const uint64_t *v, bool previous,
		   uint64_t rows)
{
	for (uint32_t i = 0; i < n; i++, row++) {
		if (v[i] > (previous ? row : rows - 1 - row))
			return false;
		to[i] = v[i] ? (uint32_t)(previous ? row - v[i] : row + v[i]) : NO_BLOCK;
	}
	return true;
}

/*
 * Returns the array of a column in which any value is valid, so that it can be unpacked in place,
 * or NULL for other columns. Chunks begin at multiples of PACK_VALUES, so the array has room for
 * all values that unpack_values may write.
 */
static uint64_t *plain_column(const struct rows_block *b, enum block_column column)
{
	switch (column) {
	case COLUMN_ADDRESS:
		return b->address;
	case COLUMN_SIZE:
		return b->size;
	case COLUMN_WEIGHT:
		return b->weight;
	default:
		return NULL;
	}
}

/* Converts values to rows. Returns false if they are invalid. */
static bool rows_of(struct rows_block *b, enum block_column column, uint32_t from, uint32_t n,
		    uint64_t first, const uint64_t *v, const struct block_limits *limits)
{
	switch (column) {
	case COLUMN_ADDRESS:
	case COLUMN_SIZE:
	case COLUMN_WEIGHT:
		return true;
	case COLUMN_BIRTH:
		return births(b, from, n, first, v);
	case COLUMN_DEATH:
		return deaths(b, from, n, v);
	case COLUMN_END:
		NARROW(b->end, BLOCK_EXEC);
	case COLUMN_STACK:
		NARROW(b->stack, limits->nodes);
	case COLUMN_DEATH_STACK:
		NARROW(b->death_stack, limits->nodes);
	case COLUMN_THREAD:
		NARROW(b->thread, limits->threads);
	case COLUMN_DEATH_THREAD:
		death_threads(b, from, n, v);
		return none_above(b->death_thread + from, n, limits->threads);
	case COLUMN_CHAIN_PREVIOUS:
		return chains(b->chain_previous + from, b->view.first_row + from, n, v, true,
			      limits->rows);
	case COLUMN_CHAIN_NEXT:
		return chains(b->chain_next + from, b->view.first_row + from, n, v, false,
			      limits->rows);
	case COLUMN_KIND:
		NARROW(b->kind, UINT8_MAX);
	default:
		NARROW(b->death_kind, UINT8_MAX);
	}
}

/* Unpacks the chunks that contain rows from `first` to before `end`. */
static int unpack_column(struct rows_block *b, enum block_column column, struct reader in,
			 uint32_t first, uint32_t end, const struct block_limits *limits)
{
	uint64_t room[PACK_VALUES], *plain = plain_column(b, column);

	for (uint32_t from = 0; from < b->view.count; from += PACK_VALUES) {
		uint32_t left = b->view.count - from, n = left < PACK_VALUES ? left : PACK_VALUES;
		uint64_t *values = plain ? plain + from : room;
		uint64_t start = column == COLUMN_BIRTH ? reader_varint(&in) : 0;

		if (from + n <= first || from >= end) {
			if (skip_values(&in, n) < 0)
				return -EBADMSG;
			continue;
		}
		if (unpack_values(&in, values, n) < 0 ||
		    !rows_of(b, column, from, n, start, values, limits))
			return -EBADMSG;
	}
	return reader_left(&in) ? -EBADMSG : 0;
}

int block_fetch(const struct block_source *s, uint64_t offset, uint32_t length, struct buf *spare,
		const uint8_t **ret_data)
{
	uint8_t *room;

	if (s->fd < 0) {
		*ret_data = s->memory + offset;
		return s->memory ? 0 : -EBADMSG;
	}
	buf_clear(spare);
	room = buf_reserve(spare, length);
	if (!room)
		return -ENOMEM;
	for (uint32_t done = 0; done < length;) {
		ssize_t n = pread(s->fd, room + done, length - done,
				  (off_t)(s->offset + offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			return -EBADMSG;
		done += (uint32_t)n;
	}
	*ret_data = room;
	return 0;
}

int block_read_header(const struct block_source *s, const struct rows_block *b, struct buf *spare,
		      struct block_header *ret_header)
{
	uint64_t sum = BLOCK_HEADER;
	const uint8_t *data;
	struct reader in;
	int r = s->length < BLOCK_HEADER ? -EBADMSG : block_fetch(s, 0, BLOCK_HEADER, spare, &data);

	if (r < 0)
		return r;
	in = reader_of(data, BLOCK_HEADER);
	if (memcmp(reader_bytes(&in, 4), block_magic, 4) || reader_u32le(&in) != BLOCK_VERSION ||
	    reader_u32le(&in) != b->view.count || reader_u64le(&in) != b->view.first_row)
		return -EBADMSG;
	for (unsigned i = 0; i < BLOCK_COLUMNS; i++) {
		ret_header->length[i] = reader_u32le(&in);
		ret_header->check[i] = reader_u64le(&in);
		sum += ret_header->length[i];
		if (ret_header->length[i] > BLOCK_COLUMN_MAX)
			return -EBADMSG;
	}
	if (reader_u64le(&in) != XXH3_64bits(data, BLOCK_HEADER - 8) || sum != s->length)
		return -EBADMSG;
	return 0;
}

/* Fetches a column's bytes and verifies their checksum. */
static int fetch_column(const struct block_source *s, uint64_t offset, enum block_column column,
			const struct block_header *h, struct buf *spare, const uint8_t **ret_data)
{
	int r = block_fetch(s, offset, h->length[column], spare, ret_data);

	return !r && XXH3_64bits(*ret_data, h->length[column]) != h->check[column] ? -EBADMSG : r;
}

/*
 * Returns 1 if the block has no weights, so that each row represents itself; 0 if there is room for
 * weights; or -ENOMEM.
 */
static int prepare_weights(struct rows_block *b, const struct block_header *h)
{
	int r;

	b->view.weight = NULL;
	if (!h->length[COLUMN_WEIGHT])
		return 1;
	r = block_add_weights(b);
	b->view.weight = b->weight;
	return r;
}

/* Every column comes after the columns that it needs. */
static const uint8_t unpack_order[BLOCK_COLUMNS] = {
	COLUMN_ADDRESS,	       COLUMN_SIZE,	    COLUMN_BIRTH, COLUMN_END,
	COLUMN_DEATH,	       COLUMN_WEIGHT,	    COLUMN_STACK, COLUMN_DEATH_STACK,
	COLUMN_THREAD,	       COLUMN_DEATH_THREAD, COLUMN_KIND,  COLUMN_DEATH_KIND,
	COLUMN_CHAIN_PREVIOUS, COLUMN_CHAIN_NEXT,
};

struct unpacking {
	struct rows_block *block;
	const struct block_source *source;
	unsigned columns;
	uint32_t first, end;
	const struct block_limits *limits;
	struct block_packed *packed; /* NULL: all rows are unpacked at once and nothing is kept */
	struct buf *spare;
};

/* A kept column was verified when it was read. */
static int take_column(const struct unpacking *u, enum block_column column, uint64_t offset,
		       const struct block_header *h, const uint8_t **ret_data)
{
	struct buf *kept = u->packed ? &u->packed->column[column] : NULL;
	int r;

	if (kept && kept->length) {
		*ret_data = kept->data;
		return 0;
	}
	r = fetch_column(u->source, offset, column, h, kept ? kept : u->spare, ret_data);
	if (!r && kept && *ret_data == kept->data)
		kept->length = h->length[column];
	return r;
}

static int read_column(const struct unpacking *u, enum block_column column, uint64_t offset,
		       const struct block_header *h)
{
	const uint8_t *data = NULL;
	int r = column == COLUMN_WEIGHT ? prepare_weights(u->block, h) : 0;

	if (r)
		return r < 0 ? r : 0;
	r = take_column(u, column, offset, h, &data);
	return r ? r
		 : unpack_column(u->block, column, reader_of(data, h->length[column]), u->first,
				 u->end, u->limits);
}

static int unpack(const struct unpacking *u, const struct block_header *h, struct err_text *err)
{
	unsigned columns = block_closure(u->columns);
	uint64_t offset[BLOCK_COLUMNS], at = BLOCK_HEADER;

	block_show(u->block, columns);
	u->block->view.weight = NULL;
	for (unsigned i = 0; i < BLOCK_COLUMNS; at += h->length[i++])
		offset[i] = at;
	for (unsigned i = 0; i < BLOCK_COLUMNS; i++) {
		unsigned c = unpack_order[i];
		int r = columns & block_columns_table[c].bit ? read_column(u, c, offset[c], h) : 0;

		if (r < 0)
			return err_set(err, r, "its column %s can't be read",
				       block_columns_table[c].name);
	}
	return 0;
}

int block_unpack(struct rows_block *b, const struct block_source *s, unsigned columns,
		 const struct block_limits *limits, struct buf *spare, struct err_text *err)
{
	const struct unpacking u = {b, s, columns, 0, b->view.count, limits, NULL, spare};
	struct block_header h;
	int r = block_read_header(s, b, spare, &h);

	return r < 0 ? err_set(err, r, "its header can't be read") : unpack(&u, &h, err);
}

static bool same_source(const struct block_source *a, const struct block_source *b)
{
	return a->fd == b->fd && a->offset == b->offset && a->memory == b->memory &&
	       a->length == b->length;
}

int block_unpack_rows(struct rows_block *b, const struct block_source *s, unsigned columns,
		      uint32_t first, uint32_t end, const struct block_limits *limits,
		      struct block_packed *packed, struct err_text *err)
{
	const struct unpacking u = {b, s, columns, first, end, limits, packed, NULL};
	int r;

	if (!packed->source.length || !same_source(&packed->source, s)) {
		packed->source.length = 0;
		for (unsigned i = 0; i < BLOCK_COLUMNS; i++)
			buf_clear(&packed->column[i]);
		r = block_read_header(s, b, &packed->spare, &packed->header);
		if (r < 0)
			return err_set(err, r, "its header can't be read");
		packed->source = *s;
	}
	return unpack(&u, &packed->header, err);
}

void block_packed_done(struct block_packed *packed)
{
	for (unsigned i = 0; i < BLOCK_COLUMNS; i++)
		buf_done(&packed->column[i]);
	buf_done(&packed->spare);
	*packed = (struct block_packed){0};
}
