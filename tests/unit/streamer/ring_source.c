/* The source of a ring: what it reads of the header, and which slices it finds, when. */
#include "tests/unit/streamer/ring_scene.h"

#include <errno.h>
#include <fcntl.h>

#define NOBODY 0x7f000000u /* no thread has such a tid */

/* ---- the header ---- */

/* Nothing is read before the program has filled in its part, or if that is of another order. */
static void test_not_ready(void **state)
{
	const struct capture_ops *ops = scene.s.source.ops;
	struct writer w = claim(0, 7);

	(void)state;
	event_at(&w, BEGIN_NS - MS);
	header()->before = 17;
	header()->no_slice.events = 5;
	for (unsigned foreign = 0; foreign < 2; foreign++) {
		header()->byte_order = foreign ? 0x04030201 : 0;
		scene_round(false);
		assert_int_equal(scene.count, 0);
		assert_int_equal(scene.run.until_ns, 0);
		assert_false(scene.run.more);
		assert_false(ops->filling(&scene.s.source));
		assert_int_equal(ops->totals(&scene.s.source).unready, !foreign);
		assert_int_equal(w.slice->tail, 0);
	}
	/* An image begins anew. */
	ops->begin_image(&scene.s.source, 3, &(struct target_info){0});
	assert_int_equal(header()->account.image, 3);
	assert_true(ops->totals(&scene.s.source).unready);
	header()->byte_order = RING_ORDER_MARK;
	scene_round(false);
	assert_int_equal(got_count(RUN_THREAD), 1);
	assert_int_equal(got_count(RUN_EVENT), 1);
	assert_int_equal(got_count(RUN_GAP), 1);
	assert_true(scene.run.until_ns > 0);
	assert_false(ops->totals(&scene.s.source).unready);
	assert_int_equal(ops->totals(&scene.s.source).before, 17);
	/* What it has read stays. */
	header()->before = 18;
	header()->byte_order = 0;
	event_at(&w, BEGIN_NS - MS);
	scene_round(false);
	assert_int_equal(got_count(RUN_EVENT), 1);
	assert_int_equal(ops->totals(&scene.s.source).before, 17);
}

static void test_totals(void **state)
{
	struct capture_totals t;

	(void)state;
	header()->samples_refused = 11;
	header()->stacks_unknown = 12;
	header()->namespaces = 13;
	t = scene.s.source.ops->totals(&scene.s.source);
	assert_int_equal(t.samples_refused, 11);
	assert_int_equal(t.stacks_unknown, 12);
	assert_int_equal(t.namespaces, 13);
}

/* The program's counter is used if it is the agent's, too. */
static void test_clocks(void **state)
{
	const struct {
		uint32_t programs, agents;
		bool counter;
	} cases[] = {
		{RING_CLOCK_TSC, RING_CLOCK_TSC, true},
		{RING_CLOCK_CNTVCT, RING_CLOCK_CNTVCT, true},
		{RING_CLOCK_CNTVCT, RING_CLOCK_TSC, false},
		{RING_CLOCK_MONOTONIC, RING_CLOCK_TSC, false},
		{RING_CLOCK_MONOTONIC, RING_CLOCK_MONOTONIC, false},
		{RING_CLOCK_NONE, RING_CLOCK_TSC, false},
		{99, RING_CLOCK_TSC, false},
	};
	struct clock still;

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		scene.clock.kind = cases[i].agents;
		scene_ready(cases[i].programs);
		scene.s.source.ops->begin_image(&scene.s.source, 1, &(struct target_info){0});
		scene_round(false);
		assert_ptr_equal(scene.s.clock, cases[i].counter ? &scene.clock : &scene.s.plain);
	}
	assert_int_equal(scene.s.plain.kind, RING_CLOCK_MONOTONIC);
	clock_init(&still, RING_CLOCK_TSC); /* a counter that stands still measures nothing */
	assert_true(still.slope == 1 && still.rate == 1);
}

