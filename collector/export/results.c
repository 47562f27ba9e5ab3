/* Results of queries as JSON. See results.h. */
#include "collector/export/results.h"

#include "collector/export/export.h"

#include "base/ban.h"

void json_usage(struct json *json, const char *key, const struct usage *usage)
{
	json_object(json, key);
	json_u64(json, "bytes", usage->bytes);
	json_u64(json, "blocks", usage->blocks);
	if (usage->bytes_error > 0 || usage->blocks_error > 0) {
		json_double(json, "bytes_error", usage->bytes_error);
		json_double(json, "blocks_error", usage->blocks_error);
		json_u64(json, "samples", usage->samples);
	}
	json_end(json, '}');
}

static void json_site(struct json *json, const char *function, const char *file, uint32_t line,
		      const char *module)
{
	json_string(json, "function", function);
	json_string(json, "file", file);
	json_u64(json, "line", line);
	json_string(json, "module", module);
}

void json_group(struct json *json, const struct group *g)
{
	json_site(json, g->function, g->file, g->line, g->module);
	json_u64(json, "backtrace_id", g->node);
	json_usage(json, "value", &g->value);
	json_usage(json, "allocated", &g->allocated);
	json_usage(json, "leaked", &g->leaked);
	json_usage(json, "temporary", &g->temporary);
	json_u64(json, "min_size", g->min_size);
	json_u64(json, "max_size", g->max_size);
	json_u64(json, "first_ns", g->first_ns);
	json_u64(json, "last_ns", g->last_ns);
}

void json_groups(struct json *json, const struct groups *groups, uint64_t skip, uint64_t count)
{
	json_usage(json, "total", &groups->total);
	json_u64(json, "group_count", groups->count);
	json_array(json, "groups");
	for (size_t i = skip; i < groups->count && i - skip < count; i++) {
		json_object(json, NULL);
		json_group(json, &groups->list[i]);
		json_end(json, '}');
	}
	json_end(json, ']');
}

void json_report(struct json *json, const struct report *r)
{
	json_usage(json, "allocated", &r->allocated);
	json_usage(json, "temporary", &r->temporary);
	json_usage(json, "leaked", &r->leaked);
	json_usage(json, "peak", &r->peak);
	json_u64(json, "peak_ns", r->peak_ns);
	json_usage(json, "culled", &r->culled.matched);
	json_usage(json, "culled_left_out", &r->culled.unknown);
	json_u64(json, "allocations", r->allocations);
	json_u64(json, "frees", r->frees);
	json_u64(json, "reallocations", r->reallocations);
	json_u64(json, "failed", r->failed);
	json_u64(json, "distinct_backtraces", r->distinct_stacks);
	json_u64(json, "threads", r->threads);
	json_u64(json, "modules", r->modules);
}

/* ---- over time ---- */

static double start_ms(const struct timeline_bucket *b, uint64_t start_wall_ns)
{
	return (double)((start_wall_ns + b->start_ns) / 1000000);
}

#define COLUMN(name, write, expression)                                                            \
	do {                                                                                       \
		json_array(json, name);                                                            \
		for (uint32_t i = 0; i < t->count; i++) {                                          \
			const struct timeline_bucket *b = &t->list[i];                             \
                                                                                                   \
			write(json, NULL, expression);                                             \
		}                                                                                  \
		json_end(json, ']');                                                               \
	} while (0)

void json_timeline(struct json *json, const struct timeline *t, uint64_t start_wall_ns)
{
	COLUMN("xs", json_double, start_ms(b, start_wall_ns));
	COLUMN("size_delta", json_i64, b->bytes_change);
	COLUMN("count_delta", json_i64, b->blocks_change);
	COLUMN("allocated_size", json_u64, b->bytes_max);
	COLUMN("allocated_count", json_u64, b->blocks_max);
	COLUMN("allocations", json_u64, b->allocations);
	COLUMN("deallocations", json_u64, b->deallocations);
	COLUMN("start_ns", json_u64, b->start_ns);
	COLUMN("allocated_size_min", json_u64, b->bytes_min);
	COLUMN("allocated_count_min", json_u64, b->blocks_min);
	COLUMN("allocated_size_last", json_u64, b->bytes);
	COLUMN("allocated_count_last", json_u64, b->blocks);
	COLUMN("allocations_size", json_u64, b->allocated_bytes);
	COLUMN("deallocations_size", json_u64, b->freed_bytes);
	json_u64(json, "width_ns", t->width_ns);
	json_u64(json, "end_ns", t->to_ns);
}

