/*
 * Leaks ranked by survival. A block that is in use at the end need not be a leak: it may be young.
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
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/map.h"
#include "proto/culled.h"
#include "collector/columns/row_block.h"
#include "collector/query/sweep/cursor.h"
#include "collector/query/sweep/culled.h"
#include "collector/query/sweep/sweep.h"
#include "collector/query/sweep/tally.h"
#include "collector/query/match/view.h"

#include "base/ban.h"

#define YOUNG_CHANCE 0.5 /* of being freed still: above it a block is young */
#define YOUNG_PART   100 /* of the recording: younger than that is young, unless told otherwise */
#define CLASSES	     96
#define FIRST_SHIFT  10 /* the first class: below 1,024 ns */

struct site {
	uint32_t node, frame;
	uint64_t heaviest;
	struct tally allocated, young; /* young: in use, and younger than young_ns */
	uint64_t freed[CLASSES], alive[CLASSES];
	/* In use, by age. Sampled blocks are summed separately, if there are any. */
	struct {
		uint64_t blocks, bytes;
	} old[CLASSES];
	struct tally *old_sampled;
	uint64_t age_min, age_max, lifetime_max;
};

struct sites {
	const struct view *view;
	const struct hiding *hiding;
	struct site **list;
	uint32_t count, capacity;
	struct site **by_node; /* NULL: not needed yet */
	struct map by_site;    /* index + 1 */
	uint64_t young_ns, end_ns;
	bool apart; /* survivors count as alive, but not as allocated */
};

static void sites_done(struct sites *s)
{
	for (uint32_t i = 0; i < s->count; i++) {
		free(s->list[i]->old_sampled);
		free(s->list[i]);
	}
	free(s->list);
	free(s->by_node);
	map_done(&s->by_site);
}

/* Class 0: below 2^10 ns; then two classes per doubling. */
static unsigned age_class(uint64_t age_ns)
{
	unsigned log, class;

	if (age_ns >> FIRST_SHIFT == 0)
		return 0;
	log = 63 - (unsigned)__builtin_clzll(age_ns);
	class = 1 + 2 * (log - FIRST_SHIFT) + (unsigned)(age_ns >> (log - 1) & 1);
	return class < CLASSES ? class : CLASSES - 1;
}

static struct site *site_new(struct sites *s, uint32_t frame)
{
	struct site *site;

	if (s->count == s->capacity) {
		uint32_t capacity = s->capacity ? 2 * s->capacity : 64;
		struct site **list = realloc(s->list, capacity * sizeof(*list));

		if (!list)
			return NULL;
		s->list = list;
		s->capacity = capacity;
	}
	site = calloc(1, sizeof(*site));
	if (!site)
		return NULL;
	site->frame = frame;
	site->age_min = UINT64_MAX;
	s->list[s->count++] = site;
	return site;
}

static struct site *site_of_frame(struct sites *s, uint32_t frame)
{
	uint64_t *index = map_put(&s->by_site, s->view->frames[frame].site, NULL);

	if (!index || (!*index && !site_new(s, frame)))
		return NULL;
	if (!*index)
		*index = s->count;
	return s->list[*index - 1];
}

static struct site *site_of(struct sites *s, uint32_t node)
{
	struct site *site;

	if (node > s->view->nodes)
		node = 0;
	if (s->by_node[node])
		return s->by_node[node];
	site = site_of_frame(s, cursor_frame(s->view, cursor_at_site(s->view, s->hiding, node)));
	s->by_node[node] = site;
	return site;
}

static struct tally *sampled_of(struct site *site)
{
	if (!site->old_sampled)
		site->old_sampled = calloc(CLASSES, sizeof(*site->old_sampled));
	return site->old_sampled;
}

static struct tally old_of(const struct site *site, unsigned class)
{
	struct tally tally = site->old_sampled ? site->old_sampled[class] : (struct tally){0};

	add_most(&tally.blocks, site->old[class].blocks);
	add_most(&tally.bytes, site->old[class].bytes);
	return tally;
}

