/*
 * Filters said in SQL pick the rows that the filters themselves do; and a condition that is pushed
 * down into a filter picks those that it picks where SQLite looks at every row ("+size" is a size
 * that nothing is known of).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "collector/columns/row_block.h"
#include "collector/recording/recording.h"
#include "collector/sql/sql.h"
#include "tests/unit/query/recording.h"

#define EVENTS 1500

static struct test_recording t;

/* ---- rows as bits ---- */

static struct row_bits *by_filter(const struct filter *filter)
{
	struct row_bits *bits = row_bits_new(recording_rows(t.recording));
	struct row_walk *walk = NULL;
	struct walked_rows rows;
	struct err_text err = {0};
	int r = row_walk_new(t.view, filter, ROWS_SIZE, 0, UINT64_MAX, &walk, &err);

	if (r)
		fail_msg("%s", err.text);
	while ((r = row_walk_next(walk, &rows, &err)) > 0) {
		for (uint32_t k = 0; k < rows.count; k++) {
			uint64_t row = rows.block->first_row + walked_row(&rows, k);

			bits->bits[row / 8] |= (uint8_t)(1u << row % 8);
		}
	}
	assert_int_equal(r, 0);
	row_walk_free(walk);
	return bits;
}

static struct row_bits *by_condition(const char *condition)
{
	struct sql_limits limits = {0};
	struct row_bits *bits = NULL;
	struct err_text err = {0};

	if (sql_where(t.view, condition, &limits, &bits, &err))
		fail_msg("%s: %s", condition, err.text);
	return bits;
}

static uint64_t compare(struct row_bits *expected, struct row_bits *got, const char *what)
{
	uint64_t count = 0;

	for (uint64_t row = 0; row < expected->rows; row++) {
		bool a = expected->bits[row / 8] >> row % 8 & 1,
		     b = got->bits[row / 8] >> row % 8 & 1;

		if (a != b)
			fail_msg("%s: row %llu is %s, and should%s be", what,
				 (unsigned long long)row, b ? "there" : "not there",
				 a ? "" : " not");
		count += a;
	}
	free(expected);
	free(got);
	return count;
}

/* ---- filters ---- */

static const char *const filters[][2] = {
	{"from", "0.000005"},
	{"to", "0.00001"},
	{"to", "50%"},
	{"from", "90%"},
	{"lifetime", "only_leaked"},
	{"lifetime", "only_temporary"},
	{"lifetime", "only_chain_leaked"},
	{"lifetime", "only_whole_group_leaked"},
	{"lifetime", "only_deallocated_in_current_range"},
	{"lifetime", "only_not_deallocated_in_current_range"},
	{"address_min", "0x100000"},
	{"address_max", "0x1000000"},
	{"size_min", "100"},
	{"size_max", "199"},
	{"size_min", "5000"},
	{"lifetime_min", "1us"},
	{"lifetime_max", "0.5us"},
	{"backtrace_depth_min", "3"},
	{"backtrace_depth_max", "2"},
	{"backtraces", "7"},
	{"deallocation_backtraces", "9"},
	{"function_regex", "example"},
	{"function_regex", "0x[0-4]00"},
	{"negative_function_regex", "other.*0x300"},
	{"source_regex", "c$"},
	{"negative_source_regex", "c$"},
	{"module", "libother.so.1"},
	{"alive_at", "50%"},
	{"alive_at_2", "60%"},
	{"thread", "2"},
	{"thread_name", "."},
	{"thread_name", "^$"},
	{"freed_at_once", "yes"},
	{"freed_at_once", "no"},
	{"mmaped", "yes"},
	{"mmaped", "no"},
	{"arena", "main"},
	{"jemalloc", "no"},
	{"jemalloc", "yes"},
	{"marker", "0"},
	{"marker", "1"},
	{"first_size_min", "100"},
	{"first_size_max", "5000"},
	{"last_size_min", "100"},
	{"last_size_max", "150"},
	{"chain_length_min", "2"},
	{"chain_length_max", "3"},
	{"chain_lifetime_min", "1us"},
	{"chain_lifetime_max", "3us"},
	{"position_in_chain_min", "1"},
	{"position_in_chain_max", "1"},
	{"group_interval_min", "50%"},
	{"group_interval_max", "95%"},
	{"group_allocations_min", "12"},
	{"group_allocations_max", "14"},
	{"group_leaked_allocations_min", "2"},
	{"group_leaked_allocations_max", "10%"},
	{"group_leaked_allocations_min", "5%"},
	{"group_max_total_usage_first_seen_min", "50%"},
	{"group_max_total_usage_first_seen_max", "75%"},
};
#define FILTERS_COUNT (sizeof(filters) / sizeof(filters[0]))

static void set(struct filter *filter, size_t which)
{
	struct err_text err = {0};

	if (filter_set(filter, t.view, filters[which][0], filters[which][1], &err))
		fail_msg("%s: %s", filters[which][0], err.text);
}

/* How many rows both pick. */
static uint64_t agree(struct filter *filter)
{
	struct buf text = {0};
	uint64_t count;

	assert_int_equal(sql_of_filter(t.recording, filter, false, &text), 0);
	count = compare(by_filter(filter), by_condition(buf_text(&text)), buf_text(&text));
	buf_done(&text);
	filter_done(filter);
	return count;
}

