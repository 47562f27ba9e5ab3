/*
 * What is kept beside a recording, made by a stranger. Checksums would keep a fuzzer out, so they
 * are put right here. By the first byte of the input:
 *
 *   'v' count/16   packed values (pack.h)
 *   'b' rows/16    a packed block (block.h); what unpacks must keep a block's promises, and a part
 *                  of it be the same
 *   else           the contents of a state (state.h), all of it
 */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "collector/columns/pack.h"
#include "collector/columns/row_block.h"
#include "collector/columns/block.h"
#include "collector/derive/recording_parts.h"
#include "base/buf.h"
#include "collector/derive/state.h"
#include "collector/recording/recording.h"
#include "tests/fuzz/fuzz.h"

#define NODES	100
#define THREADS 10

static void values(const uint8_t *data, size_t size, uint32_t count)
{
	uint64_t out[PACK_VALUES];
	struct reader in = reader_of(data, size), over = in;
	int passed = skip_values(&over, count);

	if (unpack_values(&in, out, count) == 0)
		must(passed == 0 && reader_left(&over) == reader_left(&in));
}

static void put_u64le(uint8_t *to, uint64_t value)
{
	for (unsigned i = 0; i < 8; i++)
		to[i] = (uint8_t)(value >> 8 * i);
}

static void put_right(uint8_t *block, size_t size)
{
	uint8_t *at = block + 20;
	size_t offset = BLOCK_HEADER;

	for (unsigned i = 0; i < BLOCK_COLUMNS; i++, at += 12) {
		struct reader in = reader_of(at, 4);
		uint32_t length = reader_u32le(&in);

		if (length > size - offset)
			return;
		put_u64le(at + 4, XXH3_64bits(block + offset, length));
		offset += length;
	}
	put_u64le(at, XXH3_64bits(block, BLOCK_HEADER - 8));
}

static void check_block(const struct rows_block *b, const struct block_limits *limits)
{
	const struct row_block *v = &b->view;

	for (uint32_t i = 0; i < v->count; i++) {
		uint64_t row = v->first_row + i;

		must((v->end[i] == BLOCK_IN_USE) == (v->death_ns[i] == NO_TIME));
		must(v->death_ns[i] >= v->birth_ns[i] && v->end[i] <= BLOCK_EXEC);
		must(v->stack[i] <= limits->nodes && v->death_stack[i] <= limits->nodes);
		must(v->thread[i] <= limits->threads && v->death_thread[i] <= limits->threads);
		must(v->chain_next[i] == NO_BLOCK ||
		     (v->chain_next[i] > row && v->chain_next[i] < limits->rows));
		must(v->chain_previous[i] == NO_BLOCK || v->chain_previous[i] < row);
	}
}

/* The rows around the middle. */
static void check_part(const struct rows_block *whole, const struct block_source *source,
		       const struct block_limits *limits)
{
	uint32_t first = whole->view.count / 2,
		 n = whole->view.count - first < 9 ? whole->view.count - first : 9;
	struct rows_block *b = block_new(0);
	struct block_packed packed = {0};

	must(b);
	b->view.count = whole->view.count;
	for (unsigned i = 0; i < 2; i++)
		must(block_unpack_rows(b, source, ROWS_ALL, first, first + n, limits, &packed,
				       NULL) == 0);
	must(!memcmp(b->address + first, whole->address + first, n * 8) &&
	     !memcmp(b->size + first, whole->size + first, n * 8) &&
	     !memcmp(b->death_ns + first, whole->death_ns + first, n * 8) &&
	     !memcmp(b->death_thread + first, whole->death_thread + first, n * 4) &&
	     !memcmp(b->chain_next + first, whole->chain_next + first, n * 4) &&
	     !memcmp(b->death_kind + first, whole->death_kind + first, n));
	block_packed_done(&packed);
	block_free(b);
}

static void block(const uint8_t *data, size_t size, uint32_t count)
{
	const struct block_limits limits = {NODES, THREADS, 1000000};
	struct block_source source = {.fd = -1, .length = (uint32_t)size};
	struct rows_block *b = block_new(0);
	uint8_t *copy = malloc(size + 1);

	must(b && copy);
	memcpy(copy, data, size);
	if (size >= BLOCK_HEADER)
		put_right(copy, size);
	b->view.count = count;
	source.memory = copy;
	if (block_unpack(b, &source, ROWS_ALL, &limits, NULL, NULL) == 0) {
		check_block(b, &limits);
		check_part(b, &source, &limits);
	}
	block_free(b);
	free(copy);
}

static void state(const uint8_t *data, size_t size)
{
	struct state_fit fit = {0};
	struct recording *r = NULL;
	struct buf again = {0};

	must(recording_new(&r) == 0);
	if (state_read(r, data, size, &fit) == 0) {
		for (uint32_t i = 1; i <= recording_nodes(r); i++)
			must(recording_node(r, i)->parent < i);
		recording_adds_up(r, NULL);
		must(state_write(r, &fit, &again) == 0);
	}
	buf_done(&again);
	recording_close(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > 2 && data[0] == 'v')
		values(data + 2, size - 2, 1 + data[1] * 16u);
	else if (size > 2 && data[0] == 'b')
		block(data + 2, size - 2, 1 + data[1] * 16u);
	else
		state(data, size);
	return 0;
}
