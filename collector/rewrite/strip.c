/*
 * Rewrites a recording as if its agent had culled short-lived blocks. The first pass flags events
 * (short_lived.h). The second pass rewrites the batches without the dropped events and with sums of
 * their blocks. Batches keep their numbers. A block is counted in the batch that reported its end,
 * or in the next batch with sums; until then it is pending, as with an agent. Embedded files
 * (brought.h) are dropped.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/number.h"
#include "collector/rewrite/brought.h"
#include "collector/recording/culled.h"
#include "collector/rewrite/rewrite.h"
#include "collector/rewrite/short_lived.h"
#include "collector/rewrite/strip.h"
#include "proto/columns.h"
#include "proto/culled.h"
#include "proto/field.h"
#include "base/ban.h"

#define SUMS_NS	   1000000000 /* sums wait this long, as an agent's do */
#define SUMS_ROWS  16384      /* unless there are this many rows */
#define SUMS_BYTES ((uint64_t)1 << 60)

/* A dropped birth, until its end. */
struct held {
	uint64_t time_ns, size, weight;
	uint32_t thread, stack;
	uint32_t next; /* free entries: index + 1 of the next */
};

struct strip {
	struct copy copy;
	struct short_lived marked;
	struct map by_address; /* address -> index in `held` */
	struct held *held;
	uint32_t held_count, held_capacity, spare;
	struct culled sums;
	uint64_t sums_blocks, sums_bytes, sums_frees, sums_from_ns;
	uint32_t agents; /* agents whose last batch has come */
	/* Counts of the current agent. */
	uint32_t incarnation;
	uint64_t dropped, dropped_allocations, dropped_frees, dropped_bytes;
	uint64_t told;	     /* part of `dropped`: in sums that were written */
	uint64_t *by_thread; /* part of `dropped` per thread, [number - 1] */
	uint32_t thread_count, thread_capacity;
	/* Replacements for parts of the current batch. */
	struct buf rows, columns[2];
	Heapcast__Process process;
	Heapcast__Events events;
	Heapcast__Culled culled;
	Heapcast__Ledger ledger;
	struct strip_result result;
};

static void strip_done(struct strip *s)
{
	copy_close(&s->copy);
	short_lived_done(&s->marked);
	map_done(&s->by_address);
	free(s->held);
	culled_done(&s->sums);
	free(s->by_thread);
	buf_done(&s->rows);
	buf_done(&s->columns[0]);
	buf_done(&s->columns[1]);
}

static int changed(const struct strip *s, struct err_text *err)
{
	return err_set(err, -EBADMSG, "%s was changed while it was read", s->copy.path);
}

/* ---- blocks ---- */

static int strip_hold(struct strip *s, const struct event *e)
{
	uint64_t *index = map_put(&s->by_address, e->address, NULL);
	uint32_t at = s->spare;

	if (!index)
		return -ENOMEM;
	if (at) {
		s->spare = s->held[at - 1].next;
	} else {
		if (array_reserve(&s->held, &s->held_capacity, (uint64_t)s->held_count + 1,
				  sizeof(*s->held)) < 0)
			return -ENOMEM;
		at = ++s->held_count;
	}
	*index = at - 1;
	s->held[at - 1] = (struct held){.time_ns = e->time_ns,
					.size = e->size,
					.weight = e->weight,
					.thread = e->thread,
					.stack = e->stack};
	return 0;
}

static int count_block(struct strip *s, const struct held *h, uint64_t end_ns, bool freed)
{
	const struct culled_row row = {
		.thread = h->thread,
		.stack = h->stack,
		.lifetime = culled_lifetime(end_ns - h->time_ns),
		.blocks = 1,
		.bytes = h->size,
		.reallocated = !freed,
		.size_least = h->size,
		.size_most = h->size,
		.weight = h->weight != h->size ? h->weight : 0,
		.first_ns = h->time_ns,
		.last_ns = h->time_ns,
	};

	s->sums_blocks++;
	s->sums_bytes += h->size;
	s->sums_frees += freed;
	return culled_add(&s->sums, &row);
}

/* Ends the held block at `address`. Returns -EBADMSG if there is none. */
static int strip_release(struct strip *s, uint64_t address, uint64_t end_ns, bool freed)
{
	uint64_t index;
	struct held *h;
	int r;

	if (!map_remove(&s->by_address, address, &index))
		return -EBADMSG;
	h = &s->held[index];
	r = end_ns < h->time_ns ? -EBADMSG : count_block(s, h, end_ns, freed);
	h->next = s->spare;
	s->spare = (uint32_t)index + 1;
	return r;
}

/* ---- events ---- */

static int count_dropped(struct strip *s, const struct event *e)
{
	if (array_reserve(&s->by_thread, &s->thread_capacity, e->thread, sizeof(*s->by_thread)) < 0)
		return -ENOMEM;
	if (s->thread_count < e->thread)
		s->thread_count = e->thread;
	s->by_thread[e->thread - 1]++;
	s->dropped++;
	if (e->class == EVENT_CLASS_FREE) {
		s->dropped_frees++;
	} else {
		s->dropped_allocations++;
		s->dropped_bytes += e->size;
	}
	return 0;
}

