/* Query results as JSON. See results.h. */
#include "collector/answers/results.h"

#include "collector/answers/answer.h"
#include "collector/answers/json.h"
#include "collector/answers/names.h"
#include "collector/answers/weight.h"
#include "collector/query/survivors.h"

#include "base/ban.h"

/* ---- groups ---- */

#define ANSWER_OF struct group
static const struct answer_field group_fields[] = {
	ROWS_SITE,
	ROW("backtrace_id", node, "id", "id of the heaviest backtrace"),
	ROW("value", value, NULL, "the amount that was asked for"),
	ROW("allocated", allocated, NULL, "all blocks, whatever became of them"),
	ROW("leaked", leaked, NULL, "blocks that were not freed by the end"),
	ROW("temporary", freed, NULL, "blocks that were freed"),
	ROW("min_size", min_size, "bytes", "size of the smallest block"),
	ROW("max_size", max_size, "bytes", "size of the largest block"),
	ROW("first_ns", first_ns, "ns", "time of the first allocation, since the start"),
	ROW("last_ns", last_ns, "ns", "time of the last allocation, since the start"),
	{0},
};
#undef ANSWER_OF
const struct answer group_answer = {"group", group_fields};

#define ANSWER_OF struct groups
static const struct answer_field groups_fields[] = {
	ROW("total", total, NULL, "all groups together"),
	ROW("group_count", count, "groups", "number of groups"),
	ROW_PAGE("groups", list, count, group_answer, "the heaviest first"),
	{0},
};
#undef ANSWER_OF
const struct answer groups_answer = {"groups", groups_fields};

/* ---- hidden functions ---- */

#define ANSWER_OF struct hidden_function
static const struct answer_field hidden_fields[] = {
	ROW("function", function, NULL, ""),
	ROW_SHORT("function_short", function),
	ROW("module", module, NULL, "path of the program or library", .when = IF_SET),
	ROW("is_wrapper", is_wrapper, NULL,
	    "true: it was found by its share of what passes through it; false: by a rule"),
	ROW("backtraces", backtraces, "backtraces", "different backtraces in which it is left out"),
	{0},
};
#undef ANSWER_OF
const struct answer hidden_answer = {"hidden_function", hidden_fields};

/* ---- totals ---- */

#define ANSWER_OF struct report
static const struct answer_field report_fields[] = {
	ROW("allocated", allocated, NULL, "all blocks, whatever became of them"),
	ROW("temporary", freed, NULL, "blocks that were freed"),
	ROW("leaked", leaked, NULL, "blocks that were not freed by the end"),
	ROW("peak", peak, NULL, "the most that was in use at any moment"),
	ROW("peak_ns", peak_ns, "ns", "the first moment at which that was in use, since the start"),
	ROW("culled", culled.matched, NULL,
	    "short-lived blocks, which the agent sent as sums; allocated and temporary include "
	    "them"),
	ROW("culled_left_out", culled.unknown, NULL,
	    "short-lived blocks that are in no number, because their sums can't tell whether the "
	    "filter matches"),
	ROW("allocations", allocations, "blocks", "number of allocations; an estimate if sampled"),
	ROW("frees", frees, "blocks", "number of frees; an estimate if sampled"),
	ROW("reallocations", reallocations, "events", "number of reallocations that were recorded"),
	ROW("failed", failed, "events", "allocations that failed"),
	ROW("distinct_backtraces", distinct_stacks, "backtraces",
	    "different backtraces that allocated"),
	ROW("threads", threads, "threads", ""),
	ROW("modules", modules, "modules", "programs and libraries"),
	{0},
};
#undef ANSWER_OF
const struct answer report_answer = {"report", report_fields};

/* ---- over time ---- */

