/* One slice's records. See ring_reader.h. */
#include "agent/streamer/ring_reader.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/ban.h"

#define AHEAD 24 /* words: some records */

void ring_reader_init(struct ring_reader *r, struct ring_slice *slice, const void *data,
		      uint64_t words)
{
	*r = (struct ring_reader){.slice = slice, .data = data, .words = words};
}

int ring_reader_look(struct ring_reader *r)
{
	uint64_t head = __atomic_load_n(&r->slice->head, __ATOMIC_ACQUIRE);

	if (head < r->tail || head - r->tail > r->words)
		return -EBADMSG;
	r->head = head;
	return 0;
}

static uint64_t word_at(const struct ring_reader *r, uint64_t position)
{
	return __atomic_load_n(&r->data[position & (r->words - 1)], __ATOMIC_RELAXED);
}

/* Words that a record may have at `tail`: up to head, and up to the end of the data. */
static uint64_t room(const struct ring_reader *r)
{
	uint64_t published = r->head - r->tail, in_piece = r->words - (r->tail & (r->words - 1));

	return published < in_piece ? published : in_piece;
}

static int read_event(const struct ring_reader *r, uint64_t word0, struct ring_record *rec)
{
	bool large = ring_large(word0), weighted = ring_weighted(word0);
	uint64_t at = r->tail + 3;

	rec->count = ring_count(word0);
	rec->keep = ring_keep(word0);
	rec->pcs_at = 3u + large + weighted + (rec->class == EVENT_CLASS_REALLOCATION ? 2 : 0);
	rec->length = rec->pcs_at + rec->count;
	if (rec->length > room(r))
		return -EBADMSG;
	rec->size = ring_size(word0);
	rec->address = word_at(r, r->tail + 1);
	rec->stamp = word_at(r, r->tail + 2);
	if (large)
		rec->size = word_at(r, at++);
	if (weighted)
		rec->interval = word_at(r, at++);
	if (rec->class == EVENT_CLASS_REALLOCATION) {
		rec->old_address = word_at(r, at++);
		rec->call_stamp = word_at(r, at);
	}
	return 0;
}

static int read_lost(const struct ring_reader *r, struct ring_record *rec)
{
	uint64_t split;

	rec->length = 5;
	if (rec->length > room(r))
		return -EBADMSG;
	rec->stamp = word_at(r, r->tail + 1);
	rec->lost.events = word_at(r, r->tail + 2);
	split = word_at(r, r->tail + 3);
	rec->lost.allocations = split >> 32;
	rec->lost.frees = split & UINT32_MAX;
	rec->lost.bytes = word_at(r, r->tail + 4);
	return 0;
}

static int read_aux(const struct ring_reader *r, uint64_t word0, struct ring_record *rec)
{
	switch (rec->kind) {
	case RING_LOST:
		return read_lost(r, rec);
	case RING_EPOCH:
	case RING_MOVE:
	case RING_MARK:
	case RING_TEXT:
		break;
	default:
		return -EBADMSG;
	}
	rec->count = rec->kind == RING_TEXT ? ring_count(word0) : 0;
	rec->pcs_at = 3;
	rec->length = 3 + rec->count;
	if (rec->length > room(r))
		return -EBADMSG;
	rec->size = ring_size(word0);
	rec->address = word_at(r, r->tail + 1);
	rec->stamp = word_at(r, r->tail + 2);
	if (rec->kind == RING_TEXT && rec->address > (uint64_t)rec->count * 8)
		return -EBADMSG;
	return 0;
}

int ring_reader_peek(struct ring_reader *r, struct ring_record *rec)
{
	uint64_t word0;

	if (r->tail == r->head)
		return 0;
	word0 = word_at(r, r->tail);
	__builtin_prefetch(&r->data[(r->tail + AHEAD) &
				    (r->words - 1)]); /* it lies in the other core's cache */
	if (ring_kind(word0) == RING_PAD) {
		uint64_t left = r->words - (r->tail & (r->words - 1));

		if (left > r->head - r->tail || left == r->words)
			return -EBADMSG;
		r->tail += left;
		return ring_reader_peek(
			r,
			rec); /* at the start of the data, where a PAD is refused: no deeper than once */
	}
	*rec = (struct ring_record){.kind = ring_kind(word0)};
	rec->class = rec->kind < RING_AUX ? event_class(rec->kind) : EVENT_CLASS_NONE;
	if (rec->kind < RING_AUX && rec->class == EVENT_CLASS_NONE)
		return -EBADMSG;
	if (room(r) < 3)
		return -EBADMSG;
	if (rec->class != EVENT_CLASS_NONE)
		return read_event(r, word0, rec) ? -EBADMSG : 1;
	return read_aux(r, word0, rec) ? -EBADMSG : 1;
}

void ring_reader_words(const struct ring_reader *r, const struct ring_record *rec, uint64_t *out)
{
	uint64_t at = r->tail + rec->pcs_at;

	for (uint32_t i = 0; i < rec->count; i++)
		out[i] = word_at(r, at + i);
}

void ring_reader_release(struct ring_reader *r)
{
	if (r->told == r->tail)
		return;
	r->told = r->tail;
	/* The writer sets `waiting` and then looks at `tail`; one of the two sees the other's store. */
	__atomic_store_n(&r->slice->tail, r->tail, __ATOMIC_SEQ_CST);
	if (!__atomic_load_n(&r->slice->waiting, __ATOMIC_SEQ_CST))
		return;
	__atomic_fetch_add(&r->slice->tail_futex, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &r->slice->tail_futex, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void ring_reader_resync(struct ring_reader *r)
{
	r->tail = r->head = __atomic_load_n(&r->slice->head, __ATOMIC_ACQUIRE);
	ring_reader_release(r);
}
