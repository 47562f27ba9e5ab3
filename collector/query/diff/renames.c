/* Finds functions that were probably renamed. See renames.h. */
#include "collector/query/diff/renames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "base/saturated.h"
#include "collector/query/match/intern.h"
#include "collector/query/sweep/cursor.h"

#include "base/ban.h"

#define LOOKED_AT    64	 /* the heaviest functions of each side */
#define ALIKE	     0.8 /* least share of bytes and blocks that agree, caller by caller */
#define ANOTHER_NEAR 0.4 /* another function with this share makes a match ambiguous */

enum { IN_BASE = 1, IN_NOW = 2 };

/* What a function allocated when this caller called it. */
struct tie {
	uint32_t caller;
	uint32_t next; /* next tie of the same function: index + 1 */
	uint64_t bytes, blocks;
};

/* A call site's function that only one side has. */
struct lone {
	uint32_t function; /* number */
	uint32_t module, file;
	uint32_t first_tie; /* index + 1 */
	const struct frame *frame;
	struct usage usage;
	struct lone *mate; /* the only function that is alike */
	unsigned near;	   /* number of functions that come near */
	uint64_t common_bytes;
};

struct lones {
	struct lone *list;
	uint32_t count, capacity;
	struct map by_function; /* index + 1 */
	struct tie *ties;
	uint32_t tie_count, tie_capacity;
	struct map by_pair; /* function, caller -> index + 1 */
};

struct renames {
	const struct diff_names *names;
	struct intern texts, functions; /* functions: (name, module) */
	struct map sides;		/* by function: the sides that have it */
	struct lones base, now;
};

static void lones_done(struct lones *l)
{
	free(l->list);
	free(l->ties);
	map_done(&l->by_function);
	map_done(&l->by_pair);
}

static void renames_done(struct renames *r)
{
	intern_done(&r->texts);
	intern_done(&r->functions);
	map_done(&r->sides);
	lones_done(&r->base);
	lones_done(&r->now);
}

/* ---- which functions only one side has ---- */

/* Returns the number of the frame's function, which is the same for both sides. 0: no memory. */
static uint32_t renames_function(struct renames *r, const struct view *view,
				 const struct frame *frame, bool is_base, uint32_t *ret_module)
{
	const char *path =
		diff_has_names_alone(r->names) ? NULL : intern_get(&view->texts, frame->module);
	const char *function =
		diff_function_name(r->names, is_base, intern_get(&view->names, frame->name));
	uint32_t name = intern_text(&r->texts, function ? function : "");
	uint32_t module = intern_text(&r->texts, diff_module_name(r->names, is_base, path));

	*ret_module = module;
	return name && module ? intern_pair(&r->functions, name, module) : 0;
}

static int see_functions(struct renames *r, const struct view *view, bool is_base)
{
	for (uint32_t i = 0; i < view->frame_count; i++) {
		uint32_t module;
		uint32_t f = renames_function(r, view, &view->frames[i], is_base, &module);
		uint64_t *sides = f ? map_put(&r->sides, f, NULL) : NULL;

		if (!sides)
			return -ENOMEM;
		*sides |= is_base ? IN_BASE : IN_NOW;
	}
	return 0;
}

/* ---- what they allocated ---- */

static int add_tie(struct lones *l, struct lone *one, uint32_t caller, const struct usage *usage)
{
	uint64_t *index = map_put(&l->by_pair, (uint64_t)one->function << 32 | caller, NULL);

	if (!index || (!*index && array_reserve(&l->ties, &l->tie_capacity,
						(uint64_t)l->tie_count + 1, sizeof(*l->ties)) < 0))
		return -ENOMEM;
	if (!*index) {
		l->ties[l->tie_count++] = (struct tie){.caller = caller, .next = one->first_tie};
		one->first_tie = l->tie_count;
		*index = l->tie_count;
	}
	add_most(&l->ties[*index - 1].bytes, usage->bytes);
	add_most(&l->ties[*index - 1].blocks, usage->blocks);
	return 0;
}

/* Adds to the function's usage. Returns NULL without memory. */
static struct lone *add_lone(struct lones *l, const struct lone *one, const struct usage *usage)
{
	uint64_t *index = map_put(&l->by_function, one->function, NULL);
	struct lone *lone;

	if (!index || (!*index && array_reserve(&l->list, &l->capacity, (uint64_t)l->count + 1,
						sizeof(*l->list)) < 0))
		return NULL;
	if (!*index) {
		l->list[l->count++] = *one;
		*index = l->count;
	}
	lone = &l->list[*index - 1];
	add_most(&lone->usage.bytes, usage->bytes);
	add_most(&lone->usage.blocks, usage->blocks);
	return lone;
}

/* Finds the caller's number; 0: there is none, or the function calls itself. Returns 0 or
 * -ENOMEM. */
static int caller_of(struct renames *r, const struct view *view, struct cursor at, bool is_base,
		     uint32_t function, uint32_t *ret_caller)
{
	uint32_t module;

	at = cursor_out(view, at);
	*ret_caller = 0;
	if (!at.node)
		return 0;
	*ret_caller =
		renames_function(r, view, &view->frames[cursor_frame(view, at)], is_base, &module);
	if (!*ret_caller)
		return -ENOMEM;
	if (*ret_caller == function)
		*ret_caller = 0;
	return 0;
}

