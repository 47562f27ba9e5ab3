/* Counts blocks by group and age. See survival_sites.h. */
#include "collector/query/sums/survival_sites.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "proto/culled.h"
#include "collector/columns/row_block.h"
#include "collector/query/sums/node_sums.h"
#include "collector/query/sweep/culled.h"
#include "collector/query/sweep/cursor.h"
#include "collector/query/sweep/sweep.h"

#include "base/ban.h"

#define FIRST_SHIFT 10 /* the first class: below 1,024 ns */

static void site_free(struct survival_site *site)
{
	for (uint32_t i = 0; i < site->age_count; i++)
		free(site->ages[i].sampled);
	free(site->ages);
	free(site);
}

void survival_sites_done(struct survival_sites *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		site_free(s->list[i]);
	free(s->list);
	free(s->by_node);
	map_done(&s->by_key);
	group_keys_done(&s->keys);
}

static unsigned age_class(uint64_t age_ns)
{
	unsigned log, class;

	if (age_ns >> FIRST_SHIFT == 0)
		return 0;
	log = 63 - (unsigned)__builtin_clzll(age_ns);
	class = 1 + 2 * (log - FIRST_SHIFT) + (unsigned)(age_ns >> (log - 1) & 1);
	return class < CLASSES ? class : CLASSES - 1;
}

/* Returns the class of ages, which is added if necessary; NULL without memory. */
static struct survival_age *age_of(struct survival_site *site, unsigned class)
{
	uint8_t *index = &site->age_index[class];

	if (*index)
		return &site->ages[*index - 1];
	if (site->age_count == site->age_capacity) {
		uint32_t capacity = site->age_capacity ? 2 * site->age_capacity : 2;
		struct survival_age *ages = realloc(site->ages, capacity * sizeof(*ages));

		if (!ages)
			return NULL;
		site->ages = ages;
		site->age_capacity = capacity;
	}
	site->ages[site->age_count] = (struct survival_age){0};
	*index = (uint8_t)++site->age_count;
	return &site->ages[*index - 1];
}

static struct survival_site *site_new(struct survival_sites *s, uint32_t node, uint32_t frame)
{
	struct survival_site *site;

	if (array_reserve(&s->list, &s->capacity, (uint64_t)s->count + 1, sizeof(*s->list)) < 0)
		return NULL;
	site = calloc(1, sizeof(*site));
	if (!site)
		return NULL;
	site->any = node;
	site->frame = frame;
	site->age_min = site->min_size = site->first_ns = UINT64_MAX;
	s->list[s->count++] = site;
	return site;
}

/* Returns the group of a node whose call site is this frame. */
static struct survival_site *site_of_frame(struct survival_sites *s, uint32_t node, uint32_t frame)
{
	bool by_node = s->keys.grouping == GROUP_BY_BACKTRACE;
	uint64_t key = by_node ? (uint64_t)node + 1
			       : group_key(&s->keys, s->view, &s->view->frames[frame]);
	uint64_t *index = key ? map_put(&s->by_key, key, NULL) : NULL;

	if (!index || (!*index && !site_new(s, node, frame)))
		return NULL;
	if (!*index)
		*index = s->count;
	return s->list[*index - 1];
}

static struct survival_site *site_of(struct survival_sites *s, uint32_t node)
{
	struct survival_site *site;

	if (node > s->view->nodes)
		node = 0;
	if (s->by_node[node])
		return s->by_node[node];
	site = site_of_frame(s, node,
			     cursor_frame(s->view, cursor_at_site(s->view, s->hiding, node)));
	s->by_node[node] = site;
	return site;
}

static struct tally *sampled_of(struct survival_age *age)
{
	if (!age->sampled)
		age->sampled = calloc(1, sizeof(*age->sampled));
	return age->sampled;
}

struct tally survival_old(const struct survival_age *age)
{
	struct tally tally = age->sampled ? *age->sampled : (struct tally){0};

	add_most(&tally.blocks, age->blocks);
	add_most(&tally.bytes, age->bytes);
	return tally;
}