#define ANSWER_OF			  struct timeline
#define BUCKETS(label, member, unit, ...) ROW_COLUMN(label, list, count, member, unit, __VA_ARGS__)
static const struct answer_field timeline_fields[] = {
	ROW_COLUMN_AS("xs", list, count, start_ns, ANSWER_MS, "ms since the epoch",
		      "where each point begins"),
	BUCKETS("size_delta", bytes_change, "bytes",
		"change of the bytes in use, from the start of the point to its end"),
	BUCKETS("count_delta", blocks_change, "blocks",
		"change of the blocks in use, from the start of the point to its end"),
	BUCKETS("allocated_size", bytes_max, "bytes",
		"the most bytes in use at any moment of the point", SHOWN(3, "HIGHEST", 10)),
	BUCKETS("allocated_count", blocks_max, "blocks",
		"the most blocks in use at any moment of the point"),
	BUCKETS("allocations", allocations, "blocks", "blocks allocated during the point",
		SHOWN(6, "ALLOCATIONS", 11)),
	BUCKETS("deallocations", deallocations, "blocks", "blocks freed during the point",
		SHOWN(7, "FREES", 10)),
	BUCKETS("start_ns", start_ns, "ns", "where the point begins, since the start",
		SHOWN(1, "FROM", 10)),
	BUCKETS("allocated_size_min", bytes_min, "bytes",
		"the fewest bytes in use at any moment of the point", SHOWN(2, "LOWEST", 10)),
	BUCKETS("allocated_count_min", blocks_min, "blocks",
		"the fewest blocks in use at any moment of the point"),
	BUCKETS("allocated_size_last", bytes, "bytes", "bytes in use at the end of the point",
		SHOWN(4, "AT THE END", 10)),
	BUCKETS("allocated_count_last", blocks, "blocks", "blocks in use at the end of the point",
		SHOWN(5, "BLOCKS", 9)),
	BUCKETS("allocations_size", allocated_bytes, "bytes", "bytes allocated during the point"),
	BUCKETS("deallocations_size", freed_bytes, "bytes", "bytes freed during the point"),
	ROW("width_ns", width_ns, "ns", "width of each point; the last one may be shorter"),
	ROW("end_ns", to_ns, "ns", "where the last point ends, since the start"),
	{0},
};
#undef BUCKETS
#undef ANSWER_OF
const struct answer timeline_answer = {"timeline", timeline_fields};

static const struct answer_field series_fields[] = {
	BY_HAND("name", ANSWER_TEXT, NULL, "name of a group, of a filter, or of the rest"),
	BY_HAND("function", ANSWER_TEXT, NULL, "function of a group; null: unknown",
		.may_be_null = true, .when = SOMETIMES),
	BY_HAND("function_short", ANSWER_TEXT, NULL,
		"the function without template arguments and parameters; absent if that is the "
		"same",
		.when = SOMETIMES),
	BY_HAND("file", ANSWER_TEXT, NULL, "null: unknown", .may_be_null = true, .when = SOMETIMES),
	BY_HAND("line", ANSWER_U32, NULL, "0: unknown", .when = SOMETIMES),
	BY_HAND("module", ANSWER_TEXT, NULL, "null: unknown", .may_be_null = true,
		.when = SOMETIMES),
	BY_HAND("backtrace_id", ANSWER_U32, "id", "id of the backtrace, if groups are backtraces",
		.when = SOMETIMES),
	BY_HAND("most", ANSWER_U64, "bytes or blocks", "the highest of its values"),
	BY_HAND("allocated_size", ANSWER_U64, "bytes", "a value for each point, with weight=bytes",
		.shape = ANSWER_LIST, .when = SOMETIMES),
	BY_HAND("allocated_count", ANSWER_U64, "blocks",
		"a value for each point, with weight=blocks", .shape = ANSWER_LIST,
		.when = SOMETIMES),
	{0},
};
static const struct answer series_answer = {"series", series_fields};

static void json_site(struct json *json, const struct series *s)
{
	json_string(json, "function", s->function);
	json_short_name(json, "function_short", s->function);
	json_string(json, "file", s->file);
	json_u64(json, "line", s->line);
	json_string(json, "module", s->module);
}

static int write_series(struct json *json, const struct answer_field *field, const void *object,
			const struct answer_context *context)
{
	const struct told_timeline *told = object;
	const struct series_list *series = &told->series;

	(void)context;
	if (!series->count)
		return 0;
	json_array(json, field->name);
	for (uint32_t k = 0; k < series->count; k++) {
		const struct series *s = &series->list[k];

		json_object(json, NULL);
		json_string(json, "name", s->name);
		if (s->function || s->module)
			json_site(json, s);
		if (s->node)
			json_u64(json, "backtrace_id", s->node);
		json_u64(json, "most", s->most);
		json_array(json,
			   told->weight == EXPORT_BYTES ? "allocated_size" : "allocated_count");
		for (uint32_t i = 0; i < told->timeline.count; i++)
			json_u64(json, NULL, s->values[i]);
		json_end(json, ']');
		json_end(json, '}');
	}
	json_end(json, ']');
	return 0;
}

