/* The table of modules at its bounds: what is refused, which file is the same one, which address a
 * place holds and until when. */
#include "agent/core/modules.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "agent/core/stacks.h"

static struct arena arena;
static struct modules m;
static uint8_t text[2048];

static int open_table(void **state)
{
	(void)state;
	memset(text, 'x', sizeof(text));
	assert_int_equal(arena_open(&arena, 1 << 20), 0);
	assert_int_equal(modules_init(&m, &arena, 16), 0);
	return 0;
}

static int close_table(void **state)
{
	(void)state;
	arena_close(&arena);
	return 0;
}

static const struct run_module one = {.id = 1,
				      .epoch = 5,
				      .time_ns = 77,
				      .bias = 0x100,
				      .start = 0x1000,
				      .end = 0x2000,
				      .path = text,
				      .path_length = 4};

static void test_refused(void **state)
{
	struct run_module x = one;

	(void)state;
	x.end = x.start;
	assert_int_equal(modules_add(&m, &x), -EBADMSG);
	x.end = x.start + 1;
	assert_int_equal(modules_add(&m, &x), 0);
	x = one;
	x.path_length = MODULE_PATH_MAX + 1;
	assert_int_equal(modules_add(&m, &x), -EBADMSG);
	x.path_length = MODULE_PATH_MAX;
	assert_int_equal(modules_add(&m, &x), 0);
	x = one;
	x.build_id = text;
	x.build_id_length = MODULE_BUILD_ID_MAX + 1;
	assert_int_equal(modules_add(&m, &x), -EBADMSG);
	x.build_id_length = MODULE_BUILD_ID_MAX;
	assert_int_equal(modules_add(&m, &x), 0);
	x = one;
	x.segment_count = MODULE_SEGMENTS_MAX + 1;
	assert_int_equal(modules_add(&m, &x), -EBADMSG);
	x.segment_count = MODULE_SEGMENTS_MAX;
	assert_int_equal(modules_add(&m, &x), 0);
	assert_int_equal(m.count, 4);
	assert_int_equal(m.live_count, 4);
	assert_int_equal(m.turned_away, 0); /* those were no modules */
}

/* Memory for each part, or -ENOMEM. */
static void test_memory(void **state)
{
	int r = -ENOMEM;

	(void)state;
	for (size_t size = 0; r < 0; size += 64) {
		struct arena a = {.memory = arena.memory, .size = size};
		struct modules x;

		r = modules_init(&x, &a, 16);
		assert_true(r == 0 || r == -ENOMEM);
		assert_int_equal(!r, x.entry && x.live && x.past && x.text.memory);
	}
}

static void test_entry(void **state)
{
	struct run_module x = one;

	(void)state;
	x.build_id = (const uint8_t *)"BUILD";
	x.build_id_length = 5;
	x.print = 9;
	x.segment_count = 2;
	x.segment[1].address = 0x55;
	assert_int_equal(modules_add(&m, &x), 0);
	assert_int_equal(m.entry[0].bias, 0x100);
	assert_int_equal(m.entry[0].start, 0x1000);
	assert_int_equal(m.entry[0].end, 0x2000);
	assert_int_equal(m.entry[0].loaded_ns, 77);
	assert_true(m.entry[0].ended_ns == MODULE_THERE);
	assert_true(m.entry[0].told_ns == MODULE_THERE);
	assert_int_equal(m.entry[0].path_length, 4);
	assert_memory_equal(m.entry[0].path, text, 4);
	assert_int_equal(m.entry[0].build_id_length, 5);
	assert_memory_equal(m.entry[0].build_id, "BUILD", 5);
	assert_int_equal(m.entry[0].segment_count, 2);
	assert_int_equal(m.entry[0].segment[1].address, 0x55);
}

