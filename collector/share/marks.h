#pragma once
/* How far the streams of a collector have been sent to a shard. The shard's table of streams says
 * so when the collector begins; from then on it is kept in memory. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/intern.h"
#include "collector/recording/stream_id.h"
#include "collector/share/parts.h"

struct clickhouse;
struct err_text;

struct mark {
	uint64_t last_ns; /* how much of the recording it covers */
	/* The sums that were sent, added up: what is in use, in bytes and in MINUTE_UNIT-ths of a
	 * block. */
	int64_t bytes, units;
	uint64_t print;			  /* of the stream's row */
	uint64_t recording_bytes, events; /* of the row */
	/* What the collector has of the stream, and the batch before which its sums end, because
	 * another collector's have the rest (parts.h). Incarnation 0: not known; no such batch. */
	struct stream_position first, next, bound;
	uint32_t sent_to; /* the minutes before it were sent; 0: none was */
	bool done;	  /* all minutes were, up to last_ns */
	bool arrived;	  /* nothing of it was due when all that was sent had arrived */
	/* Of a lane that is in doubt: sums of minutes before this may be there, whatever sent_to
	 * says; `asked`: it is known. */
	uint32_t arrived_to;
	bool asked;
};

struct marks {
	struct intern streams;
	struct mark *list; /* by number of `streams` */
	uint32_t capacity;
	struct stream_part *others; /* what other collectors have, by stream */
	uint32_t other_count, other_capacity;
	/* `others` is of all streams, not only of those that the collector has sent. */
	bool read, others_complete;
};

/* Reads the marks for the first time. Later it only asks whether the shard still has streams of
 * this collector: if not, its tables were made anew, the marks are forgotten, and the result is 1.
 * Returns 0, or a negative errno with a sentence. */
int marks_read(struct marks *marks, struct clickhouse *client, size_t shard, uint64_t collector,
	       struct err_text *err);
void marks_done(struct marks *marks);
/* Returns what other collectors have of the stream, in no order. Before marks_read_others, this is
 * known of streams of which the shard has something of this collector. */
const struct stream_part *marks_others(const struct marks *marks, const struct stream_id *stream,
				       size_t *ret_count);
/* Reads what others have of all streams, once after each marks_read. */
int marks_read_others(struct marks *marks, struct clickhouse *client, size_t shard,
		      uint64_t collector, struct err_text *err);
/* Tells whether the shard has anything of this collector. */
int marks_there(struct clickhouse *client, size_t shard, uint64_t collector, bool *ret_there,
		struct err_text *err);
/* Returns the stream's mark; a new one says that nothing was sent. NULL: memory is short. It is
 * valid until the next call. */
struct mark *marks_of(struct marks *marks, const struct stream_id *stream);
