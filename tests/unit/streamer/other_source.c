/* A stream whose events come from no ring. */
#include "tests/unit/streamer/harness.h"

/* A source that is no ring: it has one thread with a number of events. */
struct plain_source {
	struct capture_source source;
	unsigned events, given, obeyed, closed;
	uint64_t counted;
	bool begun, detached;
};

static void plain_fill(struct capture_source *source, bool final, struct run *run)
{
	static const uint64_t pc[2] = {100000, 200000};
	struct plain_source *p = (struct plain_source *)source;
	struct run_item *item;

	(void) final;
	assert_true(!run->count && !run->taken);
	if (!p->begun) {
		item = run_put(run, RUN_THREAD, 0, 1000);
		item->thread.tid = 77;
		memset(item->thread.name, 0, sizeof(item->thread.name));
		p->begun = true;
	}
	for (; run_fits(run, 1) && p->given < p->events; p->given++) {
		item = run_put(run, RUN_EVENT, 0, 2000 + p->given);
		item->event = 1;
		item->class = EVENT_CLASS_ALLOCATION;
		item->address = (p->given + 1) * 16;
		item->size = 8;
		item->pcs = pc;
		item->frames = RUN_FRAMES(0, 2);
		item->epoch = 0;
	}
	run->complete = p->given == p->events;
	run->until_ns = 2000 + p->given;
}

static struct capture_counts plain_count(struct capture_source *source, uint32_t lane)
{
	struct plain_source *p = (struct plain_source *)source;
	struct capture_counts more = {.produced = p->events - p->counted};

	assert_int_equal(lane, 0);
	p->counted = p->events;
	return more;
}

static struct capture_totals plain_totals(const struct capture_source *source)
{
	(void)source;
	return (struct capture_totals){0};
}

static bool plain_filling(const struct capture_source *source)
{
	(void)source;
	return false;
}

static void plain_turn(struct capture_source *source, bool away)
{
	(void)source;
	(void)away;
}

static void plain_begin_image(struct capture_source *source, uint32_t image,
			      const struct target_info *target)
{
	(void)source;
	(void)image;
	(void)target;
}

static void plain_obey(struct capture_source *source, const struct capture_orders *orders)
{
	(void)orders;
	((struct plain_source *)source)->obeyed++;
}

static void plain_seal(struct capture_source *source, const struct capture_account *account)
{
	(void)source;
	(void)account;
}

static void plain_detach(struct capture_source *source)
{
	((struct plain_source *)source)->detached = true;
}

static uint64_t plain_uncounted(const struct capture_source *source)
{
	(void)source;
	return 0;
}

static void plain_close(struct capture_source *source)
{
	((struct plain_source *)source)->closed++;
}

static const struct capture_ops plain_ops = {
	.fill = plain_fill,
	.count = plain_count,
	.totals = plain_totals,
	.filling = plain_filling,
	.turn = plain_turn,
	.seal = plain_seal,
	.begin_image = plain_begin_image,
	.obey = plain_obey,
	.detach = plain_detach,
	.uncounted = plain_uncounted,
	.retire = plain_detach,
	.close = plain_close,
};

/* One stream after another from such a source, and then one from a ring again, in the same slot. */
static void test_other_source(void **state)
{
	static struct event got[20000];
	struct plain_source source = {.source.ops = &plain_ops, .events = 20000};
	struct stream_settings settings = {.mode = RING_FULL};
	struct ring_settings ring = {.mode = RING_FULL};
	struct bench b = {0};
	struct writer w;
	uint64_t pc = 100000;

	(void)state;
	bench_open(&b);
	settings.agent_id = b.agent_id;
	for (unsigned round = 1; round <= 2; round++) {
		stream_close(&b.stream);
		source.given = 0;
		source.counted = 0;
		source.begun = false;
		assert_int_equal(stream_prepare(&b.stream, &b.stream.target, &settings), 0);
		stream_begin(&b.stream, &source.source, 1);
		bench_drain(&b, true);
		assert_int_equal(bench_events(&b, got, 20000), 20000);
		assert_int_equal(got[19999].address, 20000 * 16);
		assert_int_equal(stream_ledger(&b.stream).produced, 20000);
		assert_int_equal(stream_ledger(&b.stream).pending, 0);
		assert_int_equal(b.stream.state, STREAM_ENDED);
		assert_int_equal(source.closed, round - 1);
	}
	stream_close(&b.stream);
	assert_int_equal(source.closed, 2);
	assert_int_equal(ring_stream_open(&b.stream, &b.ring, &b.stream.target, &settings, &ring),
			 0);
	b.ring.ring->header->byte_order = 0x01020304;
	b.ring.ring->header->clock = RING_CLOCK_MONOTONIC;
	w = writer_claim(&b, 0, 1000);
	writer_event(&w, 1, 4711, 8, now(), 0, 1, &pc);
	usleep(1000);
	bench_drain(&b, true);
	assert_int_equal(bench_events(&b, got, 20000), 1);
	assert_int_equal(got[0].address, 4711);
	bench_close(&b);
	assert_int_equal(source.closed, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_other_source),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
