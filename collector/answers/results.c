/* Query results as JSON. See results.h. */
#include "collector/answers/results.h"

#include "collector/answers/answer.h"
#include "collector/answers/json.h"
#include "collector/answers/names.h"
#include "collector/answers/weight.h"

#include "base/ban.h"

/* ---- groups ---- */

#define ANSWER_OF struct group
static const struct answer_field group_fields[] = {
	ROWS_SITE,
	ROW("backtrace_id", node, "id", "of the heaviest backtrace"),
	ROW("value", value, NULL, "what was asked for"),
	ROW("allocated", allocated, NULL, "all blocks"),
	ROW("leaked", leaked, NULL, "not freed by the end"),
	ROW("temporary", freed, NULL, "freed"),
	ROW("min_size", min_size, "bytes", "of one block"),
	ROW("max_size", max_size, "bytes", "of one block"),
	ROW("first_ns", first_ns, "ns", "first allocation, since the start"),
	ROW("last_ns", last_ns, "ns", "last allocation, since the start"),
	{0},
};
#undef ANSWER_OF
const struct answer group_answer = {"group", group_fields};

#define ANSWER_OF struct groups
static const struct answer_field groups_fields[] = {
	ROW("total", total, NULL, "of all groups"),
	ROW("group_count", count, "groups", "how many there are"),
	ROW_PAGE("groups", list, count, group_answer, "the heaviest first"),
	{0},
};
#undef ANSWER_OF
const struct answer groups_answer = {"groups", groups_fields};

/* ---- what call sites leave out ---- */

#define ANSWER_OF struct hidden_function
static const struct answer_field hidden_fields[] = {
	ROW("function", function, NULL, ""),
	ROW_SHORT("function_short", function),
	ROW("module", module, NULL, "path of the program or library", .when = IF_SET),
	ROW("is_wrapper", is_wrapper, NULL, "found by what passes through it; false: by a rule"),
	ROW("backtraces", backtraces, "backtraces", "different ones in which it is left out"),
	{0},
};
#undef ANSWER_OF
const struct answer hidden_answer = {"hidden_function", hidden_fields};

/* ---- totals ---- */

#define ANSWER_OF struct report
static const struct answer_field report_fields[] = {
	ROW("allocated", allocated, NULL, "all blocks"),
	ROW("temporary", freed, NULL, "freed"),
	ROW("leaked", leaked, NULL, "not freed by the end"),
	ROW("peak", peak, NULL, "the most that was in use"),
	ROW("peak_ns", peak_ns, "ns", "when that was first, since the start"),
	ROW("culled", culled.matched, NULL,
	    "blocks that the agent sent in sums, which are in allocated and temporary"),
	ROW("culled_left_out", culled.unknown, NULL,
	    "those of which sums can't tell what a filter asks, which are in no number"),
	ROW("allocations", allocations, "blocks", "estimated where sampled"),
	ROW("frees", frees, "blocks", "estimated where sampled"),
	ROW("reallocations", reallocations, "events", "as far as they were recorded"),
	ROW("failed", failed, "events", "allocations that failed"),
	ROW("distinct_backtraces", distinct_stacks, "backtraces", "that allocated"),
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
		      "where the point begins"),
	BUCKETS("size_delta", bytes_change, "bytes", "from its start to its end"),
	BUCKETS("count_delta", blocks_change, "blocks", "from its start to its end"),
	BUCKETS("allocated_size", bytes_max, "bytes", "most in use at any moment of it",
		SHOWN(3, "HIGHEST", 10)),
	BUCKETS("allocated_count", blocks_max, "blocks", "most in use at any moment of it"),
	BUCKETS("allocations", allocations, "blocks", "births in it", SHOWN(6, "ALLOCATIONS", 11)),
	BUCKETS("deallocations", deallocations, "blocks", "deaths in it", SHOWN(7, "FREES", 10)),
	BUCKETS("start_ns", start_ns, "ns", "where it begins, since the start",
		SHOWN(1, "FROM", 10)),
	BUCKETS("allocated_size_min", bytes_min, "bytes", "least in use", SHOWN(2, "LOWEST", 10)),
	BUCKETS("allocated_count_min", blocks_min, "blocks", "least in use"),
	BUCKETS("allocated_size_last", bytes, "bytes", "in use at its end",
		SHOWN(4, "AT THE END", 10)),
	BUCKETS("allocated_count_last", blocks, "blocks", "in use at its end",
		SHOWN(5, "BLOCKS", 9)),
	BUCKETS("allocations_size", allocated_bytes, "bytes", "born in it"),
	BUCKETS("deallocations_size", freed_bytes, "bytes", "that died in it"),
	ROW("width_ns", width_ns, "ns", "of each point; the last may be cut short"),
	ROW("end_ns", to_ns, "ns", "where the last one ends, since the start"),
	{0},
};
#undef BUCKETS
#undef ANSWER_OF
const struct answer timeline_answer = {"timeline", timeline_fields};

