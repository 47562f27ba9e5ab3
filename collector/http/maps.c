/* /data/ID/maps: what was mapped, by whom, and how much of it was in memory over time. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "collector/http/routes.h"
#include "collector/http/sources.h"
#include "collector/http/what.h"
#include "collector/query/mappings.h"

#include "base/ban.h"

#define STEP_BYTES (128u << 10)

enum only { ANY, ONLY_TRUE, ONLY_FALSE };

struct page {
	struct what what;
	enum only jemalloc, bytehound, readable, writable, executable;
	bool with_regions, with_usage, graphs;
	uint64_t id; /* NO_TIME: any */
	uint64_t peak_rss_min, peak_rss_max;
	struct mappings mappings;
	uint32_t *order; /* indices of those that match */
	uint64_t matched, at, end;
	struct json json;
};

static void page_free(void *work)
{
	struct page *page = work;

	mappings_done(&page->mappings);
	what_done(&page->what);
	free(page->order);
	free(page);
}

/* ---- parameters ---- */

/* The page begins with a struct what: its readers fit. */

static int read_only(void *context, const struct view *view, const char *name, const char *value,
		     struct err_text *err)
{
	struct page *page = context;
	enum only *to = !strcmp(name, "jemalloc")    ? &page->jemalloc
			: !strcmp(name, "bytehound") ? &page->bytehound
			: !strcmp(name, "readable")  ? &page->readable
			: !strcmp(name, "writable")  ? &page->writable
						     : &page->executable;

	(void)view;
	if (!strcmp(value, "only_true"))
		*to = ONLY_TRUE;
	else if (!strcmp(value, "only_false"))
		*to = ONLY_FALSE;
	else
		return err_set(err, -EINVAL, "%s takes only_true or only_false, not \"%.60s\"",
			       name, value);
	return 0;
}

static int read_switch(void *context, const struct view *view, const char *name, const char *value,
		       struct err_text *err)
{
	struct page *page = context;
	bool *to = !strcmp(name, "with_regions")	 ? &page->with_regions
		   : !strcmp(name, "with_usage_history") ? &page->with_usage
							 : &page->graphs;

	(void)view;
	return read_switch_value(name, value, to, err);
}

/* The page's names of the filters that are called from and to everywhere else. */
static int read_allocated(void *context, const struct view *view, const char *name,
			  const char *value, struct err_text *err)
{
	struct page *page = context;

	return filter_set(&page->what.filter, view,
			  !strcmp(name, "allocated_after") ? "from" : "to", value, err);
}

static int read_id(void *context, const struct view *view, const char *name, const char *value,
		   struct err_text *err)
{
	struct page *page = context;

	(void)view;
	if (parse_u64(value, &page->id) < 0 || page->id >= MAPPINGS_MAX)
		return err_set(err, -EINVAL, "%s takes the id of a map, not \"%.60s\"", name,
			       value);
	return 0;
}

static int read_peak_rss(void *context, const struct view *view, const char *name,
			 const char *value, struct err_text *err)
{
	struct page *page = context;
	uint64_t *to = !strcmp(name, "peak_rss_min") ? &page->peak_rss_min : &page->peak_rss_max;

	(void)view;
	if (parse_u64(value, to) < 0 && parse_size(value, to) < 0)
		return err_set(err, -EINVAL, "%s takes a size (4096, 4K, 1.5M), not \"%.60s\"",
			       name, value);
	return 0;
}

#define ONLY "only_true or only_false"

const struct route_parameter maps_parameters[] = {
	{"skip", what_number, "whole number", "leave out so many"},
	{"count", what_number, "whole number", "give at most so many"},
	{"sort_by", what_sort_by, "timestamp, address, size or peak_rss",
	 "the order; default timestamp"},
	{"order", what_order, "asc or dsc", "default asc"},
	{"with_regions", read_switch, "true or false", "with what each is made of; default false"},
	{"with_usage_history", read_switch, "true or false",
	 "with how much was in memory over time; default false"},
	{"generate_graphs", read_switch, "true or false",
	 "with addresses of pictures; default false"},
	{"id", read_id, "number", "this map alone"},
	{"allocated_after", read_allocated, "time", "another name of from"},
	{"allocated_before", read_allocated, "time", "another name of to"},
	{"peak_rss_min", read_peak_rss, "size",
	 "so much of it was in memory at some time, or more"},
	{"peak_rss_max", read_peak_rss, "size", "or less"},
	{"readable", read_only, ONLY, "by its protection as last seen"},
	{"writable", read_only, ONLY, "likewise"},
	{"executable", read_only, ONLY, "likewise"},
	{"jemalloc", read_only, ONLY, "by its name: jemalloc's"},
	{"bytehound", read_only, ONLY, "by its name: the recorder's own"},
	PASSED_OVER_LOOKS,
	PASSED_OVER_PAGES,
	{0},
};

