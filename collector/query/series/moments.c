/* What each function had in use at given moments. See moments.h. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/query/match/matcher.h"
#include "collector/query/moments.h"
#include "collector/query/query.h"
#include "collector/query/series/parted.h"
#include "collector/query/sums/whole_sums.h"
#include "collector/query/sweep/cursor.h"
#include "collector/query/time/bands.h"

#include "base/ban.h"

void moments_done(struct moments *m)
{
	free(m->groups);
	free(m->bytes);
	*m = (struct moments){0};
}

static int moments_name_groups(struct moments *m, const struct view *view,
			       const struct hiding *hiding, const struct parted *parted)
{
	m->groups = calloc((size_t)parted->groups + 1, sizeof(*m->groups));
	if (!m->groups)
		return -ENOMEM;
	for (; m->count < parted->groups; m->count++) {
		uint32_t node = parted->example[m->count];
		const struct frame *frame =
			&view->frames[cursor_frame(view, cursor_at_site(view, hiding, node))];

		m->groups[m->count] = (struct moment_group){
			.function = intern_get(&view->names, frame->name),
			.module = intern_get(&view->texts, frame->module),
			.node = node,
		};
	}
	return 0;
}

/* Band 0 of the changes holds stacks of no group, which no row has. */
static int moments_follow(struct moments *m, const struct matcher *matcher,
			  const struct parted *parted, const uint64_t *moments, uint32_t count,
			  struct err_text *err)
{
	const struct history_of of = {.matcher = matcher, .nodes = true};
	const struct bands_question q = {
		.moments = moments,
		.moment_count = count,
		.count = parted->groups + 1,
		.of_node = parted->of_node,
		.nodes = parted->nodes,
	};

	m->stride = q.count;
	m->bytes = calloc((size_t)q.moment_count * q.count, sizeof(*m->bytes));
	return m->bytes ? bands_at(&of, &q, m->bytes, err) : -ENOMEM;
}

static int moments_ask(struct moments *m, struct view *view, const struct matcher *matcher,
		       const uint64_t *moments, uint32_t count, struct err_text *err)
{
	cleanup(parted_done) struct parted parted = {0};
	const struct whole_sums *whole;
	struct hiding hiding;
	int r = hiding_of(&hiding, view, matcher->filter, err);

	if (!r)
		r = view_whole_sums(view, matcher->filter, 0, &whole, err);
	if (!r)
		r = parted_init(&parted, view, &hiding, &whole->sums, GROUP_BY_FUNCTION);
	if (!r)
		r = moments_name_groups(m, view, &hiding, &parted);
	return r ? r : moments_follow(m, matcher, &parted, moments, count, err);
}

int query_moments(struct view *view, const struct filter *filter, const uint64_t *moments,
		  uint32_t count, struct moments *ret_moments, struct err_text *err)
{
	struct moments answer = {0};
	struct matcher m;
	int r = view_prepare(view, err);

	if (!r)
		r = matcher_init(&m, view, filter, err);
	if (r < 0)
		return r;
	m.hides_survivors = false;
	r = moments_ask(&answer, view, &m, moments, count, err);
	matcher_done(&m);
	if (r < 0) {
		moments_done(&answer);
		return r == -ENOMEM ? err_set(err, r, "out of memory") : r;
	}
	*ret_moments = answer;
	return 0;
}
