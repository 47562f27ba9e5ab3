/* The source of a ring that another agent has left: what it inherits, what it refuses, and what it
 * says of the time between. */
#include "tests/unit/streamer/ring_takeup.h"

static void restart(struct writer *w, uint64_t events, const struct ring_losses *lost, uint64_t ns)
{
	writer_pad(w, 8);
	writer_word(w, RING_RESTART);
	writer_word(w, header()->account.incarnation);
	writer_word(w, stamp_of(ns));
	writer_word(w, events);
	writer_word(w, lost->events);
	writer_word(w, lost->allocations);
	writer_word(w, lost->frees);
	writer_word(w, lost->bytes);
	writer_publish(w);
}

/* ---- the account ---- */

static void test_account(void **state)
{
	struct writer w = claim(0, 7);
	struct ring_inheritance in;
	struct ring_account *a;

	(void)state;
	claim(1, 8);
	header()->no_slice.events = 11;
	event_at(&w, BEGIN_NS - 30 * MS);
	event_at(&w, BEGIN_NS - 30 * MS);
	scene_round(false);
	scene.thread[0]->counts.culled = 1;
	scene.thread[0]->held = 2;
	scene.thread[0]->counts.lost = 3;
	w.slice->events = 8;
	w.slice->not_sampled = 6;
	scene.thread[0]->counts.not_sampled = 10; /* four of them in an earlier slice */
	scene.s.source.ops->count(&scene.s.source, 0);
	seal();
	assert_int_equal(w.slice->thread, 1);
	assert_int_equal(w.slice->thread_delivered, 2 + 1 + 2);
	assert_int_equal(w.slice->thread_lost, 3);
	assert_int_equal(w.slice->thread_not_sampled, 4);
	header()->modules_head = 4096 + 7;
	header()->sleeping = 1;
	in = take_up(&w, 1);
	a = &in.account;
	assert_int_equal(a->watermark_ns, stream_of(BEGIN_NS - 20 * MS));
	assert_int_equal(a->stacks_cut, 2);
	assert_int_equal(a->delivered[0], 3);
	assert_int_equal(a->delivered[1], 4);
	assert_int_equal(a->delivered[2], 5);
	assert_int_equal(a->lost.events, 60);
	assert_int_equal(a->lost.allocations, 7);
	assert_int_equal(a->lost.frees, 8);
	assert_int_equal(a->lost.bytes, 9);
	assert_int_equal(a->image, 10);
	assert_int_equal(a->threads, 2);
	assert_int_equal(in.delivered, 5);
	assert_int_equal(in.lost, 3 + 11);
	assert_int_equal(scene.s.incarnation, 2);
	assert_int_equal(header()->account.incarnation, 2);
	assert_int_equal(header()->control, 2);
	assert_int_equal(header()->sleeping, 0);
	assert_int_equal(header()->modules_tail, 4096);
	/* What had no slice before is known, and comes after what was read. */
	header()->no_slice.events = 12;
	scene_round(false);
	assert_int_equal(got_count(RUN_GAP), 1);
	assert_int_equal(got(RUN_GAP, 0)->gap.lost.events, 1);
	assert_int_equal(got(RUN_GAP, 0)->gap.from_ns, a->watermark_ns);
}

/* Threads that are gone count once, also if the agent died before it had freed their slice. */
static void test_gone(void **state)
{
	(void)state;
	for (unsigned generation = 0; generation < 2; generation++) {
		struct writer w[2];
		struct ring_inheritance in;

		scene_close(NULL);
		scene_open(NULL);
		w[0] = claim(0, 7);
		w[1] = claim(1, 8);
		event_at(&w[0], BEGIN_NS - 30 * MS);
		event_at(&w[1], BEGIN_NS - 30 * MS);
		scene_round(false);
		seal();
		header()->account.turn = 4 + generation;
		header()->account.gone[generation] =
			(struct ring_gone){.delivered = 100,
					   .lost = 200,
					   .slice = 2,
					   .generation = w[1].slice->generation + generation};
		in = take_up(w, 2);
		assert_int_equal(in.delivered, 100 + 1 + generation);
		assert_int_equal(in.lost, 200);
		assert_int_equal(w[1].slice->state,
				 generation ? RING_SLICE_OWNED : RING_SLICE_FREE);
		assert_int_equal(w[0].slice->state, RING_SLICE_OWNED);
	}
}