static void said(uint64_t seed, bool sampled, enum test_disorder disorder)
{
	uint64_t random = seed;
	unsigned some = 0;
	struct filter f;

	test_disordered_recording(&t, seed, EVENTS, sampled, disorder);
	filter_init(&f);
	assert_int_equal(agree(&f), recording_rows(t.recording));
	for (size_t i = 0; i < FILTERS_COUNT; i++) {
		uint64_t count;

		filter_init(&f);
		set(&f, i);
		count = agree(&f);
		some += count && count < recording_rows(t.recording);
	}
	assert_true(some > FILTERS_COUNT / 2); /* most leave some out */
	for (unsigned i = 0; i < 20; i++) {
		filter_init(&f);
		for (unsigned n = 0; n < 3; n++)
			set(&f, test_random(&random) % FILTERS_COUNT);
		agree(&f);
	}
	test_close(&t);
}

static void test_said(void **state)
{
	(void)state;
	said(11, false, TEST_IN_ORDER);
	said(12, false, TEST_GAPS);
	said(13, true, TEST_IN_ORDER);
}

/* ---- conditions ---- */

static const char *const columns[] = {"id",	     "address", "size",	       "birth_ns",
				      "lifetime_ns", "stack",	"death_stack", "thread",
				      "leaked",	     "freed",	"death_ns"};
static const char *const numbers[] = {"0",
				      "1",
				      "2",
				      "7",
				      "100",
				      "100.0",
				      "150.5",
				      "-1",
				      "5000",
				      "65536",
				      "12345",
				      "0x1000000",
				      "9223372036854775807",
				      "1e300",
				      "-1e300",
				      "1e18",
				      "null",
				      "'100'",
				      "'x'",
				      "''",
				      "x'31'",
				      "20000"};
static const char *const operators[] = {"=", "<", "<=", ">", ">=", "is", "is not", "!="};

#define PICK(list, random) (list)[test_random(random) % (sizeof(list) / sizeof((list)[0]))]

/* The same term twice: as it is, and so that nothing can be pushed down. */
static void add_term(struct buf *plain, struct buf *hidden, uint64_t *random)
{
	const char *column = PICK(columns, random), *joint = plain->length ? " and " : "";
	uint64_t dice = test_random(random) % 10;
	char rest[160];

	if (dice == 0)
		snprintf(rest, sizeof(rest), "is null");
	else if (dice == 1)
		snprintf(rest, sizeof(rest), "between %s and %s", PICK(numbers, random),
			 PICK(numbers, random));
	else if (dice == 2)
		snprintf(rest, sizeof(rest), "in (%s, %s, %s)", PICK(numbers, random),
			 PICK(numbers, random), PICK(numbers, random));
	else if (dice == 3)
		snprintf(rest, sizeof(rest), "in (select stack from stacks where depth > %s)",
			 PICK(numbers, random));
	else
		snprintf(rest, sizeof(rest), "%s %s", PICK(operators, random),
			 PICK(numbers, random));
	buf_printf(plain, "%s%s %s", joint, column, rest);
	/* A unary plus would also take the column's affinity away. */
	buf_printf(hidden, "%s(case when random() is null then 0 else cast(%s as integer) end) %s",
		   joint, column, rest);
}

static void test_pushed_down(void **state)
{
	uint64_t random = 5;

	(void)state;
	test_random_recording(&t, 21, EVENTS, false);
	for (unsigned i = 0; i < 250; i++) {
		struct buf plain = {0}, hidden = {0};

		for (unsigned n = test_random(&random) % 3 + 1; n > 0; n--)
			add_term(&plain, &hidden, &random);
		/* Affinity turns a text of digits into a number beside a column: an expression has
		 * none. */
		if (!strchr(buf_text(&plain), '\''))
			compare(by_condition(buf_text(&hidden)), by_condition(buf_text(&plain)),
				buf_text(&plain));
		else
			free(by_condition(buf_text(&plain)));
		buf_done(&plain);
		buf_done(&hidden);
	}
	test_close(&t);
}

/* A condition that is more than one is refused, and one with a comment is one. */
static void test_conditions(void **state)
{
	static const char *const refused[] = {"",
					      "1) or (1",
					      "1; select 1",
					      "nope = 1",
					      "size > ",
					      "1 -- )",
					      "'",
					      "size in (select 1",
					      "1) union select 1 --",
					      "1 /*'*/) union select 1 from (select 1 /*'*/",
					      "1 /*",
					      "1 --'\n) or (1 --'",
					      "1 as [') union select 1 from (select 1 as [']"};
	struct sql_limits limits = {0};
	struct row_bits *bits = NULL;

	(void)state;
	test_random_recording(&t, 22, 200, false);
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		struct err_text err = {0};

		assert_int_equal(sql_where(t.view, refused[i], &limits, &bits, &err), -EINVAL);
		assert_true(err.text[0]);
	}
	free(by_condition("size > 10 -- and no more"));
	free(by_condition("size > 10 /* it's (one */ and [size] < 9 -- it's"));
	test_close(&t);
}

/* Two conditions hold together, and a filter beside them. */
static void test_added(void **state)
{
	struct sql_limits limits = {0};
	struct err_text err = {0};
	struct filter f;

	(void)state;
	test_random_recording(&t, 23, EVENTS, false);
	filter_init(&f);
	assert_int_equal(sql_add_condition(&f, t.view, "size > 100", &limits, &err), 0);
	assert_int_equal(sql_add_condition(&f, t.view, "thread = 2", &limits, &err), 0);
	f.size_max = 5000;
	compare(by_condition("size > 100 and size <= 5000 and thread = 2"), by_filter(&f),
		"two conditions");
	filter_done(&f);
	test_close(&t);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_said),
		cmocka_unit_test(test_pushed_down),
		cmocka_unit_test(test_conditions),
		cmocka_unit_test(test_added),
	};

	return cmocka_run_group_tests_name("sql filters", tests, NULL, NULL);
}