#define ANSWER_OF struct told_timeline
static const struct answer_field told_timeline_fields[] = {
	ROWS_OF(timeline_answer, timeline),
	ROW_WRITTEN("series", ANSWER_OBJECT, NULL, "bands, the largest first", write_series,
		    .shape = ANSWER_LIST, .of = &series_answer, .when = SOMETIMES),
	{0},
};
#undef ANSWER_OF
const struct answer told_timeline_answer = {"timeline", told_timeline_fields};

void told_timeline_done(struct told_timeline *told)
{
	timeline_done(&told->timeline);
	series_done(&told->series);
}

/* ---- sizes and lifetimes ---- */

#define ANSWER_OF struct histogram_class
static const struct answer_field size_class_fields[] = {
	ROW("size_min", from, "bytes", "the smallest size of the class"),
	ROW("size_max", to, "bytes", "the largest size of the class, included", .when = IF_NO_MAX),
	ROW("allocated", usage, NULL, "all blocks of these sizes"),
	ROW("leaked", leaked, NULL, "blocks of these sizes that were not freed by the end"),
	{0},
};
static const struct answer size_class_answer = {"size_class", size_class_fields};

static const struct answer_field lifetime_class_fields[] = {
	ROW("lifetime_min_ns", from, "ns", "the shortest lifetime of the class"),
	ROW("lifetime_max_ns", to, "ns", "the longest lifetime of the class, included",
	    .when = IF_NO_MAX),
	ROW("allocated", usage, NULL, "blocks that lived so long"),
	{0},
};
#undef ANSWER_OF
static const struct answer lifetime_class_answer = {"lifetime_class", lifetime_class_fields};

#define ANSWER_OF struct histogram
static const struct answer_field histogram_fields[] = {
	ROW("total", total, NULL, "all blocks together"),
	ROW_LIST("sizes", sizes, size_count, size_class_answer,
		 "by size; each class is twice as wide as the one before"),
	ROW_LIST("lifetimes", lifetimes, lifetime_count, lifetime_class_answer,
		 "by lifetime; only blocks that were freed"),
	ROW("leaked", leaked, NULL, "blocks that were not freed by the end"),
	ROW("end_unknown", unknown, NULL,
	    "blocks whose end is unknown, because of a loss or an exec"),
	{0},
};
#undef ANSWER_OF
const struct answer histogram_answer = {"histogram", histogram_fields};

/* ---- leaks ---- */

#define ANSWER_OF struct survivor
static const struct answer_field survivor_fields[] = {
	ROWS_SITE,
	ROW("backtrace_id", node, "id", "id of the backtrace of its biggest block in use"),
	ROW("suspect_bytes", suspect_bytes, "bytes",
	    "bytes not freed, each block weighed by the share of blocks of its call site that "
	    "reached its age and were never freed; while the program goes on at most twice those "
	    "of the later half of the time"),
	ROW("value", in_use, NULL, "blocks that were not freed by the end"),
	ROW("old", old, NULL, "those of them that are not recent"),
	ROW("young", young, NULL, "those of them that are recent"),
	ROW("late", late, NULL,
	    "those of them that were allocated at late_since_ns or later; 0 if the program has "
	    "ended"),
	ROW("allocated", allocated, NULL, "all blocks, whatever became of them"),
	ROW("whole_group_leaked", whole_group, NULL, "no block of the call site was freed"),
	ROW("age_min_ns", age_min_ns, "ns", "age of the youngest block that was not freed"),
	ROW("age_max_ns", age_max_ns, "ns", "age of the oldest block that was not freed"),
	ROW("longest_lifetime_ns", lifetime_max_ns, "ns",
	    "longest lifetime of a block that was freed", .when = IF_FALSE,
	    .if_at = offsetof(struct survivor, whole_group)),
	{0},
};
#undef ANSWER_OF
const struct answer survivor_answer = {"leak", survivor_fields};

