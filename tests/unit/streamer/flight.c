/* What the flight recorder holds, sends and sums up, event by event, with a batch that may be full.
 */
#include "agent/hold/flight.h"

#include "agent/hold/cull.h"
#include "agent/hold/flight_array.h"
#include "tests/unit/streamer/hold.h"

#define WINDOW_US UINT64_C(100)
#define AFTER_NS  UINT64_C(500)

static struct flight f;

static const struct event some = {.kind = MALLOC, .address = 64, .time_ns = 30 * US};

static int open_recorder(void **state)
{
	const struct flight_settings settings = {.window_ns = WINDOW_US * US, .after_ns = AFTER_NS};

	(void)state;
	hold_open();
	assert_int_equal(flight_init(&f, &settings, &host, &arena, &path), 0);
	return 0;
}

static int give(unsigned thread, const struct event *e)
{
	struct event event = *e;

	event.class = (enum event_class)event_traits[event.kind].class;
	return flight_event(&f, &threads.entry[thread], &event, thread + 1);
}

/* All up to this time is older than the window. */
static int pass(uint64_t upto_us)
{
	return flight_advance(&f, (upto_us + WINDOW_US) * US, 0, false);
}

/* ---- older than the window ---- */

/* A birth and a death at an address, with a block that was alive there before or without. Of the
 * same thread they belong together, whatever the stamps say. Of different ones they do if the order
 * is sure. */
static void test_doubt(void **state)
{
	const uint64_t doubt_us = CULL_DOUBT_NS / US;
	const struct {
		bool alive_before;
		unsigned thread;
		uint64_t birth_us, death_us;
		bool together;
	} cases[] = {
		{false, 0, 20, 30, true},
		{false, 0, 30, 20, true},
		{true, 0, 20, 20, true},
		{true, 0, 30, 20, true},
		{false, 1, 20, 21, true},
		{false, 1, 20, 20, true},
		{false, 1, 20, 19, false},
		{true, 1, 20, 20 + doubt_us, true},
		{true, 1, 20, 20 + doubt_us - 1, false},
		{true, 1, 20, 20, false},
		{true, 1, 20, 19, false},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unsigned first = cases[i].alive_before;

		flight_clear(&f, 0);
		sums_clear(&sums);
		threads.entry[0].counts.culled = threads.entry[1].counts.culled = 0;
		sent_count = 0;
		if (first)
			birth(0, 4096, 10);
		birth(0, 4096, cases[i].birth_us);
		death(cases[i].thread, 4096, cases[i].death_us);
		assert_int_equal(pass(200), 0);
		assert_int_equal(f.cursor, f.head);
		if (first)
			assert_sent(0, MALLOC, 4096, 10);
		assert_int_equal(sent_count, first + !cases[i].together);
		assert_int_equal(f.held, !cases[i].together);
		assert_int_equal(f.ahead, !cases[i].together);
		assert_int_equal(sums.blocks, cases[i].together);
		assert_int_equal(sums.frees, cases[i].together);
		assert_int_equal(threads.entry[0].counts.culled + threads.entry[1].counts.culled,
				 2 * cases[i].together);
		if (cases[i].together) {
			uint64_t from_us = cases[i].birth_us, to_us = cases[i].death_us;

			assert_int_equal(
				sums.row[0].lifetime,
				culled_lifetime(to_us > from_us ? (to_us - from_us) * US : 0));
			continue;
		}
		assert_sent(first, FREE, 4096, cases[i].death_us);
		/* The next one is not doubted: the block that was there has its end. */
		death(1, 4096, cases[i].birth_us);
		assert_int_equal(pass(200), 0);
		assert_int_equal(sums.blocks, 1);
		assert_int_equal(f.held, 0);
	}
}