void json_series(struct json *json, const struct timeline *t, const struct series_list *series,
		 enum export_weight weight)
{
	json_array(json, "series");
	for (uint32_t k = 0; k < series->count; k++) {
		const struct series *s = &series->list[k];

		json_object(json, NULL);
		json_string(json, "name", s->name);
		if (s->function || s->module)
			json_site(json, s->function, s->file, s->line, s->module);
		if (s->node)
			json_u64(json, "backtrace_id", s->node);
		json_u64(json, "most", s->most);
		json_array(json, weight == EXPORT_BYTES ? "allocated_size" : "allocated_count");
		for (uint32_t i = 0; i < t->count; i++)
			json_u64(json, NULL, s->values[i]);
		json_end(json, ']');
		json_end(json, '}');
	}
	json_end(json, ']');
}

/* ---- sizes and lifetimes ---- */

static void json_classes(struct json *json, const char *key, const struct histogram_class *list,
			 size_t count, const char *from, const char *to, bool leaked)
{
	json_array(json, key);
	for (size_t i = 0; i < count; i++) {
		json_object(json, NULL);
		json_u64(json, from, list[i].from);
		if (list[i].to != UINT64_MAX)
			json_u64(json, to, list[i].to);
		json_usage(json, "allocated", &list[i].usage);
		if (leaked)
			json_usage(json, "leaked", &list[i].leaked);
		json_end(json, '}');
	}
	json_end(json, ']');
}

void json_histogram(struct json *json, const struct histogram *h)
{
	json_usage(json, "total", &h->total);
	json_classes(json, "sizes", h->sizes, h->size_count, "size_min", "size_max", true);
	json_classes(json, "lifetimes", h->lifetimes, h->lifetime_count, "lifetime_min_ns",
		     "lifetime_max_ns", false);
	json_usage(json, "leaked", &h->leaked);
	json_usage(json, "end_unknown", &h->unknown);
}

/* ---- leaks ---- */

static void json_survivor(struct json *json, const struct survivor *s)
{
	json_object(json, NULL);
	json_site(json, s->function, s->file, s->line, s->module);
	json_u64(json, "backtrace_id", s->node);
	json_u64(json, "suspect_bytes", s->suspect_bytes);
	json_usage(json, "value", &s->in_use);
	json_usage(json, "old", &s->old);
	json_usage(json, "young", &s->young);
	json_usage(json, "allocated", &s->allocated);
	json_bool(json, "whole_group_leaked", s->whole_group);
	json_u64(json, "age_min_ns", s->age_min_ns);
	json_u64(json, "age_max_ns", s->age_max_ns);
	if (!s->whole_group)
		json_u64(json, "longest_lifetime_ns", s->lifetime_max_ns);
	json_end(json, '}');
}

void json_survivors(struct json *json, const struct survivors *s, uint64_t skip, uint64_t count)
{
	json_usage(json, "total", &s->in_use);
	json_usage(json, "old", &s->old);
	json_usage(json, "young", &s->young);
	json_u64(json, "suspect_bytes", s->suspect_bytes);
	json_u64(json, "young_ns", s->young_ns);
	json_u64(json, "group_count", s->count);
	json_array(json, "groups");
	for (size_t i = skip; i < s->count && i - skip < count; i++)
		json_survivor(json, &s->list[i]);
	json_end(json, ']');
}

/* ---- differences ---- */