static int add_old(struct site *site, unsigned class, const struct row_block *block, uint32_t i)
{
	uint64_t size = block->size[i], weight = row_weight(block, i), blocks = 1;

	if (block->exact)
		blocks = row_counts(block, i);
	if (block->exact || !tally_is_sampled(size, weight)) {
		add_most(&site->old[class].blocks, blocks);
		add_most(&site->old[class].bytes, product_most(blocks, size));
		return 0;
	}
	if (!sampled_of(site))
		return -ENOMEM;
	tally_add_sampled(&site->old_sampled[class], size, weight);
	return 0;
}

static int add_alive(struct sites *s, struct site *site, const struct row_block *block, uint32_t i)
{
	uint64_t birth = block->birth_ns[i], age = s->end_ns > birth ? s->end_ns - birth : 0;
	uint64_t size = block->size[i];
	unsigned class = age_class(age);

	site->alive[class] += block->exact ? row_counts(block, i) : 1;
	if (size >= site->heaviest || !site->node) {
		site->heaviest = size;
		site->node = block->stack[i] <= s->view->nodes ? block->stack[i] : 0;
	}
	if (age < site->age_min)
		site->age_min = age;
	if (age > site->age_max)
		site->age_max = age;
	if (age >= s->young_ns)
		return add_old(site, class, block, i);
	tally_add_row(&site->young, block, i);
	return 0;
}

static int survival_add_row(struct sites *s, struct site *site, const struct row_block *block,
			    uint32_t i)
{
	uint64_t birth = block->birth_ns[i], death = block->death_ns[i], lived;

	if (!s->apart || !row_survivor(block, i))
		tally_add_row(&site->allocated, block, i);
	if (row_leaked(block, i))
		return add_alive(s, site, block, i);
	if (row_freed(block, i)) {
		lived = death > birth ? death - birth : 0;
		site->freed[age_class(lived)] += block->exact ? row_counts(block, i) : 1;
		if (lived > site->lifetime_max)
			site->lifetime_max = lived;
	}
	return 0;
}

/* ---- a part of the rows ---- */

static int sites_init(struct sites *s, const struct view *view, const struct hiding *hiding,
		      uint64_t young_ns, uint64_t end_ns)
{
	*s = (struct sites){.view = view, .hiding = hiding, .young_ns = young_ns, .end_ns = end_ns};
	s->by_node = calloc((size_t)view->nodes + 1, sizeof(*s->by_node));
	return s->by_node ? 0 : -ENOMEM;
}

static int survival_part_new(void *context, void **ret_part)
{
	const struct sites *whole = context;
	struct sites *part = calloc(1, sizeof(*part));
	int r;

	if (!part)
		return -ENOMEM;
	*ret_part = part;
	r = sites_init(part, whole->view, whole->hiding, whole->young_ns, whole->end_ns);
	part->apart = whole->apart;
	return r;
}

static int survival_part_rows(void *part, const struct row_block *block, const struct row_set *rows)
{
	struct sites *s = part;

	for (uint32_t k = 0; k < rows->count; k++) {
		uint32_t i = row_at(rows, k);
		struct site *site = site_of(s, block->stack[i]);

		if (!site || survival_add_row(s, site, block, i) < 0)
			return -ENOMEM;
	}
	return 0;
}

static void part_end(void *part)
{
	struct sites *s = part;

	free(take_ptr(s->by_node));
}

static void survival_part_free(void *part)
{
	sites_done(part);
	free(part);
}

/* `from` holds later rows than `into`. */
static int merge_site(struct site *into, const struct site *from)
{
	if (from->old_sampled && !sampled_of(into))
		return -ENOMEM;
	if (from->node && (from->heaviest >= into->heaviest || !into->node)) {
		into->heaviest = from->heaviest;
		into->node = from->node;
	}
	tally_merge(&into->allocated, &from->allocated);
	tally_merge(&into->young, &from->young);
	for (unsigned class = 0; class < CLASSES; class ++) {
		into->freed[class] += from->freed[class];
		into->alive[class] += from->alive[class];
		add_most(&into->old[class].blocks, from->old[class].blocks);
		add_most(&into->old[class].bytes, from->old[class].bytes);
		if (from->old_sampled)
			tally_merge(&into->old_sampled[class], &from->old_sampled[class]);
	}
	if (from->age_min < into->age_min)
		into->age_min = from->age_min;
	if (from->age_max > into->age_max)
		into->age_max = from->age_max;
	if (from->lifetime_max > into->lifetime_max)
		into->lifetime_max = from->lifetime_max;
	return 0;
}

