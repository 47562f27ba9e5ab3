/* Trees that are made of trees: from the inside out, against sums that are made by hand, and
 * bounded where nothing is to be seen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "collector/query/query.h"
#include "collector/query/sums/tree_maker.h"

/* Texts are one each, as in a view. */
static const char main_name[] = "main", load[] = "load", parse[] = "parse", get[] = "get",
		  grab[] = "grab";

#define NODE(f, child, next, all, own)                                                             \
	{                                                                                          \
		.function = f, .first_child = child, .next_sibling = next, .bytes = all,           \
		.self_bytes = own, .blocks = (all) / 10, .self_blocks = (own) / 10                 \
	}

/*
 *	main -> load -> get 300 -> grab 40
 *	     -> parse 10 -> get 200
 *	get 50
 */
static struct tree_node nodes[] = {
	NODE(NULL, 1, 0, 600, 0),  NODE(main_name, 2, 7, 550, 0), NODE(load, 3, 5, 340, 0),
	NODE(get, 4, 0, 340, 300), NODE(grab, 0, 0, 40, 40),	  NODE(parse, 6, 0, 210, 10),
	NODE(get, 0, 0, 200, 200), NODE(get, 0, 0, 50, 50),
};
static const struct tree tree = {.nodes = nodes, .count = sizeof(nodes) / sizeof(*nodes)};

static const struct tree_node *child(const struct tree *t, const struct tree_node *of,
				     const char *name)
{
	for (uint32_t i = of->first_child; i; i = t->nodes[i].next_sibling)
		if (t->nodes[i].function == name)
			return &t->nodes[i];
	return NULL;
}

static void turns_inside_out(void **state)
{
	const struct tree_node *n;
	struct tree out = {0};

	(void)state;
	assert_int_equal(tree_reversed(&tree, 1, 1, UINT32_MAX, &out), 0);
	assert_int_equal(out.nodes[0].bytes, 600);
	assert_int_equal(out.nodes[0].blocks, 60);
	assert_ptr_equal(out.nodes[out.nodes[0].first_child].function, get); /* heaviest first */
	n = child(&out, &out.nodes[0], get);
	assert_int_equal(n->bytes, 550);
	assert_int_equal(n->self_bytes, 50); /* had no caller */
	assert_int_equal(child(&out, n, load)->bytes, 300);
	assert_int_equal(child(&out, n, parse)->bytes, 200);
	assert_null(child(&out, n, main_name));
	n = child(&out, child(&out, n, parse), main_name);
	assert_int_equal(n->bytes, 200);
	assert_int_equal(n->self_bytes, 200);
	assert_int_equal(n->self_blocks, 20);
	n = child(&out, &out.nodes[0], grab);
	assert_int_equal(child(&out, child(&out, child(&out, n, get), load), main_name)->self_bytes,
			 40);
	assert_int_equal(child(&out, &out.nodes[0], parse)->bytes, 10);
	assert_int_equal(out.count, 12);
	tree_done(&out);
}

static void goes_no_further_than_is_seen(void **state)
{
	const struct tree_node *n;
	struct tree out = {0};

	(void)state;
	assert_int_equal(tree_reversed(&tree, 100, UINT64_MAX, UINT32_MAX, &out), 0);
	n = child(&out, &out.nodes[0], grab);
	assert_int_equal(n->bytes, 40);	     /* is there, */
	assert_int_equal(n->first_child, 0); /* without its callers */
	assert_non_null(child(&out, child(&out, child(&out, &out.nodes[0], get), load), main_name));
	tree_done(&out);
}

static void walks_the_heaviest_first(void **state)
{
	const struct tree_node *n;
	struct tree out = {0};

	(void)state;
	assert_int_equal(tree_reversed(&tree, 1, 1, 2, &out), 0);
	n = child(&out, &out.nodes[0], get); /* 550 */
	n = child(&out, n, load);	     /* 300 */
	assert_non_null(child(&out, n, main_name));
	assert_int_equal(child(&out, child(&out, &out.nodes[0], get), parse)->first_child, 0);
	assert_int_equal(child(&out, &out.nodes[0], grab)->first_child, 0);
	assert_int_equal(out.nodes[0].bytes, 600);
	tree_done(&out);
}

/* By bytes, then by blocks, then by name, whatever the order in which they come. */
static void are_in_order(void **state)
{
	static const char names[4][2] = {"a", "b", "c", "d"};
	static const uint32_t order[4] = {3, 1, 0, 2}; /* of names, the heaviest first */
	static const struct tree_node kinds[4] = {{.bytes = 8, .blocks = 1},
						  {.bytes = 8, .blocks = 2},
						  {.bytes = 8, .blocks = 1},
						  {.bytes = 9, .blocks = 1}};

	(void)state;
	for (unsigned way = 0; way < 256; way++) {
		struct tree_node all[5] = {{.bytes = 33, .first_child = 1}};
		struct tree shuffled = {.nodes = all, .count = 5};
		unsigned seen = 0;
		uint32_t at;

		for (unsigned i = 0; i < 4; i++) {
			unsigned which = way >> 2 * i & 3;

			seen |= 1u << which;
			all[i + 1] = kinds[which];
			all[i + 1].function = names[which];
			all[i + 1].next_sibling = i < 3 ? i + 2 : 0;
		}
		if (seen != 15)
			continue;
		assert_int_equal(tree_sort(&shuffled), 0);
		at = all[0].first_child;
		for (unsigned i = 0; i < 4; i++, at = all[at].next_sibling) {
			assert_true(at);
			assert_ptr_equal(all[at].function, names[order[i]]);
		}
		assert_int_equal(at, 0);
	}
}

static void is_empty_of_nothing(void **state)
{
	struct tree_node root = {0};
	struct tree empty = {.nodes = &root, .count = 1}, out = {0};

	(void)state;
	assert_int_equal(tree_reversed(&empty, 1, 1, UINT32_MAX, &out), 0);
	assert_int_equal(out.count, 1);
	tree_done(&out);
}

/* 1,000 stacks of 1,000 frames, all of different callers below one that allocates: runs end where
 * they are too small. */
static void is_bounded(void **state)
{
	const uint32_t wide = 1000, deep = 1000, count = 1 + wide * (deep + 1);
	char *names = calloc(count, 1);
	struct tree big = {.nodes = calloc(count, sizeof(*big.nodes)), .count = count}, out = {0};

	(void)state;
	big.nodes[0] = (struct tree_node){.bytes = wide, .first_child = 1};
	for (uint32_t i = 1; i < count; i++) {
		uint32_t row = (i - 1) / wide;

		big.nodes[i] = (struct tree_node){.function = row == deep ? grab : names + i,
						  .bytes = 1,
						  .self_bytes = row == deep,
						  .first_child = i + wide < count ? i + wide : 0,
						  .next_sibling = i < wide ? i + 1 : 0};
	}
	assert_int_equal(tree_reversed(&big, 2, UINT64_MAX, UINT32_MAX, &out), 0);
	assert_int_equal(out.count, 1 + 1 + wide);
	tree_done(&out);
	/* The same by number: the root, the one that allocates, and eight of its callers are
	 * walked. */
	assert_int_equal(tree_reversed(&big, 1, 1, 9, &out), 0);
	assert_int_equal(out.count, 1 + 1 + wide + 8);
	tree_done(&out);
	free(big.nodes);
	free(names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(turns_inside_out),
		cmocka_unit_test(goes_no_further_than_is_seen),
		cmocka_unit_test(walks_the_heaviest_first),
		cmocka_unit_test(are_in_order),
		cmocka_unit_test(is_empty_of_nothing),
		cmocka_unit_test(is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
