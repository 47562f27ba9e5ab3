#pragma once
/*
 * Batches of a recording with their events decoded, read by a helper (helper.h) ahead of whoever
 * takes them:
 *
 *   file -> scan: frame, LZ4, message -> events | slot | slot | slot | -> recording.c, in order
 *	                          by the helper        AHEAD_BYTES of them at most, and one
 *
 * Where it pays off, or a helper can be had; else the same is done when a batch is asked for. The
 * scan is the helper's until ahead_end, which puts it to where the batch that was got last ends:
 * whoever looks at it then sees no difference.
 */
#include "collector/columns/helper.h"
#include "collector/recording/scan.h"
#include "proto/columns.h"

#define AHEAD_SLOTS 4
/* What is ready or being taken may have so much memory before another batch is read. */
#define AHEAD_BYTES (16u << 20)
/* Fewer bytes of frames are not worth a thread. */
#define AHEAD_LEAST (256u << 10)

struct decoded {
	struct scan_item item;
	struct event *events; /* all of them or none */
	uint32_t event_count, event_capacity;
	bool tried;
	int error; /* of the events, with `reason` */
	struct err_text reason;
};

struct ahead_slot {
	struct decoded decoded;
	struct message_reader *messages; /* the batch lies in its memory */
	struct scan_place after;
	size_t memory;
};

struct ahead {
	struct scan *scan;
	uint64_t size;
	struct helper helper;
	pthread_mutex_t mutex; /* guards what follows, but for slots that are not ready, the
				  helper's, and the one that was got */
	pthread_cond_t room, ready;
	struct ahead_slot slots[AHEAD_SLOTS];
	unsigned first, count; /* of those that are ready; the first was got, if `got` */
	size_t memory;	       /* theirs */
	bool got, done, stop;
	int result;	     /* of the scan, when it is done */
	struct decoded *own; /* without a helper */
};

/* Begins with what the scan finds up to `size`. `own` is used where there is no helper (without
 * `may_help`, in any case), and keeps its memory of events. */
void ahead_begin(struct ahead *ahead, struct scan *scan, uint64_t size, struct decoded *own,
		 bool may_help);
/* The next batch, good until the next call. As scan_next. */
int ahead_next(struct ahead *ahead, struct decoded **ret_decoded);
void ahead_end(struct ahead *ahead);

/* Decodes the events of its batch, if that was not done yet. 0; -EBADMSG with a sentence: they make
 * no sense; -ENOMEM. */
int decoded_events(struct decoded *decoded, struct err_text *err);
void decoded_done(struct decoded *decoded);
