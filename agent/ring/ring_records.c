/* Takes a ring's records into runs: events, losses, epochs, marks. */
#include "agent/ring/ring_source.h"

#include "agent/core/weight.h"
#include "heapcast.pb-c.h"
#include "base/ban.h"

static uint64_t new_tick(struct ring_source *s, uint64_t stamp)
{
	uint64_t ns = ring_stream_ns(s, stamp), since = ns % RUN_TICK_NS;

	s->tick_begin = stamp - since * s->tick_length / RUN_TICK_NS;
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

/* Returns RUN_FRAMES(ring_keep(word0), ring_count(word0)): in the word both numbers are adjacent,
 * too. */
static inline uint32_t frames_of(uint64_t word0)
{
	return word0 >> 8 & RUN_FRAMES(RUN_KEEP_MAX, RUN_COUNT_MAX);
}
_Static_assert(RUN_RECALL == RING_RECALL && RUN_SAVED_MAX == RING_SAVED_MAX, "numbered stacks");
_Static_assert((RING_WORD0(0, RING_MAX_COUNT, 0, 0, 0, 0) >> 8 & RUN_FRAMES(0, RUN_COUNT_MAX)) ==
			       RING_MAX_COUNT &&
		       RING_WORD0(0, 0, 1, 0, 0, 0) >> 8 == RUN_FRAMES(1, 0),
	       "the order of the two");

/* Fills in what all events have. */
static inline void ring_records_put_head(struct run_item *to, uint32_t lane, uint64_t word0,
					 unsigned class, uint64_t time_ns, uint32_t epoch)
{
	to->head = RUN_HEAD(RUN_EVENT, 0, ring_kind(word0), class, lane);
	to->time_ns = time_ns;
	to->frames = frames_of(word0);
	to->epoch = epoch;
}

static inline bool is_plain(uint64_t word0)
{
	return event_traits[ring_kind(word0)].plain && ring_plain(word0);
}

/* Returns the position up to which records can be read without a check of their ends. Records up to
 * it are published, lie before the end of the data, and are given back together. */
static uint64_t stop_at(const struct ring_reader *r)
{
	uint64_t room = ring_reader_room(r), release = r->told + r->words / 8;

	return r->tail + room < release ? r->tail + room : release;
}

/*
 * Takes the lane's next event, which is plain (its size is in the first word, and it stands for
 * itself), and the plain events behind it, until the run is full or an eighth of the slice can be
 * given back. Afterwards `tail` is at the first record that was not taken, and `next` must be read
 * again. The reader's state is in local variables, because the compiler must assume that a store
 * into an item may change any other.
 */
static __attribute__((noinline)) void take_plain(struct ring_source *s, struct run *run,
						 uint32_t index, uint64_t until)
{
	struct ring_lane *l = &s->lane[index];
	const uint64_t *words = l->next.words;
	const uint64_t last = until < s->future ? until : s->future, stop = stop_at(&l->reader),
		       tick_length = s->tick_length;
	uint64_t tail = l->reader.tail, word0 = l->next.word0, stamp = l->next.stamp, taken_stamp,
		 tick_begin = s->tick_begin, tick_ns = s->tick_ns;
	struct run_item *const first = run->item + run->count, *const end = run->item + RUN_ITEMS,
			       *to = first;
	const uint32_t epoch = l->epoch;

	for (;;) {
		unsigned class = event_traits[ring_kind(word0)].class, length = 3;

		if (__builtin_expect(stamp - tick_begin >= tick_length, 0)) {
			tick_ns = new_tick(s, stamp);
			tick_begin = s->tick_begin;
		}
		ring_records_put_head(to, index, word0, class, tick_ns, epoch);
		to->address = __atomic_load_n(words + 1, __ATOMIC_RELAXED);
		to->size = ring_size(word0);
		if (__builtin_expect(class == EVENT_CLASS_REALLOCATION, 0)) {
			to->old_address = __atomic_load_n(words + 3, __ATOMIC_RELAXED);
			to->call_time_ns =
				call_time(s, __atomic_load_n(words + 4, __ATOMIC_RELAXED), stamp);
			length = 5;
		}
		to->pcs = words + length;
		length += ring_count(word0);
		tail += length;
		words += length;
		to++;
		taken_stamp = stamp;
		/* A record that may reach beyond `stop` is taken by the general code. */
		if (to == end || tail + 3 > stop)
			break;
		word0 = __atomic_load_n(words, __ATOMIC_RELAXED);
		/* The next records are in the other core's cache. */
		__builtin_prefetch(words + RING_AHEAD);
		if (__builtin_expect(!is_plain(word0), 0) ||
		    __builtin_expect(tail + ring_count(word0) + 5 > stop, 0))
			break;
		stamp = __atomic_load_n(words + 2, __ATOMIC_RELAXED);
		if (stamp > last)
			break;
	}
	first->flags = l->restarts ? RUN_RESTART : 0;
	l->restarts = false;
	l->reader.tail = tail;
	l->last_stamp = taken_stamp;
	l->read += (uint64_t)(to - first);
	run->count += (uint32_t)(to - first);
}

/* Takes any event. */
static __attribute__((noinline)) void ring_records_take_event(struct ring_source *s,
							      struct run *run, uint32_t index)
{
	struct ring_lane *l = &s->lane[index];
	const struct ring_record *rec = &l->next;
	struct run_item *to = &run->item[run->count++];
	bool sized = event_traits[rec->kind].sized, moves = rec->class == EVENT_CLASS_REALLOCATION;
	struct ring_event more;

	ring_reader_event(rec, &more);
	ring_records_put_head(to, index, rec->word0, rec->class, event_ns(s, rec->stamp), l->epoch);
	to->address = more.address;
	to->size = sized ? more.size : 0;
	to->pcs = ring_reader_pcs(rec);
	to->old_address = more.old_address;
	to->call_time_ns = moves ? call_time(s, more.call_stamp, rec->stamp) : 0;
	if (sized && more.interval) {
		to->weight = weight_of(more.size, more.interval);
		to->flags |= RUN_WEIGHTED;
	}
	if (l->restarts)
		to->flags |= RUN_RESTART;
	l->restarts = false;
	l->read++;
}

static void take_lost(struct ring_source *s, struct run *run, uint32_t index)
{
	struct ring_lane *l = &s->lane[index];
	const struct ring_record *rec = &l->next;

	l->announced.events += rec->lost.events;
	l->announced.allocations += rec->lost.allocations;
	l->announced.frees += rec->lost.frees;
	l->announced.bytes += rec->lost.bytes;
	ring_put_losses(run, index, &l->gapped, &l->announced,
			rec->stamp <= s->back ? HEAPCAST__REASON__REASON_AGENT_GONE
					      : HEAPCAST__REASON__REASON_RING_FULL,
			ring_stream_ns(s, l->last_stamp), ring_stream_ns(s, rec->stamp));
}

/* A text stays in the ring, where the stream reads it. */
static void take_mark(struct ring_source *s, struct run *run, uint32_t index)
{
	const struct ring_record *rec = &s->lane[index].next;
	bool has_text = rec->kind == RING_TEXT;
	struct run_item *item = run_put_mark(run, index, (int)rec->mark, has_text ? 0 : rec->value,
					     ring_stream_ns(s, rec->stamp));

	if (!has_text)
		return;
	item->mark.text = (const uint8_t *)ring_reader_pcs(rec);
	item->mark.text_length =
		(uint32_t)(rec->value < RING_TEXT_MAX ? rec->value : RING_TEXT_MAX);
}

/* A number that no honest program gives is of no use, and left out. */
static void take_save(struct ring_source *s, struct run *run, uint32_t index)
{
	const struct ring_record *rec = &s->lane[index].next;

	if (rec->value < RING_SAVED_MAX)
		run_put(run, RUN_SAVE, index, ring_stream_ns(s, rec->stamp))->save =
			(uint32_t)rec->value;
}

/* Takes a record that is not an event, or that was written for another agent. */
static __attribute__((noinline)) void take_rare(struct ring_source *s, struct run *run,
						uint32_t index)
{
	struct ring_lane *l = &s->lane[index];

	if (l->restart_awaited) {
		ring_lane_drop(s, run, index);
		return;
	}
	switch (l->next.kind) {
	case RING_LOST:
		take_lost(s, run, index);
		break;
	case RING_EPOCH:
		l->epoch = (uint32_t)l->next.value;
		break;
	case RING_MARK:
	case RING_TEXT:
		take_mark(s, run, index);
		break;
	case RING_SAVE:
		take_save(s, run, index);
		break;
	default:
		/* RING_RESTART for an earlier agent. RING_MOVE: the next slice names its owner
		 * itself. */
		break;
	}
}

/* Takes the next record, and more if they are plain. */
static void ring_records_take(struct ring_source *s, struct run *run, uint32_t index,
			      uint64_t until)
{
	struct ring_lane *l = &s->lane[index];
	bool rare = l->restart_awaited || l->next.class == EVENT_CLASS_NONE;

	if (!rare && is_plain(l->next.word0)) {
		take_plain(s, run, index, until);
		return;
	}
	if (rare)
		take_rare(s, run, index);
	else
		ring_records_take_event(s, run, index);
	l->last_stamp = l->next.stamp;
	ring_reader_skip(&l->reader, &l->next);
}

bool ring_lane_next(struct ring_source *s, const struct run *run, uint32_t index)
{
	struct ring_lane *l = &s->lane[index];
	int r = ring_reader_peek(&l->reader, &l->next);

	if (__builtin_expect(r < 0, 0))
		ring_lane_damaged(s, run, index);
	l->has_next = r > 0;
	if (r <= 0)
		return false;
	if (__builtin_expect(l->next.class == EVENT_CLASS_NONE, 0) && l->next.kind == RING_MOVE)
		l->next.stamp = l->last_stamp;
	if (__builtin_expect(l->next.stamp > s->future, 0))
		l->next.stamp = s->looked;
	return true;
}

void ring_take_records(struct ring_source *s, struct run *run, uint32_t index, uint64_t until)
{
	struct ring_lane *l = &s->lane[index];

	if (!l->read_on) {
		l->read_on = true;
		s->read_on[s->read_count++] = index;
	}
	do {
		ring_records_take(s, run, index, until);
	} while (ring_lane_next(s, run, index) && l->next.stamp <= until && run_fits(run, 1) &&
		 l->reader.tail - l->reader.told <= l->reader.words / 8);
}
