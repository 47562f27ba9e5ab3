/* /data/ID/maps: what was mapped, by whom, and how much of it was in memory over time. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "collector/columns/row_block.h"
#include "collector/http/routes/asking.h"
#include "collector/http/routes/maps.h"
#include "collector/http/server/routes.h"
#include "collector/http/server/sources.h"
#include "collector/query/match/mappings.h"

#include "base/ban.h"

/* ---- parameters ---- */

/* On the page, these names stand for the filters that are called from and to everywhere else. */
static int read_allocated(void *context, const struct view *view, const char *name,
			  const char *value, struct err_text *err)
{
	struct request_values *values = context;

	return filter_set(&values->filter, view, !strcmp(name, "allocated_after") ? "from" : "to",
			  value, err);
}

enum key { BY_TIMESTAMP, BY_ADDRESS, BY_SIZE, BY_PEAK_RSS };
static const struct parameter_word keys[] = {{"timestamp", BY_TIMESTAMP},
					     {"address", BY_ADDRESS},
					     {"size", BY_SIZE},
					     {"peak_rss", BY_PEAK_RSS},
					     {0}};
static const struct parameter_word only_words[] = {
	{"only_true", ONLY_TRUE}, {"only_false", ONLY_FALSE}, {0}};

#define ONLY(label, about)                                                                         \
	REQUEST(#label, PARAMETER_WORD, label, "only_true or only_false", about,                   \
		.words = only_words)
#define RSS(label, about) REQUEST(#label, PARAMETER_SIZE, label, "a size (4096, 4K, 1.5M)", about)

const struct route_parameter maps_parameters[] = {
	REQUEST_PAGE,
	REQUEST("sort_by", PARAMETER_WORD, key, "timestamp, address, size or peak_rss",
		"the order; default timestamp", .words = keys),
	REQUEST_ORDER("default asc"),
	REQUEST_SWITCH("with_regions", with_regions,
		       "adds the regions that each map is made of; default false"),
	REQUEST_SWITCH("with_usage_history", with_usage,
		       "adds how much was in memory over time; default false"),
	REQUEST_GRAPHS,
	REQUEST_RANGE("id", map, 0, MAPPINGS_MAX - 1, "the id of a map", "only this map"),
	PARAMETER_BY("allocated_after", read_allocated, "time", "another name of from"),
	PARAMETER_BY("allocated_before", read_allocated, "time", "another name of to"),
	RSS(peak_rss_min, "at some time so much of the map was in memory, or more"),
	RSS(peak_rss_max, "never more than so much of the map was in memory"),
	ONLY(readable, "maps that are readable, by their protection as last seen"),
	ONLY(writable, "maps that are writable, likewise"),
	ONLY(executable, "maps that are executable, likewise"),
	ONLY(jemalloc, "maps of jemalloc, by their name"),
	ONLY(bytehound, "maps of the recorder itself, by their name"),
	PASSED_OVER_LOOKS,
	PASSED_OVER_PAGES,
	{0},
};

int maps_check(struct asking *a)
{
	if (a->values.filter.lifetime != LIFETIME_ONLY_CHAIN_LEAKED &&
	    a->values.filter.lifetime != LIFETIME_ONLY_WHOLE_GROUP_LEAKED)
		return 0;
	return asking_fault(a, "lifetime",
			    err_set(&a->x->err, -EINVAL,
				    "lifetime takes all, only_leaked, only_freed, "
				    "only_not_deallocated_in_current_range or "
				    "only_deallocated_in_current_range "
				    "here: maps have neither chains nor groups"));
}

/* ---- selection and order ---- */

struct page {
	struct mappings mappings;
	uint32_t *order; /* indices of the matching maps, in order */
	uint64_t matched, at, end;
};

static void page_done(void *result)
{
	struct page *page = result;

	mappings_done(&page->mappings);
	free(page->order);
}

static bool only_passes(enum request_only only, bool is)
{
	return only == ANY || (only == ONLY_TRUE) == is;
}

