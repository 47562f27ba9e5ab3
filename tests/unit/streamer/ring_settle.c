/* The source of a ring: accounts of its slices, and when they are given back to the program. */
#include "tests/unit/streamer/ring_scene.h"

static struct capture_counts count_lane(uint32_t lane)
{
	return scene.s.source.ops->count(&scene.s.source, lane);
}

static void lose(struct writer *w, uint64_t events, uint64_t allocations, uint64_t frees,
		 uint64_t bytes)
{
	struct ring_losses *l = &w->slice->lost;

	w->slice->events += events;
	l->events += events;
	l->allocations += allocations;
	l->frees += frees;
	l->bytes += bytes;
}

static void assert_gap(unsigned index, uint32_t lane, int reason, uint64_t events, uint64_t from_ns,
		       uint64_t to_ns)
{
	const struct run_item *item = got(RUN_GAP, index);

	assert_non_null(item);
	assert_int_equal(item->lane, lane);
	assert_int_equal(item->gap.reason, reason);
	assert_int_equal(item->gap.lost.events, events);
	assert_int_equal(item->gap.from_ns, stream_of(from_ns));
	assert_int_equal(item->time_ns, stream_of(to_ns));
}

/* The sums of a thread balance: all that it began was delivered or lost. */
static void assert_settled(const struct thread *t, uint64_t produced, uint64_t lost)
{
	assert_int_equal(t->counts.produced, produced);
	assert_int_equal(t->counts.lost, lost);
	assert_int_equal(t->counts.delivered + t->counts.lost + t->counts.not_sampled, produced);
}

/* ---- counts ---- */

static void test_counts(void **state)
{
	struct writer w = claim(2, 7);
	struct capture_counts c;

	(void)state;
	w.slice->events = 10;
	w.slice->not_sampled = 4;
	assert_int_equal(scene.s.source.ops->uncounted(&scene.s.source), 10);
	c = count_lane(2); /* it is not known yet */
	assert_int_equal(c.produced + c.not_sampled, 0);
	scene_round(false);
	assert_int_equal(scene.s.source.ops->uncounted(&scene.s.source), 10);
	c = count_lane(2);
	assert_int_equal(c.produced, 14);
	assert_int_equal(c.not_sampled, 4);
	c = count_lane(2);
	assert_int_equal(c.produced + c.not_sampled, 0);
	w.slice->events = 11;
	w.slice->not_sampled = 7;
	own(3, 8, 0, BEGIN_NS).slice->events = 5;
	own(4, 9, 0, BEGIN_NS).slice->events = 1000;
	scene.s.ring->slices[4].state = RING_SLICE_LEFT;
	own(5, 9, 0, BEGIN_NS).slice->events = 10000;
	scene.s.ring->slices[5].state = RING_SLICE_CLAIMING;
	assert_int_equal(scene.s.source.ops->uncounted(&scene.s.source), 1 + 5 + 1000);
	c = count_lane(2);
	assert_int_equal(c.produced, 4);
	assert_int_equal(c.not_sampled, 3);
	w.slice->events = 5; /* no honest program counts back */
	w.slice->not_sampled = 2;
	c = count_lane(2);
	assert_int_equal(c.produced + c.not_sampled, 0);
	w.slice->events = 6;
	c = count_lane(2);
	assert_int_equal(c.produced, 1);
}

/* ---- the end of a thread ---- */

