#pragma once
/*
 * Iterates over births and deaths of matched blocks in the order of time, without sorting all of
 * them at once. Time is divided into windows whose events fit into memory, and a pass of its own
 * gathers each window.
 *
 * Clocks may tick in microseconds, so many events have equal times. Among these, births come first,
 * in the order of rows, and deaths follow. A death that made room for a birth comes before that
 * birth: the same address again, or a realloc that moved the block. Nothing more is known about the
 * order.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/query/query.h"

#define EVENTS_AT_ONCE (1u << 20) /* 80 MiB */

struct block_event {
	uint64_t time_ns;
	uint64_t row;
	/* For a birth: the row that realloc made this block from; for a death: the row that it made
	 * from this block; NO_TIME: none. */
	uint64_t chain;
	uint64_t address, size;
	/* Bytes that the block stands for; its size if it was not sampled. */
	uint64_t weight;
	uint32_t stack, thread; /* of the birth; of the death */
	bool is_death;
};

struct query_events;

/* The filter is used until query_events_free. `at_once`: maximum number of events in memory; 0:
 * EVENTS_AT_ONCE. If the recording grows meanwhile, the rows that existed at the beginning
 * count. */
int query_events_new(struct view *view, const struct filter *filter, size_t at_once,
		     struct query_events **ret_events, struct err_text *err);
void query_events_free(struct query_events *events);
/* Returns 1 with the next event, 0 at the end, or a negative errno. */
int query_events_next(struct query_events *events, struct block_event *ret_event,
		      struct err_text *err);
