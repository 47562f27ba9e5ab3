#pragma once
/* How far the streams of a collector have been sent to a shard. The shard's table of streams says
 * so when the collector begins; from then on it is kept in memory. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/intern.h"
#include "collector/recording/stream_id.h"

struct clickhouse;
struct err_text;

struct mark {
	uint64_t last_ns; /* how much of the recording it covers */
	/* The sums that were sent, added up: what is in use, in bytes and in MINUTE_UNIT-ths of a
	 * block. */
	int64_t bytes, units;
	uint64_t print;	  /* of the stream's row */
	uint32_t sent_to; /* the minutes before it were sent; 0: none was */
	bool done;	  /* all minutes were, up to last_ns */
	bool arrived;	  /* nothing of it was due when all that was sent had arrived */
};

struct marks {
	struct intern streams;
	struct mark *list; /* by number of `streams` */
	uint32_t capacity;
	struct intern foreign; /* streams that another collector sends from their beginning on */
	bool read, foreign_read;
};

/* Reads the marks for the first time. Later it only asks whether the shard still has streams of
 * this collector: if not, its tables were made anew, the marks are forgotten, and the result is 1.
 * Returns 0, or a negative errno with a sentence. */
int marks_read(struct marks *marks, struct clickhouse *client, size_t shard, uint64_t collector,
	       struct err_text *err);
void marks_done(struct marks *marks);
/* Finds whether another collector sends the stream from its beginning on: one that has a copy of
 * our folder, or whose folder ours is a copy of. Asks the shard once after each marks_read. */
int marks_foreign(struct marks *marks, struct clickhouse *client, size_t shard, uint64_t collector,
		  const struct stream_id *stream, bool *ret_foreign, struct err_text *err);
/* The same as far as it was asked. */
bool marks_is_foreign(const struct marks *marks, const struct stream_id *stream);
/* Tells whether the shard has anything of this collector. */
int marks_there(struct clickhouse *client, size_t shard, uint64_t collector, bool *ret_there,
		struct err_text *err);
/* Returns the stream's mark; a new one says that nothing was sent. NULL: memory is short. It is
 * valid until the next call. */
struct mark *marks_of(struct marks *marks, const struct stream_id *stream);
