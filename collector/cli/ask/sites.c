/* Prints call sites as text and as JSON. See sites.h. */
#include "collector/cli/ask/sites.h"
#include "collector/query/hidden.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "base/saturated.h"
#include "collector/cli/ask/question.h"
#include "collector/cli/terminal.h"
#include "collector/answers/answer.h"
#include "collector/answers/json.h"
#include "collector/answers/results.h"
#include "collector/query/survivors.h"

#include "base/ban.h"

/*
 * A row of a table:
 *
 *	    BYTES     %     BLOCKS  CALL SITE
 *	 12.3 MiB  45.2    123,456  sqlite3MemMalloc
 *				    mem1.c:128, libsqlite3.so.0
 */

const char *usage_bytes(char *out, size_t size, const struct usage *usage)
{
	char bytes[32], error[32];

	format_size(bytes, (double)usage->bytes);
	if (usage->bytes_error > 0)
		snprintf(out, size, "%s +- %s", bytes, format_size(error, usage->bytes_error));
	else
		snprintf(out, size, "%s", bytes);
	return out;
}

const char *usage_blocks(char *out, size_t size, const struct usage *usage)
{
	char blocks[32], error[32];

	format_count(blocks, usage->blocks);
	if (usage->blocks_error >= 0.5)
		snprintf(out, size, "%s +- %s", blocks,
			 format_count(error, (uint64_t)(usage->blocks_error + 0.5)));
	else
		snprintf(out, size, "%s", blocks);
	return out;
}

double usage_unseen(const struct question *q, const struct usage *usage)
{
	return fmax(3.0 * (double)q->recorded.most_interval, usage->bytes_error);
}

const char *usage_samples(char *out, size_t size, const struct usage *usage)
{
	char count[32];

	out[0] = 0;
	if (usage->samples)
		snprintf(out, size, "%s sample%s", format_count(count, usage->samples),
			 usage->samples == 1 ? "" : "s");
	return out;
}

/* ---- backtraces ---- */

typedef bool frame_visitor(void *context, const struct view_frame *frame);

/* Calls `visit` for each frame from frame `first` of `node` outwards, until it returns false. */
static void each_frame_from(const struct question *q, uint32_t node, uint32_t first,
			    frame_visitor *visit, void *context)
{
	for (; node; node = view_parent(q->view, node), first = 0) {
		uint32_t count = view_frame_count(q->view, node);

		for (uint32_t i = first; i < count; i++) {
			struct view_frame frame = view_frame(q->view, node, i);

			if (!visit(context, &frame))
				return;
		}
	}
}

/* Does the same from the innermost frame. */
static void each_frame(const struct question *q, uint32_t node, frame_visitor *visit, void *context)
{
	each_frame_from(q, node, 0, visit, context);
}

void place_text(const char *file, uint32_t line, const char *module, char *out, size_t size)
{
	char place[256] = "";

	if (file && line)
		snprintf(place, sizeof(place), "%.200s:%u", module_basename(file), line);
	else if (file)
		snprintf(place, sizeof(place), "%.200s", module_basename(file));
	snprintf(out, size, "%s%s%s", place, place[0] && module ? ", " : "",
		 module_basename(module));
}

void place_print(const char *function, const char *file, uint32_t line, const char *module)
{
	char place[320];

	if (function && function[0] == '[')
		return;
	place_text(file, line, module, place, sizeof(place));
	terminal_blanks(SITE_INDENT);
	terminal_line(STYLE_DIM, place, terminal_width() - SITE_INDENT);
}

struct printing {
	unsigned left, skipped, indent;
	enum filter_hide hide;
	bool site_seen; /* the following frames are callers of the call site */
};

void name_and_place_print(enum style style, const char *name, const char *place,
			  const char *shorter, unsigned room)
{
	unsigned columns = *shorter ? 2 + terminal_columns(shorter) : 0;
	unsigned kept = columns <= room / 2 ? columns : 0;
	unsigned used = terminal_name(style, name, room - kept);

	if (*place && used + 2 + terminal_columns(place) <= room)
		shorter = place;
	else if (!kept && used + columns > room)
		return;
	if (*shorter) {
		fputs("  ", stdout);
		terminal_text(STYLE_DIM, shorter, 0);
	}
}

/* Prints the rest of a line, "by NAME FILE:LINE", behind `used` columns. */
static void print_by(const char *name, const char *file, uint32_t line, unsigned used)
{
	unsigned width = terminal_width(), room = width > used + 3 ? width - used - 3 : 1;
	char place[320];

	fputs("by ", stdout);
	place_text(file, line, NULL, place, sizeof(place));
	name_and_place_print(STYLE_PLAIN, name, place, place, room);
	putchar('\n');
}