/* The sums of a block: from its birth to its death, by the thread and the stack of its birth. */
static void test_sums(void **state)
{
	const struct event weighted = {
		.kind = MALLOC, .address = 8192, .size = 100, .weight = 1051, .time_ns = 11 * US};

	(void)state;
	birth(0, 4096, 10);
	assert_int_equal(give(1, &weighted), 0);
	death(1, 4096, 14);
	death(0, 8192, 12);
	assert_int_equal(f.held, 4);
	assert_int_equal(pass(9), 0);
	assert_int_equal(f.held, 4);
	assert_int_equal(pass(10), 0);
	assert_int_equal(f.held, 4);
	assert_int_equal(f.cursor, 1);
	assert_int_equal(f.whole_ns, 0);
	assert_int_equal(pass(14), 0);
	assert_int_equal(f.held, 0);
	assert_int_equal(f.whole_ns, 15 * US); /* later than the last death that is missing */
	assert_int_equal(sent_count, 0);
	assert_int_equal(sums.count, 2);
	assert_int_equal(sums.row[0].thread | sums.row[0].node << 8, 0x101);
	assert_int_equal(sums.row[0].bytes, 24);
	assert_int_equal(sums.row[0].weight, 0);
	assert_int_equal(sums.row[0].lifetime, culled_lifetime(4 * US));
	assert_int_equal(sums.row[0].first_ns, 10 * US);
	assert_int_equal(sums.row[0].reallocated, 0);
	assert_int_equal(sums.row[1].thread | sums.row[1].node << 8, 0x202);
	assert_int_equal(sums.row[1].weight, 1051);
	assert_int_equal(sums.row[1].lifetime, culled_lifetime(1 * US));
	assert_int_equal(threads.entry[0].counts.culled, 2);
	assert_int_equal(threads.entry[1].counts.culled, 2);
	assert_true(threads.entry[0].counts_news && threads.entry[1].counts_news);
}

/* A reallocation ends a block and begins one. */
static void test_reallocations(void **state)
{
	(void)state;
	birth(0, 4096, 10);
	growth(0, 4096, 8192, 20, 3);
	growth(0, 8192, 12288, 30, 0);
	assert_int_equal(pass(25), 0);
	assert_int_equal(sums.frees, 0);
	assert_int_equal(sums.row[0].reallocated, 1);
	assert_int_equal(sums.row[0].lifetime, culled_lifetime(10 * US));
	assert_int_equal(f.holes, 2); /* the birth, and what the reallocation needs no more */
	assert_int_equal(pass(40), 0);
	assert_int_equal(sums.blocks, 2);
	assert_int_equal(threads.entry[0].counts.culled, 2);
	assert_int_equal(*flight_place_of(&f, 12288), 4);
	/* What is left is sent as the birth of a block. */
	f.state = FLIGHT_DELIVERING;
	assert_int_equal(flight_work(&f, 0), 0);
	assert_int_equal(sent_count, 1);
	assert_sent(0, REALLOC, 12288, 30);
	assert_int_equal(sent[0].old_address + sent[0].call_time_ns, 0);
}

/* The weight of a reallocation stays. */
static void test_weighted_reallocation(void **state)
{
	const struct event grown = {.kind = REALLOC,
				    .address = 8192,
				    .old_address = 4096,
				    .size = 100,
				    .weight = 1051,
				    .time_ns = 20 * US,
				    .call_time_ns = 4 * US};

	(void)state;
	birth(0, 4096, 10);
	assert_int_equal(give(0, &grown), 0);
	assert_int_equal(pass(30), 0);
	assert_int_equal(f.holes, 1);
	f.state = FLIGHT_DELIVERING;
	assert_int_equal(flight_work(&f, 0), 0);
	assert_int_equal(sent[0].weight, 1051);
}

/* If the block that it ends was sent, it is, too, and so is the end of its block. What is alive at
 * its address is sent before. */
static void test_reallocation_of_what_was_sent(void **state)
{
	(void)state;
	birth(1, 8192, 10);
	growth(0, 4096, 8192, 20, 3);
	assert_int_equal(pass(30), 0);
	assert_int_equal(sent_count, 2);
	assert_sent(0, MALLOC, 8192, 10);
	assert_sent(1, REALLOC, 8192, 20);
	assert_int_equal(sent[1].old_address, 4096);
	assert_int_equal(sent[1].call_time_ns, 3 * US);
	assert_int_equal(f.held, 0);
	assert_int_equal(f.ahead, 1);
	death(0, 8192, 40);
	assert_int_equal(pass(50), 0);
	assert_int_equal(sent_count, 3);
	assert_sent(2, FREE, 8192, 40);
	assert_int_equal(sums.blocks, 0);
}

