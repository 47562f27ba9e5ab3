/*
 * Births and deaths in order: each row once, whatever the size of the windows; at one moment births
 * before deaths, but for a death that made room. And what was in use at many moments, against a sum
 * over all rows.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collector/columns/row_block.h"
#include "collector/query/sweep/events.h"
#include "collector/query/sums/live.h"
#include "collector/recording/recording.h"
#include "tests/unit/query/recording.h"
#include "proto/stack_columns.h"

#define EVENTS 1000

struct list {
	struct block_event *events;
	size_t count;
};

static struct list walk(struct view *view, const struct filter *filter, size_t at_once)
{
	struct list list = {.events = calloc(2 * EVENTS, sizeof(*list.events))};
	struct query_events *events;
	struct block_event event;
	struct err_text err = {0};
	int r;

	assert_int_equal(query_events_new(view, filter, at_once, &events, &err), 0);
	while ((r = query_events_next(events, &event, &err)) == 1) {
		assert_true(list.count < 2 * EVENTS);
		list.events[list.count++] = event;
	}
	assert_int_equal(r, 0);
	query_events_free(events);
	return list;
}

static void check_whole(const struct recording *recording, const struct list *list)
{
	uint64_t rows = recording_rows(recording), births = 0, deaths = 0;
	uint8_t *seen = calloc(rows, 1);

	for (size_t i = 0; i < list->count; i++) {
		const struct block_event *e = &list->events[i];

		assert_true(e->row < rows);
		assert_int_equal(seen[e->row], e->is_death);
		seen[e->row]++;
		births += !e->is_death;
		deaths += e->is_death;
		if (i)
			assert_true(e->time_ns >= list->events[i - 1].time_ns);
	}
	assert_int_equal(births, rows);
	for (uint64_t row = 0; row < rows; row++) {
		const struct row_block *block = recording_block(recording, 0);

		deaths -= block->death_ns[row] != NO_TIME;
	}
	assert_int_equal(deaths, 0);
	free(seen);
}

static void windows_of_any_size_give_the_same(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 8; seed++) {
		struct test_recording t;
		struct filter filter;
		struct list all;

		test_random_recording(&t, seed, EVENTS, seed % 2);
		filter_init(&filter);
		all = walk(t.view, &filter, 0);
		check_whole(t.recording, &all);
		for (size_t at_once = 1; at_once < 2000; at_once = at_once * 7 + 1) {
			struct list some = walk(t.view, &filter, at_once);

			assert_int_equal(some.count, all.count);
			for (size_t i = 0; i < all.count; i++) {
				assert_int_equal(some.events[i].row, all.events[i].row);
				assert_int_equal(some.events[i].is_death, all.events[i].is_death);
			}
			free(some.events);
		}
		free(all.events);
		filter_done(&filter);
		test_close(&t);
	}
}

/* At one microsecond: A and B are born, A dies and C gets its address, B dies. */
static void what_made_room_comes_first(void **state)
{
	static const struct {
		uint64_t address;
		bool is_death;
	} expected[] = {
		{0x1000, false}, {0x2000, false}, {0x1000, true}, {0x1000, false}, {0x2000, true}};
	struct stack_node node = {.module = 2, .offset = 0x100};
	struct test_recording t;
	struct filter filter;
	struct builder b;
	struct list list;

	(void)state;
	builder_init_tick(&b, 3, 1000);
	test_first_batch(&b, &node, 1, "/nowhere/libexample.so", 0, false);
	builder_malloc(&b, 5000, 1, 0x1000, 10);
	builder_malloc(&b, 5000, 1, 0x2000, 20);
	builder_free(&b, 5000, 1, 0x1000);
	builder_malloc(&b, 5000, 1, 0x1000, 30);
	builder_free(&b, 5000, 1, 0x2000);
	builder_end(&b, 0);
	test_open(&t, &b);
	builder_done(&b);
	filter_init(&filter);
	list = walk(t.view, &filter, 0);
	assert_int_equal(list.count, 5);
	for (size_t i = 0; i < list.count; i++) {
		assert_int_equal(list.events[i].address, expected[i].address);
		assert_int_equal(list.events[i].is_death, expected[i].is_death);
	}
	free(list.events);
	filter_done(&filter);
	test_close(&t);
}