static const struct answer_field series_fields[] = {
	BY_HAND("name", ANSWER_TEXT, NULL, "of a group, of a filter, or of the rest"),
	BY_HAND("function", ANSWER_TEXT, NULL, "of a group; null: unknown", .may_be_null = true,
		.when = SOMETIMES),
	BY_HAND("function_short", ANSWER_TEXT, NULL,
		"without template arguments and parameters; absent: the same", .when = SOMETIMES),
	BY_HAND("file", ANSWER_TEXT, NULL, "null: unknown", .may_be_null = true, .when = SOMETIMES),
	BY_HAND("line", ANSWER_U32, NULL, "0: unknown", .when = SOMETIMES),
	BY_HAND("module", ANSWER_TEXT, NULL, "null: unknown", .may_be_null = true,
		.when = SOMETIMES),
	BY_HAND("backtrace_id", ANSWER_U32, "id", "of a group by backtrace", .when = SOMETIMES),
	BY_HAND("most", ANSWER_U64, "bytes or blocks", "of its values"),
	BY_HAND("allocated_size", ANSWER_U64, "bytes", "a value a point; with weight=bytes",
		.shape = ANSWER_LIST, .when = SOMETIMES),
	BY_HAND("allocated_count", ANSWER_U64, "blocks", "a value a point; with weight=blocks",
		.shape = ANSWER_LIST, .when = SOMETIMES),
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
	ROW("size_min", from, "bytes", ""),
	ROW("size_max", to, "bytes", "included", .when = IF_NO_MAX),
	ROW("allocated", usage, NULL, "all blocks of these sizes"),
	ROW("leaked", leaked, NULL, "those that were not freed"),
	{0},
};
static const struct answer size_class_answer = {"size_class", size_class_fields};

static const struct answer_field lifetime_class_fields[] = {
	ROW("lifetime_min_ns", from, "ns", ""),
	ROW("lifetime_max_ns", to, "ns", "included", .when = IF_NO_MAX),
	ROW("allocated", usage, NULL, "blocks that lived so long"),
	{0},
};
#undef ANSWER_OF
static const struct answer lifetime_class_answer = {"lifetime_class", lifetime_class_fields};

#define ANSWER_OF struct histogram
static const struct answer_field histogram_fields[] = {
	ROW("total", total, NULL, "of all"),
	ROW_LIST("sizes", sizes, size_count, size_class_answer, "classes double"),
	ROW_LIST("lifetimes", lifetimes, lifetime_count, lifetime_class_answer,
		 "of blocks that were freed"),
	ROW("leaked", leaked, NULL, "not freed by the end"),
	ROW("end_unknown", unknown, NULL, "nobody saw their end: a loss, an exec"),
	{0},
};
#undef ANSWER_OF
const struct answer histogram_answer = {"histogram", histogram_fields};

/* ---- leaks ---- */

#define ANSWER_OF struct survivor
static const struct answer_field survivor_fields[] = {
	ROWS_SITE,
	ROW("backtrace_id", node, "id", "of its biggest block in use"),
	ROW("suspect_bytes", suspect_bytes, "bytes", "by survival"),
	ROW("value", in_use, NULL, "not freed by the end"),
	ROW("old", old, NULL, "of those"),
	ROW("young", young, NULL, "of those: recent ones"),
	ROW("allocated", allocated, NULL, "all blocks"),
	ROW("whole_group_leaked", whole_group, NULL, "none of the site was freed"),
	ROW("age_min_ns", age_min_ns, "ns", "of those not freed"),
	ROW("age_max_ns", age_max_ns, "ns", "of those not freed"),
	ROW("longest_lifetime_ns", lifetime_max_ns, "ns", "of those freed", .when = IF_FALSE,
	    .if_at = offsetof(struct survivor, whole_group)),
	{0},
};
#undef ANSWER_OF
static const struct answer survivor_answer = {"leak", survivor_fields};

#define ANSWER_OF struct survivors
static const struct answer_field survivors_fields[] = {
	ROW("total", in_use, NULL, "not freed by the end"),
	ROW("old", old, NULL, "of those"),
	ROW("young", young, NULL, "of those: recent ones"),
	ROW("suspect_bytes", suspect_bytes, "bytes", "by survival"),
	ROW("young_ns", young_ns, "ns", "younger blocks are recent"),
	ROW("group_count", count, "groups", "how many there are"),
	ROW_PAGE("groups", list, count, survivor_answer, "most suspect bytes first"),
	{0},
};
#undef ANSWER_OF
const struct answer survivors_answer = {"leaks", survivors_fields};