/* Prints a line for a frame further out than the call site. */
static bool print_frame(void *context, const struct view_frame *frame)
{
	struct printing *p = context;

	if (!p->site_seen) {
		p->site_seen = !view_frame_hidden(frame, p->hide);
		return true;
	}
	if (!p->left) {
		p->skipped++;
		return true;
	}
	p->left--;
	terminal_blanks(p->indent);
	print_by(frame->name, frame->file, frame->line, p->indent);
	return true;
}

static void print_skipped(const struct printing *p)
{
	if (!p->skipped)
		return;
	terminal_blanks(p->indent);
	printf("... and %u more frame%s\n", p->skipped, p->skipped == 1 ? "" : "s");
}

void backtrace_print(const struct question *q, uint32_t node, unsigned frames)
{
	struct printing p = {.left = frames, .indent = SITE_INDENT, .hide = q->filter.hide};

	each_frame(q, node, print_frame, &p);
	print_skipped(&p);
}

/* ---- rows ---- */

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

#define CALLERS_SHOWN	6
#define CALLERS_PERCENT 5 /* percent of the whole: lighter sites have no callers shown */

/*
 * Prints a line for a caller, with its share if there are several:
 *
 *	by mallocWithAlarm  malloc.c:258
 *	51 % by pcache1Alloc  pcache1.c:364
 *	28 % by sqlite3_malloc  malloc.c:322
 */
static void print_caller(const struct caller *c, const struct group *site)
{
	unsigned used = SITE_INDENT;
	char share[16];

	terminal_blanks(SITE_INDENT);
	if (c->parted) {
		snprintf(share, sizeof(share), "%2.0f %% ",
			 percent(c->value.bytes, site->value.bytes));
		used += terminal_text(STYLE_PLAIN, share, 0);
	}
	print_by(c->function ? c->function : "?", c->file, c->line, used);
}

static void print_callers(const struct question *q, const struct groups *groups,
			  const struct group *site, const struct groups *backtraces)
{
	struct caller callers[CALLERS_SHOWN];
	size_t count;

	if (percent(site->value.bytes, groups->total.bytes) < CALLERS_PERCENT ||
	    query_callers(q->view, backtraces, site, callers, CALLERS_SHOWN, &count) < 0)
		return;
	for (size_t i = 0; i < count; i++)
		print_caller(&callers[i], site);
}

#define WAYS_COMMON	8  /* number of callers that all paths share */
#define WAYS_MOST	12 /* with the callers where the paths divide */
#define WAY_FRAMES	4  /* frames of each path beyond that */
#define WAY_INDENT	(SITE_INDENT + 5)
#define WAY_PERCENT_MIN 10 /* percent of the value: lighter paths are summed up */

/* Prints the frames further out than a caller. */
static void print_beyond(const struct question *q, const struct caller *c)
{
	struct printing p = {.left = c->parted ? WAY_FRAMES : 0,
			     .indent = c->parted ? WAY_INDENT : SITE_INDENT,
			     .site_seen = true};

	each_frame_from(q, c->node, c->frame + 1, print_frame, &p);
	print_skipped(&p);
}

/*
 * Callers that all paths share have no percentage; further out, each path has its share:
 *
 *	by read_line  text.c:40
 *	66 % by parse_header  parse.c:88
 *	     by parse  parse.c:120
 *	33 % by retry  retry.c:17
 *	     by main  main.c:9
 */
void ways_print(const struct question *q, const struct groups *backtraces, uint32_t node,
		const struct usage *value)
{
	const struct group site = {.node = node, .value = *value};
	struct caller callers[WAYS_MOST];
	double shown = 0;
	size_t count = 0;

	if (query_callers(q->view, backtraces, &site, callers, WAYS_MOST, &count) < 0)
		return;
	for (size_t i = 0; i < count; i++) {
		const struct caller *c = &callers[i];
		double share = percent(c->value.bytes, value->bytes);
		bool last =
			i + 1 == count || (i + 1 == WAYS_COMMON && !callers[WAYS_COMMON].parted);

		if (c->parted && share < WAY_PERCENT_MIN)
			continue;
		print_caller(c, &site);
		shown += c->parted ? share : 0;
		if (c->parted || last)
			print_beyond(q, c);
		if (last)
			break;
	}
	if (shown > 0 && shown < 99.5) {
		terminal_blanks(SITE_INDENT);
		printf("%2.0f %% by others\n", 100 - shown);
	}
}

