#pragma once
/*
 * What an answer adds up to, every member of it: another answer hardly adds up to the same. With
 * ask_shown, each number that is added is written there, too: two programs' are compared with
 * diff.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>

#include "collector/columns/row_block.h"
#include "collector/query/match/mappings.h"
#include "collector/query/query.h"
#include "collector/query/sums/fragmentation.h"
#include "collector/recording/info.h"
#include "collector/query/survivors.h"

static FILE *ask_shown;

static inline void ask_digest(uint64_t *d, uint64_t value)
{
	if (ask_shown)
		fprintf(ask_shown, "%" PRIu64 "\n", value);
	*d = (*d ^ value) * 0x9E3779B97F4A7C15ull;
	*d ^= *d >> 29;
}

/* Where numbers are rounded apart in their last bits, these add up to the same. */
static inline void ask_digest_fraction(uint64_t *d, double value)
{
	ask_digest(d, (uint64_t)(int64_t)(value * 1024 + (value < 0 ? -0.5 : 0.5)));
}

static inline void ask_digest_usage(uint64_t *d, const struct usage *usage)
{
	ask_digest(d, usage->blocks);
	ask_digest(d, usage->bytes);
	ask_digest(d, usage->samples);
	ask_digest_fraction(d, usage->blocks_error);
	ask_digest_fraction(d, usage->bytes_error);
}

static inline void ask_digest_text(uint64_t *d, const char *text)
{
	if (ask_shown)
		fprintf(ask_shown, "%s:\n", text ? text : "none");
	for (const char *c = text; c && *c; c++)
		*d = (*d ^ (uint8_t)*c) * 0x9E3779B97F4A7C15ull;
	*d ^= *d >> 29;
	ask_digest(d, text != NULL);
}

static inline void ask_digest_frame(uint64_t *d, const char *function, const char *file,
				    const char *module, uint32_t line)
{
	ask_digest_text(d, function);
	ask_digest_text(d, file);
	ask_digest_text(d, module);
	ask_digest(d, line);
}

static inline void ask_digest_report(uint64_t *d, const struct report *r)
{
	const struct usage *usages[] = {&r->allocated, &r->leaked,	   &r->freed,
					&r->peak,      &r->culled.matched, &r->culled.unknown};
	const uint64_t numbers[] = {r->peak_ns, r->duration_ns, r->allocations,
				    r->frees,	r->failed,	r->distinct_stacks,
				    r->threads, r->modules,	r->reallocations};

	for (size_t i = 0; i < sizeof(usages) / sizeof(*usages); i++)
		ask_digest_usage(d, usages[i]);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		ask_digest(d, numbers[i]);
}

static inline void ask_digest_groups(uint64_t *d, const struct groups *groups)
{
	ask_digest_usage(d, &groups->total);
	ask_digest(d, groups->at_ns);
	ask_digest(d, groups->count);
	for (size_t i = 0; i < groups->count; i++) {
		const struct group *g = &groups->list[i];

		ask_digest(d, g->node);
		ask_digest_frame(d, g->function, g->file, g->module, g->line);
		ask_digest_usage(d, &g->value);
		ask_digest_usage(d, &g->allocated);
		ask_digest_usage(d, &g->leaked);
		ask_digest_usage(d, &g->freed);
		ask_digest(d, g->min_size);
		ask_digest(d, g->max_size);
		ask_digest(d, g->first_ns);
		ask_digest(d, g->last_ns);
	}
}

static inline void ask_digest_kinds(uint64_t *d, const struct kind_groups *groups)
{
	ask_digest_usage(d, &groups->total);
	ask_digest(d, groups->count);
	for (size_t i = 0; i < groups->count; i++) {
		const struct kind_group *g = &groups->list[i];

		ask_digest(d, g->node);
		ask_digest(d, g->kind);
		ask_digest_text(d, g->type);
		ask_digest_frame(d, g->function, g->file, g->module, g->line);
		ask_digest_usage(d, &g->value);
	}
}

