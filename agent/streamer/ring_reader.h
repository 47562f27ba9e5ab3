#pragma once
/*
 * Reads the records of one slice of a ring. The other side is assumed to lie: every word is read once, into private memory,
 * and checked before it is used; positions and sizes come from the agent's own copies. What can't be right ends as
 * -EBADMSG, and the reader goes on behind all that was published (ring_reader_resync).
 */
#include <stdbool.h>
#include <stdint.h>

#include "proto/event.h"
#include "proto/ring.h"

#define RING_TEXT_MAX 1024 /* bytes of a mark's text that are kept */

/* A record's head, checked. Of kinds below RING_AUX everything is set; of the others what they have. */
struct ring_record {
	uint8_t kind;
	enum event_class class;	/* NONE: an enum ring_aux */
	uint32_t keep;
	uint32_t count;		/* program counters (RING_TEXT: words of text) at `tail + pcs_at` */
	uint32_t pcs_at;
	uint32_t length;	/* words */
	uint64_t stamp;
	uint64_t address;	/* RING_EPOCH: epoch; RING_MOVE: slice; RING_MARK: value; RING_TEXT: bytes of text */
	uint64_t size;		/* RING_MARK, RING_TEXT: MarkKind */
	uint64_t interval;	/* weighted: the sample interval; else 0 */
	uint64_t old_address;
	uint64_t call_stamp;
	struct ring_losses lost; /* RING_LOST */
};

struct ring_reader {
	struct ring_slice *slice; /* shared */
	const uint64_t *data;	  /* shared */
	uint64_t words;
	uint64_t tail; /* read so far */
	uint64_t head; /* as of the last look */
	uint64_t told; /* tail as the program knows it */
};

/* A slice that was claimed just now: both positions begin at 0. */
void ring_reader_init(struct ring_reader *reader, struct ring_slice *slice, const void *data, uint64_t words);
/* Takes a new `head`. 0; -EBADMSG: it can't be (read on with ring_reader_resync). */
int ring_reader_look(struct ring_reader *reader);
/* The record at `tail`. 1; 0: none before `head`; -EBADMSG. RING_PAD is skipped in here. */
int ring_reader_peek(struct ring_reader *reader, struct ring_record *ret_record);
/* Copies the record's `count` words (program counters, or text) to `out`. */
void ring_reader_words(const struct ring_reader *reader, const struct ring_record *record, uint64_t *out);
static inline void ring_reader_skip(struct ring_reader *reader, const struct ring_record *record)
{
	reader->tail += record->length;
}
/* Gives what was read back to the writer and wakes it if it waits for room. */
void ring_reader_release(struct ring_reader *reader);
/* Drops all that is published. */
void ring_reader_resync(struct ring_reader *reader);