static void sites_print_row(const struct question *q, const struct groups *groups,
			    const struct group *g, const struct site_table *table)
{
	char bytes[32], blocks[32], place[320], error[32], samples[48];
	unsigned width = terminal_width();

	printf("%9s %5.1f %10s  ", format_size(bytes, (double)g->value.bytes),
	       percent(g->value.bytes, groups->total.bytes), format_count(blocks, g->value.blocks));
	terminal_name(STYLE_BOLD, g->function ? g->function : "?", width - SITE_INDENT);
	putchar('\n');
	/* The name of an unnamed function is [module+offset]. The place would only repeat the
	 * module. */
	if (g->function && g->function[0] == '[')
		place[0] = 0;
	else
		place_text(g->file, g->line, g->module, place, sizeof(place));
	if (g->value.bytes_error > 0) {
		printf("+-%7s %16s  ", format_size(error, g->value.bytes_error),
		       usage_samples(samples, sizeof(samples), &g->value));
		terminal_line(STYLE_DIM, place, width - SITE_INDENT);
	} else if (place[0]) {
		terminal_blanks(SITE_INDENT);
		terminal_line(STYLE_DIM, place, width - SITE_INDENT);
	}
	if (table->frames)
		backtrace_print(q, g->node, table->frames);
	else if (table->backtraces)
		print_callers(q, groups, g, table->backtraces);
}

static void print_rest(const struct groups *groups, const struct site_table *table)
{
	struct usage rest = {0};
	char bytes[32], blocks[32], count[32];

	if (groups->count <= table->count)
		return;
	for (size_t i = table->count; i < groups->count; i++) {
		add_most(&rest.bytes, groups->list[i].value.bytes);
		add_most(&rest.blocks, groups->list[i].value.blocks);
	}
	printf("%9s %5.1f %10s  ", format_size(bytes, (double)rest.bytes),
	       percent(rest.bytes, groups->total.bytes), format_count(blocks, rest.blocks));
	printf("in %s more %s%s\n", format_count(count, groups->count - table->count), table->noun,
	       groups->count - table->count == 1 ? "" : "s");
}

void sites_print(const struct question *q, const struct groups *groups,
		 const struct site_table *table)
{
	terminal_line(STYLE_DIM, "    BYTES     %     BLOCKS  CALL SITE", 0);
	for (size_t i = 0; i < groups->count && i < table->count; i++)
		sites_print_row(q, groups, &groups->list[i], table);
	print_rest(groups, table);
}

/* ---- JSON ---- */

#define ANSWER_OF struct view_frame
static const struct answer_field frame_fields[] = {
	ROW("function", name, NULL, "the function, or in brackets what the frame stands for"),
	ROW("module", module, NULL, "path of the program or library", .when = IF_SET),
	ROW("file", file, NULL, "", .when = IF_SET),
	ROW("line", line, NULL, "", .when = IF_SET),
	ROW("is_inline", is_inline, NULL, "true: inlined into the frame before it"),
	{0},
};
#undef ANSWER_OF
static const struct answer frame_answer = {"site_frame", frame_fields};

static bool frame_json(void *context, const struct view_frame *frame)
{
	json_object_of(context, NULL, &frame_answer, frame, NULL);
	return true;
}

static int write_backtrace_of(struct json *json, const struct answer_field *field, uint32_t node,
			      const struct answer_context *context)
{
	json_array(json, field->name);
	each_frame(context->asked, node, frame_json, json);
	json_end(json, ']');
	return 0;
}

static int write_backtrace(struct json *json, const struct answer_field *field, const void *object,
			   const struct answer_context *context)
{
	return write_backtrace_of(json, field, ((const struct group *)object)->node, context);
}

static int write_leak_backtrace(struct json *json, const struct answer_field *field,
				const void *object, const struct answer_context *context)
{
	return write_backtrace_of(json, field, ((const struct survivor *)object)->node, context);
}

#define ANSWER_OF struct group
static const struct answer_field site_fields[] = {
	ROWS_SAME(group_answer),
	ROW_WRITTEN("backtrace", ANSWER_OBJECT, NULL,
		    "frames of the heaviest backtrace, the innermost first", write_backtrace,
		    .shape = ANSWER_LIST, .of = &frame_answer),
	{0},
};
#undef ANSWER_OF
const struct answer site_answer = {"site", site_fields};

#define ANSWER_OF struct survivor
static const struct answer_field leak_by_fields[] = {
	ROWS_SAME(survivor_answer),
	ROW("leaked", in_use, NULL, "the same as value"),
	ROW("temporary", freed, NULL, "blocks that were freed"),
	ROW("min_size", min_size, "bytes", "size of the smallest block"),
	ROW("max_size", max_size, "bytes", "size of the largest block"),
	ROW("first_ns", first_ns, "ns", "time of the first allocation, since the start"),
	ROW("last_ns", last_ns, "ns", "time of the last allocation, since the start"),
	ROW_WRITTEN("backtrace", ANSWER_OBJECT, NULL,
		    "frames of the backtrace of its biggest block in use, the innermost first",
		    write_leak_backtrace, .shape = ANSWER_LIST, .of = &frame_answer),
	{0},
};
#undef ANSWER_OF
const struct answer leak_by_answer = {"leak_by", leak_by_fields};