/* It has written all that it began. */
static void test_end(void **state)
{
	struct writer w = claim(2, 7);
	struct thread *t;

	(void)state;
	event_at(&w, BEGIN_NS - 3 * MS);
	event_at(&w, BEGIN_NS - 2 * MS);
	w.slice->not_sampled = 5;
	scene_round(false);
	t = scene.thread[2];
	assert_int_equal(got_count(RUN_COUNTS), 0); /* the stream asks for them */
	writer_die(&w);
	event_at(&w, BEGIN_NS - MS);
	scene_round(false);
	assert_int_equal(got_count(RUN_GAP), 0);
	assert_int_equal(got_count(RUN_COUNTS), 1);
	assert_int_equal(got(RUN_COUNTS, 0)->thread.not_sampled, 5);
	assert_int_equal(got(RUN_ENDED, 0)->time_ns, stream_of(BEGIN_NS - MS));
	assert_int_equal(got(RUN_LEFT, 0)->lane, 2);
	assert_int_equal(t->counts.produced, 8);
	assert_false(t->alive);
	assert_int_equal(w.slice->state, RING_SLICE_FREE);
	assert_int_equal(scene.s.active_count, 0);
	assert_false(scene.s.lane[2].active);
	assert_int_equal(header()->settled, 8);
	assert_int_equal(header()->account.turn, 1);
	assert_int_equal(header()->account.gone[1].slice, 3);
	assert_int_equal(header()->account.gone[1].generation, w.slice->generation);
	assert_int_equal(header()->account.gone[1].produced, 8);
	assert_int_equal(header()->account.gone[1].delivered, 3);
	assert_int_equal(header()->account.gone[1].not_sampled, 5);
	assert_int_equal(header()->account.threads, 1);
	scene_round(false);
	assert_int_equal(scene.count, 0);
}

/* It has lost some that it has not told, and died in the middle of one. */
static void test_end_with_losses(void **state)
{
	struct writer w = claim(2, 7);
	struct thread *t;
	const struct run_losses *lost;

	(void)state;
	event_at(&w, BEGIN_NS - 3 * MS);
	lose(&w, 3, 2, 1, 100);
	w.slice->events++;
	writer_die(&w);
	scene_round(false);
	t = &scene.threads.entry[0];
	assert_int_equal(got_count(RUN_GAP), 2);
	assert_gap(0, 2, HEAPCAST__REASON__REASON_RING_FULL, 3, BEGIN_NS - 3 * MS, BEGIN_NS);
	assert_gap(1, 2, HEAPCAST__REASON__REASON_WRITER_DIED, 1, BEGIN_NS - 3 * MS, BEGIN_NS);
	lost = &got(RUN_GAP, 0)->gap.lost;
	assert_int_equal(lost->allocations, 2);
	assert_int_equal(lost->frees, 1);
	assert_int_equal(lost->bytes, 100);
	lost = &got(RUN_GAP, 1)->gap.lost;
	assert_int_equal(lost->allocations + lost->frees + lost->bytes, 0);
	assert_settled(t, 5, 4);
	assert_int_equal(header()->account.gone[1].lost, 4);
}

/* What it has told counts once. */
static void test_end_with_told_losses(void **state)
{
	struct writer w = claim(2, 7);

	(void)state;
	event_at(&w, BEGIN_NS - 5 * MS);
	lose(&w, 3, 2, 1, 100);
	writer_word(&w, RING_LOST);
	writer_word(&w, stamp_of(BEGIN_NS - 4 * MS));
	writer_word(&w, 3);
	writer_word(&w, UINT64_C(2) << 32 | 1);
	writer_word(&w, 100);
	event_at(&w, BEGIN_NS - 3 * MS);
	scene_round(false);
	assert_gap(0, 2, HEAPCAST__REASON__REASON_RING_FULL, 3, BEGIN_NS - 5 * MS,
		   BEGIN_NS - 4 * MS);
	assert_int_equal(got(RUN_GAP, 0)->gap.lost.allocations, 2);
	assert_int_equal(got(RUN_GAP, 0)->gap.lost.frees, 1);
	assert_int_equal(got(RUN_GAP, 0)->gap.lost.bytes, 100);
	lose(&w, 2, 1, 1, 10);
	writer_die(&w);
	scene_round(false);
	assert_int_equal(got_count(RUN_GAP), 1);
	assert_gap(0, 2, HEAPCAST__REASON__REASON_RING_FULL, 2, BEGIN_NS - 3 * MS, BEGIN_NS);
	assert_settled(&scene.threads.entry[0], 7, 5);
}

