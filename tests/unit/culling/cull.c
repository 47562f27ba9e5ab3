/*
 * Culling against a naive model: random programs write a ring by hand, with stamps of a clock of
 * their own, and what comes out, events and sums, must add up to what they did: by call site, by
 * class of lifetime and size, and block by block for what is alive at the end.
 */
#include "tests/unit/culling/model.h"

/* The order of stamps is the true one, and there is room: just the blocks that should be culled
 * are. */
static void test_random(void **state)
{
	const struct cull_settings settings = {.time_ns = CULL_NS};
	struct model *m = model_new();

	(void)state;
	for (unsigned seed = 1; seed <= 20; seed++) {
		model_open(m, &settings, seed);
		m->exact = true;
		for (unsigned i = 0; i < 20000; i++) {
			m->now_ns += 10000 + dice(m, seed % 3 ? 20000 : 2000000);
			act(m);
		}
		drain(m, true);
		assert_int_equal(m->early, 0);
		assert_true(m->got_culled_events > m->events / 20);
		check(m);
		model_close(m);
	}
	free(m);
}

/* A program whose threads follow each other within the clock's error. What a collector gets wrong
 * about it. */
static uint64_t run_inverted(struct model *m, uint64_t cull_ns, unsigned seed)
{
	const struct cull_settings settings = {.time_ns = cull_ns};
	uint64_t wrong;

	model_open(m, &settings, seed);
	m->addresses = seed % 2 ? 20 : ADDRESSES;
	for (unsigned i = 0; i < THREADS; i++)
		m->skew_ns[i] = 4000;
	for (unsigned i = 0; i < 20000; i++) {
		m->now_ns += dice(m, 10) ? dice(m, 5000) : dice(m, 200000);
		act(m);
	}
	drain(m, true);
	assert_int_equal(m->got_culled_events != 0, cull_ns != 0);
	check(m);
	wrong = mistakes(m);
	model_close(m);
	return wrong;
}

/* Stamps are in the wrong order: nothing is lost or made up, and a collector is no more wrong than
 * without culling. */
static void test_inverted_stamps(void **state)
{
	struct model *m = model_new();
	uint64_t without = 0, with = 0;

	(void)state;
	for (unsigned seed = 1; seed <= 20; seed++) {
		without += run_inverted(m, 0, seed);
		with += run_inverted(m, CULL_NS, seed);
	}
	print_message("mistakes: %u without culling, %u with\n", (unsigned)without, (unsigned)with);
	assert_true(with <= without);
	free(m);
}

/* Few may wait: the oldest are sent before their time, in order, and counted. */
static void test_no_room(void **state)
{
	const struct cull_settings few = {.time_ns = CULL_NS, .pending_max = 7};
	struct model *m = model_new();

	(void)state;
	for (unsigned seed = 1; seed <= 5; seed++) {
		model_open(m, &few, seed);
		for (unsigned i = 0; i < 20000; i++) {
			m->now_ns += 10000;
			act(m);
			assert_true(m->b.stream.cull.pending <= 7);
		}
		drain(m, true);
		assert_true(m->early > 1000);
		check(m);
		model_close(m);
	}
	free(m);
}

/* The list itself is full. */
static void test_full_list(void **state)
{
	const struct cull_settings long_time = {.time_ns = 1000000000000};
	struct model *m = model_new();
	uint32_t slots;

	(void)state;
	model_open(m, &long_time, 1);
	slots = m->b.stream.cull.slots;
	assert_in_range(slots, 500, 50000);
	for (unsigned i = 0; i < slots + 1000; i++) {
		/* Of a mapping: never culled, and behind the first block it waits all the same. */
		m->now_ns += 10000;
		put(m, 0, i ? HEAPCAST__EVENT_KIND__EVENT_MMAP : HEAPCAST__EVENT_KIND__EVENT_MALLOC,
		    5, 100, 1, NULL);
	}
	drain(m, true);
	assert_int_equal(m->got_events, slots + 1000);
	assert_int_equal(m->early, 1);
	model_close(m);
	free(m);
}