static void json_entry(struct json *json, const struct diff_entry *e)
{
	json_object(json, NULL);
	json_site(json, e->function, e->file, e->line, e->module);
	if (e->base_node != NO_NODE)
		json_u64(json, "base_backtrace_id", e->base_node);
	if (e->new_node != NO_NODE)
		json_u64(json, "backtrace_id", e->new_node);
	json_string(json, "kind",
		    e->base_node == NO_NODE  ? "added"
		    : e->new_node == NO_NODE ? "removed"
					     : "changed");
	json_i64(json, "bytes", e->bytes);
	json_i64(json, "blocks", e->blocks);
	if (e->bytes_error > 0)
		json_double(json, "bytes_error", e->bytes_error);
	json_usage(json, "base", &e->base);
	json_usage(json, "new", &e->now);
	json_end(json, '}');
}

void json_diff(struct json *json, const struct diff *d, uint64_t skip, uint64_t count)
{
	json_usage(json, "base", &d->base);
	json_usage(json, "new", &d->now);
	json_i64(json, "bytes", (int64_t)(d->now.bytes - d->base.bytes));
	json_i64(json, "blocks", (int64_t)(d->now.blocks - d->base.blocks));
	json_u64(json, "added_bytes", d->added_bytes);
	json_u64(json, "added_blocks", d->added_blocks);
	json_u64(json, "removed_bytes", d->removed_bytes);
	json_u64(json, "removed_blocks", d->removed_blocks);
	json_u64(json, "grown_bytes", d->grown_bytes);
	json_u64(json, "shrunk_bytes", d->shrunk_bytes);
	json_u64(json, "added_count", d->added);
	json_u64(json, "removed_count", d->removed);
	json_u64(json, "changed_count", d->changed);
	json_u64(json, "same_count", d->same);
	json_array(json, "groups");
	for (size_t i = skip; i < d->count && i - skip < count; i++)
		json_entry(json, &d->list[i]);
	json_end(json, ']');
}

/* ---- fragmentation ---- */

static double part_of(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

static void json_region(struct json *json, const struct heap_region *r, uint64_t page_size)
{
	json_object(json, NULL);
	json_u64(json, "address", r->address);
	json_u64(json, "size", r->size);
	json_string(json, "name", r->name);
	json_u64(json, "resident_bytes", r->resident);
	json_u64(json, "in_use_blocks", r->blocks);
	json_u64(json, "in_use_bytes", r->bytes);
	json_u64(json, "page_bytes", r->pages * page_size);
	json_end(json, '}');
}

void json_fragmentation(struct json *json, const struct fragmentation *f)
{
	uint64_t page_bytes = f->pages * f->page_size;

	json_u64(json, "at_ns", f->at_ns);
	json_u64(json, "in_use_blocks", f->blocks);
	json_u64(json, "in_use_bytes", f->bytes);
	json_u64(json, "page_size", f->page_size);
	json_u64(json, "pages", f->pages);
	json_u64(json, "page_bytes", page_bytes);
	json_double(json, "page_fill", part_of(f->bytes, page_bytes));
	json_array(json, "pages_by_fill");
	for (unsigned i = 0; i < FRAGMENTATION_CLASSES; i++) {
		json_object(json, NULL);
		json_double(json, "fill_min", (double)i / FRAGMENTATION_CLASSES);
		json_u64(json, "pages", f->pages_of[i]);
		json_u64(json, "in_use_bytes", f->bytes_of[i]);
		json_end(json, '}');
	}
	json_end(json, ']');
	json_bool(json, "sampled", f->sampled);
	json_bool(json, "gathered", f->gathered);
	if (!f->gathered)
		return;
	json_u64(json, "maps_ns", f->maps_ns);
	json_u64(json, "resident_bytes", f->resident);
	json_double(json, "fragmentation", f->bytes < f->resident ? 1 - part_of(f->bytes, f->resident) : 0);
	json_array(json, "heap_regions");
	for (size_t i = 0; i < f->region_count; i++)
		json_region(json, &f->regions[i], f->page_size);
	json_end(json, ']');
}