/* Its last slice waits for the ones before it, and shows what is missing of all. */
static void test_moved(void **state)
{
	struct writer w = claim(2, 7), next;
	struct thread *t;

	(void)state;
	claim(4, 9);
	event_at(&w, BEGIN_NS - 9 * MS);
	event_at(&w, BEGIN_NS - 8 * MS);
	w.slice->events++; /* it goes on with this one there, or nowhere */
	scene_round(false);
	t = scene.thread[2];
	leave(&w, 3);
	next = own(3, 7, 3, BEGIN_NS - 7 * MS);
	event_at(&next, BEGIN_NS - 6 * MS);
	writer_die(&next);
	w.slice->not_sampled = 2;
	/* The slice before is not read completely. */
	scene_fill(false);
	assert_int_equal(got_count(RUN_ENDED), 0);
	scene_round(false);
	scene_round(false);
	assert_int_equal(w.slice->state, RING_SLICE_FREE);
	assert_int_equal(next.slice->state, RING_SLICE_FREE);
	assert_false(t->alive);
	assert_settled(t, 6, 1);
	assert_int_equal(t->counts.not_sampled, 2);
	assert_int_equal(header()->account.turn, 1); /* the thread is counted once */
	assert_int_equal(header()->account.gone[1].produced, 6);
	assert_int_equal(header()->account.gone[1].slice, 4);
}

/* What is missing of a thread that has moved is counted among what others lose at the same time,
 * and those without a slice. */
static void test_moved_among_others(void **state)
{
	struct writer first = claim(3, 8), w = claim(5, 7), next;

	(void)state;
	event_at(&w, BEGIN_NS - 9 * MS);
	event_at(&first, BEGIN_NS - 9 * MS);
	scene_round(false);
	leave(&w, 0);
	next = own(0, 7, 1, BEGIN_NS - 7 * MS);
	scene_round(false);
	event_at(&next, BEGIN_NS - 7 * MS);
	scene_round(false);
	lose(&first, 10, 0, 0, 0);
	lose(&next, 5, 0, 0, 0);
	next.slice->events += 2;
	header()->no_slice.events = 100;
	writer_die(&first);
	writer_die(&next);
	scene_round(false);
	assert_int_equal(got_count(RUN_GAP), 4);
	assert_gap(1, 3, HEAPCAST__REASON__REASON_RING_FULL, 10, BEGIN_NS - 9 * MS, BEGIN_NS);
	assert_gap(2, 0, HEAPCAST__REASON__REASON_RING_FULL, 5, BEGIN_NS - 7 * MS, BEGIN_NS);
	assert_gap(3, 0, HEAPCAST__REASON__REASON_WRITER_DIED, 2, BEGIN_NS - 7 * MS, BEGIN_NS);
	assert_settled(&scene.threads.entry[0], 11, 10);
	assert_settled(&scene.threads.entry[1], 9, 7);
}

/* A slice that was left is settled while the thread lives, and its account goes to the next. */
static void test_moved_alive(void **state)
{
	struct writer w = claim(2, 7), next, other = claim(4, 9);

	(void)state;
	event_at(&w, BEGIN_NS - 9 * MS);
	event_at(&other, BEGIN_NS - 9 * MS);
	lose(&w, 3, 2, 1, 100);
	scene_round(false);
	leave(&w, 3);
	next = own(3, 7, 4, BEGIN_NS - 7 * MS);
	scene_round(false);
	assert_int_equal(got_count(RUN_ENDED), 0);
	assert_gap(0, 2, HEAPCAST__REASON__REASON_RING_FULL, 3, BEGIN_NS - 9 * MS, BEGIN_NS);
	assert_int_equal(got_count(RUN_GAP), 1);
	assert_int_equal(got_count(RUN_LEFT), 1);
	assert_int_equal(w.slice->state, RING_SLICE_FREE);
	assert_int_equal(header()->account.turn, 0);
	assert_int_equal(header()->settled, 4);
	assert_int_equal(next.slice->thread, 1);
	assert_int_equal(next.slice->thread_delivered, 1);
	assert_int_equal(next.slice->thread_lost, 3);
	assert_int_equal(other.slice->thread, 0);
	assert_true(scene.thread[3]->alive);
}

