/*
 * Groups blocks by call site and by the function that the program called: malloc, operator new[]...
 * One pass sums up by node and kind. There are few of these sums; call sites are made from them.
 * Sums of culled blocks have no kind.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/map.h"
#include "collector/columns/row_block.h"
#include "collector/query/sweep/culled.h"
#include "collector/query/sweep/cursor.h"
#include "collector/query/sweep/sweep.h"
#include "collector/query/time/peak.h"
#include "proto/event.h"

#include "base/ban.h"

struct kind_sums {
	struct kind_sum {
		uint64_t key; /* node << 8 | kind; for sites: site << 8 | kind */
		uint64_t heaviest_bytes;
		uint32_t node;
		struct tally tally;
	} * list;
	uint32_t count, capacity;
	struct map by_key; /* key -> index + 1 */
	uint32_t nodes;
	enum value value;
	uint64_t at_ns;
	uint16_t *room; /* for value_select */
};

static int sums_init(struct kind_sums *sums, uint32_t nodes, enum value value, uint64_t at_ns)
{
	*sums = (struct kind_sums){.nodes = nodes, .value = value, .at_ns = at_ns};
	sums->room = malloc(ROWS_PER_BLOCK * sizeof(*sums->room));
	return sums->room ? 0 : -ENOMEM;
}

static void kinds_sums_done(struct kind_sums *sums)
{
	free(sums->list);
	free(sums->room);
	map_done(&sums->by_key);
}

/* Returns the sum of a key, or NULL without memory. Valid until the next call. */
static struct kind_sum *kinds_sum_of(struct kind_sums *sums, uint64_t key)
{
	uint64_t *index = map_put(&sums->by_key, key, NULL);

	if (!index)
		return NULL;
	if (!*index) {
		if (array_reserve(&sums->list, &sums->capacity, (uint64_t)sums->count + 1,
				  sizeof(*sums->list)) < 0)
			return NULL;
		sums->list[sums->count] = (struct kind_sum){.key = key};
		*index = ++sums->count;
	}
	return &sums->list[*index - 1];
}

static uint64_t kinds_key_of(const struct kind_sums *sums, uint32_t node, uint8_t kind)
{
	return (uint64_t)(node <= sums->nodes ? node : 0) << 8 | kind;
}

/* ---- one sweep ---- */

static int kinds_part_new(void *context, void **ret_part)
{
	const struct kind_sums *whole = context;
	struct kind_sums *part = malloc(sizeof(*part));

	if (!part)
		return -ENOMEM;
	*ret_part = part;
	return sums_init(part, whole->nodes, whole->value, whole->at_ns);
}

static int kinds_part_rows(void *context, const struct row_block *block,
			   const struct row_set *matched)
{
	struct kind_sums *part = context;
	struct row_set rows = value_select(part->value, part->at_ns, block, matched, part->room);

	for (uint32_t k = 0; k < rows.count; k++) {
		uint32_t i = row_at(&rows, k);
		struct kind_sum *sum =
			kinds_sum_of(part, kinds_key_of(part, block->stack[i], row_kind(block, i)));

		if (!sum)
			return -ENOMEM;
		tally_add_row(&sum->tally, block, i);
	}
	return 0;
}

static int kinds_part_merge(void *context, void *from)
{
	const struct kind_sums *part = from;

	for (uint32_t i = 0; i < part->count; i++) {
		struct kind_sum *sum = kinds_sum_of(context, part->list[i].key);

		if (!sum)
			return -ENOMEM;
		tally_merge(&sum->tally, &part->list[i].tally);
	}
	return 0;
}

static void kinds_part_free(void *part)
{
	kinds_sums_done(part);
	free(part);
}

static bool part_skips(const void *context, const struct row_block *zone)
{
	const struct kind_sums *sums = context;

	return !value_possible(sums->value, sums->at_ns, zone);
}

static int kinds_add_culled(struct kind_sums *sums, const struct matcher *m)
{
	if (!culled_counts(sums->value))
		return 0;
	culled_each(m, row)
	{
		struct kind_sum *sum = kinds_sum_of(sums, kinds_key_of(sums, row->stack, 0));

		if (!sum)
			return -ENOMEM;
		tally_add_culled(&sum->tally, row);
	}
	return 0;
}

static int kinds_sum_rows(struct kind_sums *sums, const struct matcher *m, struct err_text *err)
{
	int r = sweep_run(&(struct sweep){.matcher = m,
					  .columns = ROWS_STACK | ROWS_SIZE | ROWS_WEIGHT |
						     ROWS_KIND | value_columns(sums->value),
					  .context = sums,
					  .skips = part_skips,
					  .part_new = kinds_part_new,
					  .part_rows = kinds_part_rows,
					  .part_merge = kinds_part_merge,
					  .part_free = kinds_part_free},
			  err);

	return r ? r : kinds_add_culled(sums, m);
}

