/* Diffs, leaks by survival, groups and the filters that look at other rows, against the slow
 * way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collector/columns/row_block.h"
#include "collector/query/match/matcher.h"
#include "collector/query/survivors.h"
#include "tests/unit/query/naive.h"

#define ROUNDS 10
#define EVENTS 800

/* ---- filters ---- */

struct chain {
	uint64_t length, position, first_size, last_size, lived;
};

static struct chain chain_of(const struct naive_rows *n, size_t row)
{
	size_t first = row, last = row;
	struct chain c = {.length = 1};

	for (; n->list[first].previous != NO_BLOCK; c.position++)
		first = n->list[first].previous;
	for (last = first; n->list[last].next != NO_BLOCK; c.length++)
		last = n->list[last].next;
	c.first_size = n->list[first].size;
	c.last_size = n->list[last].size;
	c.lived = (n->list[last].death == NO_TIME ? n->end_ns : n->list[last].death) -
		  n->list[first].birth;
	return c;
}

static bool naive_at_once(const struct naive_rows *n, size_t row)
{
	const struct naive_row *r = &n->list[row];

	if (r->end != BLOCK_FREED && r->end != BLOCK_REALLOCATED)
		return false;
	for (size_t i = row + 1; i < n->count; i++) {
		if (n->list[i].thread != r->thread)
			continue;
		if (n->list[i].birth == r->death)
			return r->at_once || n->list[i].address == r->address || r->next == i;
		return n->list[i].birth > r->death;
	}
	return true;
}

static bool group_fits(const struct naive_rows *n, uint32_t stack, const struct filter *f)
{
	uint64_t first = UINT64_MAX, last = 0, count = 0, leaked = 0;

	for (size_t i = 0; i < n->count; i++) {
		const struct naive_row *r = &n->list[i];

		if (r->stack != stack)
			continue;
		count++;
		leaked += r->end == BLOCK_IN_USE;
		first = r->birth < first ? r->birth : first;
		last = r->birth > last ? r->birth : last;
	}
	return count >= f->group_allocations_min && count <= f->group_allocations_max &&
	       last - first >= f->group_interval_min_ns &&
	       last - first <= f->group_interval_max_ns &&
	       100.0 * (double)leaked >= f->group_leaked_min.number * (double)count;
}

static bool fits(const struct naive_rows *n, size_t row, const struct filter *f)
{
	struct chain c = chain_of(n, row);

	return c.length >= f->chain_length_min && c.length <= f->chain_length_max &&
	       c.position >= f->position_min && c.position <= f->position_max &&
	       c.first_size >= f->first_size_min && c.last_size <= f->last_size_max &&
	       c.lived >= f->chain_lifetime_min_ns && group_fits(n, n->list[row].stack, f) &&
	       (f->freed_at_once == ANSWER_ANY ||
		naive_at_once(n, row) == (f->freed_at_once == ANSWER_YES));
}

static void set(struct filter *f, struct test_recording *t, uint64_t *random, const char *name,
		uint64_t below, const char *unit)
{
	struct err_text err = {0};
	char text[40];

	if (test_random(random) % 3)
		return;
	snprintf(text, sizeof(text), "%llu%s", (unsigned long long)(test_random(random) % below),
		 unit);
	if (filter_set(f, t->view, name, text, &err) < 0)
		fail_msg("%s", err.text);
}

static void check_filters(struct test_recording *t, const struct naive_rows *n, uint64_t *random)
{
	struct query_page *page;
	struct filter f;
	uint64_t rows[64], at = 0;
	long got;

	filter_init(&f);
	set(&f, t, random, "chain_length_min", 4, "");
	set(&f, t, random, "chain-length-max", 6, "");
	set(&f, t, random, "position_in_chain_min", 3, "");
	set(&f, t, random, "position_in_chain_max", 3, "");
	set(&f, t, random, "first_size_min", 300, "");
	set(&f, t, random, "last_size_max", 9000, "");
	set(&f, t, random, "chain_lifetime_min", 2000, "ns");
	set(&f, t, random, "group_allocations_min", 10, "");
	set(&f, t, random, "group_allocations_max", 20, "");
	set(&f, t, random, "group_interval_min", 100, "%");
	set(&f, t, random, "group_leaked_allocations_min", 60, "%");
	if (test_random(random) % 2)
		f.freed_at_once = test_random(random) % 2 ? ANSWER_YES : ANSWER_NO;
	assert_int_equal(query_page_new(t->view, &f, PAGE_BY_TIME, false, &page, NULL), 0);
	while ((got = query_page_next(page, rows, 64, NULL)) > 0)
		for (long i = 0; i < got; i++, at++) {
			for (; at < rows[i]; at++)
				assert_false(fits(n, at, &f));
			assert_true(fits(n, at, &f));
		}
	for (; at < n->count; at++)
		assert_false(fits(n, at, &f));
	query_page_free(page);
	filter_done(&f);
}

