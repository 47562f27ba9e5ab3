/* Delivers a ring's records to the stream: events, losses, epochs, marks. */
#include "agent/ring/ring_source.h"

#include "agent/stream/batch.h"
#include "agent/stream/stream_event.h"
#include "agent/core/weight.h"
#include "heapcast.pb-c.h"
#include "base/ban.h"

static uint64_t new_tick(struct ring_source *s, uint64_t stamp)
{
	uint64_t ns = ring_stream_ns(s, stamp), since = ns % BATCH_TICK_NS;

	s->tick_begin = stamp - since * s->tick_length / BATCH_TICK_NS;
	s->tick_ns = ns - since;
	return s->tick_ns;
}

/* Batches round times down to ticks, so all stamps of a tick have the same time. */
static inline uint64_t event_ns(struct ring_source *s, uint64_t stamp)
{
	return stamp - s->tick_begin < s->tick_length ? s->tick_ns : new_tick(s, stamp);
}

/* A batch shows a duration shorter than a tick as 0. */
static uint64_t call_time(const struct ring_source *s, uint64_t call_stamp, uint64_t stamp)
{
	if (call_stamp >= stamp || stamp - call_stamp < s->tick_length)
		return 0;
	return clock_ns(s->clock, stamp) - clock_ns(s->clock, call_stamp);
}

/* What all events of a run have in common. */
struct run {
	struct stacks_path *path;
	uint32_t thread;
	uint32_t epoch;
};

/* Delivers an event without unusual members. `class` is a constant where this is inlined, so
 * members that a class does not have cost no instruction. */
static inline __attribute__((always_inline)) int
deliver_plain(struct ring_source *s, struct stream *stream, const struct run *run,
	      enum event_class class, const uint64_t *words, uint64_t word0, uint64_t stamp)
{
	uint32_t keep = ring_keep(word0), count = ring_count(word0);
	bool moves = class == EVENT_CLASS_REALLOCATION;
	struct capture_event e = {
		.event = {.kind = (uint8_t)ring_kind(word0),
			  .class = class,
			  .thread = 0,
			  .time_ns = event_ns(s, stamp),
			  .address = __atomic_load_n(words + 1, __ATOMIC_RELAXED),
			  .size = class == EVENT_CLASS_FREE ? 0 : ring_size(word0),
			  .stack = 0,
			  .old_address = moves ? __atomic_load_n(words + 3, __ATOMIC_RELAXED) : 0,
			  .call_time_ns =
				  moves ? call_time(s, __atomic_load_n(words + 4, __ATOMIC_RELAXED),
						    stamp)
					: 0,
			  .weight = 0},
		.has_stack = keep || count,
		.keep = keep,
		.count = count,
		.pcs = words + (moves ? 5 : 3),
		.epoch = run->epoch,
	};

	return capture_event_put(stream, run->path, run->thread, &e);
}

static inline bool is_plain(uint64_t word0)
{
	struct event_traits traits = event_traits[ring_kind(word0)];

	return ring_plain(word0) && (traits.class == EVENT_CLASS_ALLOCATION ||
				     traits.class == EVENT_CLASS_REALLOCATION ||
				     (traits.class == EVENT_CLASS_FREE && !traits.sized));
}

/*
 * Delivers the lane's next event, which is plain, and the plain events behind it. Afterwards `tail`
 * is at the first record that was not taken, and `next` must be read again. Returns 0 or -EAGAIN.
 *
 * The reader's state is in local variables, and counts are reported once at the end: columns are
 * arrays of bytes, so the compiler must assume that a store to them may change any other variable.
 */
