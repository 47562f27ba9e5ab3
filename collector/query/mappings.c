/* Mappings over time, with their calls and their usage. See mappings.h. */
#include "collector/query/mappings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/map.h"
#include "collector/query/matcher.h"
#include "collector/query/ranges.h"
#include "collector/query/view.h"

#include "base/ban.h"

void mappings_done(struct mappings *m)
{
	for (size_t i = 0; i < m->count; i++)
		free(m->list[i].name);
	free(m->list);
	free(m->usage);
	*m = (struct mappings){0};
}

/* ---- from smaps ---- */

struct building {
	struct mappings *to;
	size_t capacity, usage_capacity;
	struct map at; /* start of a region that is there, or was last -> index */
	bool with_usage, failed;
};

static int grow(void **list, size_t *capacity, size_t count, size_t size)
{
	size_t wanted = *capacity ? *capacity * 2 : 256;
	void *grown;

	if (count < *capacity)
		return 0;
	grown = reallocarray(*list, wanted, size);
	if (!grown)
		return -ENOMEM;
	*list = grown;
	*capacity = wanted;
	return 0;
}

static struct mapping mapping_of(const struct map_region *r, uint64_t time_ns)
{
	return (struct mapping){
		.address = r->start,
		.size = r->end - r->start,
		.mapped_ns = time_ns,
		.unmapped_ns = NO_TIME,
		.flags = r->flags,
		.offset = r->offset,
		.inode = r->inode,
		.major = r->major,
		.minor = r->minor,
	};
}

static int add(struct building *b, struct mapping mapping, const char *name)
{
	struct mappings *to = b->to;

	if (to->count == MAPPINGS_MAX) {
		to->left_out++;
		return 0;
	}
	if (grow((void **)&to->list, &b->capacity, to->count, sizeof(*to->list)) < 0)
		return -ENOMEM;
	mapping.name = strdup(name);
	if (!mapping.name)
		return -ENOMEM;
	to->list[to->count++] = mapping;
	return 0;
}

/* An agent that begins anew tells all regions again: what was there goes on. */
static bool goes_on(const struct mapping *m, const struct map_region *r, uint64_t time_ns)
{
	return m->unmapped_ns == time_ns && m->inode == r->inode && m->offset == r->offset &&
	       !strcmp(m->name, r->name);
}

static int on_mapped(struct building *b, const struct map_region *r, uint64_t time_ns)
{
	bool is_new;
	uint64_t *index = map_put(&b->at, r->start, &is_new);

	if (!index)
		return -ENOMEM;
	if (!is_new && goes_on(&b->to->list[*index], r, time_ns)) {
		b->to->list[*index].unmapped_ns = NO_TIME;
		return 0;
	}
	if (b->to->count == MAPPINGS_MAX)
		map_remove(&b->at, r->start, NULL);
	else
		*index = b->to->count;
	return add(b, mapping_of(r, time_ns), r->name);
}

static int on_changed(struct mapping *m, const struct map_region *r)
{
	char *name = strdup(r->name);

	if (!name)
		return -ENOMEM;
	free(m->name);
	m->name = name;
	m->size = r->end - r->start;
	m->flags = r->flags;
	return 0;
}

static int on_used(struct building *b, size_t index, const struct map_region *r, uint64_t time_ns)
{
	struct mappings *to = b->to;
	struct mapping *m = &to->list[index];

	if (r->usage.rss * 1024 > m->peak_rss)
		m->peak_rss = r->usage.rss * 1024;
	if (!b->with_usage)
		return 0;
	if (to->usage_count == MAPPINGS_USAGE_MAX) {
		to->usage_left_out++;
		return 0;
	}
	if (grow((void **)&to->usage, &b->usage_capacity, to->usage_count, sizeof(*to->usage)) < 0)
		return -ENOMEM;
	to->usage[to->usage_count++] =
		(struct mapping_usage){(uint32_t)index, time_ns, r->end - r->start, r->usage};
	return 0;
}

static void on_news(void *context, enum map_news what, const struct map_region *r, uint64_t time_ns)
{
	struct building *b = context;
	uint64_t *index = map_get(&b->at, r->start);
	int error = 0;

	if (b->failed)
		return;
	if (what == MAP_NEWS_MAPPED)
		error = on_mapped(b, r, time_ns);
	else if (index && what == MAP_NEWS_CHANGED)
		error = on_changed(&b->to->list[*index], r);
	else if (index && what == MAP_NEWS_UNMAPPED)
		b->to->list[*index].unmapped_ns = time_ns;
	else if (index && what == MAP_NEWS_USED)
		error = on_used(b, *index, r, time_ns);
	b->failed = error < 0;
}

static int follow_smaps(struct building *b, const char *path, const struct cancel *cancel,
			struct err_text *err)
{
	struct maps_state state = {.news = on_news, .context = b};
	int r = maps_follow(path, NO_TIME, cancel, &state, NULL, err);

	b->to->gathered = state.steps || b->to->count;
	maps_state_done(&state);
	map_done(&b->at);
	return r ? r : b->failed ? err_set(err, -ENOMEM, "out of memory") : 0;
}