/* A thread in two slices counts once, by the larger account. */
static void test_two_slices(void **state)
{
	const struct {
		uint64_t first[2], second[2], delivered, lost; /* of these two, and of both */
	} cases[] = {
		{{3, 1}, {4, 1}, 4, 1}, {{4, 1}, {3, 1}, 4, 1}, {{3, 2}, {4, 1}, 3, 2},
		{{3, 2}, {3, 1}, 3, 2}, {{3, 0}, {3, 3}, 3, 3},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct writer w[3];
		struct ring_inheritance in;

		scene_close(NULL);
		scene_open(NULL);
		for (unsigned k = 0; k < 3; k++) {
			w[k] = claim(k, 7);
			w[k].slice->events = 10;
			w[k].slice->thread = 1 + k / 2;
		}
		header()->account.threads = 2;
		w[0].slice->thread_delivered = cases[i].first[0];
		w[0].slice->thread_lost = cases[i].first[1];
		w[1].slice->thread_delivered = cases[i].second[0];
		w[1].slice->thread_lost = cases[i].second[1];
		w[2].slice->thread_delivered = 5;
		in = take_up(w, 3);
		assert_int_equal(in.delivered, cases[i].delivered + 5);
		assert_int_equal(in.lost, cases[i].lost);
	}
}

/* The program has changed its account since it was adopted: nothing of it is used. */
static void test_changed(void **state)
{
	struct writer w = claim(0, 7);
	const struct run_item *item;

	(void)state;
	event_at(&w, BEGIN_NS - 30 * MS);
	scene_round(false);
	seal();
	take_up(&w, 1);
	w.slice->thread_delivered = 100;
	scene_round(false);
	item = got(RUN_RESUME, 0);
	assert_non_null(item);
	assert_int_equal(item->thread.tid, 7);
	assert_int_equal(item->thread.number, 0);
	assert_int_equal(item->thread.delivered, 0);
}

/* ---- what is refused ---- */

/* Sets a word of the ring to these values, one of them right and the other wrong. */
static void assert_limit(size_t at, uint64_t right, uint64_t wrong, size_t size)
{
	for (unsigned k = 0; k < 2; k++) {
		uint64_t value = k ? wrong : right;
		uint32_t half = (uint32_t)value;
		struct ring_inheritance in;
		struct writer w;

		scene_close(NULL);
		scene_open(NULL);
		w = claim(0, 7);
		event_at(&w, BEGIN_NS - 30 * MS);
		scene_round(false);
		seal();
		w.slice->thread_first = 100;
		memcpy((uint8_t *)header() + at, size == sizeof(half) ? (void *)&half : &value,
		       size);
		assert_int_equal(adopt(&in, mark), k ? -EBADMSG : 0);
		assert_int_equal(scene.s.ring->header != NULL, !k);
	}
}

#define HEAD(member)  offsetof(struct ring_header, member)
#define SLICE(member) (RING_HEADER_SIZE + offsetof(struct ring_slice, member))

