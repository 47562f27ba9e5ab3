/*
 * Lists the callers of a call site. All backtraces of the site are followed outwards in step. As
 * long as one caller has most of the value, it is listed, and the walk goes on with the backtraces
 * through it. Where they diverge, the heaviest callers are listed, and the walk ends.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/saturated.h"
#include "collector/query/sweep/cursor.h"
#include "collector/query/match/view.h"

#include "base/ban.h"

#define MOST_PERCENT 75 /* percentage of the value: one caller has nearly all of it */

struct path {
	struct cursor at;
	uint32_t frame; /* number of the frame at the cursor */
	uint32_t label;
	struct usage value;
};

/* Collects the backtraces of the site, each at the frame of the site. */
static size_t callers_collect(const struct view *view, const struct groups *backtraces,
			      const struct hiding *hiding, const struct group *site,
			      struct path *paths)
{
	uint32_t number =
		view->frames[cursor_frame(view, cursor_at_site(view, hiding, site->node))].site;
	size_t count = 0;

	for (size_t i = 0; i < backtraces->count; i++) {
		const struct group *g = &backtraces->list[i];
		struct cursor at = cursor_at_site(view, hiding, g->node);

		if (g->node && view->frames[cursor_frame(view, at)].site == number)
			paths[count++] = (struct path){.at = at, .value = g->value};
	}
	return count;
}

/* Moves all paths one frame outwards, and drops paths that have ended. */
static size_t callers_step(const struct view *view, struct path *paths, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		struct path *p = &paths[i];

		p->at = cursor_out(view, p->at);
		if (!p->at.node)
			continue;
		p->frame = cursor_frame(view, p->at);
		p->label = view->frames[p->frame].label;
		paths[kept++] = *p;
	}
	return kept;
}

static int by_label(const void *a, const void *b)
{
	const struct path *x = a, *y = b;

	return x->label < y->label ? -1 : x->label > y->label;
}

static int callers_heaviest_first(const void *a, const void *b)
{
	const struct caller *x = a, *y = b;

	if (x->value.bytes != y->value.bytes)
		return x->value.bytes > y->value.bytes ? -1 : 1;
	return x->label < y->label ? -1 : x->label > y->label;
}

/* Sums up by function, and leaves the paths sorted by label. Returns the number of functions. */
static size_t sum(const struct view *view, struct path *paths, size_t count, struct caller *callers)
{
	size_t n = 0;
	uint64_t heaviest = 0;

	qsort(paths, count, sizeof(*paths), by_label);
	for (size_t i = 0; i < count; i++) {
		const struct frame *frame = &view->frames[paths[i].frame];

		if (!i || paths[i].label != paths[i - 1].label) {
			callers[n++] = (struct caller){.label = paths[i].label};
			heaviest = 0;
		}
		add_most(&callers[n - 1].value.bytes, paths[i].value.bytes);
		add_most(&callers[n - 1].value.blocks, paths[i].value.blocks);
		if (paths[i].value.bytes >= heaviest) {
			heaviest = paths[i].value.bytes;
			callers[n - 1].function = intern_get(&view->names, frame->name);
			callers[n - 1].file = intern_get(&view->texts, frame->file);
			callers[n - 1].line = frame->line;
			callers[n - 1].node = paths[i].at.node;
			callers[n - 1].frame = paths[i].at.index;
		}
	}
	qsort(callers, n, sizeof(*callers), callers_heaviest_first);
	return n;
}

static size_t keep_label(struct path *paths, size_t count, uint32_t label)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		if (paths[i].label == label)
			paths[kept++] = paths[i];
	return kept;
}

int query_callers(struct view *view, const struct groups *backtraces, const struct group *site,
		  struct caller *ret_list, size_t most, size_t *ret_count)
{
	cleanup(cleanup_free) struct path *paths = calloc(backtraces->count + 1, sizeof(*paths));
	cleanup(cleanup_free) struct caller *callers =
		calloc(backtraces->count + 1, sizeof(*callers));
	uint64_t whole = site->value.bytes;
	size_t count, found = 0;
	struct hiding hiding;
	struct filter filter;
	bool parted = false;
	int r;

	if (!paths || !callers)
		return -ENOMEM;
	filter_init(&filter);
	filter.hide = backtraces->hide;
	r = hiding_of(&hiding, view, &filter, NULL);
	if (r < 0)
		return r;
	count = callers_collect(view, backtraces, &hiding, site, paths);
	while (!parted && found < most) {
		size_t functions;

		count = callers_step(view, paths, count);
		functions = sum(view, paths, count, callers);
		if (!functions)
			break;
		parted = callers[0].value.bytes < whole / 100 * MOST_PERCENT;
		for (size_t i = 0; i < (parted ? functions : 1) && found < most; i++) {
			ret_list[found] = callers[i];
			ret_list[found++].parted = parted;
		}
		whole = callers[0].value.bytes;
		count = keep_label(paths, count, callers[0].label);
	}
	*ret_count = found;
	return 0;
}