/* A dead thread's slice is not settled while one that it claimed earlier is there, also if that
 * does not say that it was left; later ones do not hold it up. */
static void test_other_slices(void **state)
{
	struct writer w = claim(2, 7), next, other = claim(5, 9);

	(void)state;
	event_at(&w, BEGIN_NS - 9 * MS);
	scene_round(false);
	next = own(3, 7, 1, BEGIN_NS - 7 * MS);
	header()->claims++;
	writer_die(&next);
	scene_round(false);
	assert_int_equal(got_count(RUN_ENDED), 0);
	assert_int_equal(next.slice->state, RING_SLICE_OWNED);
	writer_die(&w);
	scene_round(false);
	assert_int_equal(got(RUN_ENDED, 0)->lane, 2);
	assert_int_equal(w.slice->state, RING_SLICE_FREE);
	scene_round(false);
	scene_round(false);
	assert_int_equal(next.slice->state, RING_SLICE_FREE);
	assert_int_equal(other.slice->state, RING_SLICE_OWNED);
	assert_int_equal(scene.s.active_count, 1);
}

/* What is not read yet holds the end up. */
static void test_unread(void **state)
{
	struct writer w = claim(2, 7);

	(void)state;
	claim(4, 9).slice->entered = stamp_of(BEGIN_NS - 20 * MS);
	event_at(&w, BEGIN_NS - 10 * MS);
	writer_die(&w);
	scene_round(false);
	assert_int_equal(got_count(RUN_EVENT), 0);
	assert_int_equal(got_count(RUN_ENDED), 0);
	assert_int_equal(w.slice->state, RING_SLICE_OWNED);
	scene.s.ring->slices[4].entered = 0;
	scene_round(false);
	assert_int_equal(got_count(RUN_EVENT), 1);
	assert_int_equal(got_count(RUN_ENDED), 1);
	assert_int_equal(w.slice->state, RING_SLICE_FREE);
}

/* A damaged slice that was left tells itself what is missing in it. */
static void test_damaged(void **state)
{
	(void)state;
	for (unsigned left = 0; left < 2; left++) {
		struct writer w;
		struct thread *t;

		scene_close(NULL);
		scene_open(NULL);
		w = claim(2, 7);
		event_at(&w, BEGIN_NS - 9 * MS);
		w.slice->events += 4;
		writer_word(&w, 77); /* no kind */
		writer_word(&w, 0);
		writer_word(&w, 0);
		writer_publish(&w);
		scene_round(false);
		assert_int_equal(scene.s.records_damaged, 1);
		lose(&w, 2, 1, 1, 8);
		t = scene.thread[2];
		if (left) {
			leave(&w, 3);
			own(3, 7, 7, BEGIN_NS);
		} else {
			writer_die(&w);
		}
		scene_round(false);
		assert_int_equal(got_count(RUN_GAP), 2);
		assert_gap(0, 2, HEAPCAST__REASON__REASON_RING_FULL, 2, BEGIN_NS - 9 * MS,
			   BEGIN_NS);
		assert_gap(1, 2, HEAPCAST__REASON__REASON_DAMAGED, 4, BEGIN_NS - 9 * MS, BEGIN_NS);
		assert_settled(t, 7, 6);
	}
}

