/* /data/ID/maps: what was mapped, by whom, and how much of it was in memory over time. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "collector/columns/row_block.h"
#include "collector/http/server/routes.h"
#include "collector/http/server/sources.h"
#include "collector/http/routes/what.h"
#include "collector/query/match/mappings.h"
#include "collector/recording/info.h"
#include "collector/recording/recording.h"
#include "collector/answers/json.h"

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
	uint32_t *order; /* indices of those that match, in order */
	uint64_t matched, at, end;
	struct json json;
};

static void maps_page_free(void *work)
{
	struct page *page = work;

	mappings_done(&page->mappings);
	what_done(&page->what);
	free(page->order);
	free(page);
}

/* ---- parameters ---- */

/* The page begins with a struct what, so the readers of that can be used. */

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

/* The filters that are called from and to everywhere else have these names on the page. */
static int read_allocated(void *context, const struct view *view, const char *name,
			  const char *value, struct err_text *err)
{
	struct page *page = context;

	return filter_set(&page->what.filter, view,
			  !strcmp(name, "allocated_after") ? "from" : "to", value, err);
}

static int maps_read_id(void *context, const struct view *view, const char *name, const char *value,
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
	{"id", maps_read_id, "number", "this map alone"},
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

/* A mapping that no reading showed has no known protection, so nothing can be asked of it. */
static bool may_passes(enum only only, const struct mapping *m, uint32_t flag)
{
	return only == ANY || (m->seen && only_passes(only, m->look.flags & flag));
}

static bool maps_passes(const struct page *page, const struct mapping *m, uint64_t id)
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

static uint64_t maps_address_of(const struct mapping *m)
{
	return m->address;
}

static uint64_t maps_size_of(const struct mapping *m)
{
	return m->size;
}

static uint64_t peak_rss_of(const struct mapping *m)
{
	return m->peak_rss;
}

/* Maps with equal keys are sorted by id. */
static int maps_in_order(const void *a, const void *b, void *context)
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
		    {"address", maps_address_of},
		    {"size", maps_size_of},
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
		if (matches[i] && maps_passes(page, &page->mappings.list[i], i))
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
			    "lifetime takes all, only_leaked, only_freed, "
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
	qsort_r(page->order, page->matched, sizeof(*page->order), maps_in_order, &order);
	page->at = page->what.skip < page->matched ? page->what.skip : page->matched;
	page->end = page->matched - page->at < page->what.count ? page->matched
								: page->at + page->what.count;
	json_answer(&page->json, x);
	json_array(&page->json, "maps");
	return 0;
}

/* ---- writing ---- */

#define ANSWER_OF	  struct mapping_look
#define FLAG(label, flag) ROW_AS(label, flags, ANSWER_FLAG, NULL, "as last seen", .mask = flag)
static const struct answer_field look_fields[] = {
	FLAG("is_readable", HEAPCAST__MAP_FLAG__MAP_READABLE),
	FLAG("is_writable", HEAPCAST__MAP_FLAG__MAP_WRITABLE),
	FLAG("is_executable", HEAPCAST__MAP_FLAG__MAP_EXECUTABLE),
	FLAG("is_shared", HEAPCAST__MAP_FLAG__MAP_SHARED),
	ROW("name", name, NULL, "as last seen"),
	{0},
};
#undef FLAG
static const struct answer look_answer = {"look", look_fields};

static const struct answer_field file_fields[] = {
	ROW("file_offset", offset, "bytes", ""),
	ROW("inode", inode, NULL, ""),
	ROW("major", major, NULL, "of the device"),
	ROW("minor", minor, NULL, "of the device"),
	{0},
};
#undef ANSWER_OF
static const struct answer file_answer = {"file", file_fields};

#define ANSWER_OF struct apart_info
static const struct answer_field call_fields[] = {
	ROW_AS("timestamp", time_ns, ANSWER_TIMES, "since the epoch", ""),
	ROW_THREAD("thread", thread, "0: unknown"),
	ROWS_OF_CALL(stack),
	{0},
};
#undef ANSWER_OF
static const struct answer call_answer = {"call", call_fields};

static const struct answer_field map_end_fields[] = {
	BY_HAND("timestamp", ANSWER_TIME, "since the epoch", "when the last of it went"),
	BY_HAND("source", ANSWER_OBJECT, NULL, "the call", .of = &call_answer, .when = SOMETIMES),
	{0},
};
static const struct answer map_end_answer = {"map_end", map_end_fields};

static const struct answer_field taken_fields[] = {
	BY_HAND("address", ANSWER_ADDRESS, "address", ""),
	BY_HAND("length", ANSWER_U64, "bytes", ""),
	BY_HAND("source", ANSWER_OBJECT, NULL, "the call", .of = &call_answer),
	{0},
};
static const struct answer taken_answer = {"map_region_taken", taken_fields};

static const struct answer_field region_end_fields[] = {
	BY_HAND("timestamp", ANSWER_TIME, "since the epoch", ""),
	BY_HAND("sources", ANSWER_OBJECT, NULL, "none where a reading showed it",
		.shape = ANSWER_LIST, .of = &taken_answer),
	{0},
};
static const struct answer region_end_answer = {"map_region_end", region_end_fields};

#define ANSWER_OF struct mapping_region
static const struct answer_field place_fields[] = {
	ROW_AS("address", address, ANSWER_ADDRESS, "address", ""),
	ROW_AS("timestamp", from_ns, ANSWER_TIMES, "since the epoch", "when it began"),
	ROW("size", size, "bytes", ""),
	{0},
};
static const struct answer place_answer = {"place", place_fields};