static void check_groups(struct test_recording *t, const struct naive_rows *n)
{
	struct allocation_groups groups;
	uint64_t blocks = 0;
	struct filter f;

	filter_init(&f);
	f.size_min = 150;
	assert_int_equal(query_allocation_groups(t->view, &f, &groups, NULL), 0);
	for (size_t g = 0; g < groups.count; g++) {
		const struct allocation_group *group = &groups.list[g];
		uint64_t all = 0, matched = 0, leaked = 0, bytes = 0;

		for (size_t i = 0; i < n->count; i++) {
			if (n->list[i].stack != group->node)
				continue;
			all++;
			if (n->list[i].size < 150)
				continue;
			matched++;
			bytes += n->list[i].size;
			leaked += n->list[i].end == BLOCK_IN_USE;
		}
		assert_int_equal(group->all.allocated.blocks, all);
		assert_int_equal(group->matched.allocated.blocks, matched);
		assert_int_equal(group->matched.allocated.bytes, bytes);
		assert_int_equal(group->matched.leaked_blocks, leaked);
		blocks += matched;
	}
	for (size_t i = 0; i < n->count; i++)
		blocks -= n->list[i].size >= 150;
	assert_int_equal(blocks, 0);
	allocation_groups_done(&groups);
}

static void check_survivors(struct test_recording *t, const struct naive_rows *n)
{
	struct survivors s;
	struct filter f;
	struct report report;

	filter_init(&f);
	assert_int_equal(query_survivors(t->view, &f, 0, &s, NULL), 0);
	assert_int_equal(query_report(t->view, &f, &report, NULL), 0);
	assert_int_equal(s.in_use.bytes, report.leaked.bytes);
	assert_int_equal(s.old.bytes + s.young.bytes, s.in_use.bytes);
	assert_int_equal(s.old.blocks + s.young.blocks, s.in_use.blocks);
	for (size_t i = 0; i < s.count; i++) {
		const struct survivor *one = &s.list[i];

		assert_true(i == 0 || s.list[i - 1].suspect_bytes >= one->suspect_bytes);
		assert_true(one->suspect_bytes <= one->old.bytes);
		assert_true(!one->whole_group || one->suspect_bytes == one->in_use.bytes);
	}
	survivors_done(&s);
	/* Everything is younger than the recording is long. */
	assert_int_equal(query_survivors(t->view, &f, n->end_ns + 1, &s, NULL), 0);
	assert_int_equal(s.young.bytes, report.leaked.bytes);
	assert_int_equal(s.suspect_bytes, 0);
	survivors_done(&s);
}

/* ---- diffs ---- */

/* By bytes, by blocks, by backtraces: one order, whatever the sort does with equals. */
static bool stands_before(const struct diff_entry *a, const struct diff_entry *b)
{
	if (llabs(a->bytes) != llabs(b->bytes))
		return llabs(a->bytes) > llabs(b->bytes);
	if (llabs(a->blocks) != llabs(b->blocks))
		return llabs(a->blocks) > llabs(b->blocks);
	if (a->new_node != b->new_node)
		return a->new_node < b->new_node;
	return a->base_node < b->base_node;
}

/* The same recording at two moments: stacks are equal if their names are, since no module has a
 * build id. */
static void check_diff(struct test_recording *t, const struct naive_rows *n, uint64_t *random)
{
	uint64_t a = test_random(random) % n->end_ns, b = test_random(random) % n->end_ns;
	struct filter f;
	struct diff diff;
	int64_t change = 0, blocks = 0, listed = 0, listed_blocks = 0;
	enum grouping grouping = test_random(random) % 2 ? GROUP_BY_SITE : GROUP_BY_BACKTRACE;

	filter_init(&f);
	assert_int_equal(query_diff(&(struct diff_side){t->view, &f, VALUE_IN_USE, a},
				    &(struct diff_side){t->view, &f, VALUE_IN_USE, b}, grouping,
				    &diff, NULL),
			 0);
	for (size_t i = 0; i < n->count; i++) {
		int is = naive_alive(&n->list[i], b) - naive_alive(&n->list[i], a);

		change += is * (int64_t)n->list[i].size;
		blocks += is;
	}
	for (size_t i = 0; i < diff.count; i++) {
		const struct diff_entry *e = &diff.list[i];

		listed += e->bytes;
		listed_blocks += e->blocks;
		assert_true(e->function != NULL);
		assert_true(i == 0 || stands_before(&diff.list[i - 1], e));
	}
	assert_int_equal(listed, change);
	assert_int_equal(listed_blocks, blocks);
	assert_int_equal((int64_t)(diff.now.bytes - diff.base.bytes), change);
	assert_int_equal((int64_t)(diff.added_bytes + diff.grown_bytes) -
				 (int64_t)(diff.removed_bytes + diff.shrunk_bytes),
			 change);
	assert_int_equal(diff.count, diff.added + diff.removed + diff.changed);
	diff_done(&diff);
}