/* A mapping that no reading showed has unknown protection, so it matches no condition on it. */
static bool may_passes(enum request_only only, const struct mapping *m, uint32_t flag)
{
	return only == ANY || (m->seen && only_passes(only, m->look.flags & flag));
}

static bool maps_passes(const struct request_values *values, const struct mapping *m, uint64_t id)
{
	return (values->map == NO_TIME || values->map == id) &&
	       m->peak_rss >= values->peak_rss_min && m->peak_rss <= values->peak_rss_max &&
	       may_passes(values->readable, m, HEAPCAST__MAP_FLAG__MAP_READABLE) &&
	       may_passes(values->writable, m, HEAPCAST__MAP_FLAG__MAP_WRITABLE) &&
	       may_passes(values->executable, m, HEAPCAST__MAP_FLAG__MAP_EXECUTABLE) &&
	       only_passes(values->jemalloc, strstr(m->look.name, "jemalloc")) &&
	       only_passes(values->bytehound, strstr(m->look.name, "heapcast"));
}

struct order {
	const struct mapping *list;
	enum key key;
	bool descending;
};

static uint64_t maps_key_of(const struct order *order, uint32_t id)
{
	const struct mapping *m = &order->list[id];

	switch (order->key) {
	case BY_TIMESTAMP:
		return m->mapped_ns;
	case BY_ADDRESS:
		return m->address;
	case BY_SIZE:
		return m->size;
	case BY_PEAK_RSS:
		break;
	}
	return m->peak_rss;
}

/* Compares maps. Equal keys are ordered by id. */
static int maps_in_order(const void *a, const void *b, void *context)
{
	const struct order *order = context;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	uint64_t x = maps_key_of(order, i), y = maps_key_of(order, j);

	if (x != y)
		return (x > y) == order->descending ? -1 : 1;
	return i < j ? -1 : i > j;
}

static int select_some(struct asking *a, struct page *page)
{
	cleanup(cleanup_free) bool *matches = NULL;
	int r = query_mappings_match(a->view, &a->values.filter, &page->mappings, &matches,
				     &a->x->err);

	if (r < 0)
		return r;
	page->order = calloc(page->mappings.count + 1, sizeof(*page->order));
	if (!page->order)
		return err_set(&a->x->err, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < page->mappings.count; i++)
		if (matches[i] && maps_passes(&a->values, &page->mappings.list[i], i))
			page->order[page->matched++] = i;
	return 0;
}

static int maps_ask(struct asking *a)
{
	struct page *page = a->result;
	struct order order = {.key = (enum key)a->values.key,
			      .descending = a->values.order == ORDER_DESCENDING};
	int r = maps_check(a);

	if (!r)
		r = query_mappings(a->view, a->values.with_usage, &a->values.filter.cancel,
				   &page->mappings, &a->x->err);
	if (!r)
		r = select_some(a, page);
	if (r < 0)
		return r;
	order.list = page->mappings.list;
	qsort_r(page->order, page->matched, sizeof(*page->order), maps_in_order, &order);
	asking_page(a, page->matched, &page->at, &page->end);
	return 0;
}

/* ---- the answer ---- */

struct told_map {
	uint32_t id;
	struct mapping map;
	const struct mappings *all;
};

static answer_writer write_region_sources, write_regions, write_usage, maps_write_graphs;

#define ANSWER_OF	  struct mapping_look
#define FLAG(label, flag) ROW_AS(label, flags, ANSWER_FLAG, NULL, "as last seen", .mask = flag)
static const struct answer_field look_fields[] = {
	FLAG("is_readable", HEAPCAST__MAP_FLAG__MAP_READABLE),
	FLAG("is_writable", HEAPCAST__MAP_FLAG__MAP_WRITABLE),
	FLAG("is_executable", HEAPCAST__MAP_FLAG__MAP_EXECUTABLE),
	FLAG("is_shared", HEAPCAST__MAP_FLAG__MAP_SHARED),
	ROW("name", name, NULL, "name as last seen"),
	{0},
};
#undef FLAG
static const struct answer look_answer = {"look", look_fields};

