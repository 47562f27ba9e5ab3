#pragma once
/* For the tests of mappings: calls on a range of pages, and the region that holds one of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collector/columns/row_block.h"
#include "collector/query/match/mappings.h"
#include "collector/recording/info.h"
#include "collector/recording/recording.h"
#include "tests/unit/query/recording.h"
#include "proto/columns.h"
#include "proto/stack_columns.h"

#define PAGES 64
#define PAGE  4096ull
#define BASE  0x100000ull

static inline void add_call(struct builder *b, uint64_t time, unsigned kind, unsigned page,
			    unsigned count, uint64_t old)
{
	struct event e = {
		.kind = (uint8_t)kind,
		.thread = 1,
		.time_ns = time,
		.address = BASE + page * PAGE,
		.size = count * PAGE,
		.old_address = old,
		.call_time_ns = old ? 1 : 0,
		.weight = kind != HEAPCAST__EVENT_KIND__EVENT_MUNMAP ? count * PAGE : 0,
	};

	builder_event(b, &e);
}

/* The region that holds the page at that time; NULL: none does. There are not two. */
static inline const struct mapping_region *holder(const struct mappings *m, unsigned page,
						  uint64_t at)
{
	uint64_t address = BASE + page * PAGE + 7;
	const struct mapping_region *found = NULL;

	for (uint32_t i = 0; i < m->region_count; i++) {
		const struct mapping_region *r = &m->regions[i];

		if (address < r->address || address >= r->address + r->size || r->from_ns > at ||
		    r->to_ns <= at)
			continue;
		assert_null(found);
		found = r;
	}
	return found;
}