static __attribute__((noinline)) int deliver_run(struct ring_source *s, struct stream *stream,
						 uint32_t index, uint64_t until)
{
	struct ring_lane *l = &s->lane[index];
	const uint64_t *const data = l->reader.data, *words = l->next.words;
	const uint64_t mask = l->reader.words - 1, head = l->reader.head,
		       last = until < s->future ? until : s->future;
	uint64_t tail = l->reader.tail, release = l->reader.told + l->reader.words / 8,
		 word0 = l->next.word0, stamp = l->next.stamp, left, taken_stamp = l->last_stamp;
	const struct run run = {
		.path = &stream->lane[index], .thread = l->thread->number, .epoch = l->epoch};
	struct spool_account sum = {0};
	int r;

	for (;;) {
		uint32_t length;

		switch (event_traits[ring_kind(word0)].class) {
		case EVENT_CLASS_ALLOCATION:
			r = deliver_plain(s, stream, &run, EVENT_CLASS_ALLOCATION, words, word0,
					  stamp);
			if (r < 0)
				goto out;
			sum.allocations++;
			sum.bytes += ring_size(word0);
			length = 3 + ring_count(word0);
			break;
		case EVENT_CLASS_FREE:
			r = deliver_plain(s, stream, &run, EVENT_CLASS_FREE, words, word0, stamp);
			if (r < 0)
				goto out;
			sum.frees++;
			length = 3 + ring_count(word0);
			break;
		default:
			r = deliver_plain(s, stream, &run, EVENT_CLASS_REALLOCATION, words, word0,
					  stamp);
			if (r < 0)
				goto out;
			sum.allocations++;
			sum.bytes += ring_size(word0);
			length = 5 + ring_count(word0);
		}
		taken_stamp = stamp;
		tail += length;
		if (__builtin_expect(tail > release, 0)) {
			l->reader.tail = tail;
			ring_reader_release(&l->reader);
			release = tail + (mask + 1) / 8;
		}
		left = head - tail;
		if (!left)
			break;
		words = data + (tail & mask);
		word0 = __atomic_load_n(words, __ATOMIC_RELAXED);
		/* The next records are in the other core's cache. */
		__builtin_prefetch(&data[(tail + RING_AHEAD) & mask]);
		if (__builtin_expect(!is_plain(word0), 0) ||
		    __builtin_expect(ring_count(word0) + 5 > left, 0) ||
		    __builtin_expect(ring_count(word0) + 5 > mask + 1 - (tail & mask), 0))
			break; /* a record near the end is delivered by the general code */
		stamp = __atomic_load_n(words + 2, __ATOMIC_RELAXED);
		if (stamp > last)
			break;
	}
out:
	l->reader.tail = tail;
	l->last_stamp = taken_stamp;
	l->read += sum.allocations + sum.frees;
	stream_account_sum(stream, l->thread, &sum);
	return r;
}

/* The initializers name every member. Otherwise the compiler first clears the whole struct, with an
 * instruction that takes 10 ns to start. */
static __attribute__((noinline)) int deliver_event(struct ring_source *s, struct stream *stream,
						   uint32_t index)
{
	struct ring_lane *l = &s->lane[index];
	struct ring_record *rec = &l->next; /* ring_deliver reads it again before its next use */
	uint32_t keep = ring_keep(rec->word0);
	struct ring_event more;
	int r;

	ring_reader_native(&l->reader, rec, s->scratch);
	ring_reader_event(rec, &more);
	{
		bool sized = event_traits[rec->kind].sized,
		     moves = rec->class == EVENT_CLASS_REALLOCATION;
		struct capture_event e = {
			.event = {.kind = rec->kind,
				  .class = (enum event_class)rec->class,
				  .thread = 0,
				  .time_ns = event_ns(s, rec->stamp),
				  .address = more.address,
				  .size = sized ? more.size : 0,
				  .stack = 0,
				  .old_address = more.old_address,
				  .call_time_ns =
					  moves ? call_time(s, more.call_stamp, rec->stamp) : 0,
				  .weight = sized && more.interval
						    ? weight_of(more.size, more.interval)
						    : 0},
			.has_stack = keep || rec->count,
			.keep = keep,
			.count = rec->count,
			.pcs = ring_reader_pcs(rec),
			.epoch = l->epoch,
		};

		r = capture_event(stream, index, l->thread, &e);
	}
	l->read += r == 0;
	return r;
}