#define ANSWER_OF struct survivors
static const struct answer_field survivors_sum_fields[] = {
	ROW("total", in_use, NULL, "blocks that were not freed by the end"),
	ROW("old", old, NULL, "those of them that are not recent"),
	ROW("young", young, NULL, "those of them that are recent"),
	ROW("suspect_bytes", suspect_bytes, "bytes",
	    "bytes not freed, each block weighed by the share of blocks of its call site that "
	    "reached its age and were never freed"),
	ROW("young_ns", young_ns, "ns", "blocks younger than this are recent"),
	ROW("late_since_ns", since_ns, "ns",
	    "the program goes on: growth counts from here, where the later half of the time begins",
	    .when = IF_NO_MAX),
	ROW("group_count", count, "groups", "number of groups"),
	{0},
};
const struct answer survivors_sum_answer = {"leaks_sum", survivors_sum_fields};

static const struct answer_field survivors_fields[] = {
	ROWS_SAME(survivors_sum_answer),
	ROW_PAGE("groups", list, count, survivor_answer,
		 "call sites, those with most suspect bytes first"),
	{0},
};
#undef ANSWER_OF
const struct answer survivors_answer = {"leaks", survivors_fields};

#define ANSWER_OF struct suppressed_by
static const struct answer_field suppressed_by_fields[] = {
	ROW("pattern", pattern, NULL, "the pattern, as it stands behind leak:"),
	ROW("built_in", about, NULL, "what a built-in pattern stands for", .when = IF_SET),
	ROW("value", usage, NULL, "what the pattern suppressed"),
	{0},
};
#undef ANSWER_OF
static const struct answer suppressed_by_answer = {"suppressed_by", suppressed_by_fields};

#define ANSWER_OF struct suppressed
static const struct answer_field suppressed_fields[] = {
	ROW("total", total, NULL, "what was left out of the answer"),
	ROW_LIST("patterns", list, count, suppressed_by_answer,
		 "the patterns that suppressed something"),
	{0},
};
#undef ANSWER_OF
const struct answer suppressed_answer = {"suppressed", suppressed_fields};

/* ---- differences ---- */

static const char *const diff_kinds[] = {
	[DIFF_ADDED] = "added", [DIFF_REMOVED] = "removed", [DIFF_CHANGED] = "changed", NULL};

#define ANSWER_OF struct diff_entry
static const struct answer_field diff_entry_fields[] = {
	ROWS_SITE,
	ROW("base_backtrace_id", base_node, "id", "id of the heaviest backtrace in the base",
	    .when = IF_NO_MAX),
	ROW("backtrace_id", new_node, "id", "id of the heaviest backtrace in the new recording",
	    .when = IF_NO_MAX),
	ROW_AS("kind", kind, ANSWER_WORD, NULL,
	       "added: only the new recording has it; removed: only the base; changed: both",
	       .words = diff_kinds),
	ROW("bytes", bytes, "bytes", "bytes of new less those of base"),
	ROW("blocks", blocks, "blocks", "blocks of new less those of base"),
	ROW("bytes_error", bytes_error, "bytes", "half of the 95 % interval", .when = IF_SET),
	ROW("base", base, NULL, "what the base has"),
	ROW("new", now, NULL, "what the new recording has"),
	{0},
};
#undef ANSWER_OF
static const struct answer diff_entry_answer = {"diff_group", diff_entry_fields};

#define ANSWER_OF struct diff_hint
static const struct answer_field diff_hint_fields[] = {
	ROW("base_function", old, NULL, "the function, as the base calls it"),
	ROW("function", name, NULL, "the function, as the new recording calls it"),
	ROW("module", module, NULL, "path of the program or library", .when = IF_SET),
	ROW("base", base, NULL, "what it has in the base"),
	ROW("new", now, NULL, "what it has in the new recording"),
	ROW("percent", percent, NULL,
	    "share of the bytes of the base that are there again for the same callers"),
	{0},
};
#undef ANSWER_OF
static const struct answer diff_hint_answer = {"diff_renamed", diff_hint_fields};