static void test_limits(void **state)
{
	const size_t counts[] = {
		HEAD(account.gone[0].produced),
		HEAD(account.gone[0].delivered),
		HEAD(account.gone[0].lost),
		HEAD(account.gone[0].not_sampled),
		HEAD(account.lost.events),
		HEAD(account.lost.allocations),
		HEAD(account.lost.frees),
		HEAD(account.lost.bytes),
		HEAD(account.no_slice.events),
		HEAD(account.no_slice.allocations),
		HEAD(account.no_slice.frees),
		HEAD(account.no_slice.bytes),
		SLICE(thread_not_sampled),
		SLICE(thread_first),
		SLICE(events),
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		assert_limit(counts[i], COUNT_MAX - 1, COUNT_MAX, 8);
	assert_limit(HEAD(account.threads), THREADS_MAX, THREADS_MAX + 1, 4);
	assert_limit(HEAD(account.threads), 1, 0, 4);
	assert_limit(HEAD(account.start_ns), clock_monotonic_ns(),
		     clock_monotonic_ns() + 3600 * SECOND, 8);
	/* One is delivered, 101 have begun. */
	assert_limit(SLICE(thread_delivered), 101, 102, 8);
	assert_limit(SLICE(thread_lost), 100, 101, 8);
}

/* Of a slice that was left, more may have been delivered than was begun there. */
static void test_left(void **state)
{
	(void)state;
	for (unsigned wrong = 0; wrong < 2; wrong++) {
		struct ring_inheritance in;
		struct writer w;

		scene_close(NULL);
		scene_open(NULL);
		w = claim(0, 7);
		header()->account.threads = 1;
		w.slice->state = RING_SLICE_LEFT;
		w.slice->thread = 1;
		w.slice->thread_delivered = wrong ? COUNT_MAX : COUNT_MAX - 1;
		assert_int_equal(adopt(&in, mark), wrong ? -EBADMSG : 0);
	}
}

/* Not ours, or let go. */
static void test_not_ours(void **state)
{
	uint8_t other[RING_MARK_SIZE] = {0};
	struct ring_inheritance in;

	(void)state;
	other[RING_MARK_SIZE - 1] = 1;
	assert_int_equal(adopt(&in, other), -EXDEV);
	assert_null(scene.s.ring->header);
	scene_close(NULL);
	scene_open(NULL);
	header()->detached = 1;
	assert_int_equal(adopt(&in, mark), -ESTALE);
	assert_null(scene.s.ring->header);
}

/* ---- the time between ---- */

/* What was sent, what was read and not sent, what was written for nobody, and what comes after the
 * thread has noticed. */
static void test_gap(void **state)
{
	const struct ring_losses lost = {4, 3, 1, 50};
	const struct run_item *item;
	struct writer w = claim(0, 7);
	uint64_t pc = 100001;

	(void)state;
	event_at(&w, BEGIN_NS - 30 * MS);
	event_at(&w, BEGIN_NS - 30 * MS);
	scene_round(false);
	seal(); /* two are sent */
	event_at(&w, BEGIN_NS - 25 * MS);
	scene_round(false);
	event_at(&w, BEGIN_NS - 20 * MS);
	writer_event(&w, FREE, 4096, 0, stamp_of(BEGIN_NS - 19 * MS), 0, 0, NULL);
	w.slice->events += 2 + 4; /* of them two are in the middle of nowhere */
	writer_word(&w, RING_LOST);
	writer_word(&w, stamp_of(BEGIN_NS - 18 * MS));
	writer_word(&w, 4);
	writer_word(&w, UINT64_C(3) << 32 | 1);
	writer_word(&w, 50);
	writer_publish(&w);
	take_up(&w, 1);
	scene_round(false);
	assert_int_equal(scene.count, 1);
	item = got(RUN_RESUME, 0);
	assert_non_null(item);
	assert_int_equal(item->lane, 0);
	assert_int_equal(item->thread.tid, 7);
	assert_int_equal(item->thread.number, 1);
	assert_int_equal(item->thread.delivered, 2);
	assert_int_equal(item->thread.lost, 0);
	assert_int_equal(item->thread.produced, 0);
	assert_int_equal(item->thread.not_sampled, 0);
	scene_round(false);
	assert_int_equal(scene.count, 0);
	assert_int_equal(w.slice->tail, w.head); /* all of it was dropped */
	restart(&w, 11, &lost, BEGIN_NS - 10 * MS);
	writer_event(&w, MALLOC, 64, 8, stamp_of(BEGIN_NS - 9 * MS), 0, 1, &pc);
	scene_round(false);
	assert_int_equal(got_count(RUN_GAP), 1);
	item = got(RUN_GAP, 0);
	assert_int_equal(item->gap.reason, HEAPCAST__REASON__REASON_AGENT_GONE);
	assert_int_equal(item->gap.lost.events, 11 - 2);
	/* Of those that were not sent the ring has what was not read, and the losses. */
	assert_int_equal(item->gap.lost.allocations, 1 + 3);
	assert_int_equal(item->gap.lost.frees, 1 + 1);
	assert_int_equal(item->gap.lost.bytes, 8 + 50);
	assert_int_equal(item->gap.from_ns, stream_of(BEGIN_NS - 20 * MS));
	assert_int_equal(item->time_ns, stream_of(BEGIN_NS - 10 * MS));
	assert_int_equal(got_count(RUN_EVENT), 1);
	assert_int_equal(got(RUN_EVENT, 0)->flags, RUN_RESTART);
	assert_int_equal(got(RUN_EVENT, 0)->epoch, 0);
	/* Its end: nothing is missing. */
	writer_die(&w);
	scene_round(false);
	assert_int_equal(got_count(RUN_GAP), 0);
	assert_int_equal(got_count(RUN_ENDED), 1);
	assert_int_equal(scene.threads.entry[0].counts.produced, 12);
	assert_int_equal(scene.threads.entry[0].counts.delivered, 3);
	assert_int_equal(scene.threads.entry[0].counts.lost, 9);
}

/* A restart for the agent before is none. */
static void test_other_incarnation(void **state)
{
	const struct ring_losses lost = {0};
	struct writer w = claim(0, 7);

	(void)state;
	event_at(&w, BEGIN_NS - 30 * MS);
	scene_round(false);
	seal();
	take_up(&w, 1);
	header()->account.incarnation = 3;
	restart(&w, 1, &lost, BEGIN_NS - 10 * MS);
	header()->account.incarnation = 2;
	event_at(&w, BEGIN_NS - 9 * MS);
	scene_round(false);
	assert_int_equal(got_count(RUN_EVENT), 0);
	restart(&w, 2, &lost, BEGIN_NS - 8 * MS);
	event_at(&w, BEGIN_NS - 7 * MS);
	scene_round(false);
	assert_int_equal(got_count(RUN_EVENT), 1);
	assert_int_equal(got(RUN_GAP, 0)->gap.lost.events, 1);
	assert_int_equal(got(RUN_GAP, 0)->gap.lost.allocations, 1);
}

/* Kinds of reallocations that were lost, by what they ended and began. */
static void test_reallocations(void **state)
{
	const struct {
		uint64_t address, old;
		uint64_t allocations, frees, bytes;
	} cases[] = {{64, 128, 1, 1, 8}, {64, 0, 1, 0, 8}, {0, 128, 0, 0, 0}, {0, 0, 0, 0, 0}};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct run_losses *lost;
		struct writer w;

		scene_close(NULL);
		scene_open(NULL);
		w = claim(0, 7);
		event_at(&w, BEGIN_NS - 30 * MS);
		scene_round(false);
		seal();
		w.slice->events++;
		writer_word(&w, RING_WORD0(HEAPCAST__EVENT_KIND__EVENT_REALLOC, 0, 0, 0, 0, 8));
		writer_word(&w, cases[i].address);
		writer_word(&w, stamp_of(BEGIN_NS - 20 * MS));
		writer_word(&w, cases[i].old);
		writer_word(&w, stamp_of(BEGIN_NS - 21 * MS));
		writer_publish(&w);
		take_up(&w, 1);
		writer_die(&w);
		scene_round(false);
		assert_int_equal(got_count(RUN_GAP), 1);
		lost = &got(RUN_GAP, 0)->gap.lost;
		assert_int_equal(lost->events, 1);
		assert_int_equal(lost->allocations, cases[i].allocations);
		assert_int_equal(lost->frees, cases[i].frees);
		assert_int_equal(lost->bytes, cases[i].bytes);
	}
}