/* ---- call sites ---- */

static int merge_sites(const struct view *view, const struct hiding *hiding,
		       const struct kind_sums *nodes, struct kind_sums *sites)
{
	for (uint32_t i = 0; i < nodes->count; i++) {
		const struct kind_sum *from = &nodes->list[i];
		uint32_t node = (uint32_t)(from->key >> 8);
		const struct frame *frame =
			&view->frames[cursor_frame(view, cursor_at_site(view, hiding, node))];
		struct kind_sum *site =
			kinds_sum_of(sites, (uint64_t)frame->site << 8 | (from->key & 0xff));
		uint64_t bytes = tally_usage(&from->tally).bytes;

		if (!site)
			return -ENOMEM;
		if (!site->node || bytes > site->heaviest_bytes) {
			site->node = node;
			site->heaviest_bytes = bytes;
		}
		tally_merge(&site->tally, &from->tally);
	}
	return 0;
}

static struct kind_group kinds_group_of(const struct view *view, const struct hiding *hiding,
					const struct kind_sum *sum)
{
	const struct frame *frame =
		&view->frames[cursor_frame(view, cursor_at_site(view, hiding, sum->node))];

	return (struct kind_group){
		.node = sum->node,
		.kind = (uint8_t)sum->key,
		.type = event_kind_name((uint8_t)sum->key),
		.function = intern_get(&view->names, frame->name),
		.file = intern_get(&view->texts, frame->file),
		.module = intern_get(&view->texts, frame->module),
		.line = frame->line,
		.value = tally_usage(&sum->tally),
	};
}

static int kinds_heaviest_first(const void *left, const void *right)
{
	const struct kind_group *a = left, *b = right;

	if (a->value.bytes != b->value.bytes)
		return a->value.bytes > b->value.bytes ? -1 : 1;
	if (a->value.blocks != b->value.blocks)
		return a->value.blocks > b->value.blocks ? -1 : 1;
	return a->node != b->node ? (a->node < b->node ? -1 : 1) : a->kind - b->kind;
}

static int kinds_list_groups(const struct view *view, const struct hiding *hiding,
			     const struct kind_sums *nodes, struct kind_groups *groups)
{
	cleanup(kinds_sums_done) struct kind_sums sites = {0};
	struct tally total = {0};
	int r = merge_sites(view, hiding, nodes, &sites);

	if (!r)
		groups->list = calloc((size_t)sites.count + 1, sizeof(*groups->list));
	if (!groups->list)
		return -ENOMEM;
	for (uint32_t i = 0; i < sites.count; i++) {
		tally_merge(&total, &sites.list[i].tally);
		groups->list[groups->count++] = kinds_group_of(view, hiding, &sites.list[i]);
	}
	groups->total = tally_total(&total, view->recording, nodes->value, nodes->at_ns);
	qsort(groups->list, groups->count, sizeof(*groups->list), kinds_heaviest_first);
	return 0;
}

static int kinds_answer(struct view *view, const struct filter *filter, const struct matcher *m,
			enum value value, uint64_t at_ns, struct kind_groups *groups,
			struct err_text *err)
{
	cleanup(kinds_sums_done) struct kind_sums sums = {0};
	struct hiding hiding;
	uint64_t moment_ns = 0;
	int r = hiding_of(&hiding, view, filter, err);

	if (!r)
		r = value_moment(view, value, at_ns, filter, &moment_ns, err);

	if (!r)
		r = sums_init(&sums, view->nodes, value, moment_ns);
	if (!r)
		r = kinds_sum_rows(&sums, m, err);
	return r ? r : kinds_list_groups(view, &hiding, &sums, groups);
}

int query_kinds(struct view *view, const struct filter *filter, enum value value, uint64_t at_ns,
		struct kind_groups *ret_groups, struct err_text *err)
{
	struct kind_groups groups = {0};
	struct matcher m;
	int r = view_prepare(view, err);

	if (!r)
		r = matcher_init(&m, view, filter, err);
	if (r < 0)
		return r;
	m.hides_survivors &= !value_has_survivors(value);
	r = kinds_answer(view, filter, &m, value, at_ns, &groups, err);
	matcher_done(&m);
	if (r < 0) {
		kind_groups_done(&groups);
		return r == -ENOMEM ? err_set(err, r, "out of memory") : r;
	}
	*ret_groups = groups;
	return 0;
}

void kind_groups_done(struct kind_groups *groups)
{
	free(groups->list);
	*groups = (struct kind_groups){0};
}