static void test_holds(void **state)
{
	(void)state;
	assert_int_equal(modules_add(&m, &one), 0);
	for (int again = 0; again < 2; again++) { /* the second time it is the recent one */
		assert_null(modules_find(&m, 0xfff, 5));
		assert_non_null(modules_find(&m, 0x1000, 5));
		assert_non_null(modules_find(&m, 0x1fff, 6));
		assert_null(modules_find(&m, 0x2000, 5));
		assert_null(modules_find(&m, 0x1000, 4));
		assert_non_null(modules_find(&m, 0x1000, UINT32_MAX));
	}
	assert_false(modules_remove(&m, 2, 8, 100));
	assert_true(modules_remove(&m, 1, 8, 100));
	assert_non_null(modules_find(&m, 0x1000, 5));
	assert_non_null(modules_find(&m, 0x1000, 7));
	assert_null(modules_find(&m, 0x1000, 8));
	assert_null(modules_find(&m, 0x1000, 4));
}

/* In the epoch 0 nothing is left of a place that goes in it but that epoch. */
static void test_epoch_0(void **state)
{
	struct run_module x = one;

	(void)state;
	x.epoch = 0;
	assert_int_equal(modules_add(&m, &x), 0);
	assert_true(modules_remove(&m, 1, 0, 100));
	assert_non_null(modules_find(&m, 0x1000, 0));
	assert_null(modules_find(&m, 0x1000, 1));
}

/* A file without segments is known by its size, one with segments by those. */
static void test_same_file(void **state)
{
	struct run_module x = one;

	(void)state;
	assert_int_equal(modules_add(&m, &x), 0);
	modules_remove_all(&m, 100);
	x.start += 0x1000;
	x.end += 0x1000;
	assert_true(modules_knows(&m, &x));
	x.end++;
	assert_false(modules_knows(&m, &x));
	x = one;
	x.path_length = 3;
	assert_false(modules_knows(&m, &x));
	x.path_length = 4;
	x.path = (const uint8_t *)"xxxy";
	assert_false(modules_knows(&m, &x));
	x = one;
	x.segment_count = 2;
	assert_false(modules_knows(&m, &x));
	assert_int_equal(modules_add(&m, &x), 0);
	modules_remove_all(&m, 100);
	x.end++; /* the pages that are mapped say nothing */
	assert_true(modules_knows(&m, &x));
	x.segment[1].flags = 1;
	assert_false(modules_knows(&m, &x));
	x = one;
	x.build_id = text;
	x.build_id_length = 1;
	assert_false(modules_knows(&m, &x));
}

/* Two places of a file at once are two modules; the first that is free is taken again. */
static void test_twice(void **state)
{
	struct run_module x = one;

	(void)state;
	assert_int_equal(modules_add(&m, &x), 0);
	x.id = 2;
	assert_int_equal(modules_add(&m, &x), 0);
	assert_int_equal(m.count, 2);
	assert_true(modules_remove(&m, 1, 6, 100));
	x.id = 3;
	assert_int_equal(modules_add(&m, &x), 0);
	assert_int_equal(m.count, 2);
	assert_int_equal(m.live[1].number, 1);
	assert_int_equal(m.live[1].id, 3);
}

/* What batches have told of ends, and what not. */
static void test_unloads(void **state)
{
	struct run_module x = one;

	(void)state;
	assert_int_equal(modules_add(&m, &x), 0);
	x.id = 2;
	x.path_length = 3;
	assert_int_equal(modules_add(&m, &x), 0);
	assert_int_equal(m.unloads, 0);
	assert_true(modules_remove(&m, 1, 6, 100));
	assert_int_equal(m.entry[0].ended_ns, 100);
	assert_int_equal(m.unloads, 1);
	modules_told(&m, &m.entry[0]);
	assert_int_equal(m.unloads, 0);
	modules_told(&m, &m.entry[0]);
	assert_int_equal(m.unloads, 0);
	assert_int_equal(modules_add(&m, &one), 0); /* there again: that is news, too */
	assert_int_equal(m.unloads, 1);
	modules_remove_all(&m, 200);
	assert_int_equal(m.entry[0].ended_ns, 200);
	assert_int_equal(m.entry[1].ended_ns, 200);
	assert_int_equal(m.unloads, 2);
	assert_int_equal(m.live_count, 0);
	assert_null(modules_find(&m, 0x1000, 5));
	assert_int_equal(modules_add(&m, &one), 0);
	m.recent = m.sent = m.turned_away = 3;
	modules_clear(&m);
	assert_int_equal(m.count + m.unloads + m.past_count + m.text.used, 0);
	assert_int_equal(m.live_count + m.recent + m.sent + m.turned_away, 0);
	assert_null(modules_find(&m, 0x1000, 5));
}