static const struct answer_field file_fields[] = {
	ROW("file_offset", offset, "bytes", ""),
	ROW("inode", inode, NULL, ""),
	ROW("major", major, NULL, "major number of the device"),
	ROW("minor", minor, NULL, "minor number of the device"),
	{0},
};
#undef ANSWER_OF
static const struct answer file_answer = {"file", file_fields};

#define ANSWER_OF struct other_event_info
static const struct answer_field call_fields[] = {
	ROW_AS("timestamp", time_ns, ANSWER_TIMES, "since the epoch", ""),
	ROW_THREAD("thread", thread, "number of the thread; 0: unknown"),
	ROWS_OF_CALL(stack),
	{0},
};
#undef ANSWER_OF
static const struct answer call_answer = {"call", call_fields};

#define ANSWER_OF struct mapping_region
static const struct answer_field taken_fields[] = {
	ROW_AS("address", end_address, ANSWER_ADDRESS, "address", ""),
	ROW("length", end_size, "bytes", ""),
	ROW_BEHIND("source", end, call_answer, "the call that did it", .when = ALWAYS),
	{0},
};
static const struct answer taken_answer = {"map_region_taken", taken_fields};

static const struct answer_field region_end_fields[] = {
	ROW_AS("timestamp", to_ns, ANSWER_WALL, "since the epoch", ""),
	ROW_WRITTEN("sources", ANSWER_OBJECT, NULL,
		    "the calls that did it; none if only a reading showed it", write_region_sources,
		    .shape = ANSWER_LIST, .of = &taken_answer),
	{0},
};
static const struct answer region_end_answer = {"map_region_end", region_end_fields};

static const struct answer_field region_fields[] = {
	ROW_AS("address", address, ANSWER_ADDRESS, "address", ""),
	ROW_AS("timestamp", from_ns, ANSWER_TIMES, "since the epoch", "when the region began"),
	ROW("size", size, "bytes", ""),
	ROW_AGAIN("deallocation", region_end_answer,
		  "when and by whom the region was unmapped; absent: it is still mapped",
		  WHEN_TIME(to_ns)),
	ROWS_OF(look_answer, look, WHEN(seen)),
	ROWS_OF(file_answer, look, WHEN(seen)),
	{0},
};
#undef ANSWER_OF
static const struct answer region_answer = {"map_region", region_fields};

/* Writes the calls that removed the region, or parts of it. The list is empty if only a reading
 * showed that the map was gone or had another protection. */
static int write_region_sources(struct json *json, const struct answer_field *field,
				const void *object, const struct answer_context *context)
{
	const struct mapping_region *region = object;
	int r = 0;

	json_array(json, field->name);
	if (region->end)
		r = json_object_of(json, NULL, &taken_answer, region, context);
	json_end(json, ']');
	return r;
}

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
	ROW("estimated", estimated, NULL,
	    "true: the figures are a share of a reading that covers several maps", .when = IF_SET),
	{0},
};
#undef READ
#undef ANSWER_OF
static const struct answer reading_answer = {"map_reading", reading_fields};

#define ANSWER_OF struct told_map
static const struct answer_field map_end_fields[] = {
	ROW_AS("timestamp", map.unmapped_ns, ANSWER_WALL, "since the epoch",
	       "when its last part was unmapped"),
	ROW_BEHIND("source", map.end, call_answer, "the call that did it", .when = IF_SET),
	{0},
};
static const struct answer map_end_answer = {"map_end", map_end_fields};