/* The old block ends when the call begins: one that another thread has got there since is another
 * one. */
static void test_reallocation_begins(void **state)
{
	const struct {
		uint64_t birth_us, call_us;
		bool together;
	} cases[] = {{16, 4, true}, {17, 4, false}, {16, 0, true}, {1, 60, false}, {0, 60, true}};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		flight_clear(&f, 0);
		sums_clear(&sums);
		sent_count = 0;
		birth(1, 4096, cases[i].birth_us);
		growth(0, 4096, 8192, 20, cases[i].call_us);
		assert_int_equal(pass(30), 0);
		assert_int_equal(sums.blocks, cases[i].together);
		assert_int_equal(sent_count, !cases[i].together);
		assert_int_equal(*flight_place_of(&f, 4096) != 0, !cases[i].together);
		assert_int_equal(*flight_place_of(&f, 8192) != 0, cases[i].together);
	}
}

/* Nothing changes while the batch has no room, and it goes on when there is some. */
static void test_full_batch(void **state)
{
	(void)state;
	birth(0, 4096, 10);
	birth(0, 4096, 11); /* sends the one before */
	death(0, 8192, 12); /* of a block that was sent */
	growth(0, 16384, 4096, 13, 0);
	room = 0;
	assert_int_equal(pass(20), -EAGAIN);
	assert_int_equal(f.cursor, 1);
	assert_int_equal(f.held, 4);
	assert_int_equal(give(0, &some), -EAGAIN);
	assert_int_equal(f.held, 4);
	room = 1;
	assert_int_equal(pass(20), -EAGAIN);
	assert_int_equal(f.cursor, 2);
	assert_int_equal(f.held, 3);
	room = 1;
	assert_int_equal(pass(20), -EAGAIN);
	assert_int_equal(f.cursor, 3);
	room = 1; /* the block at its address, and not yet the reallocation */
	assert_int_equal(pass(20), -EAGAIN);
	assert_int_equal(f.held, 1);
	room = 1;
	assert_int_equal(pass(20), 0);
	assert_int_equal(f.cursor, f.head);
	assert_int_equal(f.held, 0);
	assert_int_equal(sent_count, 4);
	assert_sent(0, MALLOC, 4096, 10);
	assert_sent(1, FREE, 8192, 12);
	assert_sent(2, MALLOC, 4096, 11);
	assert_sent(3, REALLOC, 4096, 13);
}

/* While the sums have no room, nothing becomes older than the window. */
static void test_full_sums(void **state)
{
	(void)state;
	birth(0, 4096, 10);
	death(0, 4096, 11);
	sums.max = 0;
	assert_int_equal(pass(20), -EAGAIN);
	assert_int_equal(f.cursor, 0);
	sums.max = 1;
	assert_int_equal(pass(20), 0);
	assert_int_equal(sums.blocks, 1);
	assert_int_equal(f.held, 0);
}

/* ---- what is not held ---- */

/* While others are held, it is ahead of them; so many of them, and all is sent. */
static void test_ahead(void **state)
{
	const struct event odd = {.kind = MALLOC, .address = 4097, .time_ns = 10 * US},
			   none = {.kind = FREE, .time_ns = 10 * US},
			   mapping = {.kind = HEAPCAST__EVENT_KIND__EVENT_MMAP,
				      .address = 4096,
				      .time_ns = 10 * US};

	(void)state;
	assert_int_equal(give(1, &odd), 0);
	assert_int_equal(f.ahead, 0); /* nothing is held */
	birth(0, 4096, 10);
	assert_int_equal(give(1, &none), 0);
	assert_int_equal(give(1, &mapping), 0);
	assert_int_equal(f.ahead, 0); /* collectors keep no such events back */
	assert_int_equal(give(1, &odd), 0);
	assert_int_equal(f.ahead, 1);
	assert_int_equal(sent_count, 4);
	assert_int_equal(sent[3].thread, 2);
	assert_int_equal(sent[3].stack, 1002);
	f.ahead = FLIGHT_AHEAD_MAX - 2;
	assert_int_equal(give(1, &odd), 0);
	assert_false(flight_wants_delivery(&f));
	assert_int_equal(give(1, &odd), 0);
	assert_int_equal(f.wanted, FLIGHT_FULL);
	f.wanted = FLIGHT_RSS; /* that stays */
	f.ahead--;
	assert_int_equal(give(1, &odd), 0);
	assert_int_equal(f.wanted, FLIGHT_RSS);
	room = 0;
	assert_int_equal(give(1, &odd), -EAGAIN);
	assert_int_equal(f.ahead, FLIGHT_AHEAD_MAX);
}

