/* Sums of events that are not sent: which blocks share a row, when rows are full and due. And which
 * events a record of the flight recorder can hold. */
#include "agent/hold/sums.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "agent/hold/flight_array.h"
#include "proto/culled.h"

#define ROW (sizeof(struct sums_row) + 4 * sizeof(uint32_t)) /* with its part of the index */

static struct arena arena;
static struct sums s;

static int open_sums(void **state)
{
	(void)state;
	assert_int_equal(arena_open(&arena, 4 * 100 * ROW), 0);
	assert_int_equal(sums_init(&s, &arena, 1 << 20), 0);
	sums_clear(&s);
	return 0;
}

static int close_sums(void **state)
{
	(void)state;
	arena_close(&arena);
	return 0;
}

static const struct sums_block block = {
	.thread = 1, .node = 7, .time_ns = 1000, .size = 100, .lived_ns = 5, .freed = true};

static void add(struct sums_block b)
{
	sums_add(&s, &b);
}

/* A quarter of the arena, or what a message has room for; at least SUMS_ROWS_LEAST. */
static void test_room(void **state)
{
	struct sums sums;
	struct arena a = {.memory = arena.memory, .size = 4 * 100 * ROW};

	(void)state;
	assert_int_equal(s.max, 100);
	assert_int_equal(s.wait_ns, 1000000000);
	for (uint32_t rows = 64; rows <= 100; rows += 9) {
		a.used = 0;
		assert_int_equal(sums_init(&sums, &a, rows * CULLED_ROW_MAX), 0);
		assert_int_equal(sums.max, rows);
		assert_true(sums.places >= 2 * rows);
		assert_true(sums.places <= 4 * rows);
		a.used = 0;
		assert_int_equal(sums_init(&sums, &a, rows * CULLED_ROW_MAX + 89), 0);
		assert_int_equal(sums.max, rows);
	}
	a.used = 0;
	assert_true(sums_init(&sums, &a, 64 * CULLED_ROW_MAX - 1) < 0);
	a = (struct arena){.memory = arena.memory, .size = 4 * 64 * ROW - 1};
	assert_true(sums_init(&sums, &a, 1 << 20) < 0);
	a.size++;
	assert_int_equal(sums_init(&sums, &a, 1 << 20), 0);
}

static void test_one_row(void **state)
{
	struct sums_block b = block;

	(void)state;
	add(b);
	b.size = 64;
	b.time_ns = 900;
	add(b);
	b.size = 127;
	b.time_ns = 1100;
	b.freed = false;
	add(b);
	b.size = 100;
	b.time_ns = 1000;
	add(b);
	assert_int_equal(s.count, 1);
	assert_int_equal(s.row[0].blocks, 4);
	assert_int_equal(s.row[0].reallocated, 2);
	assert_int_equal(s.row[0].bytes, 100 + 64 + 127 + 100);
	assert_int_equal(s.row[0].size_least, 64);
	assert_int_equal(s.row[0].size_most, 127);
	assert_int_equal(s.row[0].first_ns, 900);
	assert_int_equal(s.row[0].last_ns, 1100);
	assert_int_equal(s.row[0].thread, 1);
	assert_int_equal(s.row[0].node, 7);
	assert_int_equal(s.row[0].weight, 0);
	assert_int_equal(s.blocks, 4);
	assert_int_equal(s.bytes, 391);
	sums_add_free(&s);
	assert_int_equal(sums_events(&s), 5);
	sums_clear(&s);
	assert_int_equal(s.count + s.blocks + s.bytes + s.frees + s.early, 0);
	add(block);
	assert_int_equal(s.count, 1);
	assert_int_equal(s.row[0].blocks, 1);
}

/* What of a block is in the key. */
static void test_other_rows(void **state)
{
	struct sums_block b = block;

	(void)state;
	add(b);
	b.thread = 2;
	add(b);
	b = block;
	b.node = 8;
	add(b);
	b = block;
	b.lived_ns = culled_lifetime_ends[0] - 1;
	add(b);
	assert_int_equal(s.count, 3);
	b.lived_ns++;
	add(b);
	assert_int_equal(s.count, 4);
	b = block;
	b.size = 63;
	add(b);
	b.size = 128;
	add(b);
	b.size = 0;
	add(b);
	assert_int_equal(s.count, 7);
	b.size = 1;
	add(b);
	assert_int_equal(s.count, 8);
	b = block;
	b.weight = b.size; /* it stands for itself */
	add(b);
	assert_int_equal(s.count, 8);
	b.weight = 5000;
	add(b);
	assert_int_equal(s.count, 9);
	assert_int_equal(s.row[8].weight, 5000);
	add(b);
	b.weight = 5001;
	add(b);
	assert_int_equal(s.count, 10);
	b.weight = 5000;
	b.size = 101; /* of sampled blocks each size by itself */
	add(b);
	assert_int_equal(s.count, 11);
	assert_int_equal(s.row[0].blocks, 3);
	assert_int_equal(s.row[8].blocks, 2);
	s.row[0].blocks = UINT32_MAX - 1;
	add(block);
	assert_int_equal(s.count, 11);
	add(block); /* the row can count no more */
	assert_int_equal(s.count, 12);
	assert_int_equal(s.row[11].blocks, 1);
}