static void test_random_recordings(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
		struct test_recording t;
		struct naive_rows n;
		uint64_t random = seed * 991;

		test_random_recording(&t, seed, EVENTS, false);
		naive_rows_init(&n, t.recording);
		for (int i = 0; i < 12; i++)
			check_filters(&t, &n, &random);
		check_groups(&t, &n);
		check_survivors(&t, &n);
		for (int i = 0; i < 4; i++)
			check_diff(&t, &n, &random);
		free(n.list);
		test_close(&t);
	}
}

/* A recording held against itself differs nowhere; against the same program with one allocation
 * more, in that one. */
static void one_program(struct test_recording *t, uint8_t id, unsigned leaks, uint64_t lived_ns)
{
	struct builder b;

	builder_init(&b, id);
	for (unsigned i = 0; i < 20; i++) {
		builder_malloc(&b, 1000000 * (i + 1), 1, 0x1000 * (i + 1), 100);
		if (i >= leaks)
			builder_free(&b, 1000000 * (i + 1) + lived_ns, 1, 0x1000 * (i + 1));
	}
	builder_malloc(&b, 40000000, 1, 0x900000, 10);
	builder_end(&b, 0);
	test_open(t, &b);
	builder_done(&b);
}

static void test_two_recordings(void **state)
{
	struct test_recording a, b;
	struct diff diff;
	struct filter f;

	(void)state;
	filter_init(&f);
	one_program(&a, 1, 1, 500);
	one_program(&b, 2, 3, 500);
	assert_int_equal(query_diff(&(struct diff_side){a.view, &f, VALUE_LEAKED, NO_TIME},
				    &(struct diff_side){a.view, &f, VALUE_LEAKED, NO_TIME},
				    GROUP_BY_BACKTRACE, &diff, NULL),
			 0);
	assert_int_equal(diff.count, 0);
	assert_int_equal(diff.same, 1);
	diff_done(&diff);
	assert_int_equal(query_diff(&(struct diff_side){a.view, &f, VALUE_LEAKED, NO_TIME},
				    &(struct diff_side){b.view, &f, VALUE_LEAKED, NO_TIME},
				    GROUP_BY_BACKTRACE, &diff, NULL),
			 0);
	assert_int_equal(diff.count, 1);
	assert_int_equal(diff.list[0].bytes, 200);
	assert_int_equal(diff.list[0].blocks, 2);
	assert_int_equal(diff.changed, 1);
	diff_done(&diff);
	test_close(&a);
	test_close(&b);
}

/* Of two that differ by as many bytes, the one of more blocks comes first. */
static void test_order_of_differences(void **state)
{
	struct test_recording none, some;
	struct builder b;
	struct diff diff;
	struct filter f;

	(void)state;
	filter_init(&f);
	one_program(&none, 1, 0, 500);
	builder_init(&b, 2);
	for (unsigned i = 0; i < 3; i++)
		builder_event(&b, &(struct event){.kind = HEAPCAST__EVENT_KIND__EVENT_MALLOC,
						  .thread = 1,
						  .time_ns = 1000 * (i + 1),
						  .address = 0x1000 * (i + 1),
						  .size = i ? 100 : 200,
						  .stack = i ? 2 : 1});
	builder_end(&b, 0);
	test_open(&some, &b);
	builder_done(&b);
	f.size_min = 50;
	assert_int_equal(query_diff(&(struct diff_side){none.view, &f, VALUE_LEAKED, NO_TIME},
				    &(struct diff_side){some.view, &f, VALUE_LEAKED, NO_TIME},
				    GROUP_BY_BACKTRACE, &diff, NULL),
			 0);
	assert_int_equal(diff.count, 2);
	assert_int_equal(diff.list[0].bytes, 200);
	assert_int_equal(diff.list[1].bytes, 200);
	assert_int_equal(diff.list[0].blocks, 2);
	assert_int_equal(diff.list[1].blocks, 1);
	diff_done(&diff);
	test_close(&none);
	test_close(&some);
}

/* Of 20 blocks of a site 19 lived half a microsecond: the old one is a leak; one that was made with
 * the last event is young. */
static void test_survival(void **state)
{
	struct test_recording t;
	struct survivors s;
	struct filter f;

	(void)state;
	filter_init(&f);
	one_program(&t, 3, 1, 500);
	assert_int_equal(query_survivors(t.view, &f, 1000, &s, NULL), 0);
	assert_int_equal(s.count, 1);
	assert_int_equal(s.list[0].old.bytes, 100);
	assert_int_equal(s.list[0].young.bytes, 10); /* made with the last event */
	assert_int_equal(s.list[0].suspect_bytes, 100);
	assert_false(s.list[0].whole_group);
	survivors_done(&s);
	test_close(&t);
}

