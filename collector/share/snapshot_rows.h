#pragma once
/* A snapshot in the shared store: a row for each of its members. */
#include <stdint.h>

struct buf;
struct snapshot;

/* Appends the rows (SNAPSHOTS_COLUMNS) of a snapshot, all of the same day, which is that of its
 * stream. Rows of a higher version replace them. */
void snapshot_rows_put(struct buf *rows, const struct snapshot *snapshot, uint32_t day,
		       uint64_t collector, uint64_t version);
