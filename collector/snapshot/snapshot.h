#pragma once
/*
 * Takes a snapshot of a fleet, beside the collector that writes the folder:
 *
 *        order "snapshot" over its control socket  -> each agent puts a marker into its stream and
 *                                                     replies with number and time
 *        stream by stream: wait until it is stored beyond its marker
 *                                                  -> what was in use at that time
 *                                                  -> the merged recording
 *        streams without a reply, not stored that far in time, or not connected
 *                                                  -> missing, by name
 *
 * A stream that is missing may join late: when it is stored beyond the time of the snapshot, what
 * it had in use at that time, by its host's clock, is merged.
 *
 * A marker's place in its stream is its time: a block is included if it was born at or before that
 * time and had not died by then. No older event follows once the stream's watermark is beyond the
 * marker, so the result does not depend on when the stream is read.
 *
 * Streams are read by several threads, ahead of their turn, and merged in the order of the replies.
 * At most twice as many are open as there are threads, so memory does not grow with their number.
 */
#include "collector/catalogue/snapshots.h"

struct err_text;
struct snapshot_taking;

#define SNAPSHOT_STREAMS_MAX 4096 /* maximum number of streams that the user names */

struct snapshot_request {
	const char *data;	    /* path of the store's folder */
	const char *name;	    /* NULL: derived from the time */
	uint64_t timeout_ns;	    /* time for replies, and again for streams to reach their
				       markers */
	const char *const *streams; /* only these, named as in commands */
	size_t stream_count;	    /* 0: all live streams */
	/* So long after the order, streams that are missing join as soon as they are stored beyond
	 * the snapshot's time. 0: they do not. */
	uint64_t late_ns;
	const char *select; /* only these (catalogue/select.h); NULL: no choice. Not together
			       with `streams` */
};

/*
 * Sends the orders. The request is used until snapshot_taking_free. Returns 0, -EINVAL for an
 * invalid name or selector, -ENOENT or -EEXIST if a stream is unknown or ambiguous, -EEXIST if the
 * name is taken, -ENODATA if no live stream is selected, or the errors of control_ask.
 */
int snapshot_take(const struct snapshot_request *request, struct snapshot_taking **ret_taking,
		  struct err_text *err);
/*
 * Returns 1 if the snapshot is stored, 0 if more can be done at once, -EAGAIN if the caller should
 * wait a moment, or another negative errno: nothing is stored. -ENODATA: no process is in the
 * snapshot.
 */
int snapshot_take_step(struct snapshot_taking *taking, struct err_text *err);
/*
 * Returns what is known so far; after the last step, everything. After -ENODATA it tells what is
 * missing and why.
 */
const struct snapshot *snapshot_taken(const struct snapshot_taking *taking);
/* Returns how many streams are done, out of how many. */
void snapshot_take_progress(const struct snapshot_taking *taking, uint64_t *ret_done,
			    uint64_t *ret_of);
void snapshot_taking_free(struct snapshot_taking *taking);
