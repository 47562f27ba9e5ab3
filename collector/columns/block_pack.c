/* Packs blocks of rows, and repacks some of their columns. block.h describes the format. */
#include "collector/columns/block_parts.h"

#include <string.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "collector/columns/row_block.h"
#include "base/ban.h"

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
		EACH((uint32_t)(b->death_thread[k] -
				(block_ended_by_free(b->end[k]) ? b->thread[k] : 0)));
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
		pack_values(out, values, n, block_columns_table[column].hint);
	}
}

static size_t begin_block(const struct rows_block *b, uint8_t header[BLOCK_HEADER], struct buf *out)
{
	size_t start = out->length;

	memcpy(header, block_magic, sizeof(block_magic));
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
		if (columns & block_columns_table[i].bit)
			put_column(b, i, header, out);
		else
			r = copy_column(s, offset, i, &h, header, out, spare);
	}
	block_end_block(header, start, out);
	return r ? r : buf_error(out);
}