static inline void ask_digest_caller(uint64_t *d, const struct caller *c)
{
	ask_digest_frame(d, c->function, c->file, NULL, c->line);
	ask_digest_usage(d, &c->value);
	ask_digest(d, c->parted);
}

static inline void ask_digest_tree(uint64_t *d, const struct tree *tree)
{
	ask_digest(d, tree->count);
	for (size_t i = 0; i < tree->count; i++) {
		const struct tree_node *n = &tree->nodes[i];

		ask_digest_frame(d, n->function, n->file, n->module, n->line);
		ask_digest(d, n->first_child);
		ask_digest(d, n->next_sibling);
		ask_digest(d, n->bytes);
		ask_digest(d, n->blocks);
		ask_digest(d, n->self_bytes);
		ask_digest(d, n->self_blocks);
		ask_digest(d, n->first_ns);
		ask_digest(d, n->last_ns);
		ask_digest(d, n->node);
		ask_digest(d, n->frame);
		ask_digest(d, n->is_inline);
	}
}

static inline void ask_digest_timeline(uint64_t *d, const struct timeline *timeline)
{
	ask_digest(d, timeline->from_ns);
	ask_digest(d, timeline->to_ns);
	ask_digest(d, timeline->width_ns);
	ask_digest(d, timeline->count);
	for (uint32_t i = 0; i < timeline->count; i++) {
		const struct timeline_bucket *b = &timeline->list[i];
		const uint64_t numbers[] = {
			b->start_ns,	  b->bytes,
			b->bytes_min,	  b->bytes_max,
			b->blocks,	  b->blocks_min,
			b->blocks_max,	  (uint64_t)b->bytes_change,
			b->allocations,	  (uint64_t)b->blocks_change,
			b->deallocations, b->allocated_bytes,
			b->freed_bytes,
		};

		for (size_t k = 0; k < sizeof(numbers) / sizeof(*numbers); k++)
			ask_digest(d, numbers[k]);
	}
}

static inline void ask_digest_series(uint64_t *d, const struct series_list *list, uint32_t buckets)
{
	ask_digest(d, list->count);
	for (uint32_t i = 0; i < list->count; i++) {
		const struct series *s = &list->list[i];

		ask_digest_text(d, s->name);
		ask_digest_frame(d, s->function, s->file, s->module, s->line);
		ask_digest(d, s->node);
		ask_digest(d, s->is_rest);
		ask_digest(d, s->most);
		for (uint32_t k = 0; k < buckets; k++)
			ask_digest(d, s->values[k]);
	}
}

static inline void ask_digest_classes(uint64_t *d, const struct histogram_class *list, size_t count)
{
	ask_digest(d, count);
	for (size_t i = 0; i < count; i++) {
		ask_digest(d, list[i].from);
		ask_digest(d, list[i].to);
		ask_digest_usage(d, &list[i].usage);
		ask_digest_usage(d, &list[i].leaked);
	}
}

static inline void ask_digest_survivors(uint64_t *d, const struct survivors *s)
{
	ask_digest_usage(d, &s->in_use);
	ask_digest_usage(d, &s->old);
	ask_digest_usage(d, &s->young);
	ask_digest(d, s->suspect_bytes);
	ask_digest(d, s->young_ns);
	ask_digest(d, s->count);
	for (size_t i = 0; i < s->count; i++) {
		const struct survivor *one = &s->list[i];

		ask_digest(d, one->node);
		ask_digest_frame(d, one->function, one->file, one->module, one->line);
		ask_digest_usage(d, &one->allocated);
		ask_digest_usage(d, &one->in_use);
		ask_digest_usage(d, &one->old);
		ask_digest_usage(d, &one->young);
		ask_digest(d, one->suspect_bytes);
		ask_digest(d, one->whole_group);
		ask_digest(d, one->age_min_ns);
		ask_digest(d, one->age_max_ns);
		ask_digest(d, one->lifetime_max_ns);
	}
}

