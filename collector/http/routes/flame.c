/* /data/ID/flame: the tree of frames as columns, for a page that draws it itself. export/flame.c
 * describes the columns. */
#include <errno.h>

#include "base/cleanup.h"
#include "collector/answers/results.h"
#include "collector/answers/json.h"
#include "collector/http/routes/base.h"
#include "collector/http/server/routes.h"
#include "collector/http/server/sources.h"
#include "collector/http/routes/what.h"

#include "base/ban.h"

#define COUNT_USUAL 200000

const struct route_parameter flame_parameters[] = {
	WHAT_VALUE,
	WHAT_AT,
	WHAT_PREVIEW,
	{"base", what_base, "ID or ID@TIME", "what has changed since: both sides of each frame"},
	{"reversed", what_reversed, "true or false",
	 "from the functions that allocate to their callers; default false"},
	{"count", what_number, "whole number",
	 "at most so many nodes: those with fewest bytes are left out; default 200000"},
	{0},
};

static int answer(struct exchange *x, const struct what *what, const struct tree *tree,
		  const struct tree_diff *diff)
{
	struct json json;
	int r;

	json_answer(&json, x);
	r = json_flame(&json, tree,
		       &(struct flame_options){.total = diff ? &diff->now_total : &tree->total,
					       .base_total = diff ? &diff->base_total : NULL,
					       .changes = diff ? diff->changes : NULL,
					       .count = what->count,
					       .cancelled = &x->cancelled});
	json_end(&json, '}');
	return r ? r : buf_error(&x->out);
}

static int answer_difference(struct exchange *x, const struct what *what,
			     const struct diff_side *base, const struct diff_side *now)
{
	cleanup(tree_diff_done) struct tree_diff diff = {0};
	int r = query_tree_diff(base, now, &diff, &x->err);

	return r ? r : answer(x, what, &diff.tree, &diff);
}

static int answer_tree(struct exchange *x, const struct what *what)
{
	cleanup(tree_done) struct tree tree = {0};
	cleanup(tree_done) struct tree reversed = {0};
	int r = query_tree(x->source->view, &what->filter, what->value, what->at_ns, &tree,
			   &x->err);

	if (!r && what->reversed)
		r = tree_reversed(&tree, 1, 1,
				  what->count < UINT32_MAX ? (uint32_t)what->count : UINT32_MAX,
				  &reversed);
	return r ? r : answer(x, what, what->reversed ? &reversed : &tree, NULL);
}

int flame_step(struct exchange *x)
{
	cleanup(what_done) struct what what;
	int r;

	what_init(&what, x);
	what.count = COUNT_USUAL;
	r = read_parameters(x, flame_parameters, &what, &what.filter);
	if (r < 0)
		return r;
	if (what.base[0] && what.reversed)
		return err_set(&x->err, -EINVAL, "reversed does not go with base");
	return what.base[0] ? base_ask_both(x, flame_parameters, &what, answer_difference)
			    : answer_tree(x, &what);
}
