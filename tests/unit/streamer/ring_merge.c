/* The source of a ring: which records it takes, in which order, up to when; and when it gives their
 * room back. */
#include "tests/unit/streamer/ring_scene.h"

#define SLACK RING_STAMP_SLACK_NS

/* Takes what may be taken, and says whether that is all of the lane. */
static bool takes_all(const struct writer *w)
{
	scene_round(false);
	return w->slice->tail == w->head;
}

/* A slice that is more than half full when this round is over, with events that are too young. */
static void fill_up(struct writer *w)
{
	while (w->head <= w->slice->tail + w->words / 2)
		event_at(w, scene.now_ns);
	scene_round(false);
	assert_true(scene.run.more);
}

/* ---- up to when ---- */

/* With others, the clock's error may hide a record that belongs before. */
static void test_slack(void **state)
{
	struct writer w = claim(0, 7);

	(void)state;
	event_at(&w, BEGIN_NS);
	assert_true(takes_all(&w)); /* it is alone */
	assert_int_equal(scene.run.until_ns, stream_of(BEGIN_NS - SLACK));
	claim(1, 8);
	event_at(&w, BEGIN_NS);
	assert_false(takes_all(&w));
	scene.now_ns = BEGIN_NS + SLACK - 1;
	assert_false(takes_all(&w));
	scene.now_ns++;
	assert_true(takes_all(&w));
	assert_int_equal(scene.run.until_ns, stream_of(BEGIN_NS));
	event_at(&w, BEGIN_NS + MS);
	scene_round(true); /* nobody writes any more */
	assert_int_equal(got_count(RUN_EVENT), 1);
}

/* Alone, but another thread has got a slice since the look. */
static void test_alone_no_more(void **state)
{
	struct writer w = claim(0, 7);

	(void)state;
	scene_round(false);
	event_at(&w, BEGIN_NS);
	own(1, 8, 0, BEGIN_NS);
	header()->claims++;
	assert_false(takes_all(&w));
}

/* What a thread in a hook holds up: others' records up to when it entered, unless that takes too
 * long; and in any case what is said to be complete. */
static void test_entered(void **state)
{
	const struct {
		uint64_t entered_ns; /* before now; 0: it is in no hook */
		uint64_t limit_ns;   /* before now: what is taken */
		uint64_t until_ns;   /* before now */
		bool filling;
	} cases[] = {
		{0, SLACK, SLACK, false},
		{1 * US, SLACK, SLACK, false},
		{SLACK, SLACK, SLACK, false},
		{SLACK + 1, SLACK + 1, SLACK + 1, false},
		{20 * MS, 20 * MS, 20 * MS, false},
		{50 * MS, 50 * MS, 50 * MS, false},
		{50 * MS + 1, SLACK, 50 * MS + 1, false},
		{1 * MS, 1 * MS, 1 * MS, true},
		{1 * MS + 1, SLACK, 1 * MS + 1, true},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct writer w, other, full;

		scene_close(NULL);
		scene_open(NULL);
		w = claim(0, 7);
		other = claim(1, 8);
		full = claim(2, 9);
		if (cases[i].filling)
			fill_up(&full);
		event_at(&w, BEGIN_NS - cases[i].limit_ns);
		if (cases[i].entered_ns)
			other.slice->entered = stamp_of(BEGIN_NS - cases[i].entered_ns);
		assert_true(takes_all(&w));
		assert_int_equal(scene.run.until_ns, stream_of(BEGIN_NS - cases[i].until_ns));
		event_at(&w, BEGIN_NS - cases[i].limit_ns + 1);
		assert_false(takes_all(&w));
	}
}

/* Those that are gone hold nothing up. */
static void test_gone(void **state)
{
	struct writer w = claim(0, 7), dead = claim(1, 8), left = claim(2, 9);

	(void)state;
	claim(3, 10);
	dead.slice->entered = left.slice->entered = stamp_of(BEGIN_NS - 20 * MS);
	event_at(&w, BEGIN_NS - MS);
	assert_false(takes_all(&w));
	writer_die(&dead);
	assert_false(takes_all(&w));
	leave(&left, 99);
	assert_true(takes_all(&w));
	assert_int_equal(scene.run.until_ns, stream_of(BEGIN_NS - SLACK));
}

/* A program that makes its own stamps: up to the last one at the look, which then goes on with the
 * clock. */
static void test_ticks(void **state)
{
	struct writer w = claim(0, 7);

	(void)state;
	claim(1, 8);
	header()->strict = RING_STRICT_TICKS;
	header()->tick = stamp_of(BEGIN_NS - 3 * MS);
	event_at(&w, BEGIN_NS - 3 * MS);
	assert_true(takes_all(&w));
	assert_int_equal(header()->tick, stamp_of(BEGIN_NS));
	assert_int_equal(scene.run.until_ns, stream_of(BEGIN_NS - 3 * MS));
	event_at(&w, BEGIN_NS - SLACK);
	assert_true(takes_all(&w));
	assert_int_equal(scene.run.until_ns, stream_of(BEGIN_NS - SLACK));
	header()->tick = stamp_of(BEGIN_NS + MS); /* never back */
	assert_true(takes_all(&w));
	assert_int_equal(header()->tick, stamp_of(BEGIN_NS + MS));
	header()->strict = RING_STRICT_POLLED;
	header()->tick = 5;
	event_at(&w, BEGIN_NS - SLACK);
	assert_true(takes_all(&w));
	assert_int_equal(header()->tick, 5);
}

