/* Reads the records of a slice. See ring_reader.h. */
#include "agent/ring/ring_reader.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/ban.h"

void ring_reader_init(struct ring_reader *r, struct ring_slice *slice, void *data, uint64_t words)
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

static int read_lost(const struct ring_reader *r, struct ring_record *rec)
{
	uint64_t split;

	rec->length = 5;
	if (rec->length > ring_reader_room(r))
		return -EBADMSG;
	rec->stamp = ring_reader_word(r, r->tail + 1);
	rec->lost.events = ring_reader_word(r, r->tail + 2);
	split = ring_reader_word(r, r->tail + 3);
	rec->lost.allocations = split >> 32;
	rec->lost.frees = split & UINT32_MAX;
	rec->lost.bytes = ring_reader_word(r, r->tail + 4);
	return 0;
}

static int read_restart(const struct ring_reader *r, struct ring_record *rec)
{
	rec->length = 8;
	if (rec->length > ring_reader_room(r))
		return -EBADMSG;
	rec->incarnation = ring_reader_word(r, r->tail + 1);
	rec->stamp = ring_reader_word(r, r->tail + 2);
	rec->value = ring_reader_word(r, r->tail + 3);
	rec->lost.events = ring_reader_word(r, r->tail + 4);
	rec->lost.allocations = ring_reader_word(r, r->tail + 5);
	rec->lost.frees = ring_reader_word(r, r->tail + 6);
	rec->lost.bytes = ring_reader_word(r, r->tail + 7);
	return 0;
}

static int read_aux(const struct ring_reader *r, uint64_t word0, struct ring_record *rec)
{
	switch (rec->kind) {
	case RING_LOST:
		return read_lost(r, rec);
	case RING_RESTART:
		return read_restart(r, rec);
	case RING_EPOCH:
	case RING_MOVE:
	case RING_MARK:
	case RING_TEXT:
	case RING_SAVE:
		break;
	default:
		return -EBADMSG;
	}
	rec->count = rec->kind == RING_TEXT ? ring_count(word0) : 0;
	rec->pcs_at = 3;
	rec->length = 3 + rec->count;
	if (rec->length > ring_reader_room(r))
		return -EBADMSG;
	rec->mark = (uint32_t)ring_size(word0) & 0xff;
	rec->value = ring_reader_word(r, r->tail + 1);
	rec->stamp = ring_reader_word(r, r->tail + 2);
	if (rec->kind == RING_TEXT && rec->value > (uint64_t)rec->count * 8)
		return -EBADMSG;
	return 0;
}

static int skip_pad(struct ring_reader *r)
{
	uint64_t left = r->words - (r->tail & (r->words - 1));

	if (left > r->head - r->tail || left == r->words)
		return -EBADMSG; /* a pad at the start of the data would repeat forever */
	r->tail += left;
	return 0;
}

int ring_reader_peek_rare(struct ring_reader *r, uint64_t word0, struct ring_record *rec)
{
	unsigned kind = ring_kind(word0);

	if (kind == RING_PAD) {
		if (skip_pad(r) < 0)
			return -EBADMSG;
		/* Recurses only once: skip_pad accepts no pad at the start of the data. */
		return ring_reader_peek(r, rec);
	}
	if (kind < RING_AUX || ring_reader_room(r) < 3)
		return -EBADMSG;
	*rec = (struct ring_record){.kind = (uint8_t)kind,
				    .words = r->data + (r->tail & (r->words - 1))};
	return read_aux(r, word0, rec) ? -EBADMSG : 1;
}

void ring_reader_release(struct ring_reader *r)
{
	uint64_t wanted;

	if (r->told == r->tail)
		return;
	r->told = r->tail;
	/* The writer sets `wanted` and then reads `tail`. With sequentially consistent accesses at
	 * least one side sees the other's store, so no wakeup is lost. */
	__atomic_store_n(&r->slice->tail, r->tail, __ATOMIC_SEQ_CST);
	wanted = __atomic_load_n(&r->slice->wanted, __ATOMIC_SEQ_CST);
	if (!wanted || r->tail < wanted)
		return;
	__atomic_fetch_add(&r->slice->tail_futex, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &r->slice->tail_futex, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void ring_reader_resync(struct ring_reader *r)
{
	r->tail = r->head = __atomic_load_n(&r->slice->head, __ATOMIC_ACQUIRE);
	ring_reader_release(r);
}
