#pragma once
/*
 * The recording of a snapshot. Modules are identified by their build id, or by their path without
 * one; stacks are equal if they pass through the same places. Blocks of one process, stack and size
 * are one event whose weight represents all of them. Each process is a thread named
 * HOST/PROGRAM/PID.
 */
#include <stdbool.h>
#include <stdint.h>

#include "collector/query/query.h"
#include "collector/query/sums/in_use.h"
#include "collector/recording/stream_id.h"

struct err_text;
struct snapshot_member;
struct snapshot_sums;
struct merge;
struct stream_id;
struct view;

/*
 * Begins a recording in `fd`. `exact`: weights are counts, and no block may be sampled; otherwise
 * each block is an event.
 */
int merge_new(int fd, const struct stream_id *id, const char *name, uint64_t wall_ns, bool exact,
	      struct merge **ret_merge, struct err_text *err);
void merge_free(struct merge *merge);
/*
 * What a stream has in use at its marker, read ahead of its turn. Several threads may each read
 * another stream.
 */
struct gathered {
	struct in_use_blocks *list;
	uint32_t count, capacity;
	bool too_many; /* for this memory: the merge reads them itself */
	struct usage total;
};
int merge_gather(struct view *view, uint64_t at_ns, struct gathered *gathered,
		 struct err_text *err);
void gathered_done(struct gathered *gathered);
/*
 * Adds what was in use at the member's marker, and fills in its build id and figures. `gathered` is
 * of this view and marker; NULL: it is read now. `time_ns` is the member's time in the merged
 * recording and never descends. Returns 1 if the member has sampled blocks but the merge is exact;
 * the caller starts over with one that is not.
 */
int merge_add(struct merge *merge, struct view *view, const struct gathered *gathered,
	      uint64_t time_ns, struct snapshot_member *member, struct err_text *err);
/* `ret_sums` may be NULL. */
int merge_end(struct merge *merge, uint64_t time_ns, struct snapshot_sums *ret_sums,
	      struct err_text *err);
