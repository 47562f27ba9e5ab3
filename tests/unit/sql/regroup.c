/*
 * Statements that are answered from sums have the answers that they have where SQLite looks at each
 * row: a table in brackets is one that nothing is rewritten for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "collector/recording/recording.h"
#include <sqlite3.h>

#include "collector/sql/regroup.h"
#include "collector/sql/sql.h"
#include "tests/unit/query/recording.h"

#define EVENTS 1500

static struct test_recording t;

/* ---- answers ---- */

static int put_names(void *context, unsigned columns, const char *const *names)
{
	for (unsigned i = 0; i < columns; i++)
		buf_printf(context, "|%s", names[i]);
	buf_string(context, "\n");
	return 0;
}

static int put_row(void *context, unsigned columns, const struct sql_value *values)
{
	for (unsigned i = 0; i < columns; i++)
		switch (values[i].kind) {
		case SQL_INTEGER:
			buf_printf(context, "|%lld", (long long)values[i].integer);
			break;
		case SQL_REAL: /* an average's last digit depends on the order */
			buf_printf(context, "|%.14g", values[i].real);
			break;
		default:
			buf_printf(context, "|%s", values[i].text ? values[i].text : "-");
		}
	buf_string(context, "\n");
	return 0;
}

static int put_end(void *context, bool cut)
{
	buf_printf(context, cut ? "...\n" : "\n");
	return 0;
}

static struct buf answer(const char *statement)
{
	struct buf out = {0};
	struct sql_sink sink = {put_names, put_row, put_end, &out};
	struct sql_limits limits = {0};
	struct sql *sql = NULL;
	struct err_text err = {0};

	if (sql_open(t.view, &limits, &sql, &err) || sql_run(sql, statement, &sink, NULL, &err))
		buf_printf(&out, "%s\n", err.text);
	sql_close(sql);
	assert_non_null(buf_text(&out));
	return out;
}

static void agree(const char *statement)
{
	static const char table[] = "from allocations",
			  slow[] = "from (select *, alive_at_ns from allocations) as allocations";
	const char *at = strstr(statement, table);
	char *sums = regroup(statement, strlen(statement));
	struct buf text = {0}, got = answer(statement), expected;

	if (!sums)
		fail_msg("not rewritten: %s", statement);
	buf_append(&text, (const uint8_t *)statement, (size_t)(at - statement));
	buf_string(&text, slow);
	buf_string(&text, at + sizeof(table) - 1);
	expected = answer(buf_text(&text));
	if (strcmp(buf_text(&got), buf_text(&expected)) != 0)
		fail_msg("%s\nas %s\nsays\n%sand row by row\n%s", statement, sums, buf_text(&got),
			 buf_text(&expected));
	sqlite3_free(sums);
	buf_done(&text);
	buf_done(&got);
	buf_done(&expected);
}

/* ---- statements ---- */

static const char *const rewritten[] = {
	"select count(*), sum(size) from allocations",
	"SELECT Count( * ) AS n, total(Size) from allocations\n;",
	"select count(*), sum(bytes), avg(size), min(size), max(size), min(birth_ns), "
	"max(birth_ns) from allocations where size > 1000000",
	"select stack, count(*) from allocations group by stack",
	"select stack, function, file, line, module, depth, sum(bytes) from allocations "
	"group by stack order by sum(bytes) desc, stack limit 7 offset 2",
	"select thread, tid, thread_name, count(id), sum(leaked) from allocations group by 1",
	"select function, count(*) n from allocations group by function having n > 20 order by 1",
	"select size/100*100 as class, count(*) from allocations group by class",
	"select size / 100, sum(freed) from allocations group by size/100",
	"select round(size / 7.0), count(*) from allocations group by 1 order by 2, 1",
	"select kind, end, leaked, count(*), max(size) from allocations group by kind, end",
	"select 1 + count(*) * 2 - -3, \n sum(size)/count(*) || ' bytes' from allocations "
	"where leaked and not (size between 10 and 20 and thread = 2)",
	"select count(*) from allocations where stack in (1, 2, 3, 7) and thread_name is null",
	"select stack from allocations group by stack",
	"select count(*), 'group by' -- from nowhere\n from allocations /* where 0 */ where 1",
	"select thread, max(size) - min(size) as spread from allocations where leaked = 0 "
	"group by thread having spread > 10 and count(*) > 1 order by spread desc nulls last",
	"select count(*), site(stack) as s from allocations where through(stack, 'example') "
	"group by s order by s",
	"select total(leaked), avg(bytes), count(bytes), count(stack) from allocations",
	"select end, avg(freed) from allocations where end like 'f%' group by end",
};

