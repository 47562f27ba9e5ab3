/*
 * The same for groups (see answers.c): with their peaks, two moments held against each other, how
 * blocks lie on pages, mappings, places.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collector/columns/row_block.h"
#include "collector/query/sums/fragmentation.h"
#include "collector/query/match/mappings.h"
#include "tests/unit/query/asked.h"
#include "proto/stack_columns.h"

#define PAGE 4096

/* ---- groups, and two moments ---- */

static void check_side(const struct asked *a, const struct group_side *side, uint32_t stack,
		       bool matched)
{
	struct usage all = {0};
	uint64_t least = UINT64_MAX, most = 0, first = UINT64_MAX, last = 0, leaked = 0;

	for (size_t i = 0; i < a->n.rows.count; i++) {
		const struct naive_row *r = &a->n.rows.list[i];

		if (r->stack != stack || (matched && !a->n.match[i]))
			continue;
		all.blocks++;
		all.bytes += r->size;
		leaked += r->end == BLOCK_IN_USE;
		least = r->size < least ? r->size : least;
		most = r->size > most ? r->size : most;
		first = r->birth < first ? r->birth : first;
		last = r->birth > last ? r->birth : last;
	}
	for (uint32_t i = 0; i < a->n.culled_count; i++) {
		const struct culled_row *c = &a->n.culled[i];

		if (c->stack != stack || (matched && a->n.culled_match[i] != CULLED_YES))
			continue;
		all.blocks += c->blocks;
		all.bytes += c->bytes;
		least = c->size_least < least ? c->size_least : least;
		most = c->size_most > most ? c->size_most : most;
		first = c->first_ns < first ? c->first_ns : first;
		last = c->last_ns > last ? c->last_ns : last;
	}
	asked_equal(a, matched ? "matched of a group" : "all of a group", &side->allocated, &all);
	assert_int_equal(side->leaked_blocks, leaked);
	assert_int_equal(side->min_size, least);
	assert_int_equal(side->max_size, most);
	assert_int_equal(side->first_ns, first);
	assert_int_equal(side->last_ns, last);
}

static void check_allocation_groups(struct asked *a, const struct filter *f)
{
	struct allocation_groups groups;
	size_t wanted = 0;

	assert_int_equal(query_allocation_groups(a->t.view, f, &groups, NULL), 0);
	for (size_t i = 0; i < groups.count; i++) {
		const struct allocation_group *g = &groups.list[i];

		check_side(a, &g->all, g->node, false);
		check_side(a, &g->matched, g->node, true);
		assert_int_equal(g->peak_ns, a->n.stack[g->node].peak_ns);
	}
	for (uint32_t s = 0; s <= TEST_NODES; s++)
		wanted += naive_sum(&a->n, VALUE_ALLOCATED, 0, s).blocks > 0;
	assert_int_equal(groups.count, wanted);
	allocation_groups_done(&groups);
}

/* Names from the innermost frame on: backtraces with the same are the same. */
static void name_of(const struct asked *a, uint32_t node, enum grouping grouping, char *out,
		    size_t size)
{
	int used = snprintf(out, size, "%s", asked_site_name(a, node));
	uint32_t parent = node ? naive_node(&a->n, node)->parent : 0;

	if (parent && grouping == GROUP_BY_BACKTRACE) {
		out[used] = ';';
		name_of(a, parent, grouping, out + used + 1, size - (size_t)used - 1);
	}
}

static struct usage sum_of_name(const struct asked *a, enum grouping grouping, const char *name,
				enum value value, uint64_t at)
{
	struct usage sum = {0};
	char other[4096];

	for (uint32_t s = 0; s <= TEST_NODES; s++) {
		struct usage one = naive_sum(&a->n, value, at, s);

		name_of(a, s, grouping, other, sizeof(other));
		if (strcmp(other, name) != 0)
			continue;
		sum.blocks += one.blocks;
		sum.bytes += one.bytes;
	}
	return sum;
}

/* How many names differ between the two moments; those that have the same are `ret_same`. */
static size_t count_differences(const struct asked *a, enum grouping grouping,
				const struct diff_side *base, const struct diff_side *now,
				size_t *ret_same)
{
	char name[4096], other[4096];
	size_t count = 0;

	*ret_same = 0;
	for (uint32_t s = 0; s <= TEST_NODES; s++) {
		struct usage x, y;
		bool seen = false;

		name_of(a, s, grouping, name, sizeof(name));
		for (uint32_t before = 0; before < s && !seen; before++) {
			name_of(a, before, grouping, other, sizeof(other));
			seen = !strcmp(name, other);
		}
		if (seen)
			continue;
		x = sum_of_name(a, grouping, name, base->value, base->at_ns);
		y = sum_of_name(a, grouping, name, now->value, now->at_ns);
		if (!x.blocks && !y.blocks)
			continue;
		if (x.blocks == y.blocks && x.bytes == y.bytes)
			++*ret_same;
		else
			count++;
	}
	return count;
}

