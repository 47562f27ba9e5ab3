#pragma once
/*
 * Reads the records of one slice of a ring. The program is not trusted: each word is read once,
 * into private memory, and checked before use; positions and sizes come from the agent's own
 * copies. Invalid data gives -EBADMSG, and the reader continues after everything that was published
 * (ring_reader_resync).
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "proto/columns.h"
#include "proto/event.h"
#include "proto/ring.h"

#define RING_TEXT_MAX 1024 /* bytes of a mark's text that are kept */

/* The checked head of a record. ring_reader_event reads the other members of an event when they are
 * needed. */
struct ring_record {
	uint8_t kind;
	uint8_t class; /* enum event_class; NONE: the kind is an enum ring_aux */
	/* Program counters (RING_TEXT: words of text), which start at word `pcs_at`. */
	uint32_t count;
	uint32_t pcs_at;
	uint32_t length; /* words */
	/* Shared with the program: read each word once, except word 0, which `word0` has. */
	const uint64_t *words;
	uint64_t word0;
	uint64_t stamp;
	/* Only for records that are not events. */
	/* RING_EPOCH: epoch; RING_MOVE: slice; RING_MARK: value; RING_TEXT: bytes of text;
	 * RING_RESTART: events; RING_SAVE: number. */
	uint64_t value;
	uint32_t mark;		 /* RING_MARK, RING_TEXT: MarkKind */
	uint64_t incarnation;	 /* RING_RESTART */
	struct ring_losses lost; /* RING_LOST, RING_RESTART */
};

/* The other members of an event. */
struct ring_event {
	uint64_t address;
	uint64_t size;
	uint64_t interval; /* the sample interval if the event is weighted; else 0 */
	uint64_t old_address;
	uint64_t call_stamp;
};

struct ring_reader {
	struct ring_slice *slice; /* shared */
	uint64_t *data;		  /* shared */
	uint64_t words;
	uint64_t tail; /* position up to which records were read */
	uint64_t head; /* as of the last look */
	uint64_t told; /* the tail that the program knows */
};

/* Starts to read a slice that was just claimed: both positions are 0. */
void ring_reader_init(struct ring_reader *reader, struct ring_slice *slice, void *data,
		      uint64_t words);
/* Reads a new `head`. Returns 0, or -EBADMSG if it is invalid (continue with
 * ring_reader_resync). */
int ring_reader_look(struct ring_reader *reader);
static inline uint64_t ring_reader_word(const struct ring_reader *r, uint64_t position)
{
	return __atomic_load_n(&r->data[position & (r->words - 1)], __ATOMIC_RELAXED);
}

/* Returns the largest size of a record at `tail`, in words: up to head, and up to the end of the
 * data. */
static inline uint64_t ring_reader_room(const struct ring_reader *r)
{
	uint64_t published = r->head - r->tail, in_piece = r->words - (r->tail & (r->words - 1));

	return published < in_piece ? published : in_piece;
}

/* Reads the event whose head is `rec`. */
static inline void ring_reader_event(const struct ring_record *rec, struct ring_event *ret)
{
	const uint64_t *at = rec->words + 3;

	ret->address = __atomic_load_n(rec->words + 1, __ATOMIC_RELAXED);
	ret->size = ring_size(rec->word0);
	ret->interval = ret->old_address = ret->call_stamp = 0;
	if (__builtin_expect(ring_large(rec->word0), 0))
		ret->size = __atomic_load_n(at++, __ATOMIC_RELAXED);
	if (__builtin_expect(ring_weighted(rec->word0), 0))
		ret->interval = __atomic_load_n(at++, __ATOMIC_RELAXED);
	if (rec->class == EVENT_CLASS_REALLOCATION) {
		ret->old_address = __atomic_load_n(at++, __ATOMIC_RELAXED);
		ret->call_stamp = __atomic_load_n(at, __ATOMIC_RELAXED);
	}
}

#define RING_AHEAD 24 /* words to prefetch ahead: a few records */

/* Like ring_reader_peek, for a record that is not an event. */
int ring_reader_peek_rare(struct ring_reader *reader, uint64_t word0,
			  struct ring_record *ret_record);

/* Gets the record at `tail`. Skips RING_PAD. Returns 1, 0 if `tail` has reached `head`, or
 * -EBADMSG. */
static inline __attribute__((always_inline)) int ring_reader_peek(struct ring_reader *r,
								  struct ring_record *rec)
{
	uint64_t word0, tail = r->tail, published = r->head - tail, place = tail & (r->words - 1);
	const uint64_t *words = r->data + place;
	uint32_t count, pcs_at;

	if (!published)
		return 0;
	word0 = __atomic_load_n(words, __ATOMIC_RELAXED);
	/* The next records are in the other core's cache. */
	__builtin_prefetch(&r->data[(tail + RING_AHEAD) & (r->words - 1)]);
	rec->kind = (uint8_t)ring_kind(word0);
	rec->class = event_traits[rec->kind].class;
	if (__builtin_expect(rec->class == EVENT_CLASS_NONE, 0))
		return ring_reader_peek_rare(r, word0, rec);
	count = ring_count(word0);
	pcs_at = rec->class == EVENT_CLASS_REALLOCATION ? 5 : 3;
	if (__builtin_expect(!ring_plain(word0), 0))
		pcs_at += ring_large(word0) + ring_weighted(word0);
	rec->count = count;
	rec->pcs_at = pcs_at;
	rec->length = pcs_at + count;
	if (__builtin_expect(pcs_at + count > published || pcs_at + count > r->words - place, 0))
		return -EBADMSG;
	rec->words = words;
	rec->word0 = word0;
	rec->stamp = __atomic_load_n(words + 2, __ATOMIC_RELAXED);
	return 1;
}

/* Returns the record's words from `pcs_at` on, in shared memory: read each word once. A record
 * never wraps around. */
static inline const uint64_t *ring_reader_pcs(const struct ring_record *record)
{
	return record->words + record->pcs_at;
}

static inline void ring_reader_skip(struct ring_reader *reader, const struct ring_record *record)
{
	reader->tail += record->length;
}
/* Gives the space that was read back to the writer, and wakes the writer if it waits for room. */
void ring_reader_release(struct ring_reader *reader);
/* Drops all published records. */
void ring_reader_resync(struct ring_reader *reader);