/* The same of deaths whose births were sent. */
static void test_ahead_of_deaths(void **state)
{
	(void)state;
	birth(0, 4096, 10);
	death(0, 8192, 11);
	f.ahead = FLIGHT_AHEAD_MAX - 2;
	assert_int_equal(pass(20), 0);
	assert_int_equal(f.ahead, FLIGHT_AHEAD_MAX - 1);
	assert_false(flight_wants_delivery(&f));
	death(0, 8192, 30);
	assert_int_equal(pass(40), 0);
	assert_true(flight_wants_delivery(&f));
	assert_int_equal(f.wanted, FLIGHT_FULL);
	flight_begin_delivery(&f);
	assert_int_equal(flight_work(&f, 1000), 0);
	assert_int_equal(f.state, FLIGHT_STREAMING);
	assert_int_equal(f.until_ns, 1000); /* what is wanted by nobody does not go on */
	assert_int_equal(flight_advance(&f, 0, 1000, false), 0);
	assert_int_equal(f.state, FLIGHT_ARMED);
}

/* ---- room ---- */

/* The window is shortened by a part first, without a word that anything was sent early. */
static void test_room_of_the_window(void **state)
{
	(void)state;
	f.slots = 64;
	for (unsigned i = 0; i < 31; i++) {
		birth(0, 4096 + 16 * i, 2 * i);
		death(0, 4096 + 16 * i, 2 * i + 1);
	}
	assert_int_equal(f.held, 62);
	birth(0, 8192, 62); /* it leaves room for one that has two slots */
	assert_int_equal(f.head, 63);
	assert_int_equal(f.holes, 0);
	birth(0, 8192 + 16, 63);
	assert_int_equal(f.held, 62);
	assert_int_equal(f.head, 62);
	assert_int_equal(f.whole_ns, 2 * US);
	assert_int_equal(sums.blocks, 1);
	assert_int_equal(sums.early + sent_count, 0);
}

/* Without a window the oldest blocks are sent. */
static void test_room_of_the_living(void **state)
{
	(void)state;
	f.slots = 96;
	for (unsigned i = 0; i < 95; i++)
		birth(0, 4096 + 16 * i, i);
	assert_int_equal(pass(100), 0);
	assert_int_equal(f.cursor, 95);
	room = 1;
	assert_int_equal(give(0, &some), -EAGAIN);
	assert_int_equal(sums.early, 1);
	sums.max = 0;
	room = UINT32_MAX;
	assert_int_equal(give(0, &some), -EAGAIN);
	assert_int_equal(sums.early, 1);
	sums.max = 100;
	birth(0, 64, 300);
	assert_int_equal(sums.early, 4); /* a 32nd in one go, and one before */
	assert_int_equal(sent_count, 4);
	assert_sent(3, MALLOC, 4096 + 48, 3);
	assert_int_equal(f.held, 95 - 4 + 1);
	assert_int_equal(f.head, f.held);
}

/* Memory is needed elsewhere. */
static void test_shrink(void **state)
{
	(void)state;
	f.slots = 64;
	flight_shrink(&f);
	assert_false(flight_urgent(&f)); /* it holds nothing */
	death(0, 64, 9);
	for (unsigned i = 0; i < 4; i++)
		birth(0, 4096 + 16 * i, 10);
	flight_shrink(&f);
	room = 0;
	assert_int_equal(flight_work(&f, 0), -EAGAIN);
	assert_true(flight_urgent(&f));
	room = 1;
	assert_int_equal(flight_work(&f, 0), 0);
	assert_false(flight_urgent(&f));
	assert_int_equal(f.cursor, 2); /* two of 64 */
	flight_shrink(&f);
	assert_int_equal(flight_work(&f, 0), 0);
	flight_shrink(&f);
	assert_int_equal(flight_work(&f, 0), 0);
	assert_int_equal(f.cursor, 5);
	assert_int_equal(f.held, 4);
	flight_shrink(&f);
	room = 1;
	assert_int_equal(flight_work(&f, 0), -EAGAIN);
	assert_int_equal(f.held, 3);
	room = UINT32_MAX;
	assert_int_equal(flight_work(&f, 0), 0);
	assert_false(flight_urgent(&f));
	assert_int_equal(f.held, 1);
	assert_int_equal(sums.early, 3);
}