/* Returns 1 if the event stays, possibly changed; 0 if it is dropped; or a negative errno. */
static int sift_event(struct strip *s, struct event *e, unsigned flags)
{
	int r = 0;

	if (flags & SHORT_CUT) {
		r = strip_release(s, e->old_address, e->time_ns, false);
		e->old_address = e->call_time_ns = 0;
	}
	if (r || !(flags & SHORT_DROP))
		return r < 0 ? r : 1;
	r = e->class == EVENT_CLASS_FREE ? strip_release(s, e->address, e->time_ns, true)
					 : strip_hold(s, e);
	return r < 0 ? r : count_dropped(s, e);
}

/* Moves marks before event `index` behind the `left` events that stay. */
static void move_marks(struct strip *s, size_t *next, uint32_t index, uint32_t left)
{
	const Heapcast__Batch *batch = s->copy.decoded.item.batch;

	for (; *next < batch->n_mark && batch->mark[*next]->place <= index + 1; ++*next)
		if (batch->mark[*next]->place)
			batch->mark[*next]->place = left + 1;
}

static int sift(struct strip *s, bool *ret_changed, struct err_text *err)
{
	struct decoded *d = &s->copy.decoded;
	uint32_t left = 0, all = d->event_count;
	uint64_t number = s->copy.events_ahead;
	size_t mark = 0;

	*ret_changed = false;
	if (number + all > s->marked.room)
		return changed(s, err);
	for (uint32_t i = 0; i < all; i++) {
		unsigned flags = short_lived_flags(&s->marked, number + i);
		struct event *e = &d->events[i];
		int r;

		move_marks(s, &mark, i, left);
		r = sift_event(s, e, flags);
		if (r < 0)
			return r == -EBADMSG ? changed(s, err) : r;
		*ret_changed |= flags != 0;
		if (r)
			d->events[left++] = *e;
	}
	move_marks(s, &mark, all, left);
	s->result.events_before += all;
	s->result.events_after += left;
	s->copy.events_ahead += all - left; /* copy_next does not count the dropped events */
	d->event_count = left;
	return 0;
}

/* ---- sums ---- */

static bool sums_are_due(const struct strip *s, const Heapcast__Batch *batch, bool last)
{
	return s->sums_blocks &&
	       (last || s->sums.count >= SUMS_ROWS || s->sums_bytes >= SUMS_BYTES ||
		batch->time_ns < s->sums_from_ns || batch->time_ns - s->sums_from_ns >= SUMS_NS);
}

static uint64_t oldest_birth(const struct strip *s, const Heapcast__Culled *theirs)
{
	uint64_t oldest = theirs ? theirs->base_ns : UINT64_MAX;

	for (uint32_t i = 0; i < s->sums.count; i++)
		if (s->sums.list[i].first_ns < oldest)
			oldest = s->sums.list[i].first_ns;
	return oldest;
}

/* The batch's own rows come first. */
static int strip_put_sums(struct strip *s, Heapcast__Batch *batch)
{
	const Heapcast__Culled *theirs = batch->culled;
	uint32_t count = s->sums.count + (theirs ? theirs->count : 0);
	struct culled_encoder encoder;
	struct culled_decoder decoder;
	struct culled_row row;
	int r = 0;

	buf_clear(&s->rows);
	if (!buf_reserve(&s->rows, (size_t)count * CULLED_ROW_MAX))
		return -ENOMEM;
	culled_encoder_init(&encoder, s->rows.data, count, oldest_birth(s, theirs));
	if (theirs)
		r = culled_decoder_init(&decoder, theirs, NULL);
	while (theirs && !r && (r = culled_decoder_next(&decoder, &row, NULL)) == 1)
		r = culled_encoder_put(&encoder, &row);
	for (uint32_t i = 0; !r && i < s->sums.count; i++)
		r = culled_encoder_put(&encoder, &s->sums.list[i]);
	if (r < 0)
		return r;
	culled_encoder_fill(&encoder, &s->culled);
	s->culled.early = theirs ? theirs->early : 0;
	batch->culled = &s->culled;
	s->told += s->sums_blocks + s->sums_frees;
	s->result.blocks += s->sums_blocks;
	culled_done(&s->sums);
	s->sums_blocks = s->sums_bytes = s->sums_frees = 0;
	s->sums_from_ns = batch->time_ns;
	return 0;
}

/* ---- the account ---- */

