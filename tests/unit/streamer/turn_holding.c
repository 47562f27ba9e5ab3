/* Turns of a stream that holds events back, and of one whose stack table is full. */
#include "tests/unit/streamer/scripted.h"

#define HOUR_NS	  UINT64_C(3600000000000)
#define SECOND_NS UINT64_C(1000000000)
#define REST	  64 /* batches until the table is tried again */

static int setup_flight(void **state)
{
	static const struct flight_settings flight = {.window_ns = HOUR_NS, .after_ns = 1};

	(void)state;
	memset(&b, 0, sizeof(b));
	script_open_holding(&b, NULL, &flight);
	s->batch.opened_ns = 1;
	bench_drain(&b, false);
	assert_int_equal(s->spool.next, 2);
	return 0;
}

static int setup_culling(void **state)
{
	static const struct cull_settings cull = {.time_ns = HOUR_NS};

	(void)state;
	memset(&b, 0, sizeof(b));
	script_open_holding(&b, &cull, NULL);
	s->batch.opened_ns = 1;
	bench_drain(&b, false);
	assert_int_equal(s->spool.next, 2);
	return 0;
}

/* Returns true if this turn closes a batch that was opened so long ago. */
static bool closes_after(uint64_t ns)
{
	uint64_t next = s->spool.next;

	s->batch.opened_ns = s->closed_ns = now() - ns;
	assert_int_equal(turn(), STREAM_IDLE);
	return s->spool.next > next;
}

/* An armed recorder has time, but not for what others wait for. */
static void armed(void **state)
{
	const struct run_module module = module_of(1);

	(void)state;
	script_thread(0, NOBODY, "a");
	assert_false(closes_after(SECOND_NS));
	assert_true(closes_after(FLIGHT_CLOSE_NS));
	script_gap(0, 1, 1);
	assert_false(closes_after(SECOND_NS));
	s->process_news = true;
	assert_true(closes_after(SECOND_NS));
	script_gap(0, 1, 1);
	assert_false(closes_after(SECOND_NS));
	s->maps_ready = true;
	assert_true(closes_after(SECOND_NS));
	script_gap(0, 1, 1);
	assert_false(closes_after(SECOND_NS));
	script_load(&module);
	assert_true(closes_after(SECOND_NS));

	script.count[0].produced = 7; /* the account alone */
	assert_false(closes_after(2 * SECOND_NS));
	assert_true(closes_after(FLIGHT_CLOSE_NS));
}

/* What the recorder holds is sent on demand, at once, though more is to come. */
static void delivered(void **state)
{
	Heapcast__Batch *batch;

	(void)state;
	script_thread(0, NOBODY, "a");
	for (unsigned i = 0; i < 10; i++)
		script_event(0, 1, 16 * (i + 1));
	turn();
	assert_int_equal(s->flight.held, 10);
	assert_int_equal(s->batch.events.count, 0);
	assert_true(flight_trigger(&s->flight, FLIGHT_SIGNAL, stream_now(s)));
	script.rest.more = true;
	assert_int_equal(turn(), STREAM_MORE);
	assert_int_equal(s->flight.held, 0);
	assert_int_equal(s->batch.events.count, 10);
	assert_true(closes_after(FLIGHT_CLOSE_NS));
	batch = bench_batch(&b, s->spool.next - 1);
	assert_int_equal(batch->n_mark, 1);
	assert_int_equal(batch->mark[0]->kind, HEAPCAST__MARK_KIND__MARK_DELIVERY);
	forget(batch);
}

/* Whoever takes a snapshot wants what led to it. Another mark is no reason to send. */
static void delivered_by_a_snapshot(void **state)
{
	(void)state;
	script_thread(0, NOBODY, "a");
	script_event(0, 1, 16);
	turn();
	assert_int_equal(
		stream_mark(s, HEAPCAST__MARK_KIND__MARK_NUMBER, 1, stream_now(s), NULL, 0, "me"),
		0);
	turn();
	assert_int_equal(s->flight.held, 1);
	assert_int_equal(
		stream_mark(s, HEAPCAST__MARK_KIND__MARK_SNAPSHOT, 1, stream_now(s), NULL, 0, "me"),
		0);
	turn();
	assert_int_equal(s->flight.held, 0);
}

