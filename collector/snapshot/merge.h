#pragma once
/*
 * The recording of a snapshot. Modules are identified by their build id, or by their path without
 * one; stacks are equal if they pass through the same places. Blocks of one process, stack and size
 * are one event whose weight represents all of them. Each process is a thread named
 * HOST/PROGRAM/PID.
 */
#include <stdbool.h>
#include <stdint.h>

#include "collector/recording/stream_id.h"

struct err_text;
struct snapshot_member;
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
 * Adds what was in use at the member's marker, and fills in its build id and figures. `time_ns` is
 * its time in the merged recording and never descends. Returns 1 if the member has sampled blocks
 * but the merge is exact; the caller starts over with one that is not.
 */
int merge_add(struct merge *merge, struct view *view, uint64_t time_ns,
	      struct snapshot_member *member, struct err_text *err);
int merge_end(struct merge *merge, uint64_t time_ns, struct err_text *err);
