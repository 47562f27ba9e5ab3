#pragma once
/*
 * Read-ahead: a helper (helper.h) reads the batches of a recording and decodes their events before
 * the caller takes them:
 *
 *   file -> scan: frame, LZ4, message -> events | slot | slot | slot | -> recording.c, in order
 *                         by the helper           at most AHEAD_BYTES, plus one batch
 *
 * Read-ahead is used if it pays off and a helper is available. Otherwise each batch is decoded when
 * the caller asks for it. The helper owns the scan until ahead_end, which moves the scan to the end
 * of the last batch that the caller got. The caller then sees no difference.
 */
#include "collector/columns/helper.h"
#include "collector/recording/scan.h"
#include "proto/columns.h"

#define AHEAD_SLOTS 4
/* While ready batches take this much memory, no other batch is read. */
#define AHEAD_BYTES (16u << 20)
/* Fewer bytes of frames are not worth a thread. */
#define AHEAD_LEAST (256u << 10)

struct decoded {
	struct scan_item item;
	struct event *events; /* all of them or none */
	uint32_t event_count, event_capacity;
	bool tried;
	int error; /* result of decoding the events; `reason` explains it */
	struct err_text reason;
};

struct ahead_slot {
	struct decoded decoded;
	struct message_reader *messages; /* its memory holds the batch */
	struct scan_place after;
	size_t memory;
};

struct ahead {
	struct scan *scan;
	uint64_t size;
	struct helper helper;
	pthread_mutex_t mutex; /* guards all that follows, except slots that are not ready (the
				* helper's) and the slot that the caller got */
	pthread_cond_t room, ready;
	struct ahead_slot slots[AHEAD_SLOTS];
	unsigned first, count; /* the ready slots; the caller has got the first of them if `got` */
	size_t memory;	       /* memory of the ready slots */
	bool got, done, stop;
	int result;	     /* result of the scan; valid when `done` */
	struct decoded *own; /* used without a helper */
};

/*
 * Begins to read what the scan finds up to `size`. `own` is used if no helper is available or
 * `may_help` is false; it keeps its memory of events.
 */
void ahead_begin(struct ahead *ahead, struct scan *scan, uint64_t size, struct decoded *own,
		 bool may_help);
/*
 * Returns the next batch, which is valid until the next call. Returns the same values as scan_next.
 */
int ahead_next(struct ahead *ahead, struct decoded **ret_decoded);
void ahead_end(struct ahead *ahead);

/*
 * Decodes the events of the batch if that is not done yet. Returns 0, -EBADMSG with a sentence if
 * they are invalid, or -ENOMEM.
 */
int decoded_events(struct decoded *decoded, struct err_text *err);
void decoded_done(struct decoded *decoded);