/* The word in which the kernel says that an owner is gone lies within the owner's mutex. */
static void test_owner_word(void **state)
{
	const uint32_t places[][2] = {{0, 0},  {4, 4},	{59, 56},	{60, 60},
				      {61, 0}, {64, 0}, {UINT32_MAX, 0}};
	const uint32_t died = OWNER_DIED;

	(void)state;
	for (unsigned i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		struct writer w = claim(i, 7 + i);

		header()->owner_word_offset = places[i][0];
		scene.s.source.ops->begin_image(&scene.s.source, 1, &(struct target_info){0});
		memset(w.slice->owner, 0, sizeof(w.slice->owner));
		for (uint32_t at = 0; at < sizeof(w.slice->owner); at += 4)
			if (at != places[i][1])
				memcpy(w.slice->owner + at, &died, sizeof(died));
		scene_round(false);
		assert_int_equal(got_count(RUN_THREAD), 1);
		assert_int_equal(got_count(RUN_ENDED), 0);
		memset(w.slice->owner, 0, sizeof(w.slice->owner));
		memcpy(w.slice->owner + places[i][1], &died, sizeof(died));
		scene_round(false);
		assert_int_equal(got_count(RUN_ENDED), 1);
		assert_int_equal(w.slice->state, RING_SLICE_FREE);
	}
}

/* ---- lanes ---- */

static void test_thread(void **state)
{
	struct writer w = claim(3, 7);
	const struct run_item *item;

	(void)state;
	w.slice->claim_stamp = stamp_of(BEGIN_NS - 3 * MS);
	memcpy(w.slice->name, "a name of 16 byte", 16);
	scene_round(false);
	item = got(RUN_THREAD, 0);
	assert_non_null(item);
	assert_int_equal(item->lane, 3);
	assert_int_equal(item->flags, 0);
	assert_int_equal(item->thread.tid, 7);
	assert_int_equal(item->time_ns, stream_of(BEGIN_NS - 3 * MS));
	assert_string_equal(item->thread.name, "a name of 16 by");
	/* It goes on in another slice. */
	leave(&w, 5);
	own(5, 7, 1, START_NS - MS);
	scene_round(false);
	item = got(RUN_THREAD, 0);
	assert_non_null(item);
	assert_int_equal(item->lane, 5);
	assert_int_equal(item->flags, RUN_CONTINUES);
	assert_int_equal(item->time_ns, 0); /* earlier than the stream */
	assert_int_equal(got_count(RUN_THREAD), 1);
}

/* Which states make a lane; what died while it claimed a slice is cleaned up at the end. */
static void test_states(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		own(i, 7 + i, 0, BEGIN_NS);
		scene.s.ring->slices[i].state = i;
		scene.s.ring->slices[i].head = 100;
	}
	own(4, 20, 0, BEGIN_NS);
	scene.s.ring->slices[4].state = 77;
	scene.s.ring->slices[3].head = 0;
	scene.s.ring->slices[2].head = 0;
	scene_round(false);
	assert_int_equal(got_count(RUN_THREAD), 2);
	assert_int_equal(got(RUN_THREAD, 0)->lane, RING_SLICE_OWNED);
	assert_int_equal(got(RUN_THREAD, 1)->lane, RING_SLICE_LEFT);
	assert_int_equal(scene.s.ring->slices[1].state, RING_SLICE_CLAIMING);
	assert_int_equal(scene.s.ring->slices[1].owner_tid, 8);
	scene_round(true);
	scene_round(true);
	assert_int_equal(scene.s.ring->slices[1].state, RING_SLICE_FREE);
	assert_int_equal(scene.s.ring->slices[1].owner_tid, 0);
	assert_int_equal(scene.s.ring->slices[1].head, 0);
	assert_int_equal(scene.s.ring->slices[2].state, RING_SLICE_FREE);
	assert_int_equal(scene.s.ring->slices[4].state, 77);
	assert_int_equal(scene.s.ring->slices[4].owner_tid, 20);
}

/* A slice that is given back is as new, but for what numbers its owners. */
static void test_freed(void **state)
{
	struct writer w = claim(3, 7);
	struct ring_slice before, *slice = w.slice;

	(void)state;
	event_at(&w, BEGIN_NS - MS);
	scene_round(false);
	memset((uint8_t *)slice + offsetof(struct ring_slice, entered), 0xff,
	       offsetof(struct ring_slice, wanted) + 8 - offsetof(struct ring_slice, entered));
	before = *slice;
	ring_slice_free(slice);
	before.head = before.entered = before.events = before.not_sampled = 0;
	before.lost = (struct ring_losses){0};
	before.state = RING_SLICE_FREE;
	before.owner_tid = 0;
	before.claim_stamp = before.thread_first = 0;
	memset(before.owner, 0, sizeof(before.owner));
	before.tail = before.wanted = 0;
	before.thread = 0;
	before.thread_delivered = before.thread_lost = before.thread_not_sampled = 0;
	assert_memory_equal(slice, &before, sizeof(before));
}