static const struct answer_field seen_fields[] = {
	ROWS_OF(look_answer, look, WHEN(seen)),
	ROWS_OF(file_answer, look, WHEN(seen)),
	{0},
};
#undef ANSWER_OF
static const struct answer seen_answer = {"seen", seen_fields};

static const struct answer_field region_fields[] = {
	ROWS_BY_HAND(place_answer),
	BY_HAND("deallocation", ANSWER_OBJECT, NULL, "absent: it is there",
		.of = &region_end_answer, .when = SOMETIMES),
	ROWS_BY_HAND(seen_answer),
	{0},
};
static const struct answer region_answer = {"map_region", region_fields};

#define ANSWER_OF	   struct mapping_usage
#define READ(label, field) ROW_AS(label, usage.field, ANSWER_KIB, "bytes", "", WHEN(read))
static const struct answer_field reading_fields[] = {
	ROW_AS("timestamp", time_ns, ANSWER_TIMES, "since the epoch", ""),
	ROW("address_space", size_bytes, "bytes", ""),
	READ("anonymous", anonymous),
	READ("shared_clean", shared_clean),
	READ("shared_dirty", shared_dirty),
	READ("private_clean", private_clean),
	READ("private_dirty", private_dirty),
	READ("swap", swap),
	READ("rss", rss),
	READ("pss", pss),
	ROW("estimated", estimated, NULL, "true: a part of a reading of several maps",
	    .when = IF_SET),
	{0},
};
#undef READ
#undef ANSWER_OF
static const struct answer reading_answer = {"map_reading", reading_fields};

#define ANSWER_OF struct mapping
static const struct answer_field map_place_fields[] = {
	ROW_AS("address", address, ANSWER_ADDRESS, "address", ""),
	ROW_AS("timestamp", mapped_ns, ANSWER_TIMES, "since the epoch",
	       "of the call, else of the reading"),
	ROW("size", size, "bytes", ""),
	{0},
};
static const struct answer map_place_answer = {"map_place", map_place_fields};

static const struct answer_field map_seen_fields[] = {
	ROWS_OF(look_answer, look, WHEN(seen)),
	ROW("peak_rss", peak_rss, "bytes", "most of it that was in memory", WHEN(seen)),
	ROW("peak_rss_estimated", peak_estimated, NULL, "", .when = IF_SET),
	{0},
};
#undef ANSWER_OF
static const struct answer map_seen_answer = {"map_seen", map_seen_fields};

static const struct answer_field map_fields[] = {
	BY_HAND("id", ANSWER_U32, "id", "its number in the order in which maps were seen"),
	ROWS_BY_HAND(map_place_answer),
	BY_HAND("source", ANSWER_OBJECT, NULL, "the call that mapped it", .of = &call_answer,
		.when = SOMETIMES),
	BY_HAND("deallocation", ANSWER_OBJECT, NULL, "absent: some of it is there",
		.of = &map_end_answer, .when = SOMETIMES),
	ROWS_BY_HAND(map_seen_answer),
	ROWS_OF_GRAPH,
	BY_HAND("regions", ANSWER_OBJECT, NULL, "with_regions: what it is made of",
		.shape = ANSWER_LIST, .of = &region_answer, .when = SOMETIMES),
	BY_HAND("usage_history", ANSWER_OBJECT, NULL, "with_usage_history", .shape = ANSWER_LIST,
		.of = &reading_answer, .when = SOMETIMES),
	{0},
};
static const struct answer map_answer = {"map", map_fields};

static const struct answer_field maps_fields[] = {
	BY_HAND("maps", ANSWER_OBJECT, NULL, "", .shape = ANSWER_LIST, .of = &map_answer),
	BY_HAND("total_count", ANSWER_U64, "maps", "that match"),
	BY_HAND("gathered", ANSWER_BOOL, NULL, "readings say protection, name and memory"),
	BY_HAND("left_out", ANSWER_U64, "maps", "beyond what is kept", .when = SOMETIMES),
	BY_HAND("usage_left_out", ANSWER_U64, "readings", "beyond what is kept", .when = SOMETIMES),
	{0},
};
const struct answer maps_answer = {"maps", maps_fields};

static int write_call(struct page *page, struct exchange *x, const char *key,
		      const struct other_event_info *call)
{
	const struct answer_context context = frames_context(x->source->view, &x->err);

	return json_object_of(&page->json, key, &call_answer, call, &context);
}

/* Begins an object, which the caller ends. */
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

/* Writes `sources`: which call removed what part of it. There is none if a reading showed another
 * protection, or that the map was gone. */
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
	const struct answer_context context = frames_context(x->source->view, &x->err);
	struct json *json = &page->json;
	int r;

	json_object(json, NULL);
	json_members(json, &place_answer, region, &context);
	r = write_region_end(page, x, region);
	json_members(json, &seen_answer, region, NULL);
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

static void write_usage(struct page *page, struct exchange *x, uint32_t id)
{
	const struct answer_context context = frames_context(x->source->view, &x->err);
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
		json_object_of(&page->json, NULL, &reading_answer, &m->usage[low], &context);
	json_end(&page->json, ']');
}

static int write_map(struct page *page, struct exchange *x, uint32_t id)
{
	const struct answer_context context = frames_context(x->source->view, &x->err);
	const struct mapping *m = &page->mappings.list[id];
	struct json *json = &page->json;
	int r = 0;

	json_object(json, NULL);
	json_u64(json, "id", id);
	json_members(json, &map_place_answer, m, &context);
	if (m->source)
		r = write_call(page, x, "source", m->source);
	if (!r)
		r = write_end(page, x, m);
	json_members(json, &map_seen_answer, m, NULL);
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
		x->work_free = maps_page_free;
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