/* ---- which, and in what order ---- */

static bool only_passes(enum only only, bool is)
{
	return only == ANY || (only == ONLY_TRUE) == is;
}

/* What no reading showed has no protection that could be asked. */
static bool may_passes(enum only only, const struct mapping *m, uint32_t flag)
{
	return only == ANY || (m->seen && only_passes(only, m->look.flags & flag));
}

static bool passes(const struct page *page, const struct mapping *m, uint64_t id)
{
	return (page->id == NO_TIME || page->id == id) && m->peak_rss >= page->peak_rss_min &&
	       m->peak_rss <= page->peak_rss_max &&
	       may_passes(page->readable, m, HEAPCAST__MAP_FLAG__MAP_READABLE) &&
	       may_passes(page->writable, m, HEAPCAST__MAP_FLAG__MAP_WRITABLE) &&
	       may_passes(page->executable, m, HEAPCAST__MAP_FLAG__MAP_EXECUTABLE) &&
	       only_passes(page->jemalloc, strstr(m->look.name, "jemalloc")) &&
	       only_passes(page->bytehound, strstr(m->look.name, "heapcast"));
}

struct order {
	const struct mapping *list;
	uint64_t (*key)(const struct mapping *m);
	bool ascending;
};

static uint64_t timestamp_of(const struct mapping *m)
{
	return m->mapped_ns;
}

static uint64_t address_of(const struct mapping *m)
{
	return m->address;
}

static uint64_t size_of(const struct mapping *m)
{
	return m->size;
}

static uint64_t peak_rss_of(const struct mapping *m)
{
	return m->peak_rss;
}

/* Equal keys are in the order of their ids. */
static int in_order(const void *a, const void *b, void *context)
{
	const struct order *order = context;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	uint64_t x = order->key(&order->list[i]), y = order->key(&order->list[j]);

	if (x != y)
		return (x < y) == order->ascending ? -1 : 1;
	return i < j ? -1 : i > j;
}

static int find_order(struct exchange *x, const struct page *page, struct order *ret_order)
{
	static const struct {
		const char *name;
		uint64_t (*key)(const struct mapping *m);
	} keys[] = {{"timestamp", timestamp_of},
		    {"address", address_of},
		    {"size", size_of},
		    {"peak_rss", peak_rss_of}};
	const char *word = page->what.sort_by ? page->what.sort_by : "timestamp";

	ret_order->list = page->mappings.list;
	ret_order->ascending = page->what.ascending;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (!strcmp(keys[i].name, word)) {
			ret_order->key = keys[i].key;
			return 0;
		}
	}
	snprintf(x->parameter, sizeof(x->parameter), "sort_by");
	return err_set(&x->err, -EINVAL,
		       "sort_by takes timestamp, address, size or peak_rss, not \"%.60s\"", word);
}

static int select_some(struct page *page, struct exchange *x)
{
	cleanup(cleanup_free) bool *matches = NULL;
	int r = query_mappings_match(x->source->view, &page->what.filter, &page->mappings, &matches,
				     &x->err);

	if (r < 0)
		return r;
	page->order = calloc(page->mappings.count + 1, sizeof(*page->order));
	if (!page->order)
		return err_set(&x->err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < page->mappings.count; i++)
		if (matches[i] && passes(page, &page->mappings.list[i], i))
			page->order[page->matched++] = (uint32_t)i;
	return 0;
}

