/*
 * Functions that only pass allocations on, found by what passes through them. The rule of
 * sums/wrappers.c is written down here a second time, without indexes and sorting: on lists of
 * names, one for each backtrace. Random programs are judged by both; call sites and trees must then
 * have the sums that follow from the second.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "tests/unit/query/recording.h"
#include "collector/query/hidden.h"
#include "proto/columns.h"
#include "proto/stack_columns.h"

#define NODES	  300
#define TRACES	  300
#define DEPTH	  24
#define FUNCTIONS 64 /* of all modules; module 1 has the first half */

struct program {
	struct stack_node nodes[NODES];
	uint32_t count;
	struct trace {
		uint32_t node, depth, function[DEPTH]; /* the innermost first; 0: none */
		uint64_t least, most, bytes;
	} traces[TRACES];
	uint32_t trace_count;
	bool wrapper[FUNCTIONS];
	struct test_recording t;
	uint64_t random;
};

static uint32_t module_of(uint32_t function)
{
	return 1 + (function >= FUNCTIONS / 2);
}

static uint32_t add_node(struct program *p, uint32_t parent, uint32_t function)
{
	for (uint32_t n = 1; n <= p->count; n++)
		if (p->nodes[n - 1].parent == parent && p->nodes[n - 1].offset == 0x100u * function)
			return n;
	assert_true(p->count < NODES);
	p->nodes[p->count++] = (struct stack_node){
		.parent = parent, .module = module_of(function), .offset = 0x100u * function};
	return p->count;
}

/* A backtrace of functions, the innermost first, and what it allocates. */
static void add_trace(struct program *p, const uint32_t *functions, uint32_t depth, uint64_t least,
		      uint64_t most)
{
	struct trace *t = &p->traces[p->trace_count];
	uint32_t node = 0;

	assert_true(p->trace_count < TRACES && depth <= DEPTH);
	for (uint32_t i = depth; i-- > 0;)
		node = add_node(p, node, functions[i]);
	for (uint32_t i = 0; i < p->trace_count; i++)
		if (p->traces[i].node == node)
			return;
	*t = (struct trace){
		.node = node, .depth = depth, .least = least, .most = most, .bytes = least + most};
	memcpy(t->function, functions, depth * sizeof(*functions));
	p->trace_count++;
}

static void program_open(struct program *p)
{
	uint32_t address = 0;
	struct builder b;

	builder_init(&b, 9);
	test_first_batch(&b, p->nodes, p->count, "/usr/bin/example", 0, false);
	for (uint32_t i = 0; i < 2 * p->trace_count; i++) {
		const struct trace *t = &p->traces[i / 2];
		struct event e = {.kind = HEAPCAST__EVENT_KIND__EVENT_MALLOC,
				  .thread = 1,
				  .time_ns = 10 + i,
				  .address = 0x1000 * ++address,
				  .size = i % 2 ? t->most : t->least,
				  .stack = t->node};

		e.weight = e.size;
		builder_event(&b, &e);
	}
	builder_end(&b, 0);
	test_open(&p->t, &b);
	builder_done(&b);
}

/* ---- the rule, simply ---- */

/* Returns the index of the first frame from `i` on that is not hidden. */
static uint32_t shown(const struct program *p, const struct trace *t, uint32_t i)
{
	while (i < t->depth && p->wrapper[t->function[i]])
		i++;
	return i;
}

/* How often it begins in the backtrace, seen from outside. */
static uint32_t times(const struct trace *t, uint32_t function)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->depth; i++)
		n += t->function[i] == function &&
		     (i + 1 == t->depth || t->function[i + 1] != function);
	return n;
}

struct looked {
	uint32_t at[TRACES]; /* frame; DEPTH: not among them */
};

static uint32_t caller(const struct program *p, const struct trace *t, uint32_t at)
{
	uint32_t function = t->function[at];

	while (at < t->depth && t->function[at] == function)
		at = shown(p, t, at + 1);
	return at;
}