#define ANSWER_OF struct suppressed_by
static const struct answer_field suppressed_by_fields[] = {
	ROW("pattern", pattern, NULL, "as it stands behind leak:"),
	ROW("built_in", about, NULL, "what it is, of one that is built in", .when = IF_SET),
	ROW("value", usage, NULL, "what it suppressed"),
	{0},
};
#undef ANSWER_OF
static const struct answer suppressed_by_answer = {"suppressed_by", suppressed_by_fields};

#define ANSWER_OF struct suppressed
static const struct answer_field suppressed_fields[] = {
	ROW("total", total, NULL, "left out of the answer"),
	ROW_LIST("patterns", list, count, suppressed_by_answer, "those that were used"),
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
	ROW("base_backtrace_id", base_node, "id", "of the base", .when = IF_NO_MAX),
	ROW("backtrace_id", new_node, "id", "of the new recording", .when = IF_NO_MAX),
	ROW_AS("kind", kind, ANSWER_WORD, NULL, "which side has it", .words = diff_kinds),
	ROW("bytes", bytes, "bytes", "new - base"),
	ROW("blocks", blocks, "blocks", "new - base"),
	ROW("bytes_error", bytes_error, "bytes", "half width of the 95 % interval", .when = IF_SET),
	ROW("base", base, NULL, "what the base has"),
	ROW("new", now, NULL, "what the new recording has"),
	{0},
};
#undef ANSWER_OF
static const struct answer diff_entry_answer = {"diff_group", diff_entry_fields};

#define ANSWER_OF struct diff
static const struct answer_field diff_fields[] = {
	ROW("base", base, NULL, "what the base has"),
	ROW("new", now, NULL, "what the new recording has"),
	ROW("bytes", bytes, "bytes", "new - base"),
	ROW("blocks", blocks, "blocks", "new - base"),
	ROW("added_bytes", added_bytes, "bytes", "of groups that only the new recording has"),
	ROW("added_blocks", added_blocks, "blocks", "of groups that only the new recording has"),
	ROW("removed_bytes", removed_bytes, "bytes", "of groups that only the base has"),
	ROW("removed_blocks", removed_blocks, "blocks", "of groups that only the base has"),
	ROW("grown_bytes", grown_bytes, "bytes", "of groups that both have"),
	ROW("shrunk_bytes", shrunk_bytes, "bytes", "of groups that both have"),
	ROW("added_count", added, "groups", ""),
	ROW("removed_count", removed, "groups", ""),
	ROW("changed_count", changed, "groups", ""),
	ROW("same_count", same, "groups", "without a difference, left out"),
	ROW_PAGE("groups", list, count, diff_entry_answer, "the largest difference first"),
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
	ROW("resident_bytes", resident, "bytes", "at the last reading of maps before"),
	ROW("in_use_blocks", blocks, "blocks", "that begin there"),
	ROW("in_use_bytes", bytes, "bytes", ""),
	ROW("page_bytes", page_bytes, "bytes", "of pages with something in use on them"),
	{0},
};
#undef ANSWER_OF
static const struct answer region_answer = {"heap_region", region_fields};

#define ANSWER_OF struct page_class
static const struct answer_field page_class_fields[] = {
	ROW("fill_min", fill_min, "part", "in use of the page; up to a tenth more"),
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
	ROW("in_use_bytes", bytes, "bytes", "B"),
	ROW("page_size", page_size, "bytes", ""),
	ROW("pages", pages, "pages", "with something in use on them"),
	ROW("page_bytes", page_bytes, "bytes", "P: of these pages"),
	ROW("page_fill", page_fill, "part", "B / P"),
	ROW_OBJECT("pages_by_fill", by_fill, page_class_answer, "pages by tenths",
		   .shape = ANSWER_ARRAY, .count_at = FRAGMENTATION_CLASSES,
		   .stride = sizeof(struct page_class)),
	ROW("sampled", sampled, NULL, "some blocks were not recorded: pages seem emptier"),
	ROW("gathered", gathered, NULL, "were maps gathered? Only then the rest"),
	ROW("maps_ns", maps_ns, "ns", "when R was read, since the start", WHEN(gathered)),
	ROW("resident_bytes", resident, "bytes", "R: of the heap's regions", WHEN(gathered)),
	ROW("fragmentation", fragmentation, "part", "1 - B / R", WHEN(gathered)),
	ROW_LIST("heap_regions", regions, region_count, region_answer, "most resident first",
		 WHEN(gathered)),
	{0},
};
#undef ANSWER_OF
const struct answer fragmentation_answer = {"fragmentation", fragmentation_fields};