static int read_page(struct page *page, struct exchange *x)
{
	int r;

	page->id = NO_TIME;
	page->peak_rss_max = UINT64_MAX;
	what_init(&page->what, x);
	page->what.ascending = true;
	r = read_parameters_of(x, x->source->view, maps_parameters, page, &page->what.filter,
			       mapping_takes_filter);
	if (!r && (page->what.filter.lifetime == LIFETIME_ONLY_CHAIN_LEAKED ||
		   page->what.filter.lifetime == LIFETIME_ONLY_WHOLE_GROUP_LEAKED)) {
		snprintf(x->parameter, sizeof(x->parameter), "lifetime");
		r = err_set(&x->err, -EINVAL,
			    "lifetime takes all, only_leaked, only_temporary, "
			    "only_not_deallocated_in_current_range or "
			    "only_deallocated_in_current_range "
			    "here: maps have neither chains nor groups");
	}
	return r;
}

int maps_read_filter(struct exchange *x, struct filter *ret_filter)
{
	struct page *page = calloc(1, sizeof(*page));
	int r = page ? read_page(page, x) : err_set(&x->err, -ENOMEM, "out of memory");

	filter_init(ret_filter);
	if (page) {
		*ret_filter = page->what.filter;
		free(page);
	}
	return r;
}

static int begin(struct page *page, struct exchange *x)
{
	struct order order;
	int r = read_page(page, x);

	if (!r)
		r = find_order(x, page, &order);
	if (!r)
		r = query_mappings(x->source->view, page->with_usage,
				   &(struct cancel){.asked = &x->cancelled}, &page->mappings,
				   &x->err);
	if (!r)
		r = select_some(page, x);
	if (r < 0)
		return r;
	order.list = page->mappings.list;
	qsort_r(page->order, page->matched, sizeof(*page->order), in_order, &order);
	page->at = page->what.skip < page->matched ? page->what.skip : page->matched;
	page->end = page->matched - page->at < page->what.count ? page->matched
								: page->at + page->what.count;
	json_answer(&page->json, x);
	json_array(&page->json, "maps");
	return 0;
}

/* ---- writing ---- */

static void write_look(struct json *json, const struct mapping_look *look)
{
	json_bool(json, "is_readable", look->flags & HEAPCAST__MAP_FLAG__MAP_READABLE);
	json_bool(json, "is_writable", look->flags & HEAPCAST__MAP_FLAG__MAP_WRITABLE);
	json_bool(json, "is_executable", look->flags & HEAPCAST__MAP_FLAG__MAP_EXECUTABLE);
	json_bool(json, "is_shared", look->flags & HEAPCAST__MAP_FLAG__MAP_SHARED);
	json_string(json, "name", look->name);
}

static int write_call(struct page *page, struct exchange *x, const char *key,
		      const struct apart_info *call)
{
	struct json *json = &page->json;
	int r = 0;

	json_object(json, key);
	json_times(json, "timestamp", x->source->view, call->time_ns);
	json_u64(json, "thread", thread_tid(x->source->recording, call->thread));
	if (call->stack) {
		json_u64(json, "backtrace_id", call->stack);
		r = json_backtrace(json, "backtrace", x->source->view, call->stack, &x->err);
	}
	json_end(json, '}');
	return r;
}

/* An object that the caller ends. */
static void write_end_time(struct json *json, const struct exchange *x, uint64_t time_ns)
{
	json_object(json, "deallocation");
	json_time(json, "timestamp",
		  recording_process(x->source->recording)->start_wall_ns + time_ns);
}

static int write_end(struct page *page, struct exchange *x, const struct mapping *m)
{
	int r = 0;

	if (m->unmapped_ns == NO_TIME)
		return 0;
	write_end_time(&page->json, x, m->unmapped_ns);
	if (m->end)
		r = write_call(page, x, "source", m->end);
	json_end(&page->json, '}');
	return r;
}

/* `sources`: which call took what of it. There is none where a reading showed another protection, or that it was gone. */
static int write_region_end(struct page *page, struct exchange *x,
			    const struct mapping_region *region)
{
	struct json *json = &page->json;
	int r = 0;

	if (region->to_ns == NO_TIME)
		return 0;
	write_end_time(json, x, region->to_ns);
	json_array(json, "sources");
	if (region->end) {
		json_object(json, NULL);
		json_address(json, "address", region->end_address);
		json_u64(json, "length", region->end_size);
		r = write_call(page, x, "source", region->end);
		json_end(json, '}');
	}
	json_end(json, ']');
	json_end(json, '}');
	return r;
}

