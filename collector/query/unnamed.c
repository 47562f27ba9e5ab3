/*
 * Modules whose code nobody could name, and what they hide: the allocations that have a place without a function in their
 * backtrace, each counted once a module.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/query/culled.h"
#include "collector/query/view.h"
#include "collector/store/store.h"
#include "collector/symbols/symbols.h"

#include "base/ban.h"

struct unnamed {
	struct view *view;
	struct unnamed_module *modules; /* by number */
	uint32_t *last;			/* by module: the stack that was counted last */
	uint32_t module_count;
	uint64_t *allocations, *bytes; /* by node: of the stack that ends there */
};

static bool is_unnamed(const struct view *view, const struct place *place)
{
	const struct module_info *module =
		place->module ? recording_module(view->recording, place->module) : NULL;
	struct symbol_module asked;

	if (!module || place->symbol->frames[0].function)
		return false;
	asked = (struct symbol_module){module->path, module->build_id, module->build_id_length};
	return !symbols_is_pseudo(&asked);
}

static int count_row(void *context, const struct row_block *block, uint32_t i)
{
	struct unnamed *u = context;
	uint64_t size = block->size[i], weight = block->weight ? block->weight[i] : size;
	uint32_t node = block->stack[i] <= u->view->nodes ? block->stack[i] : 0;

	u->bytes[node] += weight;
	u->allocations[node] += size && weight != size ? (weight + size / 2) / size : 1;
	return 0;
}

static void count_culled(struct unnamed *u, const struct culled_row *row)
{
	uint32_t node = row->stack <= u->view->nodes ? row->stack : 0;
	struct tally sum = {0};

	tally_add_culled(&sum, row);
	u->bytes[node] += tally_usage(&sum).bytes;
	u->allocations[node] += tally_usage(&sum).blocks;
}

/* Gives what was allocated by a stack to the modules on its way that have a place without a name there. */
static void count_stack(struct unnamed *u, uint32_t stack)
{
	for (uint32_t n = stack; n;) {
		const struct stack_node *node = recording_node(u->view->recording, n);
		const struct place *place = view_place(u->view, n);

		if (place->module <= u->module_count && u->last[place->module] != stack &&
		    is_unnamed(u->view, place)) {
			u->last[place->module] = stack;
			u->modules[place->module].allocations += u->allocations[stack];
			u->modules[place->module].bytes += u->bytes[stack];
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

static int count(struct unnamed *u, struct err_text *err)
{
	struct filter filter;
	int r;

	filter_init(&filter);
	r = query_each(u->view, &filter, count_row, u, err);
	filter_done(&filter);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < recording_culled_count(u->view->recording); i++)
		count_culled(u, recording_culled(u->view->recording, i));
	count_places(u);
	for (uint32_t n = 1; n <= u->view->nodes; n++)
		if (u->allocations[n])
			count_stack(u, n);
	return 0;
}

int query_unnamed(struct view *view, struct unnamed_module **ret_list, size_t *ret_count,
		  struct err_text *err)
{
	uint32_t modules = recording_modules(view->recording);
	int r = view_prepare(view, err);
	cleanup(cleanup_free) uint64_t *allocations = calloc((size_t)view->nodes + 1, 8);
	cleanup(cleanup_free) uint64_t *bytes = calloc((size_t)view->nodes + 1, 8);
	cleanup(cleanup_free) uint32_t *last = calloc((size_t)modules + 1, 4);
	cleanup(cleanup_free) struct unnamed_module *list =
		calloc((size_t)modules + 1, sizeof(*list));
	struct unnamed u = {view, list, last, modules, allocations, bytes};
	size_t kept = 0;

	if (!allocations || !bytes || !last || !list)
		return err_set(err, -ENOMEM, "out of memory");
	if (!r)
		r = count(&u, err);
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
