#pragma once
/*
 * What backtraces mean, in the shared store: their frames, and the frames' names. Both are hashes
 * of their contents (stack_ids.h), so it does no harm to write one twice, and any collector may.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/map.h"
#include "collector/sums/stack_ids.h"

struct view;

struct dictionary {
	struct map stacks, frames; /* those that are in the shared store already, or in the rows */
	struct buf stack_rows, frame_rows; /* rows that are not (collector/clickhouse/schema.h) */
};

void dictionary_done(struct dictionary *dictionary);
/* Adds the backtrace of a node, if it is new. Returns 0 or -ENOMEM. */
int dictionary_add(struct dictionary *dictionary, struct view *view, const struct stack_ids *ids,
		   uint32_t node);
/* Forgets what is there: all will be written again. */
void dictionary_forget(struct dictionary *dictionary);
