/*
 * collector analyze --format memtracer: one line per call site and allocating function, in the form
 * that another system's tracer prints.
 *
 *	Memory Tracer. Recorded 45678 allocations.
 *
 *	Source Location           || Count   || Size      || Type
 *	queens.c:42               || 50000   || 400KB     || malloc
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "collector/cli/analyze/analyze.h"
#include "collector/cli/ask/kind.h"
#include "collector/cli/output.h"
#include "collector/formats/write/export.h"
#include "collector/answers/json.h"
#include "collector/formats/write/put.h"
#include "proto/columns.h"

#include "base/ban.h"

#define LOCATION_COLUMNS 24
#define LOCATION_MAX	 160

static bool is_shown(const struct analyze_options *o, const struct kind_group *g)
{
	return g->value.bytes >= o->minimum_size && g->value.blocks >= o->minimum_count;
}

/* Formats "queens.c:42". Without a line it is the function, and without a function module and
 * offset. */
static char *location(const struct kind_group *g, char out[LOCATION_MAX])
{
	const char *name = g->function ? g->function : "[unknown]";
	size_t n = 0;

	if (g->file)
		snprintf(out, LOCATION_MAX, "%.100s:%u", module_basename(g->file), g->line);
	else
		snprintf(out, LOCATION_MAX, "%.150s", name);
	for (; out[n]; n++)
		if ((unsigned char)out[n] < ' ' || out[n] == 0x7f)
			out[n] = '?';
	return out;
}

/* Formats "400KB", "1.5MB", "213B": powers of 1024, as the other tracer writes them. */
static char *size_text(uint64_t bytes, char out[32])
{
	static const char *const units[] = {"B", "KB", "MB", "GB", "TB", "PB", "EB"};
	double value = (double)bytes;
	unsigned unit = 0;

	for (; value >= 1024 && unit + 1 < sizeof(units) / sizeof(units[0]); unit++)
		value /= 1024;
	snprintf(out, 32, value < 10 && value != (double)(uint64_t)value ? "%.1f%s" : "%.0f%s",
		 value, units[unit]);
	return out;
}

static void put_stack_text(struct question *q, uint32_t node, struct buf *out)
{
	for (; node; node = view_parent(q->view, node)) {
		uint32_t count = view_frame_count(q->view, node);

		for (uint32_t i = 0; i < count; i++) {
			struct view_frame f = view_frame(q->view, node, i);

			buf_string(out, "    at ");
			export_collapsed_name(f.name, out);
			if (f.file) {
				buf_string(out, " (");
				export_collapsed_name(module_basename(f.file), out);
				buf_printf(out, ":%u)", f.line);
			}
			buf_byte(out, '\n');
		}
	}
}

static void memtracer_put_text(struct question *q, const struct analyze_options *o,
			       const struct kind_groups *groups, struct buf *out)
{
	char where[LOCATION_MAX], size[32], count[32];

	put_incomplete_line(out, "", q->recorded.completeness.line, "\n");
	buf_printf(out, "Memory Tracer. Recorded %" PRIu64 " allocations.\n\n",
		   groups->total.blocks);
	buf_printf(out, "%-*s || %-7s || %-9s || %s\n", LOCATION_COLUMNS, "Source Location",
		   "Count", "Size", "Type");
	for (size_t i = 0; i < groups->count; i++) {
		const struct kind_group *g = &groups->list[i];

		if (!is_shown(o, g))
			continue;
		snprintf(count, sizeof(count), "%" PRIu64, g->value.blocks);
		buf_printf(out, "%-*s || %-7s || %-9s || %s\n", LOCATION_COLUMNS,
			   location(g, where), count, size_text(g->value.bytes, size),
			   g->type ? g->type : "?");
		if (o->stack_traces)
			put_stack_text(q, g->node, out);
	}
}

static const struct answer_field stack_fields[] = {
	BY_HAND("function", ANSWER_TEXT, NULL, "null: unknown", .may_be_null = true),
	BY_HAND("file", ANSWER_TEXT, NULL, "null: unknown", .may_be_null = true),
	BY_HAND("line", ANSWER_U64, NULL, "0: unknown"),
	{0},
};
static const struct answer stack_answer = {"memtracer_frame", stack_fields};

