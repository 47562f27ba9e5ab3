/*
 * What a ring keeps of its stream for the next agent: who it is, what was ordered, and how much was
 * taken.
 */
#include "tests/unit/descriptors.h"
#include "tests/unit/streamer/takeup.h"

static struct bench b;
static const uint8_t parent[STREAM_ID_SIZE] = {1, 2, 3, [STREAM_ID_SIZE - 1] = 99};

static int begin_stream(void **state)
{
	(void)state;
	memset(&b, 0, sizeof(b));
	bench_open(&b);
	return 0;
}

static int end_stream(void **state)
{
	(void)state;
	bench_close(&b);
	return 0;
}

static void open_anew(const struct stream_settings *settings, const struct ring_settings *ring)
{
	struct target_info target;

	stream_close(&b.stream);
	assert_int_equal(target_read(getpid(), &target), 0);
	assert_int_equal(ring_stream_open(&b.stream, &b.ring, &target, settings, ring), 0);
	b.ring.ring->header->byte_order = 0x01020304;
	b.ring.ring->header->clock = RING_CLOCK_MONOTONIC;
}

static void test_identity(void **state)
{
	struct stream *s = &b.stream;

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		const struct stream_settings settings = {.agent_id = b.agent_id,
							 .parent_stream = i & 1 ? parent : NULL,
							 .parent_event = i & 1 ? 4711 : 0};
		const struct ring_settings ring = {.mode = i & 2 ? RING_SAMPLE : RING_FULL,
						   .sample_interval = i & 2 ? 512 : 0,
						   .frees_have_stacks = (i & 2) != 0,
						   .depth_limit = 64};
		const struct ring_header *h;
		uint8_t id[STREAM_ID_SIZE];
		uint64_t start_ns, start_wall_ns;

		open_anew(&settings, &ring);
		h = b.ring.ring->header;
		memcpy(id, s->id, sizeof(id));
		start_ns = s->start_ns;
		start_wall_ns = s->start_wall_ns;
		assert_int_equal(s->mode, ring.mode);
		assert_int_equal(s->sample_interval, ring.sample_interval);
		assert_int_equal(s->frees_have_stacks, ring.frees_have_stacks);
		assert_int_equal(s->incarnation, 1);
		assert_memory_equal(h->stream, id, sizeof(id));
		assert_int_equal(h->account.start_ns, start_ns);
		assert_int_equal(h->account.start_wall_ns, start_wall_ns);
		assert_int_equal(h->account.pid, getpid());
		assert_int_equal(h->account.start_ticks, s->target.start_ticks);
		assert_int_equal(h->account.has_parent, i & 1);
		assert_int_equal(take_up(&b, kill_agent(&b)), 0);
		assert_memory_equal(s->id, id, sizeof(id));
		assert_int_equal(s->incarnation, 2);
		assert_int_equal(s->start_ns, start_ns);
		assert_int_equal(s->start_wall_ns, start_wall_ns);
		assert_int_equal(s->has_parent, i & 1);
		assert_int_equal(s->parent_event, settings.parent_event);
		if (s->has_parent)
			assert_memory_equal(s->parent_stream, parent, sizeof(parent));
		assert_int_equal(s->mode, ring.mode);
		assert_int_equal(s->sample_interval, ring.sample_interval);
		assert_int_equal(s->frees_have_stacks, ring.frees_have_stacks);
	}
}

/* Another process has the number by now, or another number the process. */
static void test_another(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct ring_account *a;
		unsigned descriptors;
		int fd;

		open_anew(&(struct stream_settings){.agent_id = b.agent_id},
			  &(struct ring_settings){.mode = RING_FULL, .depth_limit = 64});
		a = &b.ring.ring->header->account;
		a->pid += i == 0;
		a->start_ticks += i == 1;
		fd = open_again(&b);
		stream_close(&b.stream);
		descriptors = descriptors_open();
		assert_int_equal(take_up(&b, fd), -ESRCH);
		assert_int_equal(descriptors_open(), descriptors - 1);
		frame_decoder_free(b.decoder);
		bench_begin(&b, 64); /* the place is free */
	}
}