#define ANSWER_OF struct diff
static const struct answer_field diff_fields[] = {
	ROW("base", base, NULL, "what the base has"),
	ROW("new", now, NULL, "what the new recording has"),
	ROW("bytes", bytes, "bytes", "bytes of new less those of base"),
	ROW("blocks", blocks, "blocks", "blocks of new less those of base"),
	ROW("added_bytes", added_bytes, "bytes", "bytes of groups that only the new recording has"),
	ROW("added_blocks", added_blocks, "blocks",
	    "blocks of groups that only the new recording has"),
	ROW("removed_bytes", removed_bytes, "bytes", "bytes of groups that only the base has"),
	ROW("removed_blocks", removed_blocks, "blocks", "blocks of groups that only the base has"),
	ROW("grown_bytes", grown_bytes, "bytes", "bytes by which groups of both have grown"),
	ROW("shrunk_bytes", shrunk_bytes, "bytes", "bytes by which groups of both have shrunk"),
	ROW("added_count", added, "groups", "groups that only the new recording has"),
	ROW("removed_count", removed, "groups", "groups that only the base has"),
	ROW("changed_count", changed, "groups", "groups of both that differ"),
	ROW("same_count", same, "groups", "groups without a difference, which are left out"),
	ROW_PAGE("groups", list, count, diff_entry_answer, "groups, the largest difference first"),
	ROW_LIST("renamed", hints, hint_count, diff_hint_answer,
		 "functions that look renamed, the heaviest first, 8 at most"),
	{0},
};
#undef ANSWER_OF
const struct answer diff_answer = {"diff", diff_fields};

/* ---- fragmentation ---- */

#define ANSWER_OF struct heap_region
static const struct answer_field region_fields[] = {
	ROW("address", address, "address", ""),
	ROW("size", size, "bytes", ""),
	ROW_AS("name", name, ANSWER_CHARS, NULL, ""),
	ROW("resident_bytes", resident, "bytes",
	    "bytes in memory at the last reading of maps before the moment"),
	ROW("in_use_blocks", blocks, "blocks", "blocks in use that begin in the region"),
	ROW("in_use_bytes", bytes, "bytes", ""),
	ROW("page_bytes", page_bytes, "bytes", "bytes of pages that have something in use on them"),
	{0},
};
#undef ANSWER_OF
static const struct answer region_answer = {"heap_region", region_fields};

#define ANSWER_OF struct page_class
static const struct answer_field page_class_fields[] = {
	ROW("fill_min", fill_min, "part",
	    "the part of the page that is in use, at least; at most a tenth more"),
	ROW("pages", pages, "pages", ""),
	ROW("in_use_bytes", bytes, "bytes", ""),
	{0},
};
#undef ANSWER_OF
static const struct answer page_class_answer = {"page_class", page_class_fields};

#define ANSWER_OF struct fragmentation
static const struct answer_field fragmentation_fields[] = {
	ROW("at_ns", at_ns, "ns", "the moment, since the start"),
	ROW("in_use_blocks", blocks, "blocks", ""),
	ROW("in_use_bytes", bytes, "bytes", "B: bytes in use"),
	ROW("page_size", page_size, "bytes", ""),
	ROW("pages", pages, "pages", "pages with something in use on them"),
	ROW("page_bytes", page_bytes, "bytes", "P: bytes of these pages"),
	ROW("page_fill", page_fill, "part", "B / P"),
	ROW_OBJECT("pages_by_fill", by_fill, page_class_answer, "pages by tenths",
		   .shape = ANSWER_ARRAY, .count_at = FRAGMENTATION_CLASSES,
		   .stride = sizeof(struct page_class)),
	ROW("sampled", sampled, NULL,
	    "true: some blocks were not recorded, so pages seem emptier than they are"),
	ROW("gathered", gathered, NULL,
	    "true: memory maps were gathered; only then the members below are there"),
	ROW("maps_ns", maps_ns, "ns", "when R was read, since the start", WHEN(gathered)),
	ROW("resident_bytes", resident, "bytes",
	    "R: bytes of the heap's regions that were in memory", WHEN(gathered)),
	ROW("fragmentation", fragmentation, "part", "1 - B / R", WHEN(gathered)),
	ROW_LIST("heap_regions", regions, region_count, region_answer,
		 "regions of the heap, those with most in memory first", WHEN(gathered)),
	{0},
};
#undef ANSWER_OF
const struct answer fragmentation_answer = {"fragmentation", fragmentation_fields};
