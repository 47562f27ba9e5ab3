#pragma once
/* A recording's rows as a plain array, for tests that compute answers the slow way. */
#include "collector/columns/row_block.h"
#include "collector/query/query.h"
#include "collector/recording/recording.h"
#include "collector/recording/row_reader.h"
#include "tests/unit/query/recording.h"

struct naive_row {
	uint64_t address, size, birth, death, weight;
	uint32_t stack, thread, death_stack;
	uint64_t previous, next; /* of the chain; NO_BLOCK: none */
	uint8_t end;
	bool at_once; /* its thread freed it before anything else was allocated there */
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
				.at_once = block->death_kind[i] & ROW_AT_ONCE,
			};
	}
	row_reader_free(reader);
}

/* In all that is known of them; else it says what is not. */
static inline void naive_must_be_same(size_t number, const struct naive_row *got,
				      const struct naive_row *wanted)
{
	const struct {
		const char *name;
		uint64_t got, wanted;
	} fields[] = {
		{"address", got->address, wanted->address},
		{"size", got->size, wanted->size},
		{"birth", got->birth, wanted->birth},
		{"end", got->end, wanted->end},
		{"death", got->death, wanted->death},
		{"weight", got->weight, wanted->weight},
		{"stack", got->stack, wanted->stack},
		{"thread", got->thread, wanted->thread},
		{"stack of the free", got->death_stack, wanted->death_stack},
		{"block before in its chain", got->previous, wanted->previous},
		{"next block of its chain", got->next, wanted->next},
	};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (fields[i].got != fields[i].wanted)
			fail_msg("row %zu: %s is %llu, not %llu", number, fields[i].name,
				 (unsigned long long)fields[i].got,
				 (unsigned long long)fields[i].wanted);
}

static inline bool naive_freed(const struct naive_row *r)
{
	return r->end == BLOCK_FREED || r->end == BLOCK_REALLOCATED || r->end == BLOCK_INFERRED;
}

static inline bool naive_alive(const struct naive_row *r, uint64_t at)
{
	return r->birth <= at && (r->death == NO_TIME || r->death > at);
}
