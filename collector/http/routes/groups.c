/* /data/ID/allocation_groups and /data/ID/backtraces: matched allocations by backtrace, sorted, as
 * one page or all. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "collector/http/server/routes.h"
#include "collector/http/server/sources.h"
#include "collector/http/routes/what.h"
#include "collector/answers/json.h"

#include "base/ban.h"

#define STEP_BYTES (128u << 10)

#define SORT_WORDS                                                                                 \
	"only_matched. or all. with size, allocated_count, leaked_count, interval, "               \
	"min_timestamp, max_timestamp; "                                                           \
	"all.max_total_usage_first_seen_at"

const struct route_parameter groups_parameters[] = {
	WHAT_PREVIEW,
	WHAT_SKIP,
	WHAT_COUNT,
	{"sort_by", what_sort_by, SORT_WORDS, "default only_matched.size"},
	{"order", what_order, "asc or dsc", "default dsc"},
	{"generate_graphs", what_graphs, "true or false",
	 "with addresses of pictures; default false"},
	WHAT_STRIP,
	PASSED_OVER_LOOKS,
	PASSED_OVER_PAGES,
	{0},
};

const struct route_parameter backtraces_parameters[] = {WHAT_SKIP, WHAT_COUNT, WHAT_STRIP, {0}};

/* ---- orders ---- */

static uint64_t interval_of(const struct group_side *s)
{
	return s->last_ns - s->first_ns;
}

static uint64_t groups_size_of(const struct group_side *s)
{
	return s->allocated.bytes;
}

static uint64_t count_of(const struct group_side *s)
{
	return s->allocated.blocks;
}

static uint64_t leaked_of(const struct group_side *s)
{
	return s->leaked_blocks;
}

static uint64_t first_of(const struct group_side *s)
{
	return s->first_ns;
}

static uint64_t last_of(const struct group_side *s)
{
	return s->last_ns;
}

/* The names with _relative mean the same order. */
static const struct key {
	const char *name;
	uint64_t (*of)(const struct group_side *side);
} keys[] = {
	{"size", groups_size_of},
	{"allocated_count", count_of},
	{"leaked_count", leaked_of},
	{"interval", interval_of},
	{"min_timestamp", first_of},
	{"min_timestamp_relative", first_of},
	{"min_timestamp_relative_p", first_of},
	{"max_timestamp", last_of},
	{"max_timestamp_relative", last_of},
	{"max_timestamp_relative_p", last_of},
};

struct order {
	uint64_t (*of)(const struct group_side *side); /* NULL: by peak_ns */
	bool all, ascending;
};

static int find_order(struct exchange *x, const struct what *what, struct order *ret_order)
{
	const char *word = what->sort_by ? what->sort_by : "only_matched.size";
	bool all = !strncmp(word, "all.", 4);
	const char *name = all ? word + 4 : !strncmp(word, "only_matched.", 13) ? word + 13 : "";

	*ret_order = (struct order){.all = all, .ascending = what->ascending};
	if (all && !strncmp(name, "max_total_usage_first_seen_at", 29))
		return 0;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (!strcmp(keys[i].name, name)) {
			ret_order->of = keys[i].of;
			return 0;
		}
	}
	snprintf(x->parameter, sizeof(x->parameter), "sort_by");
	return err_set(&x->err, -EINVAL, "sort_by takes " SORT_WORDS ", not \"%.60s\"", word);
}

static uint64_t groups_key_of(const struct order *order, const struct allocation_group *g)
{
	return order->of ? order->of(order->all ? &g->all : &g->matched) : g->peak_ns;
}

/* Groups with equal keys are sorted by their backtrace's number. */
static int groups_in_order(const void *a, const void *b, void *context)
{
	const struct order *order = context;
	uint64_t x = groups_key_of(order, a), y = groups_key_of(order, b);
	const struct allocation_group *p = a, *q = b;

	if (x != y)
		return (x < y) == order->ascending ? -1 : 1;
	return p->node < q->node ? -1 : p->node > q->node;
}

/* ---- groups ---- */

struct page {
	struct what what;
	struct allocation_groups groups;
	struct buf filters; /* those of the request, for addresses of pictures */
	struct json json;
	uint64_t at, end;
};

static void groups_page_free(void *work)
{
	struct page *page = work;

	allocation_groups_done(&page->groups);
	buf_done(&page->filters);
	what_done(&page->what);
	free(page);
}

struct told_side {
	struct group_side side;
	uint64_t interval_ns;
	uint64_t peak_ns; /* of all blocks */
	struct usage culled;
	bool is_culled;
};

#define ANSWER_OF struct told_side
static const struct answer_field side_fields[] = {
	ROW("size", side.allocated.bytes, "bytes", "asked for"),
	ROW("min_size", side.min_size, "bytes", "of one block"),
	ROW("max_size", side.max_size, "bytes", "of one block"),
	ROW_AS("min_timestamp", side.first_ns, ANSWER_TIMES, "since the epoch", "first allocation"),
	ROW_AS("max_timestamp", side.last_ns, ANSWER_TIMES, "since the epoch", "last allocation"),
	ROW_AS("interval", interval_ns, ANSWER_TIME, "duration", "between these"),
	ROW("leaked_count", side.leaked_blocks, "blocks", "never freed"),
	ROW("allocated_count", side.allocated.blocks, "blocks", ""),
	{0},
};
static const struct answer side_answer = {"side", side_fields};

static const struct answer_field matched_fields[] = {
	ROWS_OF(side_answer, side), ROWS_OF_GRAPH, {0}};
static const struct answer matched_answer = {"matched_side", matched_fields};