static const struct answer_field map_fields[] = {
	ROW("id", id, "id", "its number in the order in which maps were seen"),
	ROW_AS("address", map.address, ANSWER_ADDRESS, "address", ""),
	ROW_AS("timestamp", map.mapped_ns, ANSWER_TIMES, "since the epoch",
	       "when it was mapped: time of the call, else of the reading"),
	ROW("size", map.size, "bytes", ""),
	ROW_BEHIND("source", map.source, call_answer, "the call that mapped it", .when = IF_SET),
	ROW_AGAIN(
		"deallocation", map_end_answer,
		"when and by whom the last of it was unmapped; absent: some of it is still mapped",
		WHEN_TIME(map.unmapped_ns)),
	ROWS_OF(look_answer, map.look, WHEN(map.seen)),
	ROW("peak_rss", map.peak_rss, "bytes", "the most of it that was in memory", WHEN(map.seen)),
	ROW("peak_rss_estimated", map.peak_estimated, NULL, "", .when = IF_SET),
	ROWS_OF_GRAPH(maps_write_graphs),
	ROW_WRITTEN("regions", ANSWER_OBJECT, NULL,
		    "the regions that it is made of, with with_regions", write_regions,
		    .shape = ANSWER_LIST, .of = &region_answer, .when = SOMETIMES),
	ROW_WRITTEN("usage_history", ANSWER_OBJECT, NULL,
		    "readings of how much was in memory, with with_usage_history", write_usage,
		    .shape = ANSWER_LIST, .of = &reading_answer, .when = SOMETIMES),
	{0},
};
#undef ANSWER_OF
static const struct answer map_answer = {"map", map_fields};

static int maps_write_graphs(struct json *json, const struct answer_field *field,
			     const void *object, const struct answer_context *context)
{
	const struct asking *a = context->asked;

	(void)field;
	if (a->values.graphs)
		json_graph_urls(json, a->x, "from_map", ((const struct told_map *)object)->id, "");
	return 0;
}

static int write_regions(struct json *json, const struct answer_field *field, const void *object,
			 const struct answer_context *context)
{
	const struct asking *a = context->asked;
	const struct told_map *told = object;
	int r = 0;

	if (!a->values.with_regions)
		return 0;
	json_array(json, field->name);
	for (uint32_t i = 0; !r && i < told->map.region_count; i++)
		r = json_object_of(json, NULL, &region_answer,
				   &told->all->regions[told->map.first_region + i], context);
	json_end(json, ']');
	return r;
}

static int write_usage(struct json *json, const struct answer_field *field, const void *object,
		       const struct answer_context *context)
{
	const struct asking *a = context->asked;
	const struct told_map *told = object;
	const struct mappings *m = told->all;
	uint32_t low = 0, high = m->usage_count;
	int r = 0;

	if (!a->values.with_usage)
		return 0;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (m->usage[middle].mapping < told->id)
			low = middle + 1;
		else
			high = middle;
	}
	json_array(json, field->name);
	for (; !r && low < m->usage_count && m->usage[low].mapping == told->id; low++)
		r = json_object_of(json, NULL, &reading_answer, &m->usage[low], context);
	json_end(json, ']');
	return r;
}

#define ANSWER_OF struct page
static const struct answer_field maps_fields[] = {
	ROW_NEXT("maps", map_answer, ""),
	ROW("total_count", matched, "maps", "maps that match"),
	ROW("gathered", mappings.gathered, NULL,
	    "true: there are readings of memory maps, which tell protection, name and memory"),
	ROW("left_out", mappings.left_out, "maps",
	    "maps that were left out, because there were more than are kept", .when = IF_SET),
	ROW("usage_left_out", mappings.usage_left_out, "readings",
	    "readings that were left out, because there were more than are kept", .when = IF_SET),
	{0},
};
#undef ANSWER_OF
static const struct answer maps_answer = {"maps", maps_fields};

static int maps_next(struct asking *a)
{
	struct page *page = a->result;
	uint32_t id;

	if (page->at == page->end)
		return 0;
	id = page->order[page->at++];
	return asking_element(a, &map_answer,
			      &(struct told_map){.id = id,
						 .map = page->mappings.list[id],
						 .all = &page->mappings});
}

const struct route maps_route = {
	.path = "maps",
	.about = "what was mapped, and how much of it was in memory",
	.flags = ROUTE_OF_RECORDING,
	.parameters = maps_parameters,
	.takes_filter = mapping_takes_filter,
	.answer = &maps_answer,
	ROUTE_ASKS(struct page, maps_ask, page_done),
	.next = maps_next,
};
