/*
 * Leaks by survival, by each grouping, held against the rows: of programs that have ended, of such
 * that go on, and of such that were left. answers.c does the same by call site with filters.
 *
 * And what a person expects of a program that goes on: a table that it built at its start is no
 * suspect, what grows is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collector/query/match/view.h"
#include "collector/query/survivors.h"
#include "tests/unit/query/naive.h"

#define ROUNDS 60
#define EVENTS 500

enum ending { ENDED, GOES_ON, LEFT, ENDINGS };

static void end_as(struct builder *b, enum ending ending)
{
	Heapcast__End end = HEAPCAST__END__INIT;

	if (ending == ENDED) {
		builder_end(b, 0);
		return;
	}
	end.time_ns = b->last_ns;
	end.kind = HEAPCAST__END_KIND__END_DETACHED;
	b->end = ending == LEFT ? &end : NULL;
	builder_close(b, UINT64_MAX);
}

/* ---- random programs ---- */

struct told {
	struct test_recording t;
	struct naive_rows rows;
	enum grouping grouping;
	uint64_t young_ns, since_ns;
};

/* Without symbols, a function is its place. */
static bool belongs(const struct told *k, uint32_t stack, const struct survivor *s)
{
	if (k->grouping == GROUP_BY_BACKTRACE)
		return stack == s->node;
	return !strcmp(view_frame_name(k->t.view, stack, 0), s->function);
}

static unsigned class_of(uint64_t age)
{
	uint64_t end = 1024;

	for (unsigned class = 0;; class ++) {
		if (age < end)
			return class;
		end += class % 2 ? end / 3 : end / 2;
	}
}

/* Of the group's blocks that reached the age, how many were freed later. */
static double chance_of(const struct told *k, const struct survivor *s, unsigned class)
{
	uint64_t freed = 0, reached = 0;

	for (size_t i = 0; i < k->rows.count; i++) {
		const struct naive_row *r = &k->rows.list[i];
		bool in_use = r->end == BLOCK_IN_USE;
		uint64_t lived = (in_use ? k->rows.end_ns : r->death) - r->birth;

		if (!belongs(k, r->stack, s) || !(in_use || naive_freed(r)) ||
		    class_of(lived) < class)
			continue;
		freed += naive_freed(r);
		reached++;
	}
	return (double)freed / (double)reached;
}

static void check_survivor(const struct told *k, const struct survivor *s)
{
	struct usage old = {0}, young = {0}, late = {0};
	double suspect = 0, later = 0;

	for (size_t i = 0; i < k->rows.count; i++) {
		const struct naive_row *r = &k->rows.list[i];
		uint64_t age = k->rows.end_ns - r->birth;
		bool is_late = r->birth >= k->since_ns;
		double chance;

		if (r->end != BLOCK_IN_USE || !belongs(k, r->stack, s))
			continue;
		late.bytes += is_late ? r->size : 0;
		late.blocks += is_late;
		chance = chance_of(k, s, class_of(age));
		if (age < k->young_ns || chance > 0.5) {
			young.blocks++;
			young.bytes += r->size;
			continue;
		}
		old.blocks++;
		old.bytes += r->size;
		suspect += (double)r->size * (1 - chance);
		later += is_late ? (double)r->size * (1 - chance) : 0;
	}
	if (k->since_ns != NO_TIME && suspect > 2 * later)
		suspect = 2 * later;
	assert_int_equal(s->old.bytes, old.bytes);
	assert_int_equal(s->old.blocks, old.blocks);
	assert_int_equal(s->young.bytes, young.bytes);
	assert_int_equal(s->young.blocks, young.blocks);
	assert_int_equal(s->late.bytes, late.bytes);
	assert_int_equal(s->late.blocks, late.blocks);
	assert_in_range(s->suspect_bytes + 1, (uint64_t)(suspect + 0.5),
			(uint64_t)(suspect + 0.5) + 2);
}