/* ---- from calls ---- */

/* The call that made what lies at each mapping's start, and the one that ended it. Readings lag behind calls: what a reading no
 * longer shows was unmapped before it. */
static int find_sources(struct mappings *m, const struct recording *recording)
{
	struct ranges ranges;
	cleanup(cleanup_free) size_t *range_of = calloc(m->count + 1, sizeof(*range_of));
	int r = range_of ? 0 : -ENOMEM;

	ranges_init(&ranges, recording);
	for (size_t i = 0; !r && i < m->count; i++) {
		r = ranges_advance(&ranges, m->list[i].mapped_ns);
		range_of[i] = ranges_find(&ranges, m->list[i].address);
	}
	if (!r)
		r = ranges_advance(&ranges, NO_TIME);
	for (size_t i = 0; !r && i < m->count; i++) {
		struct mapping *mapping = &m->list[i];
		const struct range *range =
			range_of[i] == SIZE_MAX ? NULL : &ranges.list[range_of[i]];

		if (!range)
			continue;
		mapping->source = range->source;
		mapping->mapped_ns = range->source->time_ns;
		if (mapping->unmapped_ns != NO_TIME && range->ended &&
		    range->ended->time_ns <= mapping->unmapped_ns) {
			mapping->end = range->ended;
			mapping->unmapped_ns = range->ended->time_ns;
		}
	}
	ranges_done(&ranges);
	return r;
}

static int list_ranges(struct building *b, const struct recording *recording)
{
	struct ranges ranges;
	int r;

	ranges_init(&ranges, recording);
	r = ranges_advance(&ranges, NO_TIME);
	for (size_t i = 0; !r && i < ranges.count; i++) {
		const struct range *range = &ranges.list[i];

		r = add(b,
			(struct mapping){
				.address = range->start,
				.size = range->end - range->start,
				.mapped_ns = range->source->time_ns,
				.unmapped_ns = range->ended ? range->ended->time_ns : NO_TIME,
				.source = range->source,
				.end = range->ended,
			},
			"");
	}
	ranges_done(&ranges);
	return r;
}

/* ---- questions ---- */

static int by_mapping(const void *a, const void *b)
{
	const struct mapping_usage *x = a, *y = b;

	if (x->mapping != y->mapping)
		return x->mapping < y->mapping ? -1 : 1;
	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

int query_mappings(struct view *view, bool with_usage, const struct cancel *cancel,
		   struct mappings *ret_mappings, struct err_text *err)
{
	struct mappings mappings = {0};
	struct building building = {.to = &mappings, .with_usage = with_usage};
	int r = follow_smaps(&building, recording_path(view->recording), cancel, err);

	if (!r) {
		r = mappings.gathered ? find_sources(&mappings, view->recording)
				      : list_ranges(&building, view->recording);
		if (r < 0)
			err_set(err, r, "out of memory");
	}
	if (r < 0) {
		mappings_done(&mappings);
		return r;
	}
	if (mappings.usage_count)
		qsort(mappings.usage, mappings.usage_count, sizeof(*mappings.usage), by_mapping);
	*ret_mappings = mappings;
	return 0;
}

bool mapping_takes_filter(const char *name)
{
	static const char *const names[] = {
		"from",
		"to",
		"lifetime",
		"address_min",
		"address_max",
		"size_min",
		"size_max",
		"lifetime_min",
		"lifetime_max",
		"backtrace_depth_min",
		"backtrace_depth_max",
		"backtraces",
		"deallocation_backtraces",
		"function_regex",
		"source_regex",
		"negative_function_regex",
		"negative_source_regex",
		"alive_at",
		"alive_at_2",
		"thread",
		"thread_name",
		"module",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

/* One mapping as a block of one row, so that filters mean the same for both. */
static bool passes(const struct matcher *matcher, const struct mapping *m)
{
	uint64_t address = m->address, size = m->size, birth = m->mapped_ns, death = m->unmapped_ns;
	uint32_t stack = m->source ? m->source->stack : 0, death_stack = m->end ? m->end->stack : 0,
		 thread = m->source ? m->source->thread : 0;
	uint8_t end = death == NO_TIME ? BLOCK_IN_USE : BLOCK_FREED;
	struct row_block block = {
		.count = 1,
		.address = &address,
		.size = &size,
		.birth_ns = &birth,
		.death_ns = &death,
		.stack = &stack,
		.death_stack = &death_stack,
		.thread = &thread,
		.end = &end,
	};

	return !matcher->filter->before_start && matcher_row(matcher, &block, 0);
}

int query_mappings_match(struct view *view, const struct filter *filter,
			 const struct mappings *mappings, bool **ret_passes, struct err_text *err)
{
	cleanup(cleanup_free) bool *list = calloc(mappings->count + 1, sizeof(*list));
	struct matcher matcher;
	int r;

	if (!list)
		return err_set(err, -ENOMEM, "out of memory");
	r = matcher_init(&matcher, view, filter, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < mappings->count; i++)
		list[i] = passes(&matcher, &mappings->list[i]);
	matcher_done(&matcher);
	*ret_passes = take_ptr(list);
	return 0;
}
