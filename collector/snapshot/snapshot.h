#pragma once
/*
 * Taking a snapshot of a fleet, beside the collector that gathers into the folder:
 *
 *	order "snapshot" over its control.sock  -> each agent puts a marker into its stream and
 *						replies with number and time
 *	stream by stream: wait until it is stored beyond its marker  -> what was in use at that time
 *								     -> the merged recording
 *	those that did not reply, or are not stored that far in time, or are not connected  ->
 *											    missing,
 *											    by name
 *
 * A marker's place in its stream is its time: a block is in it that was born at or before that time
 * and not dead at it. Nothing older follows once the stream's watermark is beyond it; so the figure
 * does not depend on when the stream is read.
 *
 * One stream is open at a time: memory does not grow with their number.
 */
#include "collector/catalogue/snapshots.h"

struct err_text;
struct snapshot_taking;

#define SNAPSHOT_STREAMS_MAX 4096 /* that are named */

struct snapshot_request {
	const char *data;    /* folder */
	const char *name;    /* NULL: by the time */
	uint64_t timeout_ns; /* for replies, and then for what streams store up to their markers */
	const char *const *streams; /* of these only; as commands name streams */
	size_t stream_count;	    /* 0: all that live */
};

/* Has the orders given. The request is used until snapshot_taking_free. -EINVAL: the name, or a
 * stream that there is none of (-ENOENT, -EEXIST); -EEXIST: the name is taken; -ENOENT and others:
 * as control_ask. */
int snapshot_take(const struct snapshot_request *request, struct snapshot_taking **ret_taking,
		  struct err_text *err);
/* 1: it is stored; 0: there is more to do, now; -EAGAIN: in a moment; another negative errno:
 * nothing is stored. -ENODATA: nobody is in it. */
int snapshot_take_step(struct snapshot_taking *taking, struct err_text *err);
/* What is known of it till now; after the last step, all. After -ENODATA, who is missing and
 * why. */
const struct snapshot *snapshot_taken(const struct snapshot_taking *taking);
/* Streams that are done, and all of them. */
void snapshot_take_progress(const struct snapshot_taking *taking, uint64_t *ret_done,
			    uint64_t *ret_of);
void snapshot_taking_free(struct snapshot_taking *taking);