static bool passes(const struct program *p, uint32_t function, bool beside, bool *chain)
{
	struct looked l;
	uint32_t of_module = 0, own = 0, module = module_of(function);

	for (uint32_t i = 0; i < p->trace_count; i++) {
		const struct trace *t = &p->traces[i];
		uint32_t at = shown(p, t, 0);

		l.at[i] = at < t->depth && t->function[at] == function ? at : DEPTH;
		own += l.at[i] != DEPTH;
		of_module += at < t->depth && module_of(t->function[at]) == module;
	}
	if (own < 3 || (!beside && own * 20 < of_module))
		return false;
	for (uint32_t step = 0; step < 4; step++) {
		uint32_t with = 0, now = 0, callers = 0, most = 0, which = 0;
		uint32_t by[FUNCTIONS] = {0};
		uint64_t least = UINT64_MAX, largest = 0;

		chain[function] = true;
		for (uint32_t i = 0; i < p->trace_count; i++) {
			const struct trace *t = &p->traces[i];
			uint32_t out;

			with += times(t, function);
			if (l.at[i] == DEPTH)
				continue;
			now++;
			least = t->least < least ? t->least : least;
			largest = t->most > largest ? t->most : largest;
			out = caller(p, t, l.at[i]);
			if (out < t->depth)
				by[t->function[out]]++;
		}
		if (now * 10 < with * 9 || module_of(function) != module)
			return false;
		for (uint32_t f = 1; f < FUNCTIONS; f++) {
			callers += by[f] > 0;
			if (by[f] > most) {
				most = by[f];
				which = f;
			}
		}
		if (callers >= 8 ||
		    (callers >= 3 && (beside || (!step && own * 10 >= of_module * 9))))
			return least < largest;
		if (!which || most * 10 < now * 9)
			return false;
		for (uint32_t i = 0; i < p->trace_count; i++) {
			const struct trace *t = &p->traces[i];
			uint32_t at = shown(p, t, 0),
				 out = l.at[i] == DEPTH ? t->depth : caller(p, t, l.at[i]);

			if (out < t->depth && t->function[out] == which)
				l.at[i] = out;
			else
				l.at[i] = at < t->depth && t->function[at] == which ? at : DEPTH;
		}
		function = which;
	}
	return false;
}

static bool find_more(struct program *p, bool beside, const bool *allowed)
{
	bool found[FUNCTIONS] = {false}, any = false;

	for (uint32_t f = 1; f < FUNCTIONS; f++) {
		bool chain[FUNCTIONS] = {false};

		if ((allowed && !allowed[f]) || !passes(p, f, beside, chain))
			continue;
		for (uint32_t i = 1; i < FUNCTIONS; i++)
			found[i] |= chain[i];
		any = true;
	}
	for (uint32_t f = 1; f < FUNCTIONS; f++)
		p->wrapper[f] |= found[f];
	return any;
}

static void find_simply(struct program *p)
{
	bool allowed[FUNCTIONS] = {false};
	uint32_t all[3] = {0}, wrapped[3] = {0};

	memset(p->wrapper, 0, sizeof(p->wrapper));
	for (unsigned i = 0; i < 16 && find_more(p, false, NULL); i++)
		;
	for (uint32_t i = 0; i < p->trace_count; i++) {
		uint32_t f = p->traces[i].function[0];

		all[module_of(f)]++;
		wrapped[module_of(f)] += p->wrapper[f];
	}
	for (uint32_t i = 0; i < p->trace_count; i++) {
		uint32_t f = p->traces[i].function[0], m = module_of(f);

		allowed[f] = wrapped[m] && wrapped[m] * 2 >= all[m];
	}
	find_more(p, true, allowed);
}

/* ---- what queries say ---- */

static uint32_t function_named(const char *name)
{
	const char *plus = strrchr(name, '+');

	return plus ? (uint32_t)strtoul(plus + 1, NULL, 16) / 0x100 : 0;
}