static int add_group(struct renames *r, const struct renames_side *side, bool is_base,
		     const struct group *g)
{
	struct lones *l = is_base ? &r->base : &r->now;
	struct cursor at = cursor_at_site(side->view, side->hiding, g->node);
	struct lone one = {.frame = &side->view->frames[cursor_frame(side->view, at)]};
	const uint64_t *sides;
	struct lone *lone;
	uint32_t caller;

	one.function = renames_function(r, side->view, one.frame, is_base, &one.module);
	if (!one.function)
		return -ENOMEM;
	sides = map_get(&r->sides, one.function);
	if (!sides || *sides != (is_base ? IN_BASE : IN_NOW) || !at.node)
		return 0;
	one.file = intern_text(&r->texts,
			       module_basename(intern_get(&side->view->texts, one.frame->file)));
	if (!one.file || caller_of(r, side->view, at, is_base, one.function, &caller) < 0)
		return -ENOMEM;
	lone = add_lone(l, &one, &g->value);
	return lone ? add_tie(l, lone, caller, &g->value) : -ENOMEM;
}

static int add_groups(struct renames *r, const struct renames_side *side, bool is_base)
{
	int error = 0;

	for (size_t i = 0; !error && i < side->groups->count; i++)
		error = add_group(r, side, is_base, &side->groups->list[i]);
	return error;
}

/* ---- pairs ---- */

static int heaviest_lone_first(const void *a, const void *b)
{
	const struct lone *x = a, *y = b;

	if (x->usage.bytes != y->usage.bytes)
		return x->usage.bytes > y->usage.bytes ? -1 : 1;
	return x->function < y->function ? -1 : x->function > y->function;
}

static void sort_lones(struct lones *l)
{
	if (l->count)
		qsort(l->list, l->count, sizeof(*l->list), heaviest_lone_first);
	if (l->count > LOOKED_AT)
		l->count = LOOKED_AT;
}

static double share_of(uint64_t common, uint64_t a, uint64_t b)
{
	uint64_t most = a > b ? a : b;

	return most ? (double)common / (double)most : 1;
}

/* Returns the share that agrees caller by caller: the lesser one, of bytes or of blocks. */
static double alike(const struct renames *r, const struct lone *old, const struct lone *new,
		    uint64_t *ret_common_bytes)
{
	uint64_t bytes = 0, blocks = 0;
	double by_bytes, by_blocks;

	for (uint32_t i = old->first_tie; i; i = r->base.ties[i - 1].next) {
		const struct tie *a = &r->base.ties[i - 1], *b;
		const uint64_t *index =
			map_get(&r->now.by_pair, (uint64_t) new->function << 32 | a->caller);

		if (!index)
			continue;
		b = &r->now.ties[*index - 1];
		add_most(&bytes, a->bytes < b->bytes ? a->bytes : b->bytes);
		add_most(&blocks, a->blocks < b->blocks ? a->blocks : b->blocks);
	}
	*ret_common_bytes = bytes;
	by_bytes = share_of(bytes, old->usage.bytes, new->usage.bytes);
	by_blocks = share_of(blocks, old->usage.blocks, new->usage.blocks);
	return by_bytes < by_blocks ? by_bytes : by_blocks;
}

static void hold_pair(const struct renames *r, struct lone *old, struct lone *new)
{
	uint64_t common;
	double share;

	if (old->module != new->module || old->file != new->file)
		return;
	share = alike(r, old, new, &common);
	old->near += share >= ANOTHER_NEAR;
	new->near += share >= ANOTHER_NEAR;
	if (share < ALIKE)
		return;
	old->mate = new;
	old->common_bytes = common;
}

/* Returns true if --map can take the name. A name with an equals sign or a quote cannot be given to
 * it, and a name in brackets is no function. */
static bool can_be_mapped(const char *name)
{
	return name && *name && *name != '[' && !strpbrk(name, "='");
}

static void add_hint(const struct renames_side *base, const struct renames_side *now,
		     const struct lone *old, struct diff *diff)
{
	const struct diff_hint hint = {
		.old = intern_get(&base->view->names, old->frame->name),
		.name = intern_get(&now->view->names, old->mate->frame->name),
		.module = intern_get(&now->view->texts, old->mate->frame->module),
		.base = old->usage,
		.now = old->mate->usage,
		.percent = 100 * share_of(old->common_bytes, old->usage.bytes, 0),
	};

	if (diff->hint_count < DIFF_HINTS && can_be_mapped(hint.old) && can_be_mapped(hint.name))
		diff->hints[diff->hint_count++] = hint;
}

int diff_find_renames(const struct renames_side *base, const struct renames_side *now,
		      const struct diff_names *names, struct diff *diff)
{
	cleanup(renames_done) struct renames r = {.names = names};
	int error = see_functions(&r, base->view, true);

	if (!error)
		error = see_functions(&r, now->view, false);
	if (!error)
		error = add_groups(&r, base, true);
	if (!error)
		error = add_groups(&r, now, false);
	diff->hints = error ? NULL : calloc(DIFF_HINTS, sizeof(*diff->hints));
	if (!diff->hints)
		return -ENOMEM;
	sort_lones(&r.base);
	sort_lones(&r.now);
	for (uint32_t i = 0; i < r.base.count; i++)
		for (uint32_t k = 0; k < r.now.count; k++)
			hold_pair(&r, &r.base.list[i], &r.now.list[k]);
	for (uint32_t i = 0; i < r.base.count; i++) {
		const struct lone *old = &r.base.list[i];

		if (old->mate && old->near == 1 && old->mate->near == 1)
			add_hint(base, now, old, diff);
	}
	return 0;
}