/* An order to send all: what waited is there, and what comes after it is culled again. */
static void test_flush(void **state)
{
	const struct cull_settings settings = {.time_ns = CULL_NS};
	struct model *m = model_new();

	(void)state;
	model_open(m, &settings, 1);
	for (unsigned i = 0; i < 100; i++) {
		m->now_ns += 10000;
		put(m, i % THREADS, HEAPCAST__EVENT_KIND__EVENT_MALLOC, i, 10, 2, NULL);
		born(m, i, 2, 10, true);
	}
	drain(m, false);
	assert_int_equal(m->got_events, 0);
	assert_true(stream_put_mark(&m->b.stream, HEAPCAST__MARK_KIND__MARK_SNAPSHOT, 1, m->now_ns,
				    NULL));
	drain(m, false);
	drain(m, false);
	assert_int_equal(m->b.stream.cull.held, 0);
	assert_true(m->got_events > 90); /* the last ones may be younger than the watermark */
	for (unsigned i = 0; i < 1000; i++) {
		m->now_ns += 10000;
		act(m);
	}
	drain(m, true);
	assert_true(m->got_culled_events > 0);
	check(m);
	model_close(m);
	free(m);
}

/* Stacks are forgotten and numbered anew while blocks wait. */
static void test_generations(void **state)
{
	const struct cull_settings settings = {.time_ns = CULL_NS};
	struct model *m = model_new();

	(void)state;
	model_open(m, &settings, 3);
	m->exact = true;
	act_among_stacks(m);
	check(m);
	model_close(m);
	free(m);
}

/* A thread was stalled in a hook: its event comes behind younger ones. Until it is sent no batch
 * says that nothing older follows. */
static void test_late(void **state)
{
	const struct cull_settings settings = {.time_ns = CULL_NS};
	struct model *m = model_new();

	(void)state;
	model_open(m, &settings, 1);
	put_stalled(m);
	m->now_ns = 41000000;
	put(m, 1, HEAPCAST__EVENT_KIND__EVENT_FREE, 0, 0, 1,
	    NULL); /* the oldest goes, and the late one is not in front */
	m->block[0].alive = false;
	m->b.stream.batch.marks = 0;
	assert_true(
		stream_put_mark(&m->b.stream, HEAPCAST__MARK_KIND__MARK_TEXT, 1, m->now_ns, NULL));
	drain(m, false);
	assert_in_range(m->watermark_ns, 1, STALLED_NS);
	drain(m, true);
	assert_int_equal(m->got_culled_events, 2);
	check(m);
	model_close(m);
	free(m);
}

/* A block that stands for others takes its weight with it. */
static void test_weights(void **state)
{
	const struct cull_settings settings = {.time_ns = CULL_NS};
	struct model *m = model_new();
	uint64_t weight = 0;

	(void)state;
	model_open(m, &settings, 1);
	for (unsigned i = 0; i < 3; i++) {
		struct writer *w = &m->w[0];

		m->now_ns += 10000;
		w->slice->events++;
		writer_word(w, RING_WORD0(HEAPCAST__EVENT_KIND__EVENT_MALLOC, 1, 0, 0, 1, 100));
		writer_word(w, address_of(i));
		writer_word(w, stamp(m, 0, m->now_ns));
		writer_word(w, 1000); /* the interval */
		writer_word(w, PC_BASE);
		writer_publish(w);
		m->events++;
		if (i < 2)
			put(m, 0, HEAPCAST__EVENT_KIND__EVENT_FREE, i, 0, 0, NULL);
	}
	drain(m, false);
	assert_int_equal(m->b.stream.sums.count, 1);
	assert_int_equal(m->b.stream.sums.row[0].blocks, 2);
	weight = m->b.stream.sums.row[0].weight;
	assert_int_equal(weight, 1051); /* 100 / (1 - exp(-0.1)) = 1050.8 */
	drain(m, true);
	assert_int_equal(m->got_culled_events, 4);
	assert_int_equal(m->got_events, 1);
	model_close(m);
	free(m);
}

