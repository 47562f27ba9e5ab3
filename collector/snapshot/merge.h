#pragma once
/*
 * The recording that a snapshot becomes. Modules are the same if their build id is, or without one
 * their path; stacks if they lead through the same places. Blocks of one process, stack and size
 * are one event that stands for all of them by its weight. Each process is a thread, named
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

/* Writes to `fd`. `exact`: weights are counts, and no block that was sampled comes; else each block
 * has an event. */
int merge_new(int fd, const struct stream_id *id, const char *name, uint64_t wall_ns, bool exact,
	      struct merge **ret_merge, struct err_text *err);
void merge_free(struct merge *merge);
/* What was in use at the member's marker; fills in build id and figures. `time_ns`: where it stands
 * in the merged recording; never descends. 1: it has blocks that were sampled, and the merge is
 * exact: begin anew with one that is not. */
int merge_add(struct merge *merge, struct view *view, uint64_t time_ns,
	      struct snapshot_member *member, struct err_text *err);
int merge_end(struct merge *merge, uint64_t time_ns, struct err_text *err);