/* All rows that there are, of different keys; each is found again. */
static void test_full(void **state)
{
	struct sums_block b = block;

	(void)state;
	for (int round = 1; round <= 2; round++)
		for (uint32_t i = 0; i < 100; i++) {
			b.node = i * 4096;
			assert_int_equal(sums_full(&s, 1), s.count == 100);
			assert_false(s.count < 100 && sums_full(&s, 100 - s.count));
			assert_true(sums_full(&s, 101 - s.count));
			add(b);
			assert_int_equal(s.count, round == 2 ? 100 : i + 1);
			assert_int_equal(s.row[i].blocks, round);
			assert_int_equal(s.row[i].node, i * 4096);
		}
	sums_clear(&s);
	s.bytes = SUMS_BYTES_MOST - 1;
	assert_false(sums_full(&s, 1));
	s.bytes++;
	assert_true(sums_full(&s, 1));
}

static void test_due(void **state)
{
	uint64_t since;

	(void)state;
	assert_false(sums_due(&s, UINT64_MAX / 2));
	add(block);
	since = s.since_ns;
	assert_true(since > 0);
	assert_false(sums_due(&s, since + 999999999));
	assert_true(sums_due(&s, since + 1000000000));
	s.wait_row_ns = 10;
	assert_false(sums_due(&s, since + 1000000009));
	assert_true(sums_due(&s, since + 1000000010));
	/* The first of them counts. */
	s.since_ns = 1;
	add(block);
	sums_add_early(&s);
	assert_int_equal(s.since_ns, 1);
	sums_clear(&s);
	sums_add_early(&s);
	assert_true(s.since_ns > 1);
	assert_int_equal(s.early, 1);
	assert_true(sums_due(&s, s.since_ns + 1000000000));
	s.since_ns = 1;
	add(block);
	assert_int_equal(s.since_ns, 1);
}

static struct event malloced(void)
{
	return (struct event){.kind = HEAPCAST__EVENT_KIND__EVENT_MALLOC,
			      .time_ns = 1000,
			      .address = 0x1000,
			      .size = 10};
}

/* A record's fields have so many bits (flight.h). */
static void test_flight_fits(void **state)
{
	struct event e = malloced();

	(void)state;
	assert_true(flight_fits(&e, 0));
	assert_true(flight_fits(&e, (1 << 14) - 1));
	assert_false(flight_fits(&e, 1 << 14));
	e.address = 0;
	assert_false(flight_fits(&e, 0));
	for (unsigned low = 1; low < 8; low++) {
		e.address = 0x1000 + low;
		assert_false(flight_fits(&e, 0));
		e.address = 0x1000;
		e.old_address = 0x1000 + low;
		assert_false(flight_fits(&e, 0));
		e.old_address = 0;
	}
	e.address = (1ull << 48) - 8;
	assert_true(flight_fits(&e, 0));
	e.address = 1ull << 48;
	assert_false(flight_fits(&e, 0));
	e = malloced();
	e.size = UINT32_MAX;
	assert_true(flight_fits(&e, 0));
	e.size++;
	assert_false(flight_fits(&e, 0));
	e = malloced();
	e.weight = (1ull << 48) - 1;
	assert_true(flight_fits(&e, 0));
	e.weight++;
	assert_false(flight_fits(&e, 0));
	e = malloced();
	e.time_ns = (1ull << 48) * 1000 - 1;
	assert_true(flight_fits(&e, 0));
	e.time_ns++;
	assert_false(flight_fits(&e, 0));
}

/* Blocks of the heap alone; and every kind of those comes back from a record as it was. */
static void test_flight_kinds(void **state)
{
	struct event e = malloced();

	(void)state;
	for (unsigned kind = 1; kind < EVENT_KIND_LIMIT; kind++) {
		struct flight_record record;

		e.kind = (uint8_t)kind;
		if (event_space(kind) != EVENT_SPACE_HEAP)
			assert_false(flight_fits(&e, 0));
		if (!flight_fits(&e, 0))
			continue;
		record = (struct flight_record){
			.kind = kind < FLIGHT_FREES_FROM ? kind : kind - FLIGHT_FREES_FROM / 2};
		assert_int_equal(flight_kind_of(&record), kind);
	}
	e.kind = HEAPCAST__EVENT_KIND__EVENT_FREE;
	assert_true(flight_fits(&e, 0));
	e.kind = HEAPCAST__EVENT_KIND__EVENT_REALLOC;
	assert_true(flight_fits(&e, 0));
	e.kind = FLIGHT_FREES_FROM / 2 - 1;
	assert_int_equal(flight_fits(&e, 0), event_space(e.kind) == EVENT_SPACE_HEAP);
	e.kind = FLIGHT_FREES_FROM / 2;
	assert_false(flight_fits(&e, 0));
	e.kind = FLIGHT_FREES_FROM - 1;
	assert_false(flight_fits(&e, 0));
	e.kind = FLIGHT_FREES_FROM * 3 / 2;
	assert_false(flight_fits(&e, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_room, open_sums, close_sums),
		cmocka_unit_test_setup_teardown(test_one_row, open_sums, close_sums),
		cmocka_unit_test_setup_teardown(test_other_rows, open_sums, close_sums),
		cmocka_unit_test_setup_teardown(test_full, open_sums, close_sums),
		cmocka_unit_test_setup_teardown(test_due, open_sums, close_sums),
		cmocka_unit_test(test_flight_fits),
		cmocka_unit_test(test_flight_kinds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
