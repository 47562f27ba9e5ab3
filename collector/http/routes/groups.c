/* /data/ID/allocation_groups and /data/ID/backtraces: matched allocations by backtrace, sorted, as
 * one page or all. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/http/routes/asking.h"
#include "collector/http/server/routes.h"
#include "collector/http/server/sources.h"

#include "base/ban.h"

#define SORT_WORDS                                                                                 \
	"only_matched. or all. with size, allocated_count, leaked_count, interval, "               \
	"min_timestamp, max_timestamp; "                                                           \
	"all.max_total_usage_first_seen_at"

static const struct route_parameter groups_parameters[] = {
	REQUEST_PREVIEW,
	REQUEST_GROUPS,
	REQUEST("sort_by", PARAMETER_TEXT, sort_by, SORT_WORDS,
		"the order; default only_matched.size"),
	REQUEST_ORDER("default dsc"),
	REQUEST_GRAPHS,
	REQUEST_STRIP,
	PASSED_OVER_LOOKS,
	PASSED_OVER_PAGES,
	{0},
};

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

/* The names with _relative have the same order. */
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
	uint64_t (*of)(const struct group_side *side); /* NULL: sorts by peak_ns */
	bool all, ascending;
};

static int find_order(struct asking *a, struct order *ret_order)
{
	const char *word = a->values.sort_by ? a->values.sort_by : "only_matched.size";
	bool all = !strncmp(word, "all.", 4);
	const char *name = all ? word + 4 : !strncmp(word, "only_matched.", 13) ? word + 13 : "";

	*ret_order = (struct order){.all = all, .ascending = a->values.order == ORDER_ASCENDING};
	if (all && !strncmp(name, "max_total_usage_first_seen_at", 29))
		return 0;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (!strcmp(keys[i].name, name)) {
			ret_order->of = keys[i].of;
			return 0;
		}
	}
	return asking_fault(
		a, "sort_by",
		err_set(&a->x->err, -EINVAL, "sort_by takes " SORT_WORDS ", not \"%.60s\"", word));
}

static uint64_t groups_key_of(const struct order *order, const struct allocation_group *g)
{
	return order->of ? order->of(order->all ? &g->all : &g->matched) : g->peak_ns;
}

/* Compares groups. Equal keys are ordered by the number of the backtrace. */
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
	struct allocation_groups groups;
	struct buf filters; /* the request's filters, for addresses of pictures */
	uint64_t at, end;
};

static void page_done(void *result)
{
	struct page *page = result;

	allocation_groups_done(&page->groups);
	buf_done(&page->filters);
}

static int groups_ask(struct asking *a)
{
	struct page *page = a->result;
	struct order order;
	int r = find_order(a, &order);

	if (!r)
		r = query_kept_groups(a->view, &a->values.filter, &page->groups, &a->x->err);
	if (r < 0)
		return r;
	if (page->groups.count)
		qsort_r(page->groups.list, page->groups.count, sizeof(*page->groups.list),
			groups_in_order, &order);
	asking_page(a, page->groups.count, &page->at, &page->end);
	encode_filters(a->x, a->x->route.parameters, &page->filters);
	return buf_text(&page->filters) ? 0 : err_set(&a->x->err, -ENOMEM, "out of memory");
}

struct told_side {
	struct group_side side;
	uint64_t interval_ns;
	uint64_t peak_ns; /* time of the peak of all blocks */
	struct usage culled;
	bool is_culled;
	uint32_t node;
	const char *filters;
};

static int groups_write_graphs(struct json *json, const struct answer_field *field,
			       const void *object, const struct answer_context *context)
{
	const struct asking *a = context->asked;
	const struct told_side *told = object;

	(void)field;
	if (a->values.graphs)
		json_graph_urls(json, a->x, "backtraces", told->node, told->filters);
	return 0;
}

#define ANSWER_OF struct told_side
static const struct answer_field side_fields[] = {
	ROW("size", side.allocated.bytes, "bytes", "bytes that the program asked for"),
	ROW("min_size", side.min_size, "bytes", "size of the smallest block"),
	ROW("max_size", side.max_size, "bytes", "size of the largest block"),
	ROW_AS("min_timestamp", side.first_ns, ANSWER_TIMES, "since the epoch",
	       "time of the first allocation"),
	ROW_AS("max_timestamp", side.last_ns, ANSWER_TIMES, "since the epoch",
	       "time of the last allocation"),
	ROW_AS("interval", interval_ns, ANSWER_TIME, "duration", "time between these two"),
	ROW("leaked_count", side.leaked_blocks, "blocks", "blocks that were never freed"),
	ROW("allocated_count", side.allocated.blocks, "blocks", ""),
	{0},
};
static const struct answer side_answer = {"side", side_fields};

