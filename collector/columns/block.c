/* Packs and unpacks blocks of rows. block.h describes the format. */
#include "collector/columns/block.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "base/error.h"
#include "collector/columns/pack.h"
#include "collector/columns/row_block.h"
#include "base/ban.h"

#define ROW_BYTES (4 * 8 + 6 * 4 + 3)

static const uint8_t magic[4] = {'h', 'c', 'r', 'b'};

static const struct {
	unsigned bit, needs; /* enum row_columns */
	enum pack_hint hint;
	const char *name;
} columns_table[BLOCK_COLUMNS] = {
	[COLUMN_ADDRESS] = {ROWS_ADDRESS, 0, PACK_REPEATS, "address"},
	[COLUMN_SIZE] = {ROWS_SIZE, 0, PACK_REPEATS, "size"},
	[COLUMN_BIRTH] = {ROWS_BIRTH, 0, PACK_PLAIN, "birth"},
	[COLUMN_DEATH] = {ROWS_DEATH, ROWS_BIRTH | ROWS_END, PACK_PLAIN, "death"},
	[COLUMN_END] = {ROWS_END, 0, PACK_REPEATS, "end"},
	[COLUMN_WEIGHT] = {ROWS_WEIGHT, 0, PACK_REPEATS, "weight"},
	[COLUMN_STACK] = {ROWS_STACK, 0, PACK_REPEATS, "stack"},
	[COLUMN_DEATH_STACK] = {ROWS_DEATH_STACK, 0, PACK_REPEATS, "death stack"},
	[COLUMN_THREAD] = {ROWS_THREAD, 0, PACK_REPEATS, "thread"},
	[COLUMN_DEATH_THREAD] = {ROWS_DEATH_THREAD, ROWS_THREAD | ROWS_END, PACK_REPEATS,
				 "death thread"},
	[COLUMN_CHAIN_PREVIOUS] = {ROWS_CHAIN, 0, PACK_PLAIN, "chain previous"},
	[COLUMN_CHAIN_NEXT] = {ROWS_CHAIN, 0, PACK_PLAIN, "chain next"},
	[COLUMN_KIND] = {ROWS_KIND, 0, PACK_REPEATS, "kind"},
	[COLUMN_DEATH_KIND] = {ROWS_DEATH_KIND, 0, PACK_REPEATS, "death kind"},
};

unsigned block_closure(unsigned columns)
{
	for (unsigned i = 0; i < BLOCK_COLUMNS; i++)
		if (columns & columns_table[i].bit)
			columns |= columns_table[i].needs;
	return columns;
}

/* ---- blocks in memory ---- */

void block_free(struct rows_block *b)
{
	if (!b)
		return;
	free(b->memory);
	free(b->weight);
	free(b);
}

static void block_show(struct rows_block *b, unsigned columns)
{
	struct row_block *v = &b->view;

	v->address = columns & ROWS_ADDRESS ? b->address : NULL;
	v->size = columns & ROWS_SIZE ? b->size : NULL;
	v->birth_ns = columns & ROWS_BIRTH ? b->birth_ns : NULL;
	v->death_ns = columns & ROWS_DEATH ? b->death_ns : NULL;
	v->end = columns & ROWS_END ? b->end : NULL;
	v->stack = columns & ROWS_STACK ? b->stack : NULL;
	v->death_stack = columns & ROWS_DEATH_STACK ? b->death_stack : NULL;
	v->thread = columns & ROWS_THREAD ? b->thread : NULL;
	v->death_thread = columns & ROWS_DEATH_THREAD ? b->death_thread : NULL;
	v->chain_previous = columns & ROWS_CHAIN ? b->chain_previous : NULL;
	v->chain_next = columns & ROWS_CHAIN ? b->chain_next : NULL;
	v->kind = columns & ROWS_KIND ? b->kind : NULL;
	v->death_kind = columns & ROWS_DEATH_KIND ? b->death_kind : NULL;
}

struct rows_block *block_new(uint64_t first_row)
{
	const size_t n = ROWS_PER_BLOCK;
	struct rows_block *b = calloc(1, sizeof(*b));
	uint64_t *wide;
	uint32_t *narrow;
	uint8_t *bytes;

	if (!b)
		return NULL;
	b->memory = malloc(n * ROW_BYTES); /* the kernel commits pages only as rows are written */
	if (!b->memory) {
		free(b);
		return NULL;
	}
	wide = b->memory;
	narrow = (uint32_t *)(wide + 4 * n);
	bytes = (uint8_t *)(narrow + 6 * n);
	b->address = wide;
	b->size = wide + n;
	b->birth_ns = wide + 2 * n;
	b->death_ns = wide + 3 * n;
	b->stack = narrow;
	b->death_stack = narrow + n;
	b->thread = narrow + 2 * n;
	b->death_thread = narrow + 3 * n;
	b->chain_previous = narrow + 4 * n;
	b->chain_next = narrow + 5 * n;
	b->kind = bytes;
	b->death_kind = bytes + n;
	b->end = bytes + 2 * n;
	block_clear(b, first_row);
	return b;
}

