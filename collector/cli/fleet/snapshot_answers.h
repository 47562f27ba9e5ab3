#pragma once
/* Prints lists of snapshots, and what a snapshot had in use, as text or JSON: whether they come
 * from a folder or from the data base that collectors share. */
#include <stddef.h>
#include <stdint.h>

#include "collector/catalogue/snapshots.h"
#include "collector/cli/command.h"

struct diff;
struct groups;
struct question;

extern const struct answer snapshots_answer, snapshot_shown_answer;

/* Each returns an exit status. */
int snapshot_list_answer(const struct command *command, const struct common_options *options,
			 const struct snapshot *list, size_t count);
/* Sorts the groups. `count`: functions shown. `q`: the question about the snapshot's recording;
 * NULL: there is none, and groups have neither backtraces nor sizes and times of blocks. */
int snapshot_show_answer(const struct command *command, const struct common_options *options,
			 uint64_t count, const struct snapshot *snapshot, struct groups *groups,
			 const struct question *q);
/* Sort by what does not depend on how a recording numbers its backtraces: by value, then by name.
 */
void snapshot_sort_groups(struct groups *groups);
void snapshot_sort_diff(struct diff *diff);