/* Free slices are searched when somebody says that he has claimed one, and now and then. */
static void test_search(void **state)
{
	struct writer w = claim(9, 7);

	(void)state;
	scene_round(false);
	assert_int_equal(got_count(RUN_THREAD), 1);
	own(0, 8, 0, BEGIN_NS); /* and does not say it yet */
	scene.now_ns += 10 * MS - 1;
	scene_round(false);
	assert_int_equal(got_count(RUN_THREAD), 0);
	scene.now_ns++;
	scene_round(false);
	assert_int_equal(got_count(RUN_THREAD), 1);
	own(2, 9, 0, BEGIN_NS);
	scene.now_ns += 10 * MS - 1;
	scene_round(false);
	assert_int_equal(got_count(RUN_THREAD), 0);
	header()->claims++;
	scene_round(false);
	assert_int_equal(got_count(RUN_THREAD), 1);
	own(3, 10, 0, BEGIN_NS);
	scene.now_ns += 10 * MS - 1; /* from that look on */
	scene_round(false);
	assert_int_equal(got_count(RUN_THREAD), 0);
	/* Where a thread goes on is looked for at once. */
	leave(&w, 4);
	own(4, 7, 1, BEGIN_NS);
	scene_round(false);
	assert_int_equal(got_count(RUN_THREAD), 2);
	own(5, 11, 0, BEGIN_NS);
	scene_round(false);
	assert_int_equal(got_count(RUN_THREAD), 0);
	scene_round(true); /* at the end, too */
	assert_int_equal(got_count(RUN_THREAD), 1);
}

/* A lane that was left stays until it is settled: that is no news. */
static void test_moved_once(void **state)
{
	struct writer w = claim(0, 7), next;

	(void)state;
	claim(2, 9);
	scene_round(false);
	event_at(&w, scene.now_ns); /* too young to be taken */
	leave(&w, 1);
	next = own(1, 7, 1, scene.now_ns);
	scene_round(false);
	assert_int_equal(got_count(RUN_THREAD), 1);
	assert_int_equal(got_count(RUN_EVENT), 0);
	own(3, 10, 0, BEGIN_NS);
	scene_round(false);
	assert_int_equal(got_count(RUN_THREAD), 0);
	assert_int_equal(next.slice->tail, 0);
	scene.now_ns += MS;
	scene_round(false);
	assert_int_equal(got_count(RUN_EVENT), 1);
	assert_int_equal(got_count(RUN_LEFT), 1);
	assert_int_equal(got_count(RUN_THREAD), 0);
}

/* A thread's later slice waits for its first one, as long as that may turn up. */
static void test_ahead(void **state)
{
	(void)state;
	header()->claims++;
	scene_round(false); /* finds nothing */
	header()->claims++;
	own(1, 7, 3, BEGIN_NS);
	own(5, 7, 0, BEGIN_NS);
	own(2, 8, 0, BEGIN_NS);
	scene_round(false);
	assert_int_equal(got_count(RUN_THREAD), 3);
	assert_int_equal(got(RUN_THREAD, 0)->lane, 2);
	assert_int_equal(got(RUN_THREAD, 1)->lane, 5);
	assert_int_equal(got(RUN_THREAD, 2)->lane, 1);
	assert_int_equal(got(RUN_THREAD, 2)->flags, RUN_CONTINUES);
	assert_ptr_equal(scene.thread[1], scene.thread[5]);
	assert_ptr_not_equal(scene.thread[1], scene.thread[2]);
	/* The first one does not turn up. */
	header()->claims++;
	own(0, 9, 3, BEGIN_NS);
	own(6, 10, 0, BEGIN_NS);
	scene_round(false);
	assert_int_equal(got_count(RUN_THREAD), 2);
	assert_int_equal(got(RUN_THREAD, 0)->lane, 6);
	assert_int_equal(got(RUN_THREAD, 1)->lane, 0);
	/* The thread is known, though it has no slice at the moment. */
	assert_non_null(threads_add(&scene.threads, 11, 0));
	header()->claims++;
	own(3, 11, 3, BEGIN_NS);
	own(7, 12, 0, BEGIN_NS);
	scene_round(false);
	assert_int_equal(got(RUN_THREAD, 0)->lane, 3);
	assert_int_equal(got(RUN_THREAD, 1)->lane, 7);
}