/* Whichever was asked for before, each is found. */
static void test_recent(void **state)
{
	struct run_module x = one;

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		x.id = i + 1;
		x.start = 0x1000 * (i + 1);
		x.end = x.start + 0x1000;
		x.path_length = i + 1;
		assert_int_equal(modules_add(&m, &x), 0);
	}
	for (uint64_t before = 1; before <= 4; before++)
		for (uint64_t i = 1; i <= 4; i++) {
			assert_non_null(modules_find(&m, 0x1000 * before, 5));
			assert_ptr_equal(modules_find(&m, 0x1000 * i, 5), &m.live[i - 1]);
			assert_ptr_equal(modules_find(&m, 0x1000 * i + 0xfff, 5), &m.live[i - 1]);
		}
}

/* The last MODULES_PAST places are remembered. */
static void test_past(void **state)
{
	struct run_module x = one;

	(void)state;
	for (uint32_t i = 0; i <= MODULES_PAST; i++) {
		x.id = i;
		x.epoch = i + 1;
		assert_int_equal(modules_add(&m, &x), 0);
		assert_true(modules_remove(&m, i, i + 2, 100 + i));
		if (i == MODULES_PAST - 1)
			assert_non_null(modules_find(&m, 0x1000, 1));
	}
	assert_null(modules_find(&m, 0x1000, 1));
	assert_non_null(modules_find(&m, 0x1000, 2));
	assert_non_null(modules_find(&m, 0x1000, MODULES_PAST + 1));
	assert_null(modules_find(&m, 0x1000, MODULES_PAST + 2));
}

/* Files, and the bytes of their names and segments, each can be too many. */
static void test_full(void **state)
{
	struct run_module x = one;

	(void)state;
	modules_limit(&m, 2);
	assert_int_equal(m.text.size, 2 * 224);
	assert_false(modules_full(&m, &x));
	assert_int_equal(modules_add(&m, &x), 0);
	x.id = 2;
	x.path_length = 448 - 64 - 64; /* behind the first, with what alignment may take */
	m.text.used = 64;
	assert_false(modules_full(&m, &x));
	x.path_length++;
	assert_true(modules_full(&m, &x));
	x.path_length = 8;
	x.segment_count = 3;
	m.text.used = 448 - 64 - 8 - 3 * sizeof(x.segment[0]);
	assert_false(modules_full(&m, &x));
	m.text.used++;
	assert_true(modules_full(&m, &x));
	x.segment_count = 0;
	m.text.used = 64;
	x.path_length = 448 - 64 + 1;
	assert_int_equal(modules_add(&m, &x), -ENOSPC);
	assert_int_equal(m.turned_away, 1);
	assert_int_equal(m.count, 1);
	x.path_length--;
	assert_int_equal(modules_add(&m, &x), 0);
	m.text.used = 0;
	x.id = 3;
	x.path_length = 1;
	assert_true(modules_full(&m, &x));
	assert_int_equal(modules_add(&m, &x), -ENOSPC);
	assert_int_equal(m.turned_away, 2);
	assert_int_equal(m.live_count, 2);
	assert_true(modules_remove(&m, 99, 9, 9)); /* perhaps it was turned away */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_refused, open_table, close_table),
		cmocka_unit_test_setup_teardown(test_memory, open_table, close_table),
		cmocka_unit_test_setup_teardown(test_entry, open_table, close_table),
		cmocka_unit_test_setup_teardown(test_holds, open_table, close_table),
		cmocka_unit_test_setup_teardown(test_epoch_0, open_table, close_table),
		cmocka_unit_test_setup_teardown(test_same_file, open_table, close_table),
		cmocka_unit_test_setup_teardown(test_twice, open_table, close_table),
		cmocka_unit_test_setup_teardown(test_unloads, open_table, close_table),
		cmocka_unit_test_setup_teardown(test_recent, open_table, close_table),
		cmocka_unit_test_setup_teardown(test_past, open_table, close_table),
		cmocka_unit_test_setup_teardown(test_full, open_table, close_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
