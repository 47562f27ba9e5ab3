#pragma once
/*
 * Shares what a collector has stored with others, in a data base of ClickHouse: what its streams
 * are, and their sums by minute and backtrace. Any collector, and any command, answers questions
 * about the fleet from there (shared_source.h).
 *
 *	recordings -> query_minutes -> rows, numbered by content	 (stack_ids.h, dictionary.h)
 *		   -> a shipment per shard, on disk until it has arrived (shipment.h, lane.h)
 *		   -> sums, streams, stacks, frames			 (clickhouse/schema.h)
 *
 * How far a stream has been sent stands in the data base itself, in the stream's row. So nothing is
 * sent twice, and a data base that was made anew gets all again. While it is away, recordings wait
 * in the store as they are: that is the whole backlog. `gather --keep-size` bounds it, and
 * `--keep-for` leaves it alone (share_has_sent).
 *
 * A minute is sent once it is complete, or the stream has ended. What is learned later (a gap that
 * hides ends, a free that came late) is corrected when the stream has ended.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct clickhouse_url;
struct share;
struct stream_id;
struct symbols;

struct share_options {
	const char *data; /* the store's folder */
	const struct clickhouse_url *url;
	struct symbols *symbols; /* names for what is sent; may be NULL */
	/* Days before the last so many are dropped from the shared store; 0: none is. */
	uint32_t keep_days;
	/* Address of the collector's page, as others reach it; NULL: none. */
	const char *address;
	/* Is told how many of `of` streams are done in this pass. May be NULL. */
	void (*progress)(void *context, uint64_t done, uint64_t of);
	void *progress_context;
};

/* What a pass has done, and what is left. */
struct share_report {
	uint64_t streams; /* that are sent as far as they have come */
	uint64_t waiting; /* streams with something that could not be sent */
	uint64_t sums;	  /* rows that were sent */
	uint64_t unread;  /* streams that can't be read */
	uint64_t foreign; /* streams that another collector sends: this folder and its are copies */
	uint64_t unset; /* streams of which days can be dropped that are no days: the board's clock
			   was not set */
	struct err_text damaged; /* what was on its way, and is sent anew; "": nothing */
	uint64_t late_ns; /* how old the oldest complete minute is that waits; 0: none waits */
	uint64_t waiting_bytes; /* of the recordings of what waits */
	int error;		/* why the first of them waits */
	/* Of the first of them; "": none. */
	struct err_text why, unread_why, unset_why;
	struct err_text undropped; /* why no day is dropped; "": it need not be said */
};

/* Copies what the options point to, but for the symbols. Returns 0, or a negative errno with a
 * sentence. */
int share_new(const struct share_options *options, struct share **ret_share, struct err_text *err);
void share_free(struct share *share);
/* Asks the servers who they are, and makes the tables, as the first pass would, but waits 10 s at
 * most for each answer. Returns 0, or a negative errno with a sentence. */
int share_check(struct share *share, struct err_text *err);
/* Whether an error is a mistake that stays until somebody mends it: who asks is refused, or the
 * server's certificate is, or its tables are of another version. Not whether it can be reached. */
bool share_is_refused(int error);
/* Sends all that is due. Returns 0, also if some could not be sent (ret_report->waiting);
 * -ECANCELED; or another negative errno with a sentence: nothing could be sent. May be called
 * again. */
int share_pass(struct share *share, struct share_report *ret_report, struct err_text *err);
/* Whether all of a stream that has ended was there when the last pass ended. From any thread. */
bool share_has_sent(struct share *share, const struct stream_id *stream);
/* Ends the pass that another thread is in, and all later ones. */
void share_stop(struct share *share);