/* More threads than a run has room for. */
static void test_many(void **state)
{
	uint32_t count = scene.s.ring->slice_count;

	(void)state;
	assert_true(count > 2 * RUN_ITEMS);
	header()->claims++;
	for (uint32_t i = 0; i < count; i++) {
		struct writer w = own(i, 100 + i, 0, BEGIN_NS);

		event_at(&w, BEGIN_NS - MS + i * US);
		event_at(&w, BEGIN_NS - MS + (count + i) * US);
	}
	scene_round(false);
	assert_int_equal(got_count(RUN_THREAD), count);
	assert_int_equal(got_count(RUN_EVENT), 2 * count);
	for (uint32_t i = 0; i < 2 * count; i++)
		assert_int_equal(got(RUN_EVENT, i)->lane, i % count);
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(got(RUN_THREAD, i)->thread.tid, 100 + i);
	assert_int_equal(scene.s.active_count, count);
	scene_round(false);
	assert_int_equal(scene.count, 0);
}

/* A head that can't be: what is there is passed over, and counted once. */
static void test_bad_head(void **state)
{
	struct writer w = claim(0, 7);
	const struct run_item *item;

	(void)state;
	event_at(&w, BEGIN_NS - MS);
	scene_round(false);
	assert_int_equal(got(RUN_EVENT, 0)->flags, RUN_RESTART);
	event_at(&w, BEGIN_NS - MS);
	scene_round(false);
	assert_int_equal(got(RUN_EVENT, 0)->flags, 0);
	w.slice->events += 2;
	w.slice->head = w.head = w.head + w.words + 1;
	scene_round(false);
	assert_int_equal(scene.s.records_damaged, 1);
	assert_int_equal(got_count(RUN_EVENT), 0);
	assert_int_equal(w.slice->tail, w.head);
	scene_round(false);
	assert_int_equal(scene.s.records_damaged, 1);
	event_at(&w, BEGIN_NS - MS);
	scene_round(false);
	assert_int_equal(got_count(RUN_EVENT), 1);
	assert_int_equal(got(RUN_EVENT, 0)->flags, RUN_RESTART);
	/* One that waits for its time is among what is passed over. */
	claim(1, 8).slice->entered = stamp_of(BEGIN_NS - 20 * MS);
	event_at(&w, BEGIN_NS - MS);
	scene_round(false);
	assert_true(scene.s.lane[0].has_next);
	w.slice->head--;
	w.slice->head -= w.words;
	w.head = w.slice->head;
	scene.s.ring->slices[1].entered = 0;
	scene_round(false);
	assert_int_equal(scene.s.records_damaged, 2);
	assert_int_equal(got_count(RUN_EVENT), 0);
	assert_int_equal(w.slice->tail, w.head);
	/* The account says how many it were when the owner is gone. */
	writer_die(&w);
	scene_round(false);
	item = got(RUN_GAP, 0);
	assert_non_null(item);
	assert_int_equal(item->gap.reason, HEAPCAST__REASON__REASON_DAMAGED);
	assert_int_equal(item->gap.lost.events, 3);
}

/* Of an emulated program /proc says which threads are gone, if the two mean the same process. */
static void test_emulated(void **state)
{
	struct writer w;

	(void)state;
	scene_close(NULL);
	scene_open_shape(ring_shape_whole(512 << 10),
			 &(struct ring_settings){.emulated = getpid()});
	assert_int_equal(header()->unflagged, 1);
	scene_ready(RING_CLOCK_TSC);
	header()->pid++;
	w = claim(0, NOBODY);
	claim(1, (uint32_t)getpid());
	scene_round(false);
	scene_round(false);
	assert_int_equal(got_count(RUN_ENDED), 0);
	header()->pid--;
	scene.now_ns += 10 * MS - 1;
	scene_round(false); /* looks at slices, not at /proc */
	assert_int_equal(got_count(RUN_ENDED), 0);
	scene.now_ns++;
	event_at(&w, BEGIN_NS);
	scene_round(false);
	assert_int_equal(got_count(RUN_EVENT), 1);
	assert_int_equal(got_count(RUN_ENDED), 1);
	assert_int_equal(got(RUN_ENDED, 0)->lane, 0);
	scene_round(false);
	assert_int_equal(scene.s.active_count, 1);
	scene_close(NULL);
	scene_open(NULL); /* of another one /proc is not asked */
	claim(0, NOBODY);
	scene_round(false);
	scene_round(false);
	assert_int_equal(got_count(RUN_ENDED), 0);
	assert_int_equal(header()->unflagged, 0);
}