/* The program can write to all of it. */
static void test_orders(void **state)
{
	static const struct {
		uint32_t mode, resume;
		uint64_t interval;
		uint32_t frees;
		int is, then;
		uint64_t interval_is;
	} cases[] = {
		{RING_OFF, RING_FULL, 0, 0, RING_OFF, RING_FULL, 0},
		{RING_OFF, RING_SAMPLE, 1000, 1, RING_OFF, RING_SAMPLE, 1000},
		{RING_OFF, RING_OFF, 0, 0, RING_OFF, RING_FULL, 0},
		{RING_OFF, RING_SAMPLE + 1, 5, 0, RING_OFF, RING_FULL, 5},
		{RING_FULL, RING_SAMPLE, 7, 2, RING_FULL, RING_FULL, 7},
		{RING_SAMPLE, RING_FULL, RING_INTERVAL_MAX - 1, 0, RING_SAMPLE, RING_SAMPLE,
		 RING_INTERVAL_MAX - 1},
		{RING_SAMPLE, RING_FULL, RING_INTERVAL_MAX, 0, RING_SAMPLE, RING_SAMPLE,
		 RING_INTERVAL_MAX},
		{RING_SAMPLE, RING_FULL, RING_INTERVAL_MAX + 1, 0, RING_SAMPLE, RING_SAMPLE,
		 RING_INTERVAL_MAX},
		{RING_SAMPLE + 1, RING_SAMPLE, 9, 0x80000000, RING_FULL, RING_FULL, 9},
		{UINT32_MAX, RING_OFF, UINT64_MAX, 1, RING_FULL, RING_FULL, RING_INTERVAL_MAX},
	};
	struct stream *s = &b.stream;

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ring_header *h;

		open_anew(&(struct stream_settings){.agent_id = b.agent_id},
			  &(struct ring_settings){.mode = RING_FULL, .depth_limit = 64});
		h = b.ring.ring->header;
		h->mode = cases[i].mode;
		h->resume = cases[i].resume;
		h->sample_interval = cases[i].interval;
		h->frees_have_stacks = cases[i].frees;
		assert_int_equal(take_up(&b, kill_agent(&b)), 0);
		assert_int_equal(s->mode, cases[i].is);
		assert_int_equal(s->resume_mode, cases[i].then);
		assert_int_equal(s->sample_interval, cases[i].interval_is);
		assert_int_equal(s->frees_have_stacks, cases[i].frees != 0);
	}
}

static void test_account(void **state)
{
	struct stream *s = &b.stream;
	struct ring_account *a = &b.ring.ring->header->account;

	(void)state;
	a->watermark_ns = 11;
	a->stacks_cut = 12;
	a->delivered[0] = 13;
	a->delivered[1] = 14;
	a->delivered[2] = 15;
	a->lost = (struct ring_losses){.events = 6, .allocations = 4, .frees = 2, .bytes = 64};
	a->no_slice = (struct ring_losses){.events = 1, .allocations = 1, .bytes = 8};
	a->image = 3;
	a->threads = 21;
	a->gone[a->turn & 1] =
		(struct ring_gone){.produced = 40, .delivered = 27, .lost = 5, .not_sampled = 8};
	assert_int_equal(take_up(&b, kill_agent(&b)), 0);
	assert_int_equal(s->watermark_ns, 11);
	assert_int_equal(s->delivered.time_ns, 11);
	assert_int_equal(s->stacks_cut, 12);
	assert_int_equal(s->delivered.allocations, 13);
	assert_int_equal(s->delivered.frees, 14);
	assert_int_equal(s->delivered.bytes, 15);
	assert_int_equal(s->delivered.events, 27);
	assert_int_equal(s->earlier_delivered, 27);
	assert_int_equal(s->lost.events, s->earlier_lost);
	assert_int_equal(s->lost.events, 6);
	assert_int_equal(s->lost.allocations, 4);
	assert_int_equal(s->lost.frees, 2);
	assert_int_equal(s->lost.bytes, 64);
	assert_int_equal(s->image, 3);
	assert_int_equal(s->threads.last_number, 21);
	assert_int_equal(s->threads.retired.produced, 40);
	assert_int_equal(s->threads.retired.delivered, 27);
	assert_int_equal(s->threads.retired.lost, 5);
	assert_int_equal(s->threads.retired.not_sampled, 8);
	assert_int_equal(s->no_thread, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_stream, end_stream)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_identity),
		TEST(test_another),
		TEST(test_orders),
		TEST(test_account),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
