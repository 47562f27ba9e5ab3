/*
 * Ranks leaks by survival. A block that is in use at the end need not be a leak: it may be young.
 * The evidence for a leak is that blocks of the same call site that reached the same age were not
 * freed any more.
 *
 * For each call site, the lifetimes of freed blocks and the ages of blocks in use at the end are
 * counted in classes (two per doubling of the time). R(a) blocks reached the age class a, and F(a)
 * of them were freed later. A block in use at that age will be freed with a probability of about
 * F(a) / R(a) (the life-table estimate of a survival function, with blocks in use censored at their
 * age). The call site's *suspect bytes* are the sum of size x (1 - F(a) / R(a)) over its blocks in
 * use.
 *
 * A block is *young* if at its age most of the site's blocks were still to be freed, F(a) / R(a) >
 * 1/2, or if it is younger than the time that the question gives. Young blocks are listed
 * separately and add no suspect bytes.
 *
 * A program that goes on may free what it holds later. What it built at its start and keeps is no
 * leak then, although none of it was ever freed; a leak goes on growing. So a call site's suspect
 * bytes are at most twice those of its blocks that were allocated in the later half of the time:
 * what it would hold if it had always grown as it did then.
 *
 * "Call site" stands for any group: backtraces and functions are judged each by its own blocks.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "heapcast.pb-c.h"
#include "collector/query/match/matcher.h"
#include "collector/query/sums/survival_sites.h"
#include "collector/query/sums/whole_sums.h"
#include "collector/query/sweep/cursor.h"
#include "collector/recording/info.h"
#include "collector/recording/recording.h"
#include "collector/query/survivors.h"

#include "base/ban.h"

#define YOUNG_CHANCE 0.5 /* chance of being freed later; a block with a higher one is young */
#define YOUNG_PART   100 /* by default a block younger than 1/100 of the recording is young */

/* Splits a site's blocks in use into old and young. Goes from the oldest class down, so that
 * `freed` and `reached` are known for each class. */
static struct survivor survival_judge(const struct survival_sites *s,
				      const struct survival_site *site)
{
	const struct frame *frame = &s->view->frames[site->frame];
	struct tally old = {0}, young = site->young, all = young;
	uint64_t freed = 0, reached = 0;
	double suspect = 0, late = 0;

	for (unsigned class = CLASSES; class -- > 0;) {
		const struct survival_age *age;
		struct tally here;
		double chance;

		if (!site->age_index[class])
			continue;
		age = &site->ages[site->age_index[class] - 1];
		here = survival_old(age);
		freed += age->freed;
		reached += age->freed + age->alive;
		tally_merge(&all, &here);
		if (!here.blocks && !tally_sampled(&here))
			continue;
		chance = (double)freed / (double)reached;
		tally_merge(chance > YOUNG_CHANCE ? &young : &old, &here);
		if (chance > YOUNG_CHANCE)
			continue;
		suspect += (double)tally_usage(&here).bytes * (1 - chance);
		late += (double)age->late_bytes * (1 - chance);
	}
	if (s->since_ns != NO_TIME && suspect > 2 * late)
		suspect = 2 * late;
	return (struct survivor){
		.node = site->node,
		.function = intern_get(&s->view->names, frame->name),
		.file = intern_get(&s->view->texts, frame->file),
		.module = intern_get(&s->view->texts, frame->module),
		.line = s->keys.grouping == GROUP_BY_FUNCTION ? 0 : frame->line,
		.allocated = tally_usage(&site->allocated),
		.freed = tally_usage(&site->freed),
		.in_use = tally_usage(&all),
		.late = tally_usage(&site->late),
		.old = tally_usage(&old),
		.young = tally_usage(&young),
		.suspect_bytes = (uint64_t)(suspect + 0.5),
		.whole_group = !freed,
		.age_min_ns = site->age_min,
		.age_max_ns = site->age_max,
		.lifetime_max_ns = site->lifetime_max,
		.min_size = site->min_size,
		.max_size = site->max_size,
		.first_ns = site->first_ns,
		.last_ns = site->last_ns,
	};
}