/* More dead threads than a run has room for. */
static void test_many(void **state)
{
	uint32_t count = scene.s.ring->slice_count;

	(void)state;
	header()->claims++;
	for (uint32_t i = 0; i < count; i++) {
		struct writer w = own(i, 100 + i, 0, BEGIN_NS - MS);

		lose(&w, i + 1, 0, 0, 0);
		w.slice->waited_ns = SECOND;
		w.slice->events++;
		writer_die(&w);
	}
	scene_round(false);
	assert_int_equal(got_count(RUN_GAP), 2 * count);
	assert_int_equal(got_count(RUN_ENDED), count);
	assert_int_equal(got_count(RUN_MARK), count);
	assert_int_equal(got_count(RUN_LEFT), count);
	assert_int_equal(scene.s.active_count, 0);
	assert_int_equal(header()->account.turn, count);
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(scene.s.ring->slices[i].state, RING_SLICE_FREE);
}

/* ---- waits ---- */

static void assert_waited(unsigned index, uint32_t lane, uint64_t value, uint64_t at_ns)
{
	const struct run_item *item = got(RUN_MARK, index);

	assert_non_null(item);
	assert_int_equal(item->lane, lane);
	assert_int_equal(item->mark.kind, HEAPCAST__MARK_KIND__MARK_WAITED);
	assert_int_equal(item->mark.value, value);
	assert_int_equal(item->time_ns, stream_of(at_ns));
}

/* How long a thread has waited for room: if it is worth it, once a second, and at its end. */
static void test_waits(void **state)
{
	struct writer w = claim(2, 7), other = claim(3, 8);

	(void)state;
	w.slice->waited_ns = MS - 1;
	other.slice->waited_ns = MS;
	w.slice->waited_stamp = stamp_of(BEGIN_NS - 5 * MS);
	other.slice->waited_stamp = stamp_of(BEGIN_NS + 5 * MS); /* not later than now */
	scene_round(false);
	assert_int_equal(got_count(RUN_MARK), 1);
	assert_waited(0, 3, MS, BEGIN_NS);
	w.slice->waited_ns = 7 * MS;
	other.slice->waited_ns = 9 * MS;
	scene.now_ns = BEGIN_NS + 100 * MS - 1; /* between two looks */
	scene_round(false);
	assert_int_equal(got_count(RUN_MARK), 0);
	scene.now_ns++;
	scene_round(false);
	assert_int_equal(got_count(RUN_MARK), 1);
	assert_waited(0, 2, 7 * MS, BEGIN_NS - 5 * MS);
	w.slice->waited_ns = 8 * MS;
	scene.now_ns = BEGIN_NS + SECOND - 1;
	scene_round(false);
	assert_int_equal(got_count(RUN_MARK), 0);
	scene.now_ns += 100 * MS;
	scene_round(false); /* a second since the last mark of that thread */
	assert_int_equal(got_count(RUN_MARK), 1);
	assert_waited(0, 3, 8 * MS, BEGIN_NS + 5 * MS);
	scene.now_ns++;
	other.slice->waited_ns = 10 * MS;
	writer_die(&w);
	writer_die(&other);
	scene_round(false);
	assert_int_equal(got_count(RUN_MARK), 2);
	assert_waited(0, 2, MS, BEGIN_NS - 5 * MS);
	assert_waited(1, 3, MS, BEGIN_NS + 5 * MS);
}

/* What is less than worth it is not said at the end, either. */
static void test_short_waits(void **state)
{
	struct writer w = claim(2, 7);

	(void)state;
	w.slice->waited_ns = MS - 1;
	writer_die(&w);
	scene_round(false);
	assert_int_equal(got_count(RUN_ENDED), 1);
	assert_int_equal(got_count(RUN_MARK), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE(test_counts),
		SCENE(test_end),
		SCENE(test_end_with_losses),
		SCENE(test_end_with_told_losses),
		SCENE(test_moved),
		SCENE(test_moved_among_others),
		SCENE(test_moved_alive),
		SCENE(test_other_slices),
		SCENE(test_unread),
		SCENE(test_damaged),
		SCENE(test_many),
		SCENE(test_waits),
		SCENE(test_short_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
