#pragma once
/* collector snapshot diff: what has changed from one snapshot to another, by device, by build and
 * by function. */
#include "collector/cli/command.h"
#include "collector/catalogue/snapshots.h"

struct diff;

extern const struct answer snapshot_diff_answer;

/* Prints the difference, as text or JSON. `functions` is that by function, which is sorted.
 * `count`: rows of each table. Returns an exit status. */
int snapshot_diff_show(struct command_call *call, const struct snapshot *base,
		       const struct snapshot *now, struct diff *functions, uint64_t count,
		       bool json);