static const struct answer_field kind_fields[] = {
	BY_HAND("location", ANSWER_TEXT, NULL, "file and line, or what is known of the place"),
	BY_HAND("function", ANSWER_TEXT, NULL, "null: unknown", .may_be_null = true),
	BY_HAND("file", ANSWER_TEXT, NULL, "null: unknown", .may_be_null = true),
	BY_HAND("line", ANSWER_U64, NULL, "0: unknown"),
	BY_HAND("count", ANSWER_U64, "blocks", ""),
	BY_HAND("size", ANSWER_U64, "bytes", ""),
	BY_HAND("type", ANSWER_TEXT, NULL, "null: unknown", .may_be_null = true),
	BY_HAND("stack", ANSWER_OBJECT, NULL, "frames, with --stack-traces", .of = &stack_answer,
		.shape = ANSWER_LIST, .when = SOMETIMES),
	{0},
};
static const struct answer kind_answer = {"memtracer_allocation", kind_fields};

static const struct answer_field memtracer_fields[] = {
	ROW_INCOMPLETE,
	BY_HAND("process", ANSWER_OBJECT, NULL, "which program was recorded, and how",
		.of = &recorded_answer),
	BY_HAND("value", ANSWER_TEXT, NULL, "what is counted"),
	BY_HAND("recorded", ANSWER_U64, "blocks", "all blocks together"),
	BY_HAND("bytes", ANSWER_U64, "bytes", "all bytes together"),
	BY_HAND("allocations", ANSWER_OBJECT, NULL, "allocations by place and type",
		.of = &kind_answer, .shape = ANSWER_LIST),
	{0},
};
const struct answer memtracer_answer = {"memtracer", memtracer_fields};

static void put_stack_json(struct question *q, uint32_t node, struct json *json)
{
	json_array(json, "stack");
	for (; node; node = view_parent(q->view, node)) {
		uint32_t count = view_frame_count(q->view, node);

		for (uint32_t i = 0; i < count; i++) {
			struct view_frame f = view_frame(q->view, node, i);

			json_object(json, NULL);
			json_string(json, "function", f.name);
			json_string(json, "file", f.file);
			json_u64(json, "line", f.line);
			json_end(json, '}');
		}
	}
	json_end(json, ']');
}

static void put_json(struct question *q, const struct analyze_options *o,
		     const struct kind_groups *groups, struct buf *out)
{
	char where[LOCATION_MAX];
	struct json json;

	question_json_begin(&json, out, q);
	json_string(&json, "value", value_name(q->value));
	json_u64(&json, "recorded", groups->total.blocks);
	json_u64(&json, "bytes", groups->total.bytes);
	json_array(&json, "allocations");
	for (size_t i = 0; i < groups->count; i++) {
		const struct kind_group *g = &groups->list[i];

		if (!is_shown(o, g))
			continue;
		json_object(&json, NULL);
		json_string(&json, "location", location(g, where));
		json_string(&json, "function", g->function);
		json_string(&json, "file", g->file);
		json_u64(&json, "line", g->line);
		json_u64(&json, "count", g->value.blocks);
		json_u64(&json, "size", g->value.bytes);
		json_string(&json, "type", g->type);
		if (o->stack_traces)
			put_stack_json(q, g->node, &json);
		json_end(&json, '}');
	}
	json_end(&json, ']');
	json_end(&json, '}');
	buf_byte(out, '\n');
}

static int memtracer_print(struct question *q)
{
	const struct question_options *options = q->options;
	const struct analyze_options *o = (const struct analyze_options *)options;
	cleanup(kind_groups_done) struct kind_groups groups = {0};
	cleanup(buf_done) struct buf out = {0};
	struct err_text err = {0};
	int r = query_kinds(q->view, &q->filter, q->value, q->at_ns, &groups, &err);

	if (r < 0)
		return question_failed(q, r, &err);
	if (options->common.json)
		put_json(q, o, &groups, &out);
	else
		memtracer_put_text(q, o, &groups, &out);
	return output_write(q->command, options->output ? options->output : "-", options->force,
			    &out);
}

const struct question_kind memtracer_question = {.value = VALUE_ALLOCATED,
						 .print = memtracer_print};
