/* The array of the flight recorder: what it holds comes out as it went in, live blocks are found by
 * their addresses, and closing the holes changes neither. */
#include "agent/hold/flight_array.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/core/arena.h"
#include "heapcast.pb-c.h"

#define EVENTS 60

static struct arena arena;
static struct threads threads;
static struct stacks stacks;
static struct stacks_path path;
static struct flight f;

/* What went in, as it comes out, and where it is. */
static struct entry {
	struct event event;
	uint32_t at;
	bool held, indexed;
} entries[EVENTS];

static int open_array(void **state)
{
	const struct flight_settings settings = {.window_ns = 1000000};
	const struct hold_host host = {.threads = &threads, .stacks = &stacks};

	(void)state;
	stacks = (struct stacks){.base = 1000};
	assert_int_equal(arena_open(&arena, 64 << 10), 0);
	assert_int_equal(threads_init(&threads, &arena, 4), 0);
	assert_non_null(threads_add(&threads, 77, 0));
	assert_non_null(threads_add(&threads, 78, 0));
	assert_int_equal(flight_init(&f, &settings, &host, &arena, &path), 0);
	return 0;
}

static int close_array(void **state)
{
	(void)state;
	arena_close(&arena);
	return 0;
}

static uint64_t draw(uint64_t most)
{
	return (uint64_t)random() % most;
}

/* An event of any kind, at an address of its own; in ticks of the recorder. */
static struct event draw_event(uint32_t number)
{
	static const uint8_t kinds[] = {
		HEAPCAST__EVENT_KIND__EVENT_MALLOC, HEAPCAST__EVENT_KIND__EVENT_REALLOC,
		HEAPCAST__EVENT_KIND__EVENT_FREE, HEAPCAST__EVENT_KIND__EVENT_DELETE_ARRAY};
	struct event e = {.kind = kinds[draw(4)]};

	e.class = (enum event_class)event_traits[e.kind].class;
	e.time_ns = (1000 + 10 * number) * RUN_TICK_NS;
	if (!draw(8))
		e.time_ns -= 200 * RUN_TICK_NS; /* out of order */
	e.address = ((uint64_t)1 << 40) + 16 * number + 8 * draw(2);
	e.size = draw(UINT32_MAX);
	if (e.class == EVENT_CLASS_REALLOCATION && draw(4)) {
		e.old_address = 8 + 8 * draw(1000);
		e.call_time_ns = RUN_TICK_NS * draw(1000);
	}
	if (e.class != EVENT_CLASS_FREE && !draw(4))
		e.weight = 1 + draw(1000000);
	return e;
}

static void put_all(void)
{
	memset(path.node, 0xff, f.slots * sizeof(*path.node)); /* of those before */
	for (uint32_t i = 0; i < EVENTS; i++) {
		struct event e = draw_event(i);
		uint32_t thread = (uint32_t)draw(2), node = (uint32_t)draw(100);
		struct entry *entry = &entries[i];

		assert_true(flight_fits(&e, thread));
		*entry = (struct entry){.event = e, .at = f.head, .held = true};
		entry->event.thread = threads.entry[thread].number;
		entry->event.stack = node ? 1000 + node : 0;
		flight_append(&f, thread, &e, node);
		assert_int_equal(f.head, entry->at + 1 + (e.old_address || e.weight));
	}
}

/* Passes `count` of them, as the recorder does: of those that are left, births are indexed. */
static void pass(uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct entry *entry = &entries[i];

		f.cursor = entry->at + flight_length_of(&f, entry->at);
		if (entry->event.class != EVENT_CLASS_FREE && draw(3)) {
			flight_index_put(&f, entry->at);
			entry->indexed = true;
		} else {
			flight_unhold(&f, entry->at);
			entry->held = false;
		}
	}
	for (uint32_t i = 0; i < count; i++) /* blocks that have died */
		if (entries[i].held && !draw(3)) {
			flight_unhold(&f, entries[i].at);
			entries[i].held = entries[i].indexed = false;
		}
}

static void assert_event(const struct event *a, const struct event *b)
{
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->class, b->class);
	assert_int_equal(a->thread, b->thread);
	assert_int_equal(a->stack, b->stack);
	assert_int_equal(a->time_ns, b->time_ns);
	assert_int_equal(a->address, b->address);
	assert_int_equal(a->size, b->size);
	assert_int_equal(a->old_address, b->old_address);
	assert_int_equal(a->call_time_ns, b->call_time_ns);
	assert_int_equal(a->weight, b->weight);
}