/* ---- the source itself ---- */

/* It takes what it says, and refuses less. */
static void test_memory(void **state)
{
	const struct ring_shape shape = ring_shape_whole(1 << 20);
	size_t bytes = ring_source_bytes(&shape);

	(void)state;
	for (size_t size = 0; size <= bytes; size += 64) {
		struct ring_source s = {.shape = NULL};
		struct arena arena;

		assert_int_equal(arena_open(&arena, 2 * bytes), 0);
		arena.size = size;
		assert_int_equal(ring_source_init(&s, &arena, &shape, &scene.clock),
				 size < bytes ? -ENOMEM : 0);
		assert_true(arena.used <= size);
		arena_close(&arena);
		if (size + 640 < bytes)
			size += 512;
	}
}

/* The next ring in the same place begins as the first one did. */
static void test_cleared(void **state)
{
	struct ring_source *s = &scene.s;
	const uint8_t *const lanes = (const uint8_t *)s->lane;

	(void)state;
	memset(s->lane, 0xff, s->ring->slice_count * sizeof(*s->lane));
	s->active_count = s->heap_count = s->read_count = 3;
	s->phase = RING_REAP;
	s->ready = s->foreign = s->filling = s->looks_itself = true;
	s->taken_up = false;
	s->modules_tail = s->records_damaged = s->no_slice_ns = s->away_ns = s->back = 5;
	s->no_slice = (struct ring_losses){1, 2, 3, 4};
	s->before = s->wants_heard = s->wants_seen = s->incarnation = 6;
	s->emulated = 9;
	ring_source_clear(s, 77);
	for (size_t i = 0; i < s->ring->slice_count * sizeof(*s->lane); i++)
		assert_int_equal(lanes[i], 0);
	assert_int_equal(s->active_count + s->heap_count + s->read_count, 0);
	assert_int_equal(s->phase, RING_LOOK);
	assert_false(s->ready || s->foreign || s->filling || s->looks_itself);
	assert_true(s->taken_up);
	assert_int_equal(s->modules_tail | s->records_damaged | s->no_slice_ns, 0);
	assert_int_equal(s->away_ns | s->back | s->before, 0);
	assert_int_equal(s->no_slice.events | s->no_slice.allocations, 0);
	assert_int_equal(s->no_slice.frees | s->no_slice.bytes, 0);
	assert_int_equal(s->wants_heard | s->wants_seen, 0);
	assert_int_equal(s->incarnation, 1);
	assert_int_equal(s->emulated, 0);
	assert_int_equal(s->start_ns, 77);
}

/* It gives back what it has opened; there may be nothing. */
static void test_closed(void **state)
{
	struct ring_source never = {.shape = NULL};
	int fd = scene.s.ring->fd, lock = scene.s.ring->lock;

	(void)state;
	assert_int_equal(ring_source_memory(&never), 0);
	ring_source_close(&never);
	assert_int_equal(ring_source_memory(&scene.s), scene.s.ring->backed);
	assert_true(fcntl(fd, F_GETFD) >= 0 && fcntl(lock, F_GETFD) >= 0);
	ring_source_close(&scene.s);
	assert_true(fcntl(fd, F_GETFD) < 0 && fcntl(lock, F_GETFD) < 0);
	assert_int_equal(ring_source_memory(&scene.s), 0);
	ring_source_close(&scene.s);
	ring_source_prepare(&scene.s);
	assert_int_equal(ring_source_memory(&scene.s), ring_backed(&scene.shape, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE(test_not_ready),	SCENE(test_totals), SCENE(test_clocks),
		SCENE(test_owner_word), SCENE(test_thread), SCENE(test_states),
		SCENE(test_freed),	SCENE(test_search), SCENE(test_moved_once),
		SCENE(test_ahead),	SCENE(test_many),   SCENE(test_bad_head),
		SCENE(test_emulated),	SCENE(test_memory), SCENE(test_cleared),
		SCENE(test_closed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