static int write_region(struct page *page, struct exchange *x, const struct mapping_region *region)
{
	struct json *json = &page->json;
	int r;

	json_object(json, NULL);
	json_address(json, "address", region->address);
	json_times(json, "timestamp", x->source->view, region->from_ns);
	json_u64(json, "size", region->size);
	r = write_region_end(page, x, region);
	if (region->seen) {
		write_look(json, &region->look);
		json_u64(json, "file_offset", region->look.offset);
		json_u64(json, "inode", region->look.inode);
		json_u64(json, "major", region->look.major);
		json_u64(json, "minor", region->look.minor);
	}
	json_end(json, '}');
	return r;
}

static int write_regions(struct page *page, struct exchange *x, const struct mapping *m)
{
	int r = 0;

	json_array(&page->json, "regions");
	for (uint32_t i = 0; !r && i < m->region_count; i++)
		r = write_region(page, x, &page->mappings.regions[m->first_region + i]);
	json_end(&page->json, ']');
	return r;
}

static void write_reading(struct page *page, struct exchange *x, const struct mapping_usage *u)
{
	struct json *json = &page->json;

	json_object(json, NULL);
	json_times(json, "timestamp", x->source->view, u->time_ns);
	json_u64(json, "address_space", u->size_bytes);
	if (u->read) {
		json_u64(json, "anonymous", u->usage.anonymous * 1024);
		json_u64(json, "shared_clean", u->usage.shared_clean * 1024);
		json_u64(json, "shared_dirty", u->usage.shared_dirty * 1024);
		json_u64(json, "private_clean", u->usage.private_clean * 1024);
		json_u64(json, "private_dirty", u->usage.private_dirty * 1024);
		json_u64(json, "swap", u->usage.swap * 1024);
		json_u64(json, "rss", u->usage.rss * 1024);
		json_u64(json, "pss", u->usage.pss * 1024);
	}
	if (u->estimated)
		json_bool(json, "estimated", true);
	json_end(json, '}');
}

static void write_usage(struct page *page, struct exchange *x, uint32_t id)
{
	const struct mappings *m = &page->mappings;
	uint32_t low = 0, high = m->usage_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (m->usage[middle].mapping < id)
			low = middle + 1;
		else
			high = middle;
	}
	json_array(&page->json, "usage_history");
	for (; low < m->usage_count && m->usage[low].mapping == id; low++)
		write_reading(page, x, &m->usage[low]);
	json_end(&page->json, ']');
}

static int write_map(struct page *page, struct exchange *x, uint32_t id)
{
	const struct mapping *m = &page->mappings.list[id];
	struct json *json = &page->json;
	int r = 0;

	json_object(json, NULL);
	json_u64(json, "id", id);
	json_address(json, "address", m->address);
	json_times(json, "timestamp", x->source->view, m->mapped_ns);
	json_u64(json, "size", m->size);
	if (m->source)
		r = write_call(page, x, "source", m->source);
	if (!r)
		r = write_end(page, x, m);
	if (m->seen) {
		write_look(json, &m->look);
		json_u64(json, "peak_rss", m->peak_rss);
		if (m->peak_estimated)
			json_bool(json, "peak_rss_estimated", true);
	}
	if (page->graphs)
		json_graph_urls(json, x, "from_map", id, "");
	if (!r && page->with_regions)
		r = write_regions(page, x, m);
	if (page->with_usage)
		write_usage(page, x, id);
	json_end(json, '}');
	return r;
}

int maps_step(struct exchange *x)
{
	struct page *page = x->work;
	int r = 0;

	if (!page) {
		page = calloc(1, sizeof(*page));
		if (!page)
			return err_set(&x->err, -ENOMEM, "out of memory");
		x->work = page;
		x->work_free = page_free;
		r = begin(page, x);
	}
	while (!r && page->at < page->end && x->out.length < STEP_BYTES)
		r = write_map(page, x, page->order[page->at++]);
	if (r < 0)
		return r;
	if (page->at < page->end)
		return buf_error(&x->out) ? buf_error(&x->out) : 1;
	json_end(&page->json, ']');
	json_u64(&page->json, "total_count", page->matched);
	json_bool(&page->json, "gathered", page->mappings.gathered);
	if (page->mappings.left_out)
		json_u64(&page->json, "left_out", page->mappings.left_out);
	if (page->mappings.usage_left_out)
		json_u64(&page->json, "usage_left_out", page->mappings.usage_left_out);
	json_end(&page->json, '}');
	return buf_error(&x->out);
}