void block_clear(struct rows_block *b, uint64_t first_row)
{
	free(b->weight);
	b->weight = NULL;
	b->view = (struct row_block){.first_row = first_row};
	b->view.min.birth_ns = b->view.min.death_ns = b->view.min.size = b->view.min.address =
		UINT64_MAX;
	b->last_death_ns = 0;
	b->in_use = 0;
	block_show(b, ROWS_ALL);
}

int block_add_weights(struct rows_block *b)
{
	if (b->weight)
		return 0;
	b->weight = malloc(ROWS_PER_BLOCK * sizeof(*b->weight));
	if (!b->weight)
		return -ENOMEM;
	for (uint32_t i = 0; i < b->view.count; i++)
		b->weight[i] = b->size[i];
	b->view.weight = b->weight;
	b->view.weighted = true;
	return 0;
}

static void measure(const uint64_t *values, uint32_t count, uint64_t *ret_min, uint64_t *ret_max)
{
	uint64_t min = UINT64_MAX, max = 0;

	for (uint32_t i = 0; i < count; i++) {
		min = values[i] < min ? values[i] : min;
		max = values[i] > max ? values[i] : max;
	}
	*ret_min = min;
	*ret_max = max;
}

void block_measure(struct rows_block *b)
{
	struct row_block *v = &b->view;

	measure(b->birth_ns, v->count, &v->min.birth_ns, &v->max.birth_ns);
	measure(b->size, v->count, &v->min.size, &v->max.size);
	measure(b->address, v->count, &v->min.address, &v->max.address);
	v->weighted = v->weight != NULL;
	block_measure_ends(b);
}

void block_measure_ends(struct rows_block *b)
{
	struct row_block *v = &b->view;

	measure(b->death_ns, v->count, &v->min.death_ns, &v->max.death_ns);
	b->in_use = 0;
	b->last_death_ns = 0;
	for (uint32_t i = 0; i < v->count; i++) {
		b->in_use += b->end[i] == BLOCK_IN_USE;
		if (b->end[i] != BLOCK_IN_USE && b->death_ns[i] > b->last_death_ns)
			b->last_death_ns = b->death_ns[i];
	}
}

/* ---- packing ---- */

static void put_u32le(uint8_t *to, uint32_t value)
{
	for (unsigned i = 0; i < 4; i++)
		to[i] = (uint8_t)(value >> 8 * i);
}

static void put_u64le(uint8_t *to, uint64_t value)
{
	put_u32le(to, (uint32_t)value);
	put_u32le(to + 4, (uint32_t)(value >> 32));
}

/* Tells whether the thread that ended the block is likely the thread that allocated it. */
static bool freed(uint8_t end)
{
	return end == BLOCK_FREED || end == BLOCK_REALLOCATED;
}

static uint64_t distance(uint64_t from, uint64_t to)
{
	return from == NO_BLOCK || to == NO_BLOCK ? 0 : to - from;
}

/* Computes rows [from, from + n) of the column as values v[i]. */
#define EACH(expression)                                                                           \
	do {                                                                                       \
		for (uint32_t i = 0; i < n; i++) {                                                 \
			const uint32_t k = from + i;                                               \
			v[i] = (expression);                                                       \
		}                                                                                  \
	} while (0)

static void values_of(const struct rows_block *b, enum block_column column, uint32_t from,
		      uint32_t n, uint64_t *v)
{
	const uint64_t first = b->view.first_row;

	switch (column) {
	case COLUMN_ADDRESS:
		EACH(b->address[k]);
		break;
	case COLUMN_SIZE:
		EACH(b->size[k]);
		break;
	case COLUMN_BIRTH:
		EACH(b->birth_ns[k] - b->birth_ns[i ? k - 1 : k]);
		break;
	case COLUMN_DEATH:
		EACH(b->end[k] == BLOCK_IN_USE ? 0 : b->death_ns[k] - b->birth_ns[k]);
		break;
	case COLUMN_END:
		EACH(b->end[k]);
		break;
	case COLUMN_WEIGHT:
		EACH(b->weight[k]);
		break;
	case COLUMN_STACK:
		EACH(b->stack[k]);
		break;
	case COLUMN_DEATH_STACK:
		EACH(b->death_stack[k]);
		break;
	case COLUMN_THREAD:
		EACH(b->thread[k]);
		break;
	case COLUMN_DEATH_THREAD:
		EACH((uint32_t)(b->death_thread[k] - (freed(b->end[k]) ? b->thread[k] : 0)));
		break;
	case COLUMN_CHAIN_PREVIOUS:
		EACH(distance(b->chain_previous[k], first + k));
		break;
	case COLUMN_CHAIN_NEXT:
		EACH(distance(first + k, b->chain_next[k]));
		break;
	case COLUMN_KIND:
		EACH(b->kind[k]);
		break;
	default:
		EACH(b->death_kind[k]);
		break;
	}
}