static const struct answer_field all_fields[] = {
	ROWS_OF(side_answer, side),
	ROW_AS("max_total_usage_first_seen_at", peak_ns, ANSWER_TIMES, "since the epoch",
	       "when most of its bytes were in use first"),
	ROW("culled_count", culled.blocks, "blocks", "in no other number here", WHEN(is_culled)),
	ROW("culled_size", culled.bytes, "bytes", "in no other number here", WHEN(is_culled)),
	ROWS_OF_GRAPH,
	{0},
};
#undef ANSWER_OF
static const struct answer all_answer = {"all_side", all_fields};

static const struct answer_field group_fields[] = {
	BY_HAND("all", ANSWER_OBJECT, NULL, "every block of the backtrace", .of = &all_answer),
	BY_HAND("only_matched", ANSWER_OBJECT, NULL, "those that match", .of = &matched_answer),
	BY_HAND("backtrace_id", ANSWER_U32, "id", "0: without a backtrace"),
	BY_HAND("backtrace", ANSWER_OBJECT, NULL, "the outermost frame first", .shape = ANSWER_LIST,
		.of = &frame_answer),
	{0},
};
static const struct answer group_answer = {"allocation_group", group_fields};

static const struct answer_field groups_fields[] = {
	BY_HAND("allocations", ANSWER_OBJECT, NULL, "the groups", .shape = ANSWER_LIST,
		.of = &group_answer),
	BY_HAND("total_count", ANSWER_U64, "groups", "that match"),
	{0},
};
const struct answer allocation_groups_answer = {"allocation_groups", groups_fields};

static const struct answer_field backtraces_fields[] = {
	BY_HAND("backtraces", ANSWER_OBJECT, NULL, "of each its frames, the outermost first",
		.shape = ANSWER_LISTS, .of = &frame_answer),
	BY_HAND("total_count", ANSWER_U64, "backtraces", "that match"),
	{0},
};
const struct answer backtraces_answer = {"backtraces", backtraces_fields};

static void write_side(struct page *page, const struct exchange *x, const char *key,
		       const struct answer *answer, struct told_side *told,
		       const struct allocation_group *g, const char *filters)
{
	const struct answer_context context = frames_context(x->source->view, NULL);

	told->interval_ns = told->side.last_ns - told->side.first_ns;
	json_object(&page->json, key);
	json_members(&page->json, answer, told, &context);
	if (page->what.graphs)
		json_graph_urls(&page->json, x, "backtraces", g->node, filters);
	json_end(&page->json, '}');
}

static int write_group(struct page *page, struct exchange *x, const struct allocation_group *g)
{
	struct json *json = &page->json;
	struct view *view = x->source->view;
	const char *filters = buf_text(&page->filters);
	int r;

	if (!filters)
		return err_set(&x->err, -ENOMEM, "out of memory");
	json_object(json, NULL);
	write_side(page, x, "all", &all_answer,
		   &(struct told_side){.side = g->all,
				       .peak_ns = g->peak_ns,
				       .culled = g->culled,
				       .is_culled = g->culled.blocks},
		   g, "");
	write_side(page, x, "only_matched", &matched_answer,
		   &(struct told_side){.side = g->matched}, g, filters);
	json_u64(json, "backtrace_id", g->node);
	r = json_backtrace(json, "backtrace", view, g->node, page->what.strip, &x->err);
	json_end(json, '}');
	return r;
}

static int groups_begin(struct page *page, struct exchange *x, const struct route_parameter *table,
			const char *key)
{
	struct order order;
	int r = what_read(x, table, &page->what);

	if (!r)
		r = find_order(x, &page->what, &order);
	if (!r)
		r = query_kept_groups(x->source->view, &page->what.filter, &page->groups, &x->err);
	if (r < 0)
		return r;
	if (page->groups.count)
		qsort_r(page->groups.list, page->groups.count, sizeof(*page->groups.list),
			groups_in_order, &order);
	page->at = page->what.skip < page->groups.count ? page->what.skip : page->groups.count;
	page->end = page->groups.count - page->at < page->what.count ? page->groups.count
								     : page->at + page->what.count;
	encode_filters(x, table, &page->filters);
	json_answer(&page->json, x);
	json_array(&page->json, key);
	return 0;
}

static int write_backtrace(struct page *page, struct exchange *x, const struct allocation_group *g)
{
	return json_backtrace(&page->json, NULL, x->source->view, g->node, page->what.strip,
			      &x->err);
}

/* The common part: writes some groups in each step. */
static int page_groups(struct exchange *x, const struct route_parameter *table, const char *key,
		       int (*write)(struct page *page, struct exchange *x,
				    const struct allocation_group *g))
{
	struct page *page = x->work;
	int r = 0;

	if (!page) {
		page = calloc(1, sizeof(*page));
		if (!page)
			return err_set(&x->err, -ENOMEM, "out of memory");
		x->work = page;
		x->work_free = groups_page_free;
		r = groups_begin(page, x, table, key);
	}
	while (!r && page->at < page->end && x->out.length < STEP_BYTES)
		r = write(page, x, &page->groups.list[page->at++]);
	if (r < 0)
		return r;
	if (page->at < page->end)
		return buf_error(&x->out) ? buf_error(&x->out) : 1;
	json_end(&page->json, ']');
	json_u64(&page->json, "total_count", page->groups.count);
	json_end(&page->json, '}');
	return buf_error(&x->out);
}

int groups_step(struct exchange *x)
{
	return page_groups(x, groups_parameters, "allocations", write_group);
}

int backtraces_step(struct exchange *x)
{
	return page_groups(x, backtraces_parameters, "backtraces", write_backtrace);
}
