/* Sums up what suppressions leave out: by stack, then by pattern. If no stack is suppressed, no row
 * is read. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/saturated.h"
#include "collector/query/match/matcher.h"
#include "collector/query/match/suppress.h"
#include "collector/query/match/view.h"
#include "collector/query/sums/node_sums.h"
#include "collector/query/sums/whole_sums.h"
#include "collector/query/time/peak.h"

#include "base/ban.h"

static int most_suppressed_first(const void *a, const void *b)
{
	const struct suppressed_by *x = a, *y = b;

	if (x->usage.bytes != y->usage.bytes)
		return x->usage.bytes > y->usage.bytes ? -1 : 1;
	if (x->usage.blocks != y->usage.blocks)
		return x->usage.blocks > y->usage.blocks ? -1 : 1;
	return strcmp(x->pattern, y->pattern);
}

static int suppressed_list(const struct matcher *m, const struct node_sums *sums, enum value value,
			   struct suppressed *out)
{
	const struct suppressions *s = m->filter->suppress;
	size_t most = s->count + known_suppressions_count;
	struct tally *tallies = calloc(most + 1, sizeof(*tallies)), total = {0};

	out->list = calloc(most + 1, sizeof(*out->list));
	if (!tallies || !out->list) {
		free(tallies);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < sums->count; i++) {
		uint32_t node = sums->list[i].node;
		uint32_t by = node <= m->nodes ? m->node_suppressed[node] : 0;
		struct tally tally = node_sum_tally(sums, &sums->list[i], value);

		if (by) {
			tally_merge(&tallies[by], &tally);
			tally_merge(&total, &tally);
		}
	}
	for (uint32_t by = 1; by <= most; by++) {
		struct suppressed_by one = {.usage = tally_usage(&tallies[by])};

		one.pattern = suppression_pattern(s, by, &one.about);
		if (one.usage.blocks)
			out->list[out->count++] = one;
	}
	out->total = tally_usage(&total);
	free(tallies);
	qsort(out->list, out->count, sizeof(*out->list), most_suppressed_first);
	return 0;
}

/* Returns true if the suppressions are the only condition. The sums of all rows then have the
 * answer. */
static bool asks_nothing_else(const struct filter *f)
{
	return !filter_asked(f) && !f->only && !f->before_start && !f->one_in;
}

static int sum_suppressed(struct view *view, const struct matcher *m, enum value value,
			  uint64_t at_ns, struct suppressed *out, struct err_text *err)
{
	struct node_sums_what what = {.ends = true,
				      .alive = value == VALUE_IN_USE || value == VALUE_PEAK};
	const struct whole_sums *whole;
	struct node_sums sums;
	int r;

	if (!what.alive && asks_nothing_else(m->filter)) {
		r = view_whole_sums(view, m->filter, 0, &whole, err);
		return r ? r : suppressed_list(m, &whole->sums, value, out);
	}
	r = value_moment(view, value, at_ns, m->filter, &what.at_ns, err);
	if (!r)
		r = node_sums_of(&sums, m, view->nodes, &what, err);
	if (r < 0)
		return r;
	r = suppressed_list(m, &sums, value, out);
	node_sums_done(&sums);
	return r;
}

int query_suppressed(struct view *view, const struct filter *filter, enum value value,
		     uint64_t at_ns, struct suppressed *ret_suppressed, struct err_text *err)
{
	struct filter turned = *filter;
	struct suppressed out = {0};
	struct matcher m;
	int r;

	*ret_suppressed = out;
	if (!filter->suppress)
		return 0;
	turned.only_suppressed = true;
	r = view_prepare(view, err);
	if (!r)
		r = matcher_init(&m, view, &turned, err);
	if (r < 0)
		return r;
	if (m.node_suppressed)
		r = sum_suppressed(view, &m, value, at_ns, &out, err);
	matcher_done(&m);
	if (r < 0) {
		suppressed_done(&out);
		return r == -ENOMEM ? err_set(err, r, "out of memory") : r;
	}
	*ret_suppressed = out;
	return 0;
}

void suppressed_done(struct suppressed *suppressed)
{
	free(suppressed->list);
	*suppressed = (struct suppressed){0};
}
