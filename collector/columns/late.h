#pragma once
/*
 * Late news: what becomes known of a row whose block is packed already. They gather in memory; when
 * they are many, they are sorted by row and put into the file as pages, of which the index stays in
 * memory:
 *
 *   news ... news ... news  |  page | page | page || page | page
 *
 * Later pages overrule earlier ones.
 *	fresh, in memory           sorted     ...  written together
 *
 *	a page: LATE_PAGE records of LATE_RECORD bytes, little endian, their XXH3 in the index
 *	| row 4 | next 4 | time 8 | stack 4 | thread 4 | kind 1 | end 1 | what 1 | 0 |
 */
#include <stdbool.h>
#include <stdint.h>

#include "collector/columns/block.h"

#define LATE_PAGE   4096
#define LATE_RECORD 28
/* So many are kept in memory before they are written. */
#define LATE_FRESH_MAX (1u << 19)

enum late_what {
	LATE_END = 1,  /* time, stack, thread, kind, end */
	LATE_NEXT = 2, /* next */
};

struct late_record {
	uint32_t row, order; /* order: among those that are fresh */
	uint64_t time_ns;
	uint32_t next, stack, thread;
	uint8_t kind, end, what;
};

struct late_page {
	uint64_t offset; /* in the file */
	uint64_t check;
	uint32_t count, first_row, last_row;
	bool base; /* of the file that was there before, not the one that is being written */
};

struct late {
	struct late_record *fresh;
	uint32_t fresh_count, fresh_capacity, sorted; /* so many of the fresh ones are in order */
	struct late_page *pages;
	uint32_t page_count, page_capacity;
};

void late_done(struct late *late);
/* 0 or -ENOMEM. */
int late_add(struct late *late, const struct late_record *record);
/* Before anybody reads: the fresh ones in the order of rows. */
void late_sort(struct late *late);
/* Moves the fresh ones to the end of the file: `write` appends bytes and tells where they lie. */
int late_write(struct late *late, bool base,
	       int (*write)(void *context, const void *data, size_t length, uint64_t *ret_offset),
	       void *context);
/* True if there may be news of the rows [first, last]. */
bool late_any(const struct late *late, uint32_t first, uint32_t last);
/* Puts the news of its rows into `block`, columns of it that its view shows. fd: of the files, by
 * `base`. 0; -EBADMSG: a page is damaged. */
int late_apply(const struct late *late, struct rows_block *block, const int fd[2],
	       const struct block_limits *limits, struct buf *spare);