/* Threads that died or never noticed are settled by their account at the end; damage does not
 * change that. */
static void test_no_restart(void **state)
{
	(void)state;
	for (unsigned damaged = 0; damaged < 2; damaged++) {
		const struct run_item *item;
		struct writer w;

		scene_close(NULL);
		scene_open(NULL);
		w = claim(0, 7);
		event_at(&w, BEGIN_NS - 30 * MS);
		scene_round(false);
		seal();
		event_at(&w, BEGIN_NS - 15 * MS);
		if (damaged)
			writer_word(&w, 77);
		writer_publish(&w);
		w.slice->events += 3;
		take_up(&w, 1);
		writer_die(&w);
		scene_round(false);
		assert_int_equal(scene.s.records_damaged, damaged);
		assert_int_equal(got_count(RUN_EVENT), 0);
		assert_int_equal(got_count(RUN_GAP), 1);
		item = got(RUN_GAP, 0);
		assert_int_equal(item->gap.lost.events, 4);
		assert_int_equal(item->gap.lost.allocations, !damaged);
		assert_int_equal(item->gap.lost.bytes, damaged ? 0 : 8);
		assert_int_equal(item->gap.reason, damaged ? HEAPCAST__REASON__REASON_DAMAGED
							   : HEAPCAST__REASON__REASON_AGENT_GONE);
		if (!damaged) {
			assert_int_equal(item->gap.from_ns, stream_of(BEGIN_NS - 20 * MS));
			assert_int_equal(item->time_ns, stream_of(BEGIN_NS - 15 * MS));
		}
		assert_int_equal(got_count(RUN_ENDED), 1);
		assert_int_equal(scene.threads.entry[0].counts.produced, 5);
	}
}