/* What other questions say of the same group. */
static void check_group(const struct told *k, const struct survivor *s, const struct groups *groups)
{
	for (size_t i = 0; i < groups->count; i++) {
		const struct group *g = &groups->list[i];

		if (!belongs(k, g->node, s))
			continue;
		assert_int_equal(s->in_use.bytes, g->leaked.bytes);
		assert_int_equal(s->allocated.bytes, g->allocated.bytes);
		assert_int_equal(s->freed.bytes, g->freed.bytes);
		assert_int_equal(s->freed.blocks, g->freed.blocks);
		assert_int_equal(s->min_size, g->min_size);
		assert_int_equal(s->max_size, g->max_size);
		assert_int_equal(s->first_ns, g->first_ns);
		assert_int_equal(s->last_ns, g->last_ns);
		return;
	}
	fail_msg("no group %s leaked", s->function);
}

static void check_grouping(struct told *k, enum ending ending)
{
	struct survivors s;
	struct groups groups;
	struct filter f;

	filter_init(&f);
	k->since_ns = ending == ENDED ? NO_TIME : (k->rows.end_ns - k->young_ns) / 2;
	assert_int_equal(query_survivors_by(k->t.view, &f, k->grouping, k->young_ns, &s, NULL), 0);
	assert_int_equal(
		query_groups(k->t.view, &f, k->grouping, VALUE_LEAKED, NO_TIME, &groups, NULL), 0);
	assert_int_equal(s.count, groups.count);
	assert_int_equal(s.in_use.bytes, groups.total.bytes);
	assert_int_equal(s.since_ns, k->since_ns);
	assert_int_equal(s.end_ns, k->rows.end_ns);
	for (size_t i = 0; i < s.count; i++) {
		check_survivor(k, &s.list[i]);
		check_group(k, &s.list[i], &groups);
		assert_true(!i || s.list[i - 1].suspect_bytes >= s.list[i].suspect_bytes);
	}
	groups_done(&groups);
	survivors_done(&s);
}

static void open_random(struct told *k, uint64_t seed, enum ending ending)
{
	struct stack_node nodes[TEST_NODES];
	struct builder b;

	builder_init(&b, (uint8_t)seed);
	test_nodes(nodes, &seed);
	test_first_batch(&b, nodes, TEST_NODES, "/nowhere/libexample.so", 0, false);
	test_random_events(&b, &seed, EVENTS, false);
	end_as(&b, ending);
	test_open(&k->t, &b);
	builder_done(&b);
	naive_rows_init(&k->rows, k->t.recording);
}

static void test_groupings(void **state)
{
	static const enum grouping groupings[] = {GROUP_BY_SITE, GROUP_BY_FUNCTION,
						  GROUP_BY_BACKTRACE};

	(void)state;
	for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
		enum ending ending = (enum ending)(seed % ENDINGS);
		struct told k = {.young_ns = seed % 4 * 300};

		open_random(&k, seed, ending);
		for (unsigned i = 0; i < 3; i++) {
			k.grouping = groupings[i];
			check_grouping(&k, ending);
		}
		free(k.rows.list);
		test_close(&k.t);
	}
}

/* ---- a program that goes on ---- */

enum { TABLE = 1, LEAK, BOTH, CACHE };

static const struct stack_node places[] = {
	{.module = 2, .offset = 0x100},
	{.module = 2, .offset = 0x200},
	{.module = 2, .offset = 0x300},
	{.module = 2, .offset = 0x400},
};

#define TABLE_SIZE 1000000
#define SECONDS	   100
#define SECOND	   1000000000ull

static void add_block(struct builder *b, uint64_t time_ns, uint64_t address, uint64_t size,
		      uint32_t stack)
{
	builder_event(b, &(struct event){.kind = HEAPCAST__EVENT_KIND__EVENT_MALLOC,
					 .thread = 1,
					 .time_ns = time_ns,
					 .address = address,
					 .size = size,
					 .weight = size,
					 .stack = stack});
}

/*
 * TABLE and BOTH build a megabyte in the first second. LEAK loses 100 bytes each second, BOTH does
 * so after its table. CACHE keeps each block for ten seconds.
 */