static void check_hidden(struct program *p)
{
	cleanup(cleanup_free) struct hidden_function *list = NULL;
	bool told[FUNCTIONS] = {false};
	struct filter filter;
	size_t count;

	filter_init(&filter);
	assert_int_equal(query_hidden(p->t.view, &filter, &list, &count, NULL), 0);
	for (size_t i = 0; i < count; i++) {
		uint32_t f = function_named(list[i].function), passed = 0;

		assert_true(list[i].is_wrapper && f && p->wrapper[f]);
		told[f] = true;
		for (uint32_t k = 0; k < p->trace_count; k++) {
			const struct trace *t = &p->traces[k];
			uint32_t end = shown(p, t, 0), here = 0;

			for (uint32_t at = 0; at < end; at++)
				here += t->function[at] == f && (!at || t->function[at - 1] != f);
			passed += here;
		}
		assert_int_equal(list[i].backtraces, passed);
	}
	for (uint32_t f = 1; f < FUNCTIONS; f++)
		assert_int_equal(told[f], p->wrapper[f]);
}

static void check_sites(struct program *p, enum filter_hide hide)
{
	uint64_t bytes[FUNCTIONS] = {0};
	struct filter filter;
	struct groups sites;

	for (uint32_t i = 0; i < p->trace_count; i++) {
		const struct trace *t = &p->traces[i];
		uint32_t at = hide == HIDE_DEFAULT || hide == HIDE_AUTO ? shown(p, t, 0) : 0;

		bytes[t->function[at < t->depth ? at : 0]] += t->bytes;
	}
	filter_init(&filter);
	filter.hide = hide;
	assert_int_equal(query_groups(p->t.view, &filter, GROUP_BY_SITE, VALUE_ALLOCATED, NO_TIME,
				      &sites, NULL),
			 0);
	for (size_t i = 0; i < sites.count; i++) {
		uint32_t f = function_named(sites.list[i].function);

		assert_int_equal(sites.list[i].value.bytes, bytes[f]);
		bytes[f] = 0;
	}
	for (uint32_t f = 0; f < FUNCTIONS; f++)
		assert_int_equal(bytes[f], 0);
	groups_done(&sites);
}

/* By the innermost function that is shown; in trees a wrapper is hidden wherever it stands. */
static void check_tree(struct program *p)
{
	uint64_t bytes[FUNCTIONS] = {0};
	struct filter filter;
	struct tree tree;

	for (uint32_t i = 0; i < p->trace_count; i++) {
		const struct trace *t = &p->traces[i];
		uint32_t at = shown(p, t, 0);

		bytes[at < t->depth ? t->function[at] : 0] += t->bytes;
	}
	filter_init(&filter);
	assert_int_equal(query_tree(p->t.view, &filter, VALUE_ALLOCATED, NO_TIME, &tree, NULL), 0);
	for (size_t i = 0; i < tree.count; i++) {
		uint32_t f = i ? function_named(tree.nodes[i].function) : 0;

		assert_false(p->wrapper[f]);
		bytes[f] -= tree.nodes[i].self_bytes;
	}
	for (uint32_t f = 0; f < FUNCTIONS; f++)
		assert_int_equal(bytes[f], 0);
	tree_done(&tree);
}

static void check(struct program *p)
{
	program_open(p);
	find_simply(p);
	check_hidden(p);
	for (enum filter_hide hide = HIDE_DEFAULT; hide <= HIDE_NONE; hide++)
		check_sites(p, hide);
	check_tree(p);
	test_close(&p->t);
}

/* ---- programs ---- */

enum { MAIN = 1, LOOP, XMALLOC = 10, XREALLOC, INNER, OUTER, CALLER = 20 };

static void add_called(struct program *p, uint32_t function, uint32_t callers, uint64_t size,
		       uint64_t step)
{
	for (uint32_t i = 0; i < callers; i++)
		add_trace(p, (uint32_t[]){function, CALLER + i, MAIN}, 3, size + step * i,
			  size + step * i);
}

static void test_found(void **state)
{
	static struct program p;

	(void)state;
	p = (struct program){0};
	add_called(&p, XMALLOC, 9, 10, 1);
	/* behind it three more that are nothing else, and one beside it */
	for (uint32_t i = 0; i < 9; i++)
		add_trace(&p, (uint32_t[]){INNER, INNER, OUTER, CALLER + i, MAIN}, 5, 5, 6 + i);
	for (uint32_t i = 0; i < 3; i++)
		add_trace(&p, (uint32_t[]){XREALLOC, CALLER + i, MAIN}, 3, 50 + i, 60);
	add_trace(&p, (uint32_t[]){LOOP, MAIN}, 2, 7, 8);
	check(&p);
	assert_true(p.wrapper[XMALLOC] && p.wrapper[INNER] && p.wrapper[OUTER]);
	assert_true(p.wrapper[XREALLOC]);
	assert_false(p.wrapper[CALLER] || p.wrapper[MAIN] || p.wrapper[LOOP]);
}