static int most_suspect_first(const void *a, const void *b)
{
	const struct survivor *x = a, *y = b;

	if (x->suspect_bytes != y->suspect_bytes)
		return x->suspect_bytes > y->suspect_bytes ? -1 : 1;
	if (x->in_use.bytes != y->in_use.bytes)
		return x->in_use.bytes > y->in_use.bytes ? -1 : 1;
	if (x->in_use.blocks != y->in_use.blocks)
		return x->in_use.blocks > y->in_use.blocks ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

static void survival_add_usage(struct usage *into, const struct usage *from)
{
	add_most(&into->bytes, from->bytes);
	add_most(&into->blocks, from->blocks);
	into->samples += from->samples;
}

static int list_sites(const struct survival_sites *s, struct survivors *out)
{
	out->list = calloc((size_t)s->count + 1, sizeof(*out->list));
	if (!out->list)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->count; i++) {
		struct survivor one = survival_judge(s, s->list[i]);

		if (!one.in_use.blocks)
			continue;
		out->list[out->count++] = one;
		survival_add_usage(&out->in_use, &one.in_use);
		survival_add_usage(&out->old, &one.old);
		survival_add_usage(&out->young, &one.young);
		add_most(&out->suspect_bytes, one.suspect_bytes);
	}
	qsort(out->list, out->count, sizeof(*out->list), most_suspect_first);
	return 0;
}

/* Returns the start of the later half of the time in which a block could have been allocated that
 * the filter selects and that is not younger than young_ns. NO_TIME: the program has ended. */
static uint64_t later_half(const struct matcher *m, uint64_t young_ns)
{
	const struct filter *f = m->filter;
	const struct process_info *p = recording_process(m->recording);
	uint64_t least = young_ns > f->lifetime_min_ns ? young_ns : f->lifetime_min_ns;
	uint64_t from = f->from_ns, to = m->end_ns > least ? m->end_ns - least : 0;

	if (p->origin.imported || (p->ended && p->end_kind != HEAPCAST__END_KIND__END_DETACHED))
		return NO_TIME;
	if (f->lifetime_max_ns < m->end_ns && m->end_ns - f->lifetime_max_ns > from)
		from = m->end_ns - f->lifetime_max_ns;
	if (f->to_ns < to)
		to = f->to_ns;
	return from < to ? from + (to - from) / 2 : from;
}

/* Without a filter, most of what a row would add to its group is known already. It is half of the
 * question's time. */
static int add_known(struct survival_sites *s, struct view *view, const struct filter *filter,
		     struct err_text *err)
{
	const struct whole_sums *whole;
	int r = view_whole_sums(view, filter, 0, &whole, err);

	return r ? r : survival_add_known(s, &whole->sums);
}

static int survival_ask(struct survival_sites *s, struct view *view, const struct filter *filter,
			const struct survival_sites *asked, struct err_text *err)
{
	struct survival_sites like = *asked;
	struct matcher m;
	int r = matcher_init(&m, view, filter, err);

	if (r < 0)
		return r;
	like.end_ns = m.end_ns;
	if (like.young_ns == NO_TIME)
		like.young_ns = m.end_ns / YOUNG_PART;
	like.since_ns = later_half(&m, like.young_ns);
	like.apart = matcher_sees_survivors(&m);
	like.known = m.everything;
	r = survival_sites_init(s, &like);
	if (!r)
		r = survival_add_rows(s, &m, err);
	if (!r && like.known)
		r = add_known(s, view, filter, err);
	matcher_done(&m);
	return r;
}

int query_survivors_by(struct view *view, const struct filter *filter, enum grouping grouping,
		       uint64_t young_ns, struct survivors *ret_survivors, struct err_text *err)
{
	cleanup(survival_sites_done) struct survival_sites s = {0};
	struct survivors out = {0};
	struct hiding hiding;
	int r = hiding_of(&hiding, view, filter, err);

	if (!r)
		r = survival_ask(&s, view, filter,
				 &(struct survival_sites){.view = view,
							  .hiding = &hiding,
							  .keys.grouping = grouping,
							  .young_ns = young_ns},
				 err);
	if (!r)
		r = list_sites(&s, &out);
	if (r < 0)
		return r == -ENOMEM ? err_set(err, r, "out of memory") : r;
	out.young_ns = s.young_ns;
	out.end_ns = s.end_ns;
	out.since_ns = s.since_ns;
	*ret_survivors = out;
	return 0;
}

int query_survivors(struct view *view, const struct filter *filter, uint64_t young_ns,
		    struct survivors *ret_survivors, struct err_text *err)
{
	return query_survivors_by(view, filter, GROUP_BY_SITE, young_ns, ret_survivors, err);
}

void survivors_done(struct survivors *survivors)
{
	free(survivors->list);
	*survivors = (struct survivors){0};
}