static void check_diff(struct asked *a, const struct filter *f)
{
	enum grouping grouping = test_random(&a->random) % 2 ? GROUP_BY_SITE : GROUP_BY_BACKTRACE;
	struct diff_side base = {a->t.view, f, (enum value)(test_random(&a->random) % VALUE_PEAK),
				 test_random(&a->random) % a->end},
			 now = {a->t.view, f, (enum value)(test_random(&a->random) % VALUE_PEAK),
				test_random(&a->random) % a->end};
	struct diff diff;
	size_t same;

	assert_int_equal(query_diff(&base, &now, grouping, &diff, NULL), 0);
	assert_int_equal(diff.count, count_differences(a, grouping, &base, &now, &same));
	assert_int_equal(diff.same, same);
	for (size_t i = 0; i < diff.count; i++) {
		const struct diff_entry *e = &diff.list[i];
		struct usage x, y;
		char name[4096];

		name_of(a, e->new_node != NO_NODE ? e->new_node : e->base_node, grouping, name,
			sizeof(name));
		x = sum_of_name(a, grouping, name, base.value, base.at_ns);
		y = sum_of_name(a, grouping, name, now.value, now.at_ns);
		asked_equal(a, "the base of a difference", &e->base, &x);
		asked_equal(a, "the new side of a difference", &e->now, &y);
		assert_int_equal(e->bytes, (int64_t)(y.bytes - x.bytes));
		assert_int_equal(e->blocks, (int64_t)(y.blocks - x.blocks));
	}
	diff_done(&diff);
}

/* ---- memory ---- */

struct page {
	uint64_t page, bytes;
};

static int by_page(const void *a, const void *b)
{
	const struct page *x = a, *y = b;

	return x->page < y->page ? -1 : x->page > y->page;
}

/* A piece for each page that a block touches. */
static struct page *list_pages(const struct asked *a, uint64_t at, size_t *ret_count)
{
	struct page *list = calloc(a->n.rows.count * 100 + 1, sizeof(*list));
	size_t count = 0;

	assert_non_null(list);
	for (size_t i = 0; i < a->n.rows.count; i++) {
		const struct naive_row *r = &a->n.rows.list[i];

		for (uint64_t from = r->address;
		     a->n.match[i] && naive_alive(r, at) && from < r->address + r->size;) {
			uint64_t page = from / PAGE, end = (page + 1) * PAGE;

			end = end < r->address + r->size ? end : r->address + r->size;
			list[count++] = (struct page){page, end - from};
			from = end;
		}
	}
	qsort(list, count, sizeof(*list), by_page);
	*ret_count = count;
	return list;
}

static void check_fragmentation(struct asked *a, const struct filter *f)
{
	uint64_t at = test_random(&a->random) % a->end, pages = 0, of[FRAGMENTATION_CLASSES] = {0};
	struct usage wanted = naive_sum(&a->n, VALUE_IN_USE, at, NAIVE_ALL), got;
	struct fragmentation found;
	size_t count;
	struct page *list = list_pages(a, at, &count);

	for (size_t i = 0; i < count; i++) {
		uint64_t class;

		if (i + 1 < count && list[i + 1].page == list[i].page) {
			list[i + 1].bytes += list[i].bytes;
			continue;
		}
		class = list[i].bytes * FRAGMENTATION_CLASSES / PAGE;
		pages++;
		of[class < FRAGMENTATION_CLASSES ? class : FRAGMENTATION_CLASSES - 1]++;
	}
	free(list);
	assert_int_equal(query_fragmentation(a->t.view, f, at, &found, NULL), 0);
	got = (struct usage){.blocks = found.blocks, .bytes = found.bytes};
	asked_equal(a, "what lies on pages", &got, &wanted);
	assert_int_equal(found.pages, pages);
	for (unsigned i = 0; i < FRAGMENTATION_CLASSES; i++)
		assert_int_equal(found.by_fill[i].pages, of[i]);
	fragmentation_done(&found);
}

static void check_mappings(const struct asked *a)
{
	struct mappings mappings;

	assert_int_equal(query_mappings(a->t.view, false, NULL, &mappings, NULL), 0);
	assert_int_equal(mappings.count, a->program->mapping_count);
	for (size_t i = 0; i < mappings.count; i++) {
		const struct program_mapping *wanted = &a->program->mappings[i];

		assert_int_equal(mappings.list[i].address, wanted->address);
		assert_int_equal(mappings.list[i].size, wanted->size);
		assert_int_equal(mappings.list[i].mapped_ns, wanted->mapped_ns);
		assert_int_equal(mappings.list[i].unmapped_ns, wanted->unmapped_ns);
	}
	mappings_done(&mappings);
}

/* Each time that a backtrace has the place. */
static void check_places(const struct asked *a)
{
	for (uint32_t node = 1; node <= TEST_NODES; node++) {
		const struct stack_node *place = naive_node(&a->n, node);
		uint64_t got, wanted = 0;

		for (uint32_t s = 1; s <= TEST_NODES; s++)
			for (uint32_t at = s; at; at = naive_node(&a->n, at)->parent)
				if (naive_node(&a->n, at)->module == place->module &&
				    naive_node(&a->n, at)->offset == place->offset)
					wanted += a->n.stack[s].blocks;
		assert_int_equal(view_place_allocations(a->t.view, node, &got, NULL), 0);
		assert_int_equal(got, wanted);
	}
}

static void check(struct asked *a, const struct filter *f)
{
	check_allocation_groups(a, f);
	check_diff(a, f);
	check_fragmentation(a, f);
	check_mappings(a);
	check_places(a);
}

static void test_programs(void **state)
{
	(void)state;
	asked_programs(check);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_programs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
