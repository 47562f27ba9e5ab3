#pragma once
/*
 * Births and deaths of matched blocks, in the order of their times, without sorting all of them at
 * once: the time is cut into windows with so many events that they fit into memory, and each window
 * is gathered by a pass of its own.
 *
 * Clocks tick in microseconds. At one time births come first, in the order of rows, and deaths
 * behind them, but for a death that made room for a birth: the address comes again, or realloc
 * moved the block. More is not known of what happened first.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/query/query.h"

#define EVENTS_AT_ONCE (1u << 20) /* 80 MiB */

struct block_event {
	uint64_t time_ns;
	uint64_t row;
	uint64_t chain; /* of a birth: row that realloc made this of; of a death: row that it made
			   of this; NO_TIME: none */
	uint64_t address, size;
	uint64_t weight; /* bytes that the block stands for: its size where nothing was sampled */
	uint32_t stack, thread; /* of the birth; of the death */
	bool is_death;
};

struct query_events;

/* The filter is used until query_events_free. `at_once`: events in memory; 0: EVENTS_AT_ONCE. A
 * recording that grows meanwhile is looked at as it was at the beginning. */
int query_events_new(struct view *view, const struct filter *filter, size_t at_once,
		     struct query_events **ret_events, struct err_text *err);
void query_events_free(struct query_events *events);
/* 1: the next one; 0: that was all; negative errno. */
int query_events_next(struct query_events *events, struct block_event *ret_event,
		      struct err_text *err);
