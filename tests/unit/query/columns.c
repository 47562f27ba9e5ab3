/*
 * Of rows that are packed a question reads the columns that its filter looks at, and no more: each
 * filter by itself, against all columns. What a filter forgets to ask for is not there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collector/columns/row_memory.h"
#include "collector/query/sweep/sweep.h"
#include "tests/unit/query/recording.h"

#define EVENTS 300000

/* What is in the middle of the recording, so that a filter takes some rows and leaves some. */
static uint64_t address, birth_ns, size;
static uint32_t thread;

static bool above(const struct row_block *b, uint32_t i)
{
	return b->address[i] >= address;
}

static bool later(const struct row_block *b, uint32_t i)
{
	return b->birth_ns[i] >= birth_ns;
}

static bool larger(const struct row_block *b, uint32_t i)
{
	return b->size[i] >= size;
}

static bool of_thread(const struct row_block *b, uint32_t i)
{
	return b->thread[i] == thread;
}

static bool in_use_then(const struct row_block *b, uint32_t i)
{
	return b->birth_ns[i] <= birth_ns && b->death_ns[i] > birth_ns;
}

static bool leaked(const struct row_block *b, uint32_t i)
{
	return row_leaked(b, i);
}

static uint64_t count(const struct recording *r, bool (*fits)(const struct row_block *, uint32_t))
{
	struct row_reader *reader;
	uint64_t rows = 0;

	assert_int_equal(row_reader_new(r, &reader), 0);
	for (uint32_t n = 0; n < recording_blocks(r); n++) {
		const struct row_block *b = row_reader_block(reader, n, ROWS_ALL, NULL);

		assert_non_null(b);
		for (uint32_t i = 0; i < b->count; i++)
			rows += fits(b, i);
	}
	row_reader_free(reader);
	return rows;
}

static void look_at_the_middle(const struct recording *r)
{
	const struct row_block *b;
	struct row_reader *reader;

	assert_int_equal(row_reader_new(r, &reader), 0);
	b = row_reader_block(reader, 0, ROWS_ALL, NULL);
	assert_non_null(b);
	address = b->address[b->count / 2];
	birth_ns = b->birth_ns[b->count / 2];
	size = b->size[b->count / 2];
	thread = b->thread[b->count / 2];
	row_reader_free(reader);
}

static int count_passed(void *context, const struct row_block *block, const struct row_set *rows)
{
	(void)block;
	*(uint64_t *)context += rows->count;
	return 0;
}

/* A question that needs no column for itself. */
static void hold(struct test_recording *t, const struct filter *f,
		 bool (*fits)(const struct row_block *, uint32_t))
{
	uint64_t rows = count(t->recording, fits), passed = 0;
	struct matcher matcher;

	assert_true(rows > 0 && rows < recording_rows(t->recording));
	assert_int_equal(matcher_init(&matcher, t->view, f, NULL), 0);
	assert_int_equal(sweep_in_order(&matcher, 0, count_passed, &passed, NULL), 0);
	assert_int_equal(passed, rows);
	matcher_done(&matcher);
}

static void test_each_by_itself(void **state)
{
	struct filter f[6];
	bool (*const fits[6])(const struct row_block *,
			      uint32_t) = {above, later, larger, of_thread, in_use_then, leaked};
	struct test_recording t;

	(void)state;
	row_memory_limit(0); /* one block is open, the others are packed */
	test_random_recording(&t, 21, EVENTS, false);
	assert_true(recording_rows(t.recording) > ROWS_PER_BLOCK);
	look_at_the_middle(t.recording);
	for (unsigned i = 0; i < 6; i++)
		filter_init(&f[i]);
	f[0].address_min = address;
	f[1].from_ns = birth_ns;
	f[2].size_min = size;
	f[3].thread = thread;
	f[4].alive_at_ns = birth_ns;
	f[5].lifetime = LIFETIME_ONLY_LEAKED;
	for (unsigned i = 0; i < 6; i++) {
		hold(&t, &f[i], fits[i]);
		filter_done(&f[i]);
	}
	test_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_by_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