/* At the end of an image all is sent, and the recorder is armed for the next one. */
static void delivered_of_an_image(void **state)
{
	(void)state;
	script_thread(0, NOBODY, "a");
	script_event(0, 1, 16);
	turn();
	assert_int_equal(s->flight.held, 1);
	script.rest.exec = true;
	turn();
	turn();
	assert_int_equal(script.images, 1);
	assert_int_equal(s->flight.state, FLIGHT_ARMED);
	assert_int_equal(s->flight.held, 0);
	assert_int_equal(s->delivered.events, 1);
	script_event(0, 1, 32);
	turn();
	assert_int_equal(s->flight.held, 1);
}

/* The same of culling; sums of what is not sent are told when they are due. */
static void culled(void **state)
{
	(void)state;
	script_thread(0, NOBODY, "a");
	for (unsigned i = 0; i < 10; i++)
		script_event(0, 1, 16 * (i + 1));
	turn();
	assert_int_equal(s->cull.held, 10);
	script.rest.more = true;
	assert_int_equal(turn(), STREAM_MORE);
	assert_int_equal(s->cull.held, 10);
	cull_flush(&s->cull);
	script.rest.more = true;
	assert_int_equal(turn(), STREAM_MORE);
	assert_int_equal(s->cull.held, 0);
	assert_int_equal(s->batch.events.count, 10);
	assert_true(closes_after(SECOND_NS));

	script_event(0, 1, 4096);
	script_event(0, 32, 4096);
	turn();
	script.rest.until_ns = HOUR_NS / 2;
	turn();
	assert_int_equal(sums_events(&s->sums), 2);
	assert_int_equal(s->cull.held, 0);
	assert_false(closes_after(SECOND_NS / 2));
	s->sums.since_ns -= SECOND_NS; /* they have waited long enough */
	assert_true(closes_after(SECOND_NS / 2));
	assert_int_equal(s->delivered.culled, 2);
	assert_int_equal(sums_events(&s->sums), 0);
}

/* More than a batch has room for is sent in several ones, in the same turn. */
static void culled_in_batches(void **state)
{
	uint64_t next;

	(void)state;
	script_thread(0, NOBODY, "a");
	srandom(9);
	for (unsigned i = 1; i < SCRIPT_MAX; i++) {
		struct run_item *item = script_event(0, 1, ((uint64_t)random() << 16) + 16 * i);

		item->size = (uint64_t)random() << 20;
		item->time_ns = 1000 * (uint64_t)i;
	}
	bench_drain(&b, false);
	next = s->spool.next;
	cull_flush(&s->cull);
	assert_int_equal(turn(), STREAM_IDLE);
	assert_in_range(s->spool.next, next + 2, next + 4);
	assert_int_equal(s->cull.held, 0);
	assert_int_equal(stream_taken(s), SCRIPT_MAX - 1);
}

/* ---- a full table ---- */

static void small_table(void)
{
	stacks_init(&s->stacks, s->stacks.cache, 32768);
	stream_fit_batch(s);
	s->nodes_until = 0;
}

/* Deep stacks that differ, of the first lanes in turns. */
static void put_stacks(unsigned count, unsigned lanes, unsigned depth)
{
	static uint64_t pcs[SCRIPT_MAX][64];

	script_again();
	for (unsigned i = 0; i < count; i++) {
		for (unsigned k = 0; k < depth; k++)
			pcs[i][k] = 4096 + (uint64_t)random() % 256;
		script_stack(i % lanes, 0, depth, pcs[i])->address = 16 * (i + 1);
	}
}