/* A stamp of the future is wrong. Up to a second of it may be the clocks' difference. */
static void test_future(void **state)
{
	struct writer w = claim(0, 7);

	(void)state;
	event_at(&w, BEGIN_NS + SECOND);
	event_at(&w, BEGIN_NS + SECOND + 1);
	event_at(&w, UINT64_MAX / TICKS);
	assert_true(takes_all(&w));
	assert_int_equal(got_count(RUN_EVENT), 3);
	assert_int_equal(got(RUN_EVENT, 0)->time_ns, stream_of(BEGIN_NS + SECOND));
	assert_int_equal(got(RUN_EVENT, 1)->time_ns, stream_of(BEGIN_NS));
	assert_int_equal(got(RUN_EVENT, 2)->time_ns, stream_of(BEGIN_NS));
}

/* Losses of threads without a slice: since the last round. */
static void test_no_slice(void **state)
{
	const struct run_item *item;

	(void)state;
	header()->no_slice = (struct ring_losses){5, 4, 1, 30};
	scene_round(false);
	item = got(RUN_GAP, 0);
	assert_non_null(item);
	assert_int_equal(item->lane, RUN_NO_LANE);
	assert_int_equal(item->gap.reason, HEAPCAST__REASON__REASON_NO_SLICE);
	assert_int_equal(item->gap.from_ns, 0);
	assert_int_equal(item->time_ns, stream_of(BEGIN_NS));
	assert_int_equal(item->gap.lost.events, 5);
	scene_round(false);
	assert_int_equal(scene.count, 0);
	scene.now_ns += MS;
	header()->no_slice = (struct ring_losses){7, 4, 3, 30};
	scene_round(false);
	item = got(RUN_GAP, 0);
	assert_non_null(item);
	assert_int_equal(item->gap.from_ns, stream_of(BEGIN_NS));
	assert_int_equal(item->time_ns, stream_of(BEGIN_NS + MS));
	assert_int_equal(item->gap.lost.events, 2);
	assert_int_equal(item->gap.lost.allocations, 0);
	assert_int_equal(item->gap.lost.frees, 2);
	assert_int_equal(item->gap.lost.bytes, 0);
	header()->no_slice.events = 3; /* no honest program does that */
	scene_round(false);
	assert_int_equal(scene.count, 0);
	header()->no_slice.events = 8;
	scene_round(false);
	assert_int_equal(got(RUN_GAP, 0)->gap.lost.events, 1);
}

/* ---- in which order ---- */

/* Records of several lanes, by their stamps; each lane's in its own order. */
static void test_order(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= 60; seed++) {
		struct writer w[9];
		uint64_t at[9], last_ns = 0;
		unsigned lanes = 1 + seed % 9, total = 0;

		srandom(seed);
		scene_close(NULL);
		scene_open(NULL);
		for (unsigned i = 0; i < lanes; i++) {
			w[i] = claim(i, 100 + i);
			at[i] = BEGIN_NS - 50 * MS;
		}
		for (unsigned i = 0; i < lanes; i++) {
			unsigned count = (unsigned)random() % 80;

			for (unsigned k = 0; k < count; k++)
				event_at(&w[i], at[i] += (uint64_t)(random() % 100) * US);
			total += count;
		}
		scene_round(false);
		assert_int_equal(got_count(RUN_EVENT), total);
		for (unsigned i = 0, of[9] = {0}; i < total; i++) {
			const struct run_item *e = got(RUN_EVENT, i);

			assert_true(e->time_ns >= last_ns);
			last_ns = e->time_ns;
			assert_int_equal(e->flags, of[e->lane] ? 0 : RUN_RESTART);
			assert_int_equal(e->address, 4096 + 16 * of[e->lane]++);
		}
	}
}

/* Stamps within a tick of the stream are in order, too. */
static void test_order_within_ticks(void **state)
{
	(void)state;
	for (unsigned lanes = 2; lanes <= 7; lanes++) {
		struct writer w[7];

		scene_close(NULL);
		scene_open(NULL);
		for (unsigned i = 0; i < lanes; i++)
			w[i] = claim(i, 100 + i);
		for (unsigned k = 0; k < 70; k++) /* lanes take turns */
			event_at(&w[k * 3 % lanes], BEGIN_NS - MS + k);
		scene_round(false);
		assert_int_equal(got_count(RUN_EVENT), 70);
		for (unsigned k = 0; k < 70; k++)
			assert_int_equal(got(RUN_EVENT, k)->lane, k * 3 % lanes);
	}
}