/* Waits that were told are not told again. */
static void test_waits(void **state)
{
	struct writer w = claim(0, 7);

	(void)state;
	event_at(&w, BEGIN_NS - 30 * MS);
	w.slice->waited_ns = SECOND;
	scene_round(false);
	assert_int_equal(got_count(RUN_MARK), 1);
	seal();
	take_up(&w, 1);
	writer_die(&w);
	scene_round(false);
	assert_int_equal(got_count(RUN_MARK), 0);
	assert_int_equal(got_count(RUN_ENDED), 1);
}

/* A thread that this agent did not see before is not taken up: it is a new one, all of which the
 * agent before has lost. */
static void test_unseen(void **state)
{
	struct writer w = claim(0, 7);

	(void)state;
	event_at(&w, BEGIN_NS - 15 * MS);
	take_up(&w, 1);
	scene_round(false);
	assert_int_equal(got_count(RUN_RESUME), 0);
	assert_int_equal(got_count(RUN_THREAD), 1);
	assert_int_equal(got_count(RUN_EVENT), 0);
	restart(&w, 1, &(struct ring_losses){0}, BEGIN_NS - 10 * MS);
	scene_round(false);
	assert_int_equal(got(RUN_GAP, 0)->gap.lost.events, 1);
	assert_int_equal(got(RUN_GAP, 0)->time_ns, stream_of(BEGIN_NS - 10 * MS));
	/* One that came later is as any other. */
	w = claim(1, 8);
	event_at(&w, BEGIN_NS - 5 * MS);
	scene_round(false);
	assert_int_equal(got_count(RUN_EVENT), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE(test_account),	   SCENE(test_gone),	   SCENE(test_two_slices),
		SCENE(test_changed),	   SCENE(test_limits),	   SCENE(test_left),
		SCENE(test_not_ours),	   SCENE(test_gap),	   SCENE(test_other_incarnation),
		SCENE(test_reallocations), SCENE(test_no_restart), SCENE(test_waits),
		SCENE(test_unseen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