static void pack_column(const struct rows_block *b, enum block_column column, struct buf *out)
{
	uint64_t values[PACK_VALUES];

	for (uint32_t from = 0; from < b->view.count; from += PACK_VALUES) {
		uint32_t left = b->view.count - from, n = left < PACK_VALUES ? left : PACK_VALUES;

		if (column == COLUMN_BIRTH) {
			uint8_t *room = buf_reserve(out, VARINT_MAX);

			if (room)
				out->length =
					(size_t)(varint_put(room, b->birth_ns[from]) - out->data);
		}
		values_of(b, column, from, n, values);
		pack_values(out, values, n, columns_table[column].hint);
	}
}

static size_t begin_block(const struct rows_block *b, uint8_t header[BLOCK_HEADER], struct buf *out)
{
	size_t start = out->length;

	memcpy(header, magic, sizeof(magic));
	put_u32le(header + 4, BLOCK_VERSION);
	put_u32le(header + 8, b->view.count);
	put_u64le(header + 12, b->view.first_row);
	buf_append(out, header, BLOCK_HEADER);
	return start;
}

static void note_column(uint8_t header[BLOCK_HEADER], enum block_column column, uint32_t length,
			uint64_t check)
{
	put_u32le(header + 20 + 12 * column, length);
	put_u64le(header + 24 + 12 * column, check);
}

static void block_end_block(uint8_t header[BLOCK_HEADER], size_t start, struct buf *out)
{
	put_u64le(header + BLOCK_HEADER - 8, XXH3_64bits(header, BLOCK_HEADER - 8));
	if (!buf_error(out))
		memcpy(out->data + start, header, BLOCK_HEADER);
}

static void put_column(const struct rows_block *b, enum block_column column,
		       uint8_t header[BLOCK_HEADER], struct buf *out)
{
	size_t before = out->length;

	if (column != COLUMN_WEIGHT || b->view.weight)
		pack_column(b, column, out);
	if (!buf_error(out))
		note_column(header, column, (uint32_t)(out->length - before),
			    XXH3_64bits(out->data + before, out->length - before));
}

void block_pack(const struct rows_block *b, struct buf *out)
{
	uint8_t header[BLOCK_HEADER];
	size_t start = begin_block(b, header, out);

	for (unsigned i = 0; i < BLOCK_COLUMNS; i++)
		put_column(b, i, header, out);
	block_end_block(header, start, out);
}

/* ---- unpacking ---- */

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
		b->death_thread[i] = (uint32_t)v[i - from] + (freed(b->end[i]) ? b->thread[i] : 0);
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

/*
 * Returns `length` bytes of the block at `offset`: a copy in `spare`, unless the block is in
 * memory.
 */
static int block_fetch(const struct block_source *s, uint64_t offset, uint32_t length,
		       struct buf *spare, const uint8_t **ret_data)
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

static int block_read_header(const struct block_source *s, const struct rows_block *b,
			     struct buf *spare, struct block_header *ret_header)
{
	uint64_t sum = BLOCK_HEADER;
	const uint8_t *data;
	struct reader in;
	int r = s->length < BLOCK_HEADER ? -EBADMSG : block_fetch(s, 0, BLOCK_HEADER, spare, &data);

	if (r < 0)
		return r;
	in = reader_of(data, BLOCK_HEADER);
	if (memcmp(reader_bytes(&in, 4), magic, 4) || reader_u32le(&in) != BLOCK_VERSION ||
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
		int r = columns & columns_table[c].bit ? read_column(u, c, offset[c], h) : 0;

		if (r < 0)
			return err_set(err, r, "its column %s can't be read",
				       columns_table[c].name);
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

/* ---- repacking ---- */

static int copy_column(const struct block_source *s, uint64_t offset, enum block_column column,
		       const struct block_header *h, uint8_t header[BLOCK_HEADER], struct buf *out,
		       struct buf *spare)
{
	const uint8_t *data;
	int r = block_fetch(s, offset, h->length[column], spare, &data);

	if (r < 0)
		return r;
	buf_append(out, data, h->length[column]);
	note_column(header, column, h->length[column], h->check[column]);
	return 0;
}

int block_repack(const struct rows_block *b, const struct block_source *s, unsigned columns,
		 struct buf *out, struct buf *spare)
{
	uint8_t header[BLOCK_HEADER];
	uint64_t offset = BLOCK_HEADER;
	struct block_header h;
	int r = block_read_header(s, b, spare, &h);
	size_t start = begin_block(b, header, out);

	for (unsigned i = 0; !r && i < BLOCK_COLUMNS; offset += h.length[i++]) {
		if (columns & columns_table[i].bit)
			put_column(b, i, header, out);
		else
			r = copy_column(s, offset, i, &h, header, out, spare);
	}
	block_end_block(header, start, out);
	return r ? r : buf_error(out);
}