static int survival_part_merge(void *context, void *part)
{
	struct sites *whole = context;
	const struct sites *s = part;

	for (uint32_t i = 0; i < s->count; i++) {
		struct site *into = site_of_frame(whole, s->list[i]->frame);

		if (!into || merge_site(into, s->list[i]) < 0)
			return -ENOMEM;
	}
	return 0;
}

static void survival_add_culled(struct site *site, const struct culled_row *row)
{
	uint64_t lived = culled_lifetime_least(row->lifetime);

	tally_add_culled(&site->allocated, row);
	site->freed[age_class(lived)] += row->blocks;
	if (lived > site->lifetime_max)
		site->lifetime_max = lived;
}

static int survival_add_rows(struct sites *s, const struct matcher *m, struct err_text *err)
{
	int r = sweep_run(&(struct sweep){.matcher = m,
					  .columns = ROWS_STACK | ROWS_SIZE | ROWS_WEIGHT |
						     ROWS_BIRTH | ROWS_DEATH | ROWS_END,
					  .context = s,
					  .part_new = survival_part_new,
					  .part_rows = survival_part_rows,
					  .part_end = part_end,
					  .part_merge = survival_part_merge,
					  .part_free = survival_part_free},
			  err);

	if (r < 0)
		return r;
	culled_each(m, row)
	{
		struct site *site = site_of(s, row->stack);

		if (!site)
			return -ENOMEM;
		survival_add_culled(site, row);
	}
	return 0;
}

/* ---- result ---- */

/* Splits a site's blocks in use into old and young. Goes from the oldest class down, so that
 * `freed` and `reached` are known for each class. */
static struct survivor survival_judge(const struct sites *s, const struct site *site)
{
	const struct frame *frame = &s->view->frames[site->frame];
	struct tally old = {0}, young = site->young, all = young;
	uint64_t freed = 0, reached = 0;
	double suspect = 0;

	for (unsigned class = CLASSES; class -- > 0;) {
		struct tally here = old_of(site, class);
		double chance;

		freed += site->freed[class];
		reached += site->freed[class] + site->alive[class];
		tally_merge(&all, &here);
		if (!here.blocks && !tally_sampled(&here))
			continue;
		chance = (double)freed / (double)reached;
		tally_merge(chance > YOUNG_CHANCE ? &young : &old, &here);
		if (chance <= YOUNG_CHANCE)
			suspect += (double)tally_usage(&here).bytes * (1 - chance);
	}
	return (struct survivor){
		.node = site->node,
		.function = intern_get(&s->view->names, frame->name),
		.file = intern_get(&s->view->texts, frame->file),
		.module = intern_get(&s->view->texts, frame->module),
		.line = frame->line,
		.allocated = tally_usage(&site->allocated),
		.in_use = tally_usage(&all),
		.old = tally_usage(&old),
		.young = tally_usage(&young),
		.suspect_bytes = (uint64_t)(suspect + 0.5),
		.whole_group = !freed,
		.age_min_ns = site->age_min,
		.age_max_ns = site->age_max,
		.lifetime_max_ns = site->lifetime_max,
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

static int list_sites(const struct sites *s, struct survivors *out)
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

int query_survivors(struct view *view, const struct filter *filter, uint64_t young_ns,
		    struct survivors *ret_survivors, struct err_text *err)
{
	cleanup(sites_done) struct sites s = {0};
	struct survivors out = {0};
	struct hiding hiding;
	struct matcher m;
	int r = hiding_of(&hiding, view, filter, err);

	if (!r)
		r = matcher_init(&m, view, filter, err);
	if (r < 0)
		return r;
	r = sites_init(&s, view, &hiding, young_ns == NO_TIME ? m.end_ns / YOUNG_PART : young_ns,
		       m.end_ns);
	s.apart = matcher_sees_survivors(&m);
	if (!r)
		r = survival_add_rows(&s, &m, err);
	matcher_done(&m);
	if (!r)
		r = list_sites(&s, &out);
	if (r < 0)
		return r == -ENOMEM ? err_set(err, r, "out of memory") : r;
	out.young_ns = s.young_ns;
	*ret_survivors = out;
	return 0;
}

void survivors_done(struct survivors *survivors)
{
	free(survivors->list);
	*survivors = (struct survivors){0};
}
