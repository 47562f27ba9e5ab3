#pragma once
/* What the tests of pairing share: the rows of a recording that was built for them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/error.h"
#include "collector/columns/row_block.h"
#include "collector/recording/completeness.h"
#include "collector/columns/rows.h"
#include "collector/recording/recording.h"
#include "collector/recording/row_reader.h"
#include "proto/columns.h"
#include "proto/thinning.h"
#include "tests/unit/store/builder.h"

struct row {
	uint64_t address, size, birth, death, weight;
	uint32_t previous, next, thread, death_thread, stack, death_stack;
	uint8_t end, kind, death_kind;
	bool at_once;
};

static inline struct recording *open_built(struct builder *b)
{
	struct recording *r;
	struct err_text err = {0};
	int e = builder_open(b, b->file.length, &r, &err);

	if (e < 0)
		fail_msg("%s", err_get(&err, e));
	return r;
}

static inline struct row row_at(const struct recording *r, uint64_t i)
{
	const struct row_block *b = recording_block(r, (uint32_t)(i / ROWS_PER_BLOCK));
	uint32_t k = (uint32_t)(i % ROWS_PER_BLOCK);

	assert_non_null(b);
	assert_true(k < b->count);
	return (struct row){.address = b->address[k],
			    .size = b->size[k],
			    .birth = b->birth_ns[k],
			    .death = b->death_ns[k],
			    .weight = b->weight ? b->weight[k] : b->size[k],
			    .previous = b->chain_previous[k],
			    .next = b->chain_next[k],
			    .thread = b->thread[k],
			    .death_thread = b->death_thread[k],
			    .stack = b->stack[k],
			    .death_stack = b->death_stack[k],
			    .end = b->end[k],
			    .kind = b->kind[k],
			    .death_kind = (uint8_t)row_death_kind(b, k),
			    .at_once = b->death_kind[k] & ROW_AT_ONCE};
}
