#pragma once
/*
 * What a fleet has in use at a minute, and who holds it: by function, call site or backtrace.
 *
 *	streams -> what each backtrace had in use at the minute, all streams together (a source)
 *		-> groups, most bytes first
 *
 * A stream counts if it was recorded at that minute. The same streams give the same answer, byte
 *for byte, from recordings and from a data base: it is made of integers, and the order is complete.
 */
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/fleet/clocks.h"

struct err_text;
struct fleet_source;
struct site_rules;

enum fleet_top_by { FLEET_TOP_FUNCTION, FLEET_TOP_SITE, FLEET_TOP_BACKTRACE, FLEET_TOP_BYS };

#define FLEET_TOP_ROWS 25 /* unless another number is asked for */

struct fleet_top_question {
	const char *select; /* the streams (catalogue/select.h); NULL: all */
	uint64_t at_ns; /* since the epoch; told is what was in use at the beginning of its minute.
			   0: the last minute at which most streams were recorded, of the last
			   ten */
	enum fleet_top_by by;
	uint64_t count;			/* rows at most */
	const struct site_rules *rules; /* view_set_rules; may be NULL */
	const atomic_bool *cancelled;	/* may be NULL */
	void (*progress)(void *context, uint64_t done, uint64_t of); /* may be NULL */
	void *progress_context;
};

/* Bytes and blocks are estimates if blocks were sampled. The error is half of the 95 % interval of
 * the bytes; 0: exact. */
struct fleet_top_row {
	const char *function, *module, *file; /* NULL: unknown, or not of such a group */
	uint32_t line;			      /* 0: as well */
	uint64_t backtrace;		      /* its number; 0: not of such a group, or none */
	int64_t bytes, blocks;
	double bytes_error;
	uint64_t share;	     /* of all bytes, in thousandths */
	uint64_t backtraces; /* that have something in use */
};

struct fleet_top {
	uint64_t at_ns;
	enum fleet_top_by by;
	uint64_t streams;	/* that were recorded then */
	uint64_t unread;	/* that could not be read */
	const char *unread_why; /* of the first of them; NULL: none */
	/* Boards whose clocks are wrong. Where a minute is asked for, clocks may be ahead. */
	struct fleet_clocks left_out;
	int64_t bytes, blocks; /* of all */
	double bytes_error;
	uint64_t backtraces, groups;
	struct fleet_top_row *rows; /* most bytes first */
	size_t row_count;
	void *owned; /* the texts */
};

/* Returns 0, -EINVAL with a sentence for a wrong selector, -ENODATA if no stream was recorded then,
 * or another negative errno. */
int fleet_top_ask(const struct fleet_source *source, const struct fleet_top_question *question,
		  struct fleet_top *ret_top, struct err_text *err);
void fleet_top_done(struct fleet_top *top);