static int add_old(struct survival_age *age, const struct row_block *block, uint32_t i, bool late)
{
	uint64_t size = block->size[i], weight = row_weight(block, i), blocks = 1;

	if (block->exact)
		blocks = row_counts(block, i);
	if (block->exact || !tally_is_sampled(size, weight)) {
		add_most(&age->blocks, blocks);
		add_most(&age->bytes, product_most(blocks, size));
		if (late)
			add_most(&age->late_bytes, product_most(blocks, size));
		return 0;
	}
	if (!sampled_of(age))
		return -ENOMEM;
	tally_add_sampled(age->sampled, size, weight);
	if (late && size)
		add_most(&age->late_bytes, weight);
	return 0;
}

static int add_alive(struct survival_sites *s, struct survival_site *site,
		     const struct row_block *block, uint32_t i)
{
	uint64_t birth = block->birth_ns[i], lived = s->end_ns > birth ? s->end_ns - birth : 0;
	uint64_t size = block->size[i];
	struct survival_age *age = age_of(site, age_class(lived));
	bool late = birth >= s->since_ns;

	if (!age)
		return -ENOMEM;
	age->alive += block->exact ? row_counts(block, i) : 1;
	if (size >= site->heaviest || !site->node) {
		site->heaviest = size;
		site->node = block->stack[i] <= s->view->nodes ? block->stack[i] : 0;
	}
	if (lived < site->age_min)
		site->age_min = lived;
	if (lived > site->age_max)
		site->age_max = lived;
	if (late)
		tally_add_row(&site->late, block, i);
	if (lived >= s->young_ns)
		return add_old(age, block, i, late);
	tally_add_row(&site->young, block, i);
	return 0;
}

static int add_freed(struct survival_site *site, const struct row_block *block, uint32_t i)
{
	uint64_t birth = block->birth_ns[i], death = block->death_ns[i];
	uint64_t lived = death > birth ? death - birth : 0;
	struct survival_age *age = age_of(site, age_class(lived));

	if (!age)
		return -ENOMEM;
	age->freed += block->exact ? row_counts(block, i) : 1;
	if (lived > site->lifetime_max)
		site->lifetime_max = lived;
	return 0;
}

static void site_widen(struct survival_site *site, uint64_t size, uint64_t birth)
{
	if (size < site->min_size)
		site->min_size = size;
	if (size > site->max_size)
		site->max_size = size;
	if (birth < site->first_ns)
		site->first_ns = birth;
	if (birth > site->last_ns)
		site->last_ns = birth;
}

static int survival_add_row(struct survival_sites *s, struct survival_site *site,
			    const struct row_block *block, uint32_t i)
{
	bool counts = !s->known && (!s->apart || !row_survivor(block, i));

	if (!s->known)
		site_widen(site, block->size[i], block->birth_ns[i]);
	if (counts)
		tally_add_row(&site->allocated, block, i);
	if (row_leaked(block, i))
		return add_alive(s, site, block, i);
	if (!row_freed(block, i))
		return 0;
	if (counts)
		tally_add_row(&site->freed, block, i);
	return add_freed(site, block, i);
}

/* ---- a part of the rows ---- */

int survival_sites_init(struct survival_sites *s, const struct survival_sites *like)
{
	*s = (struct survival_sites){.view = like->view,
				     .hiding = like->hiding,
				     .keys.grouping = like->keys.grouping,
				     .young_ns = like->young_ns,
				     .end_ns = like->end_ns,
				     .since_ns = like->since_ns,
				     .apart = like->apart,
				     .known = like->known};
	s->by_node = calloc((size_t)s->view->nodes + 1, sizeof(*s->by_node));
	return s->by_node ? 0 : -ENOMEM;
}

static int survival_part_new(void *context, void **ret_part)
{
	struct survival_sites *part = calloc(1, sizeof(*part));

	if (!part)
		return -ENOMEM;
	*ret_part = part;
	return survival_sites_init(part, context);
}