/* ---- giving back ---- */

/* An eighth of a slice at a time goes back to its writer, when the stream has taken it; the rest
 * when there is no more. */
static void test_release(void **state)
{
	struct writer w = claim(0, 7);
	uint64_t eighth = w.words / 8, tail = 0;

	(void)state;
	for (unsigned i = 0; i < 60; i++)
		event_at(&w, BEGIN_NS - MS);
	assert_true(w.head % eighth);
	for (unsigned runs = 0; !scene.run.complete; runs++) {
		unsigned before = got_count(RUN_EVENT);

		assert_true(runs < 20);
		scene.count = 0;
		scene_fill(false);
		assert_int_equal(w.slice->tail, tail += 3 * before);
		if (tail != w.head)
			assert_true(!before || 3 * before > eighth);
		assert_in_range(3 * got_count(RUN_EVENT), 0, eighth + 3);
	}
	assert_int_equal(w.slice->tail, w.head);
}

/* What is read of a lane is not given back in the middle, if less than an eighth. */
static void test_release_of_others(void **state)
{
	struct writer w = claim(0, 7), other = claim(1, 8);

	(void)state;
	event_at(&other, BEGIN_NS - 3 * MS);
	event_at(&other, BEGIN_NS - MS);
	for (unsigned i = 0; i < 50; i++)
		event_at(&w, BEGIN_NS - 2 * MS);
	scene_fill(false);
	scene_fill(false);
	assert_int_equal(other.slice->tail, 0);
	scene_round(false);
	assert_int_equal(other.slice->tail, 6);
	assert_int_equal(w.slice->tail, w.head);
}

/* A writer that waits for room is woken when there is so much. */
static void test_wanted(void **state)
{
	struct writer w = claim(0, 7);

	(void)state;
	event_at(&w, BEGIN_NS - MS);
	scene_round(false);
	assert_int_equal(w.slice->tail_futex, 0); /* nobody waits */
	w.slice->wanted = 7;
	event_at(&w, BEGIN_NS - MS);
	scene_round(false);
	assert_int_equal(w.slice->tail, 6);
	assert_int_equal(w.slice->tail_futex, 0);
	scene_round(false);
	w.slice->wanted = 9;
	event_at(&w, BEGIN_NS - MS);
	scene_round(false);
	assert_int_equal(w.slice->tail, 9);
	assert_int_equal(w.slice->tail_futex, 1);
	scene_round(false);
	assert_int_equal(w.slice->tail_futex, 1); /* nothing was given back */
}

/* ---- more ---- */

static void test_filling(void **state)
{
	const struct capture_ops *ops = scene.s.source.ops;
	struct writer w = claim(0, 7), other = claim(1, 8);

	(void)state;
	assert_true(ops->filling(&scene.s.source) == false); /* it is not known that it records */
	scene_round(false);
	assert_false(scene.run.more);
	assert_false(ops->filling(&scene.s.source));
	while (other.head + 3 <= other.words / 2)
		event_at(&other, BEGIN_NS);
	other.head = other.words / 2;
	writer_publish(&other);
	assert_false(ops->filling(&scene.s.source));
	other.slice->head++;
	assert_true(ops->filling(&scene.s.source));
	other.slice->head--;
	header()->claims++;
	assert_true(ops->filling(&scene.s.source)); /* it may be full already */
	scene.s.foreign = true;
	assert_false(ops->filling(&scene.s.source));
	scene.s.foreign = false;
	scene_round(false);
	assert_false(ops->filling(&scene.s.source));
	assert_false(scene.run.more);
	fill_up(&w);
	scene.now_ns += MS;
	scene_round(false);
	assert_false(scene.run.more);
}

/* At the end a round that began before it is not the last one. */
static void test_final(void **state)
{
	struct writer w = claim(0, 7);

	(void)state;
	for (unsigned i = 0; i < 40; i++)
		event_at(&w, BEGIN_NS - MS);
	scene_fill(false);
	assert_false(scene.run.complete);
	event_at(&w, BEGIN_NS);
	scene_round(true);
	assert_true(scene.run.more);
	scene_round(true);
	assert_false(scene.run.more);
	assert_int_equal(got_count(RUN_EVENT), 1);
	assert_int_equal(got_count(RUN_ENDED), 1);
	scene_round(true);
	assert_int_equal(scene.s.active_count, 0);
	assert_false(scene.run.more);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE(test_slack),
		SCENE(test_alone_no_more),
		SCENE(test_entered),
		SCENE(test_gone),
		SCENE(test_ticks),
		SCENE(test_future),
		SCENE(test_no_slice),
		SCENE(test_order),
		SCENE(test_order_within_ticks),
		SCENE(test_release),
		SCENE(test_release_of_others),
		SCENE(test_wanted),
		SCENE(test_filling),
		SCENE(test_final),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