/* ---- triggers ---- */

static void test_triggers(void **state)
{
	(void)state;
	assert_true(flight_is_quiet(&f));
	birth(0, 4096, 10);
	death(1, 4096, 20);
	assert_true(flight_trigger(&f, FLIGHT_RSS, 7));
	assert_false(flight_trigger(&f, FLIGHT_SIGNAL, 8)); /* it is on its way */
	assert_int_equal(f.wanted, FLIGHT_RSS);
	assert_false(flight_is_quiet(&f));
	flight_begin_delivery(&f);
	assert_false(flight_wants_delivery(&f));
	assert_false(flight_trigger(&f, FLIGHT_SIGNAL, 9));
	assert_int_equal(pass(100), 0); /* nothing becomes old now */
	assert_int_equal(f.cursor, 0);
	room = 1;
	assert_int_equal(flight_work(&f, 1000), -EAGAIN);
	assert_int_equal(f.state, FLIGHT_DELIVERING);
	room = UINT32_MAX;
	assert_int_equal(flight_work(&f, 1000), 0);
	assert_string_equal(flight_cause_name(FLIGHT_FULL), "full");
	assert_int_equal(sent_count, 2);
	assert_sent(1, FREE, 4096, 20);
	assert_int_equal(f.state, FLIGHT_STREAMING);
	assert_int_equal(f.wanted, FLIGHT_NONE);
	assert_int_equal(f.until_ns, 1000 + AFTER_NS);
	assert_int_equal(give(0, &some), 0);
	assert_int_equal(f.held, 0);
	assert_int_equal(sent_count, 3);
	assert_false(flight_trigger(&f, FLIGHT_SIGNAL, 1400)); /* longer */
	assert_int_equal(flight_advance(&f, 0, 1000 + AFTER_NS, false), 0);
	assert_int_equal(f.state, FLIGHT_STREAMING);
	assert_int_equal(flight_advance(&f, 0, 1400 + AFTER_NS - 1, false), 0);
	assert_int_equal(f.state, FLIGHT_STREAMING);
	assert_int_equal(flight_advance(&f, 0, 1400 + AFTER_NS, true), 0);
	assert_int_equal(f.state, FLIGHT_STREAMING); /* the end of it all is sent, too */
	assert_int_equal(flight_advance(&f, 0, 1400 + AFTER_NS, false), 0);
	assert_int_equal(f.state, FLIGHT_ARMED);
	f.window_ns = 0;
	assert_false(flight_trigger(&f, FLIGHT_SIGNAL, 9));
	assert_int_equal(f.wanted, FLIGHT_NONE);
}

/* Time goes on by events, too, and never back. */
static void test_time(void **state)
{
	(void)state;
	birth(0, 4096, 10);
	birth(0, 8192, 10 + WINDOW_US);
	assert_int_equal(f.cursor, 0); /* an event looks at what those before it have passed */
	birth(1, 12288, 5);
	assert_int_equal(f.cursor, 1);
	assert_int_equal(flight_advance(&f, 5 * US, 0, false), 0);
	assert_int_equal(f.now_ns, (10 + WINDOW_US) * US);
	assert_int_equal(f.cursor, 1);
	assert_int_equal(flight_watermark(&f, 900 * US), 5 * US);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_recorder, hold_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_doubt),
		TEST(test_sums),
		TEST(test_reallocations),
		TEST(test_weighted_reallocation),
		TEST(test_reallocation_of_what_was_sent),
		TEST(test_reallocation_begins),
		TEST(test_full_batch),
		TEST(test_full_sums),
		TEST(test_ahead),
		TEST(test_ahead_of_deaths),
		TEST(test_room_of_the_window),
		TEST(test_room_of_the_living),
		TEST(test_shrink),
		TEST(test_triggers),
		TEST(test_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