static int survival_part_rows(void *part, const struct row_block *block, const struct row_set *rows)
{
	struct survival_sites *s = part;

	for (uint32_t k = 0; k < rows->count; k++) {
		uint32_t i = row_at(rows, k);
		struct survival_site *site = site_of(s, block->stack[i]);

		if (!site || survival_add_row(s, site, block, i) < 0)
			return -ENOMEM;
	}
	return 0;
}

static void part_end(void *part)
{
	struct survival_sites *s = part;

	free(take_ptr(s->by_node));
}

static void survival_part_free(void *part)
{
	survival_sites_done(part);
	free(part);
}

static int merge_age(struct survival_age *into, const struct survival_age *from)
{
	if (!into || (from->sampled && !sampled_of(into)))
		return -ENOMEM;
	into->freed += from->freed;
	into->alive += from->alive;
	add_most(&into->blocks, from->blocks);
	add_most(&into->bytes, from->bytes);
	add_most(&into->late_bytes, from->late_bytes);
	if (from->sampled)
		tally_merge(into->sampled, from->sampled);
	return 0;
}

/* `from` holds later rows than `into`. */
static int merge_site(struct survival_site *into, const struct survival_site *from)
{
	if (from->node && (from->heaviest >= into->heaviest || !into->node)) {
		into->heaviest = from->heaviest;
		into->node = from->node;
	}
	tally_merge(&into->allocated, &from->allocated);
	tally_merge(&into->freed, &from->freed);
	tally_merge(&into->young, &from->young);
	tally_merge(&into->late, &from->late);
	for (unsigned class = 0; class < CLASSES; class ++)
		if (from->age_index[class] &&
		    merge_age(age_of(into, class), &from->ages[from->age_index[class] - 1]) < 0)
			return -ENOMEM;
	if (from->age_min < into->age_min)
		into->age_min = from->age_min;
	if (from->age_max > into->age_max)
		into->age_max = from->age_max;
	if (from->lifetime_max > into->lifetime_max)
		into->lifetime_max = from->lifetime_max;
	if (from->min_size <= from->max_size) { /* not known from elsewhere */
		site_widen(into, from->min_size, from->first_ns);
		site_widen(into, from->max_size, from->last_ns);
	}
	return 0;
}

static int survival_part_merge(void *context, void *part)
{
	struct survival_sites *whole = context;
	const struct survival_sites *s = part;

	for (uint32_t i = 0; i < s->count; i++) {
		struct survival_site *into =
			site_of_frame(whole, s->list[i]->any, s->list[i]->frame);

		if (!into || merge_site(into, s->list[i]) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int survival_add_culled(const struct survival_sites *s, struct survival_site *site,
			       const struct culled_row *row)
{
	uint64_t lived = culled_lifetime_least(row->lifetime);
	struct survival_age *age = age_of(site, age_class(lived));

	if (!age)
		return -ENOMEM;
	if (!s->known) {
		site_widen(site, row->size_least, row->first_ns);
		site_widen(site, row->size_most, row->last_ns);
		tally_add_culled(&site->allocated, row);
		tally_add_culled(&site->freed, row);
	}
	age->freed += row->blocks;
	if (lived > site->lifetime_max)
		site->lifetime_max = lived;
	return 0;
}

int survival_add_rows(struct survival_sites *s, const struct matcher *m, struct err_text *err)
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
		struct survival_site *site = site_of(s, row->stack);

		if (!site || survival_add_culled(s, site, row) < 0)
			return -ENOMEM;
	}
	return 0;
}

int survival_add_known(struct survival_sites *s, const struct node_sums *sums)
{
	for (uint32_t i = 0; i < sums->count; i++) {
		const struct node_sum *n = &sums->list[i];
		const struct tally allocated = node_sum_tally(sums, n, VALUE_ALLOCATED),
				   freed = node_sum_tally(sums, n, VALUE_FREED);
		struct survival_site *site = site_of(s, n->node);

		if (!site)
			return -ENOMEM;
		tally_merge(&site->allocated, &allocated);
		tally_merge(&site->freed, &freed);
		site_widen(site, n->min_size, n->first_ns);
		site_widen(site, n->max_size, n->last_ns);
	}
	return 0;
}
