#pragma once
/*
 * What collectors have of one stream that has moved between them. Each batch counts in the sums of
 * one of them: the last, in this order, of those that have it.
 *
 *	batches	  1 2 3 4 5 6 7 8 9
 *	desk2	  x x x x x		is interrupted; 4 and 5 it had no time to acknowledge
 *	desk3	        x x x x x x	first 4, next 10: it covers desk2 from 4 on
 *	counted	  2 2 2 3 3 3 3 3 3
 */
#include <stdbool.h>
#include <stdint.h>

#include "collector/catalogue/store.h"
#include "collector/recording/stream_id.h"
#include "collector/recording/stream_position.h"

struct reader;

struct stream_part {
	struct stream_id stream;
	uint64_t collector, version;
	/* It has all batches from `first` to before `next`. Incarnation 0: not known. */
	struct stream_position first, next;
	uint64_t start_wall_ns, last_ns; /* what its sums cover */
	uint64_t events;
	enum stream_state state;
	uint32_t sent_to; /* as in struct mark (marks.h) */
	bool done;
	bool begins_later; /* another collector has the stream's beginning */
};

/* Columns of the table `streams`, for stream_part_get. */
#define STREAM_PART_COLUMNS                                                                        \
	"stream, collector, version, incarnation, next_batch, first_incarnation, first_batch, "    \
	"start_wall_ns, last_ns, events, state, sent_to, done, part"

/* The same of the rows of the highest version, for a question by stream and collector. */
#define STREAM_PART_LATEST                                                                         \
	"stream, collector, max(version), argMax(incarnation, version), "                          \
	"argMax(next_batch, version), argMax(first_incarnation, version), "                        \
	"argMax(first_batch, version), argMax(start_wall_ns, version), "                           \
	"argMax(last_ns, version), argMax(events, version), argMax(state, version), "              \
	"argMax(sent_to, version), argMax(done, version), argMax(part, version)"

/* Returns -EBADMSG if the row is cut or has values that cannot be. */
int stream_part_get(struct reader *reader, struct stream_part *ret_part);
int position_compare(struct stream_position a, struct stream_position b);
/* Whether `a`, which follows `b` in the order of versions, has more of the stream's end. */
bool stream_part_is_later(const struct stream_part *a, const struct stream_part *b);
/* Whether all that `part` has from other->first on is in what `other` has sent. Of two parts, at
 * most one covers the other. */
bool stream_part_covers(const struct stream_part *other, const struct stream_part *part);
/* Whether `other` has as much as `part` from the beginning on: one folder is a copy of the other.
 */
bool stream_part_is_copy(const struct stream_part *other, const struct stream_part *part);