static const char *const left_alone[] = {
	"select * from allocations",
	"select stack from allocations",
	"select stack, size, count(*) from allocations group by stack",
	"select size, count(*) from allocations group by size/100",
	"select function, file, count(*) from allocations group by function",
	"select count(distinct size) from allocations",
	"select count(death_ns), count(*) from allocations",
	"select count(*) filter (where leaked) from allocations",
	"select sum(size) over () from allocations",
	"select sum(blocks) from allocations",
	"select sum(case when leaked then size end) from allocations",
	"select sum(size * 2) from allocations",
	"select max(size, 2) from allocations",
	"select max(function) from allocations",
	"select bytes_error(size, bytes), count(*) from allocations",
	"select distinct count(*) from allocations",
	"select count(*) from allocations where birth_ns > 5",
	"select count(*) from allocations where leaked or size > 5",
	"select count(*) from allocations where size > (select 5)",
	"select count(*) from allocations a",
	"select count(*) from allocations, threads",
	"select count(*) from allocations(5)",
	"select count(*) from allocations union select 1",
	"select count(*) from stacks",
	"select count(*) from \"allocations\"",
	"select count(*) as size from allocations",
	"select count(*), rowid from allocations",
	"select random(), count(*) from allocations",
	"select count(*) from allocations order by size",
	"select stack, count(*) as n from allocations group by stack having size > 5",
	"select thread, count(*) as n from allocations group by n",
	"explain select count(*) from allocations",
	"with a as (select 1) select count(*) from allocations",
	"select count(*), ? from allocations",
	"select count(*) from allocations where 'a",
};

static void all(void)
{
	for (size_t i = 0; i < sizeof(rewritten) / sizeof(rewritten[0]); i++)
		agree(rewritten[i]);
	agree("select count(*), sum(size) from allocations where alive_at_ns = 2000");
}

static void test_same(void **state)
{
	(void)state;
	test_random_recording(&t, 31, EVENTS, false);
	all();
	test_close(&t);
	test_random_recording(&t, 32, EVENTS, true);
	all();
	test_close(&t);
	test_disordered_recording(&t, 33, EVENTS, false, TEST_GAPS);
	all();
	test_close(&t);
	test_random_recording(&t, 34, 0, false); /* nothing */
	all();
	test_close(&t);
}

static void test_left_alone(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(left_alone) / sizeof(left_alone[0]); i++) {
		char *sums = regroup(left_alone[i], strlen(left_alone[i]));

		if (sums)
			fail_msg("%s became %s", left_alone[i], sums);
	}
}

/* More groups than the table holds at a time. */
static void test_many_groups(void **state)
{
	(void)state;
	test_random_recording(&t, 35, 400000, false);
	agree("select stack, thread, size, end, count(*) from allocations "
	      "group by stack, thread, size, end");
	agree("select stack, count(*), sum(size), min(birth_ns) from allocations "
	      "where size between 17 and 15000 group by stack");
	test_close(&t);
}

static const char *const keys[] = {"stack",  "thread", "size",	    "kind",	"end",
				   "leaked", "freed",  "size/1000", "function", "thread_name"};
static const char *const sums[] = {"count(*)",	"sum(size)",   "sum(bytes)", "max(size)",
				   "min(size)", "sum(leaked)", "avg(size)",  "max(birth_ns)"};
static const char *const conditions[] = {
	"leaked",    "size > 150", "thread in (1, 3)", "stack = 7",	    "end = 'freed'",
	"not freed", "size <= 80", "stack > 3",	       "kind != 'realloc'", "depth(stack) = 2"};

#define PICK(list, random) (list)[test_random(random) % (sizeof(list) / sizeof((list)[0]))]

static void test_random_statements(void **state)
{
	uint64_t random = 9;

	(void)state;
	test_random_recording(&t, 36, EVENTS, true);
	for (unsigned i = 0; i < 300; i++) {
		struct buf text = {0};
		const char *a = PICK(keys, &random), *b = PICK(keys, &random);

		buf_printf(&text, "select %s, %s, %s, %s as x from allocations", a, b,
			   PICK(sums, &random), PICK(sums, &random));
		for (unsigned n = test_random(&random) % 3, k = 0; k < n; k++)
			buf_printf(&text, " %s %s", k ? "and" : "where", PICK(conditions, &random));
		buf_printf(&text, " group by %s, %s", a, b);
		if (test_random(&random) % 2)
			buf_printf(&text, " having %s > 30", PICK(sums, &random));
		if (test_random(&random) % 2)
			buf_printf(&text, " order by %s desc, 1, 2 limit 9", PICK(sums, &random));
		agree(buf_text(&text));
		buf_done(&text);
	}
	test_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_left_alone),
		cmocka_unit_test(test_many_groups),
		cmocka_unit_test(test_random_statements),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