static inline void ask_digest_diff(uint64_t *d, const struct diff *diff)
{
	const uint64_t numbers[] = {
		diff->count,	       diff->same,
		(uint64_t)diff->bytes, (uint64_t)diff->blocks,
		diff->added_bytes,     diff->added_blocks,
		diff->removed_bytes,   diff->removed_blocks,
		diff->grown_bytes,     diff->shrunk_bytes,
		diff->added,	       diff->removed,
		diff->changed,
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		ask_digest(d, numbers[i]);
	ask_digest_usage(d, &diff->base);
	ask_digest_usage(d, &diff->now);
	for (size_t i = 0; i < diff->count; i++) {
		const struct diff_entry *e = &diff->list[i];

		ask_digest_frame(d, e->function, e->file, e->module, e->line);
		ask_digest(d, e->base_node);
		ask_digest(d, e->new_node);
		ask_digest(d, e->kind);
		ask_digest_usage(d, &e->base);
		ask_digest_usage(d, &e->now);
		ask_digest(d, (uint64_t)e->bytes);
		ask_digest(d, (uint64_t)e->blocks);
		ask_digest_fraction(d, e->bytes_error);
	}
}

static inline void ask_digest_tree_diff(uint64_t *d, const struct tree_diff *diff)
{
	ask_digest_tree(d, &diff->tree);
	ask_digest_usage(d, &diff->base_total);
	ask_digest_usage(d, &diff->now_total);
	for (size_t i = 0; i < diff->tree.count; i++) {
		ask_digest(d, diff->changes[i].base_bytes);
		ask_digest(d, diff->changes[i].base_blocks);
		ask_digest(d, diff->changes[i].now_bytes);
		ask_digest(d, diff->changes[i].now_blocks);
	}
}

static inline void ask_digest_side(uint64_t *d, const struct group_side *side)
{
	ask_digest_usage(d, &side->allocated);
	ask_digest(d, side->leaked_blocks);
	ask_digest(d, side->min_size);
	ask_digest(d, side->max_size);
	ask_digest(d, side->first_ns);
	ask_digest(d, side->last_ns);
}

static inline void ask_digest_allocation_groups(uint64_t *d, const struct allocation_groups *groups)
{
	ask_digest(d, groups->count);
	for (size_t i = 0; i < groups->count; i++) {
		ask_digest(d, groups->list[i].node);
		ask_digest_side(d, &groups->list[i].all);
		ask_digest_side(d, &groups->list[i].matched);
		ask_digest_usage(d, &groups->list[i].culled);
		ask_digest(d, groups->list[i].peak_ns);
	}
}

static inline void ask_digest_fragmentation(uint64_t *d, const struct fragmentation *f)
{
	const uint64_t numbers[] = {f->at_ns,	f->page_size, f->sampled,     f->blocks,
				    f->bytes,	f->pages,     f->gathered,    f->page_bytes,
				    f->maps_ns, f->resident,  f->region_count};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		ask_digest(d, numbers[i]);
	ask_digest_fraction(d, f->page_fill);
	ask_digest_fraction(d, f->fragmentation);
	for (unsigned i = 0; i < FRAGMENTATION_CLASSES; i++) {
		ask_digest_fraction(d, f->by_fill[i].fill_min);
		ask_digest(d, f->by_fill[i].pages);
		ask_digest(d, f->by_fill[i].bytes);
	}
	for (size_t i = 0; i < f->region_count; i++) {
		const struct heap_region *r = &f->regions[i];

		ask_digest_text(d, r->name);
		ask_digest(d, r->address);
		ask_digest(d, r->size);
		ask_digest(d, r->resident);
		ask_digest(d, r->blocks);
		ask_digest(d, r->bytes);
		ask_digest(d, r->pages);
		ask_digest(d, r->page_bytes);
	}
}

/* ---- mappings ---- */

static inline void ask_digest_call(uint64_t *d, const struct other_event_info *call)
{
	ask_digest(d, call != NULL);
	if (!call)
		return;
	ask_digest(d, call->time_ns);
	ask_digest(d, call->address);
	ask_digest(d, call->old_address);
	ask_digest(d, call->size);
	ask_digest(d, call->thread);
	ask_digest(d, call->stack);
	ask_digest(d, call->kind);
}

static inline void ask_digest_look(uint64_t *d, const struct mapping_look *look)
{
	ask_digest_text(d, look->name);
	ask_digest(d, look->offset);
	ask_digest(d, look->inode);
	ask_digest(d, look->major);
	ask_digest(d, look->minor);
	ask_digest(d, look->flags);
}

static inline void ask_digest_map_usage(uint64_t *d, const struct map_usage *u)
{
	const uint64_t numbers[] = {u->rss,	     u->pss,	       u->shared_clean,
				    u->swap,	     u->private_clean, u->private_dirty,
				    u->shared_dirty, u->anonymous};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		ask_digest(d, numbers[i]);
}

static inline void ask_digest_mapping(uint64_t *d, const struct mapping *m)
{
	const uint64_t numbers[] = {m->address,	       m->size,		m->mapped_ns,
				    m->unmapped_ns,    m->seen,		m->peak_rss,
				    m->peak_estimated, m->first_region, m->region_count};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		ask_digest(d, numbers[i]);
	if (m->seen)
		ask_digest_look(d, &m->look);
	ask_digest_call(d, m->source);
	ask_digest_call(d, m->end);
}

static inline void ask_digest_region(uint64_t *d, const struct mapping_region *r)
{
	const uint64_t numbers[] = {r->mapping, r->seen, r->read,    r->estimated,
				    r->address, r->size, r->from_ns, r->to_ns};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		ask_digest(d, numbers[i]);
	if (r->seen)
		ask_digest_look(d, &r->look);
	ask_digest_map_usage(d, &r->usage);
	ask_digest_call(d, r->end);
	if (r->end) {
		ask_digest(d, r->end_address);
		ask_digest(d, r->end_size);
	}
}

static inline void ask_digest_mappings(uint64_t *d, const struct mappings *m)
{
	ask_digest(d, m->count);
	ask_digest(d, m->region_count);
	ask_digest(d, m->usage_count);
	ask_digest(d, m->gathered);
	ask_digest(d, m->left_out);
	ask_digest(d, m->usage_left_out);
	for (uint32_t i = 0; i < m->count; i++)
		ask_digest_mapping(d, &m->list[i]);
	for (uint32_t i = 0; i < m->region_count; i++)
		ask_digest_region(d, &m->regions[i]);
	for (uint32_t i = 0; i < m->usage_count; i++) {
		ask_digest(d, m->usage[i].mapping);
		ask_digest(d, m->usage[i].read);
		ask_digest(d, m->usage[i].estimated);
		ask_digest(d, m->usage[i].time_ns);
		ask_digest(d, m->usage[i].size_bytes);
		ask_digest_map_usage(d, &m->usage[i].usage);
	}
}

/* ---- rows ---- */

static inline void ask_digest_row(uint64_t *d, const struct row_block *b, uint32_t i)
{
	const uint64_t numbers[] = {
		b->address[i],
		b->size[i],
		b->birth_ns[i],
		b->death_ns[i],
		b->stack[i],
		b->death_stack[i],
		b->thread[i],
		b->death_thread[i],
		b->kind[i],
		b->chain_previous[i],
		b->chain_next[i],
		b->end[i],
		b->weight ? b->weight[i] : 0,
	};

	for (size_t k = 0; k < sizeof(numbers) / sizeof(*numbers); k++)
		ask_digest(d, numbers[k]);
	if (b->end[i] != BLOCK_IN_USE)
		ask_digest(d, row_death_kind(b, i));
}