/* A table is renewed when it is full; the next batch has to do with what that gave. */
static void renewed(void **state)
{
	unsigned generations = 0;

	(void)state;
	small_table();
	script_thread(0, NOBODY, "a");
	turn();
	for (unsigned i = 0; i < 300; i++) {
		put_stacks(2, 1, 40);
		s->grow_wanted = false;
		stream_hurry(s);
		turn();
		if (s->stacks.generations > generations) {
			assert_int_equal(s->stacks.generations, ++generations);
			assert_in_range(s->renewal_rest, 0, 1);
			assert_true(s->renewed_ns > 0);
		}
		assert_false(s->renewal_wanted);
		spool_ack(&s->spool, s->spool.next - 1, s->spool.next - 1);
	}
	assert_true(generations > 5);
	assert_int_equal(s->stacks_cut, 0);
}

/* If threads hold too much, it is left as it is for a while. */
static void not_renewed(void **state)
{
	uint64_t next;

	(void)state;
	small_table();
	for (unsigned i = 0; i < s->lane_count; i++)
		script_thread(i, NOBODY + i, "some");
	turn();
	s->grow_wanted = false;
	for (unsigned i = 0; i < 1000 && s->renewal_rest != REST; i++) {
		put_stacks(1, 1, 60);
		script.item[0].lane = i % s->lane_count;
		turn();
		spool_ack(&s->spool, s->spool.next - 1, s->spool.next - 1);
	}
	assert_int_equal(s->renewal_rest, REST);
	assert_true(s->grow_wanted);
	assert_int_equal(s->stacks.generations, 0);
	for (unsigned rest = REST - 1; rest; rest--) {
		put_stacks(1, 1, 60);
		next = s->spool.next;
		stream_hurry(s);
		turn();
		assert_int_equal(s->spool.next, next + 1);
		assert_int_equal(s->renewal_rest, rest);
		spool_ack(&s->spool, next, next);
	}
	assert_true(s->stacks_cut > 0);
	/* They have shorter stacks now: the next batch's turn makes it new. */
	for (unsigned i = 0; i < s->lane_count; i++)
		s->lane[i].depth = 1;
	put_stacks(1, 1, 60);
	stream_hurry(s);
	turn();
	assert_int_equal(s->renewal_rest, 0);
	assert_int_equal(s->stacks.generations, 0);
	put_stacks(1, 1, 60);
	turn();
	assert_int_equal(s->stacks.generations, 1);
	assert_int_equal(s->renewal_rest, 1);
}

/* If held events do, these are sent, and the table is tried again. */
static void renewed_after_less_was_held(void **state)
{
	unsigned generations = s->stacks.generations;

	(void)state;
	script_thread(0, NOBODY, "a");
	turn();
	for (unsigned i = 0; i < 1000 && s->stacks.generations == generations; i++) {
		put_stacks(40, 1, 40);
		for (unsigned k = 0; k < 40; k++)
			script.item[k].address = 4096 + 16 * (40 * i + k);
		turn();
		spool_ack(&s->spool, s->spool.next - 1, s->spool.next - 1);
		assert_in_range(s->renewal_rest, 0, 1);
	}
	assert_int_equal(s->stacks.generations, generations + 1);
	assert_true(s->delivered.events > 100);
	assert_int_equal(s->stacks_cut, 0);
}

#define FLIGHT(name)  cmocka_unit_test_setup_teardown(name, setup_flight, script_teardown)
#define CULLING(name) cmocka_unit_test_setup_teardown(name, setup_culling, script_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FLIGHT(armed),
		FLIGHT(delivered),
		FLIGHT(delivered_by_a_snapshot),
		FLIGHT(delivered_of_an_image),
		CULLING(culled),
		CULLING(culled_in_batches),
		SCRIPTED(renewed),
		SCRIPTED(not_renewed),
		CULLING(renewed_after_less_was_held),
		FLIGHT(renewed_after_less_was_held),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