static void open_program(struct test_recording *t, enum ending ending)
{
	struct builder b;

	builder_init(&b, 3);
	test_first_batch(&b, places, 4, "/nowhere/libexample.so", 0, false);
	add_block(&b, SECOND / 10, 0x1000, TABLE_SIZE, TABLE);
	add_block(&b, SECOND / 5, 0x200000, TABLE_SIZE, BOTH);
	for (uint64_t i = 1; i < SECONDS; i++) {
		add_block(&b, i * SECOND, 0x1000000 + i * 0x1000, 100, LEAK);
		add_block(&b, i * SECOND - 1, 0x2000000 + i * 0x1000, 100, BOTH);
		add_block(&b, i * SECOND + 2, 0x3000000 + i * 0x1000, 50000, CACHE);
		if (i > 10)
			builder_free(&b, i * SECOND + 3, 1, 0x3000000 + (i - 10) * 0x1000);
	}
	builder_free(&b, SECONDS * SECOND, 1, 0x3000000 + (SECONDS - 10) * 0x1000);
	end_as(&b, ending);
	test_open(t, &b);
	builder_done(&b);
}

static const struct survivor *of_site(const struct survivors *s, const struct test_recording *t,
				      uint32_t node)
{
	for (size_t i = 0; i < s->count; i++)
		if (!strcmp(s->list[i].function, view_frame_name(t->view, node, 0)))
			return &s->list[i];
	fail_msg("no survivor of stack %u", node);
	return NULL;
}

static void check_program(enum ending ending)
{
	uint64_t whole = TABLE_SIZE + 100ull * (SECONDS - 1);
	bool goes_on = ending != ENDED;
	struct test_recording t;
	struct survivors s;
	struct filter f;

	open_program(&t, ending);
	filter_init(&f);
	assert_int_equal(query_survivors(t.view, &f, NO_TIME, &s, NULL), 0);
	assert_int_equal(s.count, 4);
	assert_int_equal(of_site(&s, &t, TABLE)->suspect_bytes, goes_on ? 0 : TABLE_SIZE);
	assert_int_equal(of_site(&s, &t, TABLE)->late.blocks, 0);
	/* From 49.5 s to 99 s it leaked 50 times, the last time within the last second. */
	assert_int_equal(s.since_ns, goes_on ? 49500 * SECOND / 1000 : NO_TIME);
	assert_int_equal(of_site(&s, &t, LEAK)->suspect_bytes, 100 * (SECONDS - 1));
	assert_int_equal(of_site(&s, &t, LEAK)->late.blocks, goes_on ? 50 : 0);
	assert_int_equal(of_site(&s, &t, BOTH)->suspect_bytes, goes_on ? 2 * 50 * 100 : whole);
	assert_int_equal(of_site(&s, &t, CACHE)->suspect_bytes, 0);
	survivors_done(&s);
	test_close(&t);
}

static void test_what_grows(void **state)
{
	(void)state;
	check_program(ENDED);
	check_program(GOES_ON);
	check_program(LEFT);
}

static void ask_growth(const struct test_recording *t, const char *name, const char *value,
		       uint64_t since_ns)
{
	struct survivors s;
	struct filter f;

	filter_init(&f);
	assert_int_equal(filter_set(&f, t->view, name, value, NULL), 0);
	assert_int_equal(query_survivors(t->view, &f, 0, &s, NULL), 0);
	assert_int_equal(s.since_ns, since_ns);
	survivors_done(&s);
	filter_done(&f);
}

/* The time whose later half counts is that of which the filter lets blocks through. */
static void test_filters(void **state)
{
	struct test_recording t;

	(void)state;
	open_program(&t, GOES_ON);
	ask_growth(&t, "size-min", "1", 50 * SECOND);
	ask_growth(&t, "from", "20s", 60 * SECOND);
	ask_growth(&t, "to", "20s", 10 * SECOND);
	ask_growth(&t, "lifetime-min", "40s", 30 * SECOND);
	ask_growth(&t, "lifetime-max", "40s", 80 * SECOND);
	ask_growth(&t, "lifetime-min", "400s", 0);
	test_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_groupings),
		cmocka_unit_test(test_what_grows),
		cmocka_unit_test(test_filters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