/* Three callers are enough where nearly all passes, and nowhere else. */
static void test_few(void **state)
{
	static struct program p;

	(void)state;
	p = (struct program){0};
	add_called(&p, XMALLOC, 3, 10, 1);
	check(&p);
	assert_true(p.wrapper[XMALLOC]);
	p = (struct program){0};
	add_called(&p, XMALLOC, 2, 10, 1);
	check(&p);
	assert_false(p.wrapper[XMALLOC]);
	p = (struct program){0};
	add_called(&p, XMALLOC, 7, 10, 1);
	add_trace(&p, (uint32_t[]){LOOP, MAIN}, 2, 7, 8);
	check(&p);
	assert_false(p.wrapper[XMALLOC]);
}

/* What always allocates the same makes things of its own; what calls itself hands on nothing; and
 * the only site stays. */
static void test_not_found(void **state)
{
	static struct program p;

	(void)state;
	p = (struct program){0};
	add_called(&p, XMALLOC, 12, 10, 0);
	check(&p);
	assert_false(p.wrapper[XMALLOC]);
	p = (struct program){0};
	for (uint32_t i = 0; i < 12; i++)
		add_trace(&p, (uint32_t[]){XMALLOC, CALLER + i, XMALLOC, CALLER, MAIN}, 5, 1 + i,
			  2 + i);
	check(&p);
	assert_false(p.wrapper[XMALLOC]);
	p = (struct program){0};
	add_trace(&p, (uint32_t[]){XMALLOC, LOOP, MAIN}, 3, 1, 2);
	check(&p);
	add_trace(&p, (uint32_t[]){XMALLOC}, 1, 1, 2);
	check(&p);
	assert_false(p.wrapper[XMALLOC]);
	/* the outermost of others, and that at the very first node */
	p = (struct program){0};
	add_trace(&p, (uint32_t[]){LOOP, XMALLOC}, 2, 7, 8);
	add_trace(&p, (uint32_t[]){MAIN, XMALLOC}, 2, 7, 8);
	add_called(&p, XMALLOC, 9, 10, 1);
	check(&p);
	assert_false(p.wrapper[XMALLOC]);
}

static uint32_t below(struct program *p, uint32_t n)
{
	return (uint32_t)(test_random(&p->random) % n);
}

/* Two functions of three layers hand on; the program above them is a random tree. */
static void random_trace(struct program *p)
{
	uint32_t functions[DEPTH], n = 0, layers = 1 + below(p, 3);
	uint64_t size = below(p, 4) ? 16 : 1 + below(p, 100);

	if (below(p, 8))
		for (uint32_t layer = 0; layer < layers; layer++) {
			uint32_t f = 1 + 3 * layer + (below(p, 6) ? 0 : 1 + below(p, 2));

			functions[n++] = f + (below(p, 20) ? 0 : FUNCTIONS / 2);
		}
	for (uint32_t i = 1 + below(p, 4); i > 0; i--)
		functions[n++] = 11 + below(p, 12) + (below(p, 3) ? 0 : FUNCTIONS / 2);
	add_trace(p, functions, n, size, below(p, 3) ? size : size + below(p, 3));
}

static void test_random_programs(void **state)
{
	static struct program p;
	unsigned wrappers = 0, programs = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 150; seed++) {
		bool any = false;

		p = (struct program){.random = seed * 0x9e3779b97f4a7c15u};
		for (uint32_t i = 4 + below(&p, 60); i > 0; i--)
			random_trace(&p);
		check(&p);
		for (uint32_t f = 1; f < FUNCTIONS; f++) {
			wrappers += p.wrapper[f];
			any |= p.wrapper[f];
		}
		programs += any;
	}
	assert_true(programs > 50 && programs < 150); /* else there was nothing to compare */
	assert_true(wrappers > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_found),
		cmocka_unit_test(test_few),
		cmocka_unit_test(test_not_found),
		cmocka_unit_test(test_random_programs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