static int deliver_lost(struct ring_source *s, struct stream *stream, struct ring_lane *l)
{
	struct ring_losses sum = l->announced;
	int r;

	sum.events += l->next.lost.events;
	sum.allocations += l->next.lost.allocations;
	sum.frees += l->next.lost.frees;
	sum.bytes += l->next.lost.bytes;
	r = ring_tell_losses(s, stream, l->thread, &l->gapped, &sum,
			     l->next.stamp <= s->back ? HEAPCAST__REASON__REASON_AGENT_GONE
						      : HEAPCAST__REASON__REASON_RING_FULL,
			     l->last_stamp, l->next.stamp);
	if (!r)
		l->announced = sum;
	return r;
}

static int deliver_mark(struct ring_source *s, struct stream *stream, const struct ring_lane *l)
{
	const struct ring_record *rec = &l->next;
	uint64_t length = rec->value < RING_TEXT_MAX ? rec->value : RING_TEXT_MAX;
	bool text = rec->kind == RING_TEXT;

	ring_reader_words(rec, s->scratch);
	return capture_mark(stream, l->thread, (int)rec->mark, text ? 0 : rec->value,
			    ring_stream_ns(s, rec->stamp), (const uint8_t *)s->scratch,
			    text ? (uint32_t)length : 0);
}

/* Delivers a record that is not an event, or that was written for another agent. */
static __attribute__((noinline)) int deliver_rare(struct ring_source *s, struct stream *stream,
						  uint32_t index)
{
	struct ring_lane *l = &s->lane[index];

	if (l->cut_awaited)
		return ring_lane_drop(s, stream, index);
	switch (l->next.kind) {
	case RING_LOST:
		return deliver_lost(s, stream, l);
	case RING_EPOCH:
		l->epoch = (uint32_t)l->next.value;
		return 0;
	case RING_MARK:
	case RING_TEXT:
		return deliver_mark(s, stream, l);
	default:
		/* RING_CUT for an earlier agent. RING_MOVE: the next slice names its owner
		 * itself. */
		return 0;
	}
}

/* Delivers the next record, and more if they are plain. Returns 0 or -EAGAIN. */
static int deliver(struct ring_source *s, struct stream *stream, uint32_t index, uint64_t until)
{
	struct ring_lane *l = &s->lane[index];
	bool rare = l->cut_awaited || l->next.class == EVENT_CLASS_NONE;
	int r;

	if (!rare && !stream_holds(stream) && is_plain(l->next.word0) && !l->reader.swapped)
		return deliver_run(s, stream, index, until);
	r = rare ? deliver_rare(s, stream, index) : deliver_event(s, stream, index);
	if (r < 0)
		return r;
	l->last_stamp = l->next.stamp;
	ring_reader_skip(&l->reader, &l->next);
	if (l->reader.tail - l->reader.told > l->reader.words / 8)
		ring_reader_release(&l->reader);
	return 0;
}

bool ring_lane_next(struct ring_source *s, struct stream *stream, uint32_t index)
{
	struct ring_lane *l = &s->lane[index];
	int r = ring_reader_peek(&l->reader, &l->next);

	if (__builtin_expect(r < 0, 0))
		ring_lane_damaged(s, stream, index);
	l->has_next = r > 0;
	if (r <= 0)
		return false;
	if (__builtin_expect(l->next.class == EVENT_CLASS_NONE, 0) && l->next.kind == RING_MOVE)
		l->next.stamp = l->last_stamp;
	if (__builtin_expect(l->next.stamp > s->future, 0))
		l->next.stamp = s->looked;
	return true;
}

int ring_deliver(struct ring_source *s, struct stream *stream, uint32_t index, uint64_t until)
{
	const struct ring_lane *l = &s->lane[index];
	int r = 0;

	if (!l->has_next)
		return 0; /* after -EAGAIN the record was read again, and is invalid now */
	do {
		r = deliver(s, stream, index, until);
	} while (ring_lane_next(s, stream, index) && !r && l->next.stamp <= until);
	return r;
}