/* A block that is reallocated again and again: `blocks` of them within the time, and then it is
 * freed. */
static void run_chain(struct model *m, unsigned blocks)
{
	const struct cull_settings settings = {.time_ns = CULL_NS};
	bool fits = blocks <= CULL_CHAIN_MOST;

	model_open(m, &settings, 1);
	m->exact = true;
	put(m, 0, HEAPCAST__EVENT_KIND__EVENT_MALLOC, 0, 10, 1, NULL);
	born(m, 0, 1, 10, false);
	for (unsigned i = 1; i < blocks; i++) {
		unsigned from = i - 1;

		m->now_ns += 10000;
		put(m, i % THREADS, HEAPCAST__EVENT_KIND__EVENT_REALLOC, i, 10 + i, i % SITES,
		    &from);
		grows(m, from, i, i % SITES, 10 + i);
	}
	drain(m, false);
	assert_int_equal(m->b.stream.cull.pending, fits ? blocks : 0);
	m->now_ns += 10000;
	put(m, 0, HEAPCAST__EVENT_KIND__EVENT_FREE, blocks - 1, 0, 1, NULL);
	dies(m, blocks - 1);
	drain(m, true);
	assert_int_equal(m->got_culled_events, fits ? blocks + 1 : 0);
	check(m);
	model_close(m);
}

/* A chain is culled as a whole while its sums find room, and sent as a whole where they do not. */
static void test_chains(void **state)
{
	struct model *m = model_new();

	(void)state;
	run_chain(m, 2);
	run_chain(m, CULL_CHAIN_MOST);
	run_chain(m, CULL_CHAIN_MOST + 1);
	run_chain(m, 3 * CULL_CHAIN_MOST);
	free(m);
}

/* The first block of a chain is sent in time: so are the others, and what comes of them, though
 * each lived short. */
static void test_chain_in_time(void **state)
{
	const struct cull_settings settings = {.time_ns = CULL_NS};
	struct model *m = model_new();

	(void)state;
	model_open(m, &settings, 1);
	m->exact = true;
	put(m, 0, HEAPCAST__EVENT_KIND__EVENT_MALLOC, 0, 2000, 1, NULL);
	born(m, 0, 1, 2000, true);
	for (unsigned i = 1; i <= 4; i++) {
		unsigned from = i - 1;

		m->now_ns += CULL_NS / 2 - 100000;
		put(m, 0, HEAPCAST__EVENT_KIND__EVENT_REALLOC, i, 3000, 1, &from);
		grows(m, from, i, 1, 3000);
		drain(m, false);
	}
	assert_int_equal(m->b.stream.cull.pending, 0);
	put(m, 0, HEAPCAST__EVENT_KIND__EVENT_FREE, 4, 0, 1, NULL);
	dies(m, 4);
	drain(m, true);
	assert_int_equal(m->got_events, 6);
	assert_int_equal(m->got_culled_events, 0);
	check(m);
	model_close(m);
	free(m);
}

static void test_lifetimes(void **state)
{
	(void)state;
	assert_int_equal(culled_lifetime(0), 0);
	assert_int_equal(culled_lifetime(UINT64_MAX), culled_lifetimes - 1);
	for (uint8_t i = 0; i < culled_lifetimes; i++) {
		assert_int_equal(culled_lifetime(culled_lifetime_least(i)), i);
		assert_int_equal(culled_lifetime(culled_lifetime_most(i)), i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),	      cmocka_unit_test(test_inverted_stamps),
		cmocka_unit_test(test_no_room),	      cmocka_unit_test(test_full_list),
		cmocka_unit_test(test_flush),	      cmocka_unit_test(test_generations),
		cmocka_unit_test(test_weights),	      cmocka_unit_test(test_lifetimes),
		cmocka_unit_test(test_late),	      cmocka_unit_test(test_chains),
		cmocka_unit_test(test_chain_in_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
