/* A stream whose events come from no ring. */
#include "tests/unit/streamer/harness.h"

/* A source that is no ring: it has one thread with a number of events, and offers again what did
 * not go in. */
struct plain_source {
	struct capture_source source;
	struct thread *thread;
	unsigned events, given, obeyed, closed;
	bool detached;
};

static int plain_drain(struct capture_source *source, struct stream *stream, bool final)
{
	struct plain_source *p = (struct plain_source *)source;
	uint64_t pc[2] = {100000, 200000};
	int r = p->thread ? 0 : capture_thread_begin(stream, 77, 1000, false, &p->thread);

	(void) final;
	for (; !r && p->given < p->events; p->given += !r) {
		struct capture_event e = {
			.event = {.kind = 1,
				  .class = EVENT_CLASS_ALLOCATION,
				  .time_ns = 2000 + p->given,
				  .address = (p->given + 1) * 16,
				  .size = 8},
			.has_stack = true,
			.count = 2,
			.pcs = pc,
		};

		r = capture_event(stream, 0, p->thread, &e);
	}
	capture_watermark(stream, 2000 + p->given);
	return r;
}

static void plain_count(struct capture_source *source, struct stream *stream)
{
	struct plain_source *p = (struct plain_source *)source;

	if (p->thread && p->thread->counts.produced < p->events)
		capture_thread_counts(stream, p->thread, p->events - p->thread->counts.produced, 0);
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

static void plain_note(struct capture_source *source, const struct stream *stream)
{
	(void)stream;
	((struct plain_source *)source)->obeyed++;
}

static void plain_seal(struct capture_source *source, const struct stream *stream)
{
	(void)source;
	(void)stream;
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
	.drain = plain_drain,
	.count = plain_count,
	.filling = plain_filling,
	.turn = plain_turn,
	.seal = plain_seal,
	.begin_image = plain_note,
	.obey = plain_note,
	.detach = plain_detach,
	.uncounted = plain_uncounted,
	.retire = plain_detach,
	.close = plain_close,
};

/* One stream after another from such a source, and then one from a ring again, in the same slot. */
static void test_other_source(void **state)
{
	static struct event got[20000];
	struct plain_source source = {.source = {&plain_ops}, .events = 20000};
	struct stream_settings settings = {.ring = {.mode = RING_FULL}};
	struct bench b = {0};
	struct writer w;
	uint64_t pc = 100000;

	(void)state;
	bench_open(&b);
	settings.agent_id = b.agent_id;
	for (unsigned round = 1; round <= 2; round++) {
		stream_close(&b.stream);
		source.given = 0;
		source.thread = NULL;
		assert_int_equal(
			stream_attach(&b.stream, &b.stream.target, &settings, &source.source), 0);
		assert_null(stream_ring(&b.stream));
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
	assert_int_equal(stream_open(&b.stream, &b.stream.target, &settings), 0);
	assert_non_null(stream_ring(&b.stream));
	stream_ring(&b.stream)->byte_order = 0x01020304;
	stream_ring(&b.stream)->clock = RING_CLOCK_MONOTONIC;
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