/* Moves dropped events from the delivered to the culled events of their threads, at once. */
static int strip_put_threads(struct strip *s, Heapcast__Ledger *l)
{
	struct reader threads = reader_of(l->thread.data, l->thread.len),
		      delivered = reader_of(l->thread_delivered.data, l->thread_delivered.len),
		      culled = reader_of(l->thread_culled.data, l->thread_culled.len);

	buf_clear(&s->columns[0]);
	buf_clear(&s->columns[1]);
	while (reader_more(&threads)) {
		uint64_t number = reader_varint(&threads);
		uint64_t dropped =
			number && number <= s->thread_count ? s->by_thread[number - 1] : 0;
		uint64_t before = reader_varint(&delivered);

		buf_varint(&s->columns[0], before > dropped ? before - dropped : 0);
		buf_varint(&s->columns[1],
			   (reader_more(&culled) ? reader_varint(&culled) : 0) + dropped);
	}
	l->thread_delivered = field_of(&s->columns[0]);
	l->thread_culled = field_of(&s->columns[1]);
	return buf_error(&s->columns[0]) ? -ENOMEM : buf_error(&s->columns[1]);
}

static int strip_put_ledger(struct strip *s, Heapcast__Batch *batch)
{
	Heapcast__Ledger *l = &s->ledger;

	*l = *batch->ledger;
	l->delivered = less(l->delivered, s->dropped);
	l->delivered_allocations = less(l->delivered_allocations, s->dropped_allocations);
	l->delivered_frees = less(l->delivered_frees, s->dropped_frees);
	l->delivered_bytes = less(l->delivered_bytes, s->dropped_bytes);
	l->culled += s->told;
	l->pending += s->dropped - s->told;
	batch->ledger = l;
	return strip_put_threads(s, l);
}

/*
 * A later agent counts all events of its predecessors as delivered, and readers subtract what those
 * culled (definitions.c). The counts therefore start over.
 */
static void begin_agent(struct strip *s, uint32_t incarnation)
{
	if (incarnation == s->incarnation)
		return;
	s->incarnation = incarnation;
	s->dropped = s->dropped_allocations = s->dropped_frees = s->dropped_bytes = s->told = 0;
	if (s->thread_count)
		memset(s->by_thread, 0, s->thread_count * sizeof(*s->by_thread));
}

/* ---- batches ---- */

/* A flight recorder has no culling time, because another rule decides what it drops. */
static void put_process(struct strip *s, Heapcast__Batch *batch)
{
	uint64_t time_ns = s->marked.threshold_ns;

	if (time_ns == STRIP_ALL)
		time_ns = s->marked.last_ns;
	s->process = *batch->process;
	if (!s->process.flight_ns && s->process.cull_ns < time_ns)
		s->process.cull_ns = time_ns;
	batch->process = &s->process;
}

static int strip_put_batch(struct strip *s, struct err_text *err)
{
	Heapcast__Batch batch = *s->copy.decoded.item.batch;
	bool altered, last = short_lived_is_last(&s->marked, s->copy.batches, &s->agents);
	int r;

	if (brought_only(&batch))
		return 0;
	batch.link = NULL;
	begin_agent(s, batch.incarnation);
	r = sift(s, &altered, err);
	if (!r && batch.process)
		put_process(s, &batch);
	if (!r && altered) {
		r = s->copy.decoded.event_count ? copy_encode(&s->copy, &s->events, err) : 0;
		batch.events = s->copy.decoded.event_count ? &s->events : NULL;
	}
	if (!r && !batch.catch_up && sums_are_due(s, &batch, last))
		r = strip_put_sums(s, &batch);
	if (!r && batch.ledger && s->dropped)
		r = strip_put_ledger(s, &batch);
	return r < 0 ? r : copy_put(&s->copy, &batch, err);
}

static int each_batch(struct strip *s, int (*each)(struct strip *s, struct err_text *err),
		      struct err_text *err)
{
	int r;

	while ((r = copy_next(&s->copy, err)) == 1) {
		r = each(s, err);
		if (r < 0)
			break;
	}
	return r;
}

static int mark_batch(struct strip *s, struct err_text *err)
{
	int r = short_lived_add(&s->marked, &s->copy);

	return r < 0 ? err_set(err, r, "stripping %s: %s", s->copy.path, strerror(-r)) : 0;
}

int recording_strip(const char *path, uint64_t threshold_ns, const struct copy_settings *settings,
		    struct strip_result *ret_result, struct err_text *err)
{
	struct strip s = {.marked.fd = -1};
	int r = copy_open(&s.copy, path, settings, err);

	if (!r)
		r = short_lived_init(&s.marked, threshold_ns);
	if (!r)
		r = each_batch(&s, mark_batch, err);
	if (!r)
		r = copy_rewind(&s.copy, err);
	if (!r)
		r = each_batch(&s, strip_put_batch, err);
	if (r < 0 && err && !err->text[0])
		err_set(err, r, "stripping %s: %s", path, strerror(-r));
	s.result.bytes_before = s.copy.scan.offset;
	s.result.bytes_after = s.copy.written;
	if (!r)
		*ret_result = s.result;
	strip_done(&s);
	return r;
}
