/*
 * The flight recorder against a naive model: random programs, triggers at random moments. What
 * comes out must be all that it says is whole, event by event, the live heap at each trigger and at
 * the end, and with the sums every call; and before the first trigger nothing.
 */
#include "tests/unit/culling/model.h"

#define WINDOW_NS  100000000
#define EVENTS_MAX 60000

struct past {
	uint64_t now_ns, events;
};

static int by_time(const void *a, const void *b)
{
	const struct noted *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->kind < y->kind ? -1 : x->kind > y->kind;
}

static struct model *noting_model(void)
{
	struct model *m = model_new();

	m->in = calloc(EVENTS_MAX, sizeof(*m->in));
	m->out = calloc(EVENTS_MAX, sizeof(*m->out));
	assert_true(m->in && m->out);
	return m;
}

static void noting_free(struct model *m)
{
	free(m->in);
	free(m->out);
	free(m);
}

static void trigger(struct model *m)
{
	pthread_mutex_lock(&m->b.stream.lock);
	assert_true(flight_trigger(&m->b.stream.flight, FLIGHT_SIGNAL, stream_now(&m->b.stream)));
	pthread_mutex_unlock(&m->b.stream.lock);
	for (int i = 0; i < 4; i++)
		drain(m, false);
	assert_int_equal(m->b.stream.flight.state, FLIGHT_ARMED);
}

/* All that went in from `from_ns` on, of the first `events`, has come out. `in` keeps its order. */
static void assert_whole(struct model *m, uint64_t from_ns, uint64_t events)
{
	struct noted *sorted = malloc(m->got_events * sizeof(*sorted) + 1);
	uint64_t checked = 0;

	assert_non_null(sorted);
	memcpy(sorted, m->out, m->got_events * sizeof(*sorted));
	qsort(sorted, m->got_events, sizeof(*sorted), by_time);
	for (uint64_t i = 0; i < events; i++) {
		if (m->in[i].time_ns < from_ns)
			continue;
		assert_non_null(
			bsearch(&m->in[i], sorted, m->got_events, sizeof(*sorted), by_time));
		checked++;
	}
	assert_true(checked > 0);
	free(sorted);
}

/* What is younger than the watermark was still in the ring: it comes later. */
static void assert_delivery(struct model *m, unsigned index, const struct past *past, bool has_room)
{
	const struct delivery *d = &m->delivery[index];
	uint64_t from_ns = d->time_ns > d->whole_ns ? d->time_ns - d->whole_ns : 0;

	if (has_room)
		assert_true(from_ns <= past->now_ns - WINDOW_NS + BATCH_TICK_NS);
	assert_whole(m, from_ns, past->events);
}

/* No block that died before the window of the first delivery is there. */
static void assert_nothing_old(const struct model *m, uint64_t now_ns)
{
	for (uint64_t i = 0; i < m->got_events; i++)
		assert_false(m->out[i].kind >= HEAPCAST__EVENT_KIND__EVENT_FREE &&
			     m->out[i].time_ns + WINDOW_NS + 2000000 < now_ns);
}

/* The clock's order is the true one, and there is room. */
static void test_random(void **state)
{
	const struct flight_settings settings = {.window_ns = WINDOW_NS};
	struct model *m = noting_model();

	(void)state;
	for (unsigned seed = 1; seed <= 12; seed++) {
		struct past past[4];
		unsigned triggers = 0;

		model_begin(m, NULL, &settings, seed);
		for (unsigned i = 1; i <= 24000; i++) {
			m->now_ns += 20000 + dice(m, seed % 3 ? 20000 : 200000);
			act(m);
			if (!triggers)
				assert_int_equal(m->got_events, 0);
			if (i % 7000)
				continue;
			drain(m, false);
			past[triggers++] =
				(struct past){m->now_ns, m->events - m->b.stream.flight.ahead};
			trigger(m);
			assert_int_equal(m->deliveries, triggers);
			if (triggers == 1)
				assert_nothing_old(m, m->now_ns);
		}
		drain(m, true);
		assert_int_equal(m->deliveries, triggers + 1);
		for (unsigned i = 0; i < triggers; i++)
			assert_delivery(m, i, &past[i], true);
		assert_delivery(m, triggers, &(struct past){m->now_ns, m->events}, true);
		assert_int_equal(m->early, 0);
		assert_true(m->got_culled_events > m->events / 4);
		check(m);
		assert_int_equal(mistakes(m), 0);
		model_close(m);
	}
	noting_free(m);
}

/* Little room: the window shortens, the oldest live blocks are sent; what is said to be whole is,
 * and nothing is missed. */
static void test_little_room(void **state)
{
	const struct flight_settings settings = {.window_ns = 100 * (uint64_t)WINDOW_NS};
	struct model *m = noting_model();
	uint64_t early = 0;

	(void)state;
	for (unsigned seed = 1; seed <= 6; seed++) {
		struct past past;
		uint32_t slots;

		model_begin(m, NULL, &settings, seed);
		m->b.stream.flight.slots = slots =
			seed % 2 ? 200 : 2000; /* fewer than blocks, or not */
		for (unsigned i = 1; i <= 24000; i++) {
			m->now_ns += 20000 + dice(m, 20000);
			act(m);
			assert_true(m->b.stream.flight.head <= slots);
			if (i != 12000)
				continue;
			drain(m, false);
			past = (struct past){m->now_ns, m->events};
			trigger(m);
			assert_delivery(m, 0, &past, false);
		}
		drain(m, true);
		assert_delivery(m, 1, &(struct past){m->now_ns, m->events}, false);
		early += m->early;
		check(m);
		assert_int_equal(mistakes(m), 0);
		model_close(m);
	}
	assert_true(early > 0);
	noting_free(m);
}