static void check_all(void)
{
	uint32_t held = 0, of_thread[2] = {0}, slots = 0;
	bool first = true;

	for (uint32_t i = 0; i < EVENTS; i++) {
		const struct entry *entry = &entries[i];
		struct event e;

		assert_int_equal(*flight_place_of(&f, entry->event.address),
				 entry->indexed ? entry->at + 1 : 0);
		if (!entry->held)
			continue;
		e = flight_event_of(&f, entry->at);
		assert_event(&e, &entry->event);
		assert_int_equal(f.record[entry->at].indexed, entry->indexed);
		if (f.record[entry->at].more)
			assert_int_equal(path.node[entry->at + 1], 0);
		if (first)
			assert_int_equal(f.first, entry->at);
		first = false;
		held++;
		slots += flight_length_of(&f, entry->at);
		of_thread[entry->event.thread - 1]++;
	}
	assert_int_equal(f.held, held);
	assert_int_equal(threads.entry[0].held, of_thread[0]);
	assert_int_equal(threads.entry[1].held, of_thread[1]);
	assert_int_equal(f.head, slots + f.holes);
	assert_int_equal(path.depth, f.head);
}

/* The event at the cursor, or the number of all behind the last one. */
static uint32_t at_cursor(void)
{
	uint32_t i = 0;

	while (i < EVENTS && !(entries[i].held && entries[i].at >= f.cursor))
		i++;
	return i;
}

/* Where those that are held are then: one behind the other. */
static void close_up(void)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < EVENTS; i++) {
		struct entry *entry = &entries[i];
		uint32_t length = entry->held ? flight_length_of(&f, entry->at) : 0;

		entry->at = at;
		at += length;
	}
}

static uint32_t late_entry(void)
{
	uint32_t i = 0;

	while (i < EVENTS && !(entries[i].held && entries[i].at == f.late))
		i++;
	return i;
}

static void test_holes(void **state)
{
	unsigned with_late = 0, with_index = 0, beyond = 0;

	(void)state;
	for (unsigned seed = 1; seed <= 200; seed++) {
		uint32_t cursor, late, count;
		uint64_t watermark;
		bool is_late;

		srandom(seed);
		flight_clear(&f, 0);
		threads.entry[0].held = threads.entry[1].held = 0;
		put_all();
		check_all();
		count = (uint32_t)draw(EVENTS + 1);
		pass(count);
		if (seed % 5 == 0) { /* all that it has passed is gone, and some of the rest */
			for (uint32_t i = 0; i < count / 2 + EVENTS / 2; i++)
				if (entries[i].held) {
					flight_unhold(&f, entries[i].at);
					entries[i].held = entries[i].indexed = false;
				}
			beyond += f.first > f.cursor;
		}
		if (!f.held)
			continue;
		check_all();
		cursor = at_cursor();
		late = late_entry();
		is_late = f.has_late && f.late >= f.first;
		watermark = flight_watermark(&f, UINT64_MAX);
		with_late += is_late && late < EVENTS;
		with_index += entries[0].indexed + entries[5].indexed;
		close_up();
		flight_close_holes(&f);
		assert_int_equal(f.first, 0);
		assert_int_equal(f.holes, 0);
		check_all();
		assert_int_equal(at_cursor(), cursor);
		assert_int_equal(f.has_late, is_late);
		if (is_late && late < EVENTS)
			assert_int_equal(f.late, entries[late].at);
		assert_true(flight_watermark(&f, UINT64_MAX) == watermark);
	}
	assert_true(with_late > 10);
	assert_true(with_index > 10);
	assert_true(beyond > 10);
}

/* The index has room for all, and finds each, in whatever order they go. */
static void test_index(void **state)
{
	uint32_t count = f.slots - 2 - (f.slots % 7 == 2); /* no multiple of 7 */

	(void)state;
	srandom(3);
	for (uint32_t i = 0; i < count; i++) {
		struct event e = {.kind = HEAPCAST__EVENT_KIND__EVENT_MALLOC,
				  .class = EVENT_CLASS_ALLOCATION,
				  .time_ns = 1000 * i,
				  .address = 4096 + 16 * (uint64_t)i};

		flight_append(&f, 0, &e, 1);
		flight_index_put(&f, i);
	}
	f.cursor = f.head;
	for (uint32_t left = count, step = 0; left; left--, step++) {
		uint32_t i = (uint32_t)((uint64_t)step * 7 % count);

		assert_int_equal(*flight_place_of(&f, 4096 + 16 * (uint64_t)i), i + 1);
		flight_unhold(&f, i);
		assert_int_equal(*flight_place_of(&f, 4096 + 16 * (uint64_t)i), 0);
		assert_int_equal(f.held, left - 1);
	}
	assert_int_equal(f.first, f.head);
	assert_int_equal(f.holes, f.head);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_array, close_array)

int main(void)
{
	const struct CMUnitTest tests[] = {TEST(test_holes), TEST(test_index)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