/* ---- the order of one moment, once more: simply, row by row ---- */

#define ADDRESSES 12

/* Many events at each moment, at few addresses: who makes room for whom is all that differs. */
static void crowded(struct test_recording *t, uint64_t seed)
{
	struct stack_node node = {.module = 2, .offset = 0x100};
	uint64_t random = seed * 0x9e3779b97f4a7c15u, time = 5000;
	bool taken[ADDRESSES] = {false};
	struct builder b;

	builder_init_tick(&b, 3, 1000);
	test_first_batch(&b, &node, 1, "/nowhere/libexample.so", 0, false);
	for (unsigned i = 0; i < EVENTS / 2; i++) {
		unsigned at = (unsigned)(test_random(&random) % ADDRESSES),
			 to = (unsigned)(test_random(&random) % ADDRESSES);
		uint64_t dice = test_random(&random) % 30, size = 1 + test_random(&random) % 9;

		time += dice == 0 ? 1000 : 0;
		if (!taken[at]) {
			builder_malloc(&b, time, 1, 0x1000 + 0x1000 * at, size);
			taken[at] = true;
		} else if (dice % 3 && (to == at || !taken[to])) {
			builder_realloc(&b, time, time, 1, 0x1000 + 0x1000 * at,
					0x1000 + 0x1000 * to, size);
			taken[at] = false;
			taken[to] = true;
		} else {
			builder_free(&b, time, 1, 0x1000 + 0x1000 * at);
			taken[at] = false;
		}
	}
	builder_end(&b, 0);
	test_open(t, &b);
	builder_done(&b);
}

struct model {
	const struct row_block *block;
	const struct filter *filter;
	uint64_t time_ns;
	bool told[EVENTS]; /* by row: its death */
	struct list list;
};

static bool is_asked(const struct model *m, uint32_t row)
{
	return m->block->size[row] >= m->filter->size_min &&
	       m->block->size[row] <= m->filter->size_max;
}

static bool dies_now(const struct model *m, uint32_t row)
{
	return is_asked(m, row) && m->block->death_ns[row] == m->time_ns && !m->told[row];
}

static void tell_death(struct model *m, uint32_t row)
{
	if (!dies_now(m, row))
		return;
	m->told[row] = true;
	m->list.events[m->list.count++] = (struct block_event){.row = row, .is_death = true};
}

/* Before a birth: the block that was moved there, and all that were at its address before it. */
static void tell_birth(struct model *m, uint32_t row)
{
	const struct row_block *b = m->block;

	if (b->chain_previous[row] != NO_BLOCK)
		tell_death(m, b->chain_previous[row]);
	for (uint32_t other = 0; other < row; other++)
		if (b->address[other] == b->address[row])
			tell_death(m, other);
	m->list.events[m->list.count++] = (struct block_event){.row = row};
}

/* The death of the last birth comes at once, the others by address and row. */
static void tell_moment(struct model *m)
{
	const struct row_block *b = m->block;
	uint32_t last = NO_BLOCK;

	for (uint32_t row = 0; row < b->count; row++)
		if (is_asked(m, row) && b->birth_ns[row] == m->time_ns)
			tell_birth(m, last = row);
	if (last != NO_BLOCK)
		tell_death(m, last);
	for (uint64_t at = 0; at <= 0x1000 * ADDRESSES; at += 0x1000)
		for (uint32_t row = 0; row < b->count; row++)
			if (b->address[row] == at)
				tell_death(m, row);
}