static uint64_t run_inverted(struct model *m, const struct flight_settings *settings, unsigned seed)
{
	uint64_t wrong;

	model_begin(m, NULL, settings, seed);
	m->addresses = seed % 2 ? 20 : ADDRESSES;
	for (unsigned i = 0; i < THREADS; i++)
		m->skew_ns[i] = 4000;
	for (unsigned i = 1; i <= 20000; i++) {
		m->now_ns += dice(m, 10) ? dice(m, 5000) : dice(m, 200000);
		act(m);
		if (settings && i % 6000 == 0)
			trigger(m);
	}
	drain(m, true);
	check(m);
	wrong = mistakes(m);
	model_close(m);
	return wrong;
}

/* Stamps are in the wrong order: nothing is lost or made up, and a collector is no more wrong than
 * when it gets everything. */
static void test_inverted_stamps(void **state)
{
	const struct flight_settings settings = {.window_ns = WINDOW_NS / 20};
	struct model *m = model_new();
	uint64_t without = 0, with = 0;

	(void)state;
	for (unsigned seed = 1; seed <= 12; seed++) {
		without += run_inverted(m, NULL, seed);
		with += run_inverted(m, &settings, seed);
	}
	print_message("mistakes: %u with everything, %u with the flight recorder\n",
		      (unsigned)without, (unsigned)with);
	assert_true(with <= without);
	free(m);
}

/* Stacks are forgotten and numbered anew while blocks are held. */
static void test_generations(void **state)
{
	const struct flight_settings settings = {.window_ns = WINDOW_NS};
	struct model *m = model_new();

	(void)state;
	model_begin(m, NULL, &settings, 3);
	act_among_stacks(m);
	check(m);
	model_close(m);
	free(m);
}

/* A thread was stalled in a hook: its event comes behind younger ones. Until it is sent no batch
 * says that nothing older follows. */
static void test_late(void **state)
{
	const struct flight_settings settings = {.window_ns = WINDOW_NS};
	struct model *m = model_new();

	(void)state;
	model_begin(m, NULL, &settings, 1);
	put_stalled(m);
	m->now_ns = 300000000;
	for (unsigned i = 0; i < 2; i++) { /* the oldest go, and the late one is not in front */
		put(m, 1, HEAPCAST__EVENT_KIND__EVENT_FREE, i, 0, 1, NULL);
		m->block[i].alive = false;
	}
	m->now_ns = 600000000;
	put(m, 1, HEAPCAST__EVENT_KIND__EVENT_MALLOC, 60, 10, 1, NULL);
	born(m, 60, 1, 10, true);
	drain(m, false);
	drain(m, false);
	assert_in_range(m->watermark_ns, 1, STALLED_NS);
	drain(m, true);
	assert_int_equal(m->got_culled_events, 4);
	check(m);
	model_close(m);
	free(m);
}

/* Of a mapping, at an odd address, too long: no record holds them, and they go at once. A sampled
 * block keeps its weight. */
static void test_what_is_not_held(void **state)
{
	const struct flight_settings settings = {.window_ns = WINDOW_NS};
	struct model *m = model_new();
	struct writer *w = &m->w[0];

	(void)state;
	model_begin(m, NULL, &settings, 1);
	put(m, 0, HEAPCAST__EVENT_KIND__EVENT_MMAP, 5, 100, 1, NULL);
	put(m, 0, HEAPCAST__EVENT_KIND__EVENT_MALLOC, 6, 100, 1, NULL);
	born(m, 6, 1, 100, true);
	drain(m, false);
	assert_int_equal(m->got_events, 1);
	assert_int_equal(m->b.stream.flight.held, 1);
	for (unsigned i = 0; i < 3; i++) {
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
	m->now_ns += 2 * WINDOW_NS;
	put(m, 0, HEAPCAST__EVENT_KIND__EVENT_MALLOC, 9, 100, 1, NULL);
	m->now_ns += 2000000; /* the watermark follows at a distance */
	assert_int_equal(m->b.stream.sums.count, 0);
	pthread_mutex_lock(&m->b.stream.lock);
	bench_drain(&m->b, false);
	pthread_mutex_unlock(&m->b.stream.lock);
	drain(m, false);
	assert_int_equal(m->b.stream.sums.blocks, 2);
	assert_int_equal(m->b.stream.sums.row[0].weight, 1051); /* 100 / (1 - exp(-0.1)) = 1050.8 */
	drain(m, true);
	assert_int_equal(m->got_culled_events, 4);
	assert_int_equal(m->got_events, 4);
	model_close(m);
	free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_little_room),
		cmocka_unit_test(test_inverted_stamps),
		cmocka_unit_test(test_generations),
		cmocka_unit_test(test_late),
		cmocka_unit_test(test_what_is_not_held),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
