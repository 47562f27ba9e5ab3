/*
 * Finds modules with code that could not be named, and what this hides: the allocations with a
 * place without a function in their backtrace, each counted once per module.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/saturated.h"
#include "proto/stack_columns.h"
#include "collector/query/sums/whole_sums.h"
#include "collector/recording/info.h"
#include "collector/recording/recording.h"
#include "collector/symbols/symbols.h"

#include "base/ban.h"

struct unnamed {
	struct view *view;
	struct unnamed_module *modules; /* by number */
	uint32_t *last;			/* by module: the stack that was counted last */
	uint32_t module_count;
};

static bool is_unnamed(const struct view *view, const struct place *place)
{
	const struct module_info *module =
		place->module ? recording_module(view->recording, place->module) : NULL;
	struct symbol_module asked;

	if (!module || place->symbol->frames[0].function)
		return false;
	asked = (struct symbol_module){module_file(module), module->build_id,
				       module->build_id_length};
	return !symbols_is_pseudo(&asked);
}

/* Adds the allocations of a stack to the modules that have a place without a name in it. */
static void count_stack(struct unnamed *u, uint32_t stack, struct usage allocated)
{
	for (uint32_t n = stack; n;) {
		const struct stack_node *node = recording_node(u->view->recording, n);
		const struct place *place = view_place(u->view, n);

		if (place->module <= u->module_count && u->last[place->module] != stack &&
		    is_unnamed(u->view, place)) {
			u->last[place->module] = stack;
			add_most(&u->modules[place->module].allocations, allocated.blocks);
			add_most(&u->modules[place->module].bytes, allocated.bytes);
		}
		n = node && node->parent < n ? node->parent : 0;
	}
}

static void count_places(struct unnamed *u)
{
	for (uint32_t i = 1; i < u->view->place_count; i++) {
		const struct place *place = &u->view->places[i];

		if (!place->module || place->module > u->module_count)
			continue;
		u->modules[place->module].module = place->module;
		u->modules[place->module].places++;
		u->modules[place->module].unnamed += is_unnamed(u->view, place);
	}
}

static int by_bytes(const void *a, const void *b)
{
	const struct unnamed_module *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return x->module < y->module ? -1 : x->module > y->module;
}

static int unnamed_count(struct unnamed *u, struct err_text *err)
{
	const struct whole_sums *whole;
	struct filter filter;
	int r;

	filter_init(&filter);
	r = view_whole_sums(u->view, &filter, 0, &whole, err);
	filter_done(&filter);
	if (r < 0)
		return r;
	count_places(u);
	for (uint32_t i = 0; i < whole->sums.count; i++) {
		const struct node_sum *sum = &whole->sums.list[i];
		struct tally all = node_sum_tally(&whole->sums, sum, VALUE_ALLOCATED);

		count_stack(u, sum->node, tally_usage(&all));
	}
	return 0;
}

int query_unnamed(struct view *view, struct unnamed_module **ret_list, size_t *ret_count,
		  struct err_text *err)
{
	uint32_t modules = recording_modules(view->recording);
	int r = view_prepare(view, err);
	cleanup(cleanup_free) uint32_t *last = calloc((size_t)modules + 1, 4);
	cleanup(cleanup_free) struct unnamed_module *list =
		calloc((size_t)modules + 1, sizeof(*list));
	struct unnamed u = {view, list, last, modules};
	size_t kept = 0;

	if (!last || !list)
		return err_set(err, -ENOMEM, "out of memory");
	if (!r)
		r = unnamed_count(&u, err);
	if (r < 0)
		return r;
	for (uint32_t m = 1; m <= modules; m++)
		if (list[m].unnamed)
			list[kept++] = list[m];
	qsort(list, kept, sizeof(*list), by_bytes);
	*ret_list = take_ptr(list);
	*ret_count = kept;
	return 0;
}