static unsigned check_moments(const struct test_recording *t, const struct filter *filter)
{
	struct list list = walk(t->view, filter, 0);
	struct model m = {.block = recording_block(t->recording, 0), .filter = filter};
	uint64_t end = recording_end_ns(t->recording);
	unsigned moments = 0;

	m.list.events = calloc(2 * EVENTS, sizeof(*m.list.events));
	assert_true(m.list.events && m.block->count <= EVENTS);
	for (m.time_ns = 0; m.time_ns <= end; m.time_ns += 1000, moments++)
		tell_moment(&m);
	assert_int_equal(list.count, m.list.count);
	for (size_t i = 0; i < list.count; i++) {
		const struct block_event *e = &list.events[i];
		uint32_t row = (uint32_t)e->row;

		assert_int_equal(row, m.list.events[i].row);
		assert_int_equal(e->is_death, m.list.events[i].is_death);
		assert_int_equal(e->time_ns,
				 e->is_death ? m.block->death_ns[row] : m.block->birth_ns[row]);
		assert_int_equal(e->address, m.block->address[row]);
		assert_int_equal(e->size, m.block->size[row]);
	}
	free(list.events);
	free(m.list.events);
	return moments;
}

/* Also of some of the rows: then the block that another was moved to may not be among them. */
static void each_moment_has_an_order(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 30; seed++) {
		struct test_recording t;
		struct filter filter;

		crowded(&t, seed);
		for (unsigned least = 0; least < 3; least++) {
			filter_init(&filter);
			filter.size_min = 2 * least;
			filter.size_max = least == 2 ? 7 : UINT64_MAX;
			assert_true(check_moments(&t, &filter) > 10);
			filter_done(&filter);
		}
		test_close(&t);
	}
}

static uint64_t in_use_by_hand(const struct recording *recording, uint64_t at_ns)
{
	const struct row_block *block = recording_block(recording, 0);
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < block->count; i++)
		if (block->birth_ns[i] <= at_ns && block->death_ns[i] > at_ns)
			bytes += block->weight && block->weight[i] > block->size[i]
					 ? block->weight[i]
					 : block->size[i];
	return bytes;
}

static void moments_are_sums(void **state)
{
	uint64_t times[100], bytes[100];

	(void)state;
	for (uint64_t seed = 1; seed <= 10; seed++) {
		struct test_recording t;
		struct filter filter;
		struct err_text err = {0};

		test_random_recording(&t, seed, EVENTS, seed % 2);
		filter_init(&filter);
		for (unsigned i = 0; i < 100; i++)
			times[i] = recording_end_ns(t.recording) * i / 90;
		assert_int_equal(query_in_use_at(t.view, &filter, times, 100, bytes, &err), 0);
		for (unsigned i = 0; i < 100; i++)
			assert_int_equal(bytes[i], in_use_by_hand(t.recording, times[i]));
		filter_done(&filter);
		test_close(&t);
	}
}

static void the_live_are_by_address(void **state)
{
	struct test_recording t;
	struct live_block *list;
	struct filter filter;
	struct err_text err = {0};
	size_t count;

	(void)state;
	test_random_recording(&t, 5, EVENTS, false);
	filter_init(&filter);
	for (unsigned tenth = 0; tenth <= 10; tenth++) {
		uint64_t at = recording_end_ns(t.recording) * tenth / 10, bytes = 0;

		assert_int_equal(query_live(t.view, &filter, at, &list, &count, &err), 0);
		for (size_t i = 0; i < count; i++) {
			bytes += list[i].size;
			if (i)
				assert_true(list[i].address > list[i - 1].address);
		}
		assert_int_equal(bytes, in_use_by_hand(t.recording, at));
		free(list);
	}
	filter_done(&filter);
	test_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(windows_of_any_size_give_the_same),
		cmocka_unit_test(what_made_room_comes_first),
		cmocka_unit_test(each_moment_has_an_order),
		cmocka_unit_test(moments_are_sums),
		cmocka_unit_test(the_live_are_by_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