static const struct answer_field matched_fields[] = {
	ROWS_SAME(side_answer), ROWS_OF_GRAPH(groups_write_graphs), {0}};
static const struct answer matched_answer = {"matched_side", matched_fields};

static const struct answer_field all_fields[] = {
	ROWS_SAME(side_answer),
	ROW_AS("max_total_usage_first_seen_at", peak_ns, ANSWER_TIMES, "since the epoch",
	       "the first moment at which most of its bytes were in use"),
	ROW("culled_count", culled.blocks, "blocks",
	    "short-lived blocks, which are in no other number here", WHEN(is_culled)),
	ROW("culled_size", culled.bytes, "bytes",
	    "bytes of short-lived blocks, which are in no other number here", WHEN(is_culled)),
	ROWS_OF_GRAPH(groups_write_graphs),
	{0},
};
#undef ANSWER_OF
static const struct answer all_answer = {"all_side", all_fields};

struct told_group {
	struct told_side all, matched;
	uint32_t node;
};

#define ANSWER_OF struct told_group
static const struct answer_field group_fields[] = {
	ROW_OBJECT("all", all, all_answer, "all blocks of the backtrace"),
	ROW_OBJECT("only_matched", matched, matched_answer, "the blocks that match"),
	ROW("backtrace_id", node, "id", "id of the backtrace; 0: there is none"),
	ROW_BACKTRACE("backtrace", node, "frames, the outermost first"),
	{0},
};
#undef ANSWER_OF
static const struct answer group_answer = {"allocation_group", group_fields};

#define ANSWER_OF struct page
static const struct answer_field groups_fields[] = {
	ROW_NEXT("allocations", group_answer, "the groups"),
	ROW("total_count", groups.count, "groups", "number that match"),
	{0},
};
static const struct answer allocation_groups_answer = {"allocation_groups", groups_fields};

static int groups_next(struct asking *a)
{
	struct page *page = a->result;
	const struct allocation_group *g;

	if (page->at == page->end)
		return 0;
	g = &page->groups.list[page->at++];
	return asking_element(
		a, &group_answer,
		&(struct told_group){.all = {.side = g->all,
					     .interval_ns = interval_of(&g->all),
					     .peak_ns = g->peak_ns,
					     .culled = g->culled,
					     .is_culled = g->culled.blocks,
					     .node = g->node,
					     .filters = ""},
				     .matched = {.side = g->matched,
						 .interval_ns = interval_of(&g->matched),
						 .node = g->node,
						 .filters = buf_text(&page->filters)},
				     .node = g->node});
}

const struct route groups_route = {
	.path = "allocation_groups",
	.about = "matched allocations by backtrace, beside all of the same backtrace",
	.flags = ROUTE_OF_RECORDING | ROUTE_KEPT,
	.parameters = groups_parameters,
	.answer = &allocation_groups_answer,
	ROUTE_ASKS(struct page, groups_ask, page_done),
	.next = groups_next,
};

/* ---- backtraces alone ---- */

static const struct answer_field backtraces_fields[] = {
	BY_HAND("backtraces", ANSWER_OBJECT, NULL,
		"for each backtrace its frames, the outermost first", .shape = ANSWER_LISTS,
		.of = &frame_answer, .streamed = true),
	ROW("total_count", groups.count, "backtraces", "number that match"),
	{0},
};
#undef ANSWER_OF
static const struct answer backtraces_answer = {"backtraces", backtraces_fields};

static int backtraces_next(struct asking *a)
{
	struct page *page = a->result;
	int r;

	if (page->at == page->end)
		return 0;
	r = json_backtrace(&a->json, NULL, a->view, page->groups.list[page->at++].node,
			   a->values.strip, &a->x->err);
	return r ? r : 1;
}

const struct route backtraces_route = {
	.path = "backtraces",
	.about = "the backtraces of matched allocations",
	.flags = ROUTE_OF_RECORDING,
	.parameters = (const struct route_parameter[]){REQUEST_GROUPS, REQUEST_STRIP, {0}},
	.answer = &backtraces_answer,
	ROUTE_ASKS(struct page, groups_ask, page_done),
	.next = backtraces_next,
};
