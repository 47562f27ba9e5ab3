#pragma once
/*
 * Late updates: changes to rows whose block is already packed. They gather in memory. When there
 * are many, they are sorted by row and written to the file as pages; the index of the pages stays
 * in memory.
 *
 *   update ... update ... update  |  page | page | page || page | page
 *       fresh, in memory               sorted     ...  written together
 *
 *   A page has LATE_UPDATE_PAGE records of LATE_UPDATE_RECORD bytes, little endian; its XXH3 is in
 * the index: | row 4 | next 4 | time 8 | stack 4 | thread 4 | kind 1 | end 1 | what 1 | 0 |
 *
 * Later pages override earlier ones.
 */
#include <stdbool.h>
#include <stdint.h>

#include "collector/columns/block.h"

#define LATE_UPDATE_PAGE   4096
#define LATE_UPDATE_RECORD 28
/* Updates kept in memory before they are written. */
#define LATE_UPDATE_FRESH_MAX (1u << 19)

enum late_update_what {
	LATE_UPDATE_END = 1,  /* time, stack, thread, kind and end */
	LATE_UPDATE_NEXT = 2, /* next */
};

struct late_update_record {
	uint32_t row, order; /* order: position among the fresh ones, which makes the sort stable */
	uint64_t time_ns;
	uint32_t next, stack, thread;
	uint8_t kind, end, what;
};

struct late_update_page {
	uint64_t offset; /* offset in the file */
	uint64_t check;
	uint32_t count, first_row, last_row;
	bool base; /* in the earlier file (base), not in the one that is being written */
};

struct late_updates {
	struct late_update_record *fresh;
	uint32_t fresh_count, fresh_capacity, sorted; /* the first `sorted` fresh updates are
							 sorted */
	struct late_update_page *pages;
	uint32_t page_count, page_capacity;
};

void late_updates_done(struct late_updates *late);
/* Returns 0 or -ENOMEM. */
int late_updates_add(struct late_updates *late, const struct late_update_record *record);
/* Sorts the fresh updates by row. late_updates_apply applies only what was sorted. */
void late_updates_sort(struct late_updates *late);
/*
 * Moves the fresh updates to the end of the file. `write` appends bytes and returns their offset.
 * Returns 0 or a negative errno.
 */
int late_updates_write(struct late_updates *late, bool base,
		       int (*write)(void *context, const void *data, size_t length,
				    uint64_t *ret_offset),
		       void *context);
/* Returns true if there may be updates of the rows [first, last]. */
bool late_updates_any(const struct late_updates *late, uint32_t first, uint32_t last);
/*
 * Applies the updates of its rows to `block`, to the columns that its view shows. `fd` holds the
 * files, indexed by `base`. Returns 0, -EBADMSG if a page is damaged, or -ENOMEM.
 */
int late_updates_apply(const struct late_updates *late, struct rows_block *block, const int fd[2],
		       const struct block_limits *limits, struct buf *spare);
