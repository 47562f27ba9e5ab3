#pragma once
/* A recording's rows as a plain array, for tests that compute answers the slow way. */
#include "collector/query/query.h"
#include "tests/unit/query/recording.h"

struct naive_row {
	uint64_t address, size, birth, death, weight;
	uint32_t stack, thread, death_stack;
	uint64_t previous, next; /* of the chain; NO_BLOCK: none */
	uint8_t end;
};

struct naive_rows {
	struct naive_row *list;
	size_t count;
	uint64_t end_ns;
};

static inline void naive_rows_init(struct naive_rows *n, const struct recording *recording)
{
	struct row_reader *reader;

	*n = (struct naive_rows){.end_ns = recording_end_ns(recording)};
	n->list = calloc(recording_rows(recording) + 1, sizeof(*n->list));
	assert(n->list);
	assert(row_reader_new(recording, &reader) == 0);
	for (uint32_t b = 0; b < recording_blocks(recording); b++) {
		const struct row_block *block = row_reader_block(reader, b, ROWS_ALL, NULL);

		for (uint32_t i = 0; i < block->count; i++)
			n->list[n->count++] = (struct naive_row){
				.address = block->address[i],
				.size = block->size[i],
				.birth = block->birth_ns[i],
				.death = block->death_ns[i],
				.weight = block->weight ? block->weight[i] : block->size[i],
				.stack = block->stack[i],
				.thread = block->thread[i],
				.death_stack = block->death_stack[i],
				.previous = block->chain_previous[i],
				.next = block->chain_next[i],
				.end = block->end[i],
			};
	}
	row_reader_free(reader);
}

static inline bool naive_freed(const struct naive_row *r)
{
	return r->end == BLOCK_FREED || r->end == BLOCK_REALLOCATED || r->end == BLOCK_INFERRED;
}

static inline bool naive_alive(const struct naive_row *r, uint64_t at)
{
	return r->birth <= at && (r->death == NO_TIME || r->death > at);
}