/* ---- threads, modules, labels ---- */

static uint64_t matches(struct test_recording *t, const char *name, const char *value)
{
	struct err_text err = {0};
	struct report report;
	struct filter f;

	filter_init(&f);
	if (filter_set(&f, t->view, name, value, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(query_report(t->view, &f, &report, NULL), 0);
	filter_done(&f);
	return report.allocated.blocks;
}

static void label(struct builder *b, uint64_t time_ns, uint32_t thread, const char *text)
{
	Heapcast__Mark mark = HEAPCAST__MARK__INIT;

	mark.time_ns = time_ns;
	mark.kind = HEAPCAST__MARK_KIND__MARK_LABEL;
	mark.thread = thread;
	mark.text = builder_bytes(text, strlen(text));
	b->mark = &mark;
	builder_close(b, 0);
}

static void test_origins(void **state)
{
	struct test_recording t;
	struct err_text err = {0};
	struct builder b;
	struct filter f;

	(void)state;
	builder_init(&b, 9);
	builder_malloc(&b, 10, 1, 0x1000, 8);
	label(&b, 20, 1, "parse");
	builder_malloc(&b, 30, 1, 0x2000, 8);
	builder_malloc(&b, 40, 2, 0x3000, 8);
	label(&b, 50, 2, "parse");
	builder_malloc(&b, 60, 2, 0x4000, 8);
	builder_malloc(&b, 65, 1, 0x5000, 8);
	label(&b, 70, 1, "");
	builder_malloc(&b, 80, 1, 0x6000, 8);
	builder_end(&b, 0);
	test_open(&t, &b);
	builder_done(&b);
	assert_int_equal(matches(&t, "tag", "parse"), 3);
	assert_int_equal(matches(&t, "tag", "other"), 0);
	assert_int_equal(matches(&t, "module", "libexample.so"), 6);
	assert_int_equal(matches(&t, "module", "/usr/lib/libexample.so"), 6);
	assert_int_equal(matches(&t, "thread-name", "^$"), 6);
	assert_int_equal(matches(&t, "thread_name", "worker"), 0);
	filter_init(&f);
	assert_true(filter_set(&f, t.view, "module", "libother.so", &err) < 0);
	assert_non_null(strstr(err.text, "libother.so"));
	assert_true(filter_set(&f, t.view, "freed_at_once", "maybe", &err) < 0);
	assert_non_null(strstr(err.text, "yes or no"));
	filter_done(&f);
	test_close(&t);
}

static struct group function_group(const char *function, const char *module, uint64_t bytes,
				   uint64_t blocks)
{
	return (struct group){.node = NO_NODE,
			      .function = function,
			      .module = module,
			      .value = {.bytes = bytes, .blocks = blocks}};
}

/* Groups without recordings: the same names mean the same, whatever the folder of the module. */
static void test_groups_alone(void **state)
{
	struct group before[] = {function_group("f", "/old/app", 100, 1),
				 function_group("g", "app", 50, 5),
				 function_group("h", NULL, 7, 1)},
		     after[] = {function_group("f", "app", 300, 3),
				function_group("g", "app", 50, 5),
				function_group("f", "/lib/other.so", 10, 1)};
	struct groups base = {.list = before, .count = 3, .total = {.bytes = 157, .blocks = 7}},
		      now = {.list = after, .count = 3, .total = {.bytes = 360, .blocks = 9}};
	struct diff diff;

	(void)state;
	assert_int_equal(query_diff_functions(&base, &now, &diff), 0);
	assert_int_equal(diff.bytes, 203);
	assert_int_equal(diff.same, 1);
	assert_int_equal(diff.count, 3);
	assert_int_equal(diff.list[0].kind, DIFF_CHANGED);
	assert_int_equal(diff.list[0].bytes, 200);
	assert_int_equal(diff.list[0].base.bytes, 100);
	assert_int_equal(diff.list[1].kind, DIFF_ADDED);
	assert_string_equal(diff.list[1].module, "/lib/other.so");
	assert_int_equal(diff.list[2].kind, DIFF_REMOVED);
	assert_string_equal(diff.list[2].function, "h");
	for (size_t i = 0; i < diff.count; i++)
		assert_true(diff.list[i].base_node == NO_NODE && diff.list[i].new_node == NO_NODE);
	diff_done(&diff);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_recordings),
		cmocka_unit_test(test_two_recordings),
		cmocka_unit_test(test_order_of_differences),
		cmocka_unit_test(test_groups_alone),
		cmocka_unit_test(test_survival),
		cmocka_unit_test(test_origins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
