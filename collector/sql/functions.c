/* Functions in addition to SQLite's own: regular expressions, backtraces as text, tests of what a
 * backtrace passes through, and errors of estimates. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "proto/stack_columns.h"
#include "collector/query/match/pattern.h"
#include "collector/query/sweep/tally.h"
#include "collector/recording/recording.h"
#include "collector/sql/facts.h"
#include "collector/sql/stack_text.h"
#include "collector/sql/state.h"
#include "collector/symbols/fold_name.h"

#include "base/ban.h"

const struct function_about functions_about[] = {
	{"TEXT regexp PATTERN",
	 "whether a regular expression (PCRE2) matches somewhere in the text"},
	{"through(STACK, PATTERN)",
	 "1: a function of the backtrace matches the regular expression; as --function-regex"},
	{"through_source(STACK, PATTERN)",
	 "1: a source file of the backtrace does; as --source-regex"},
	{"through_module(STACK, NAME)",
	 "1: a frame lies in the library or program: libc.so.6, /usr/bin/app; as --module"},
	{"stack_text(STACK [, SEPARATOR])",
	 "the functions of a backtrace, the outermost first, with ; or SEPARATOR between them"},
	{"depth(STACK)", "frames of a backtrace, inlined ones not counted"},
	{"site(STACK)", "the innermost function that is not an allocator's own"},
	{"short_name(FUNCTION)", "its name without template arguments and parameters"},
	{"bytes(N)", "a size as people write it: 1.5 MiB"},
	{"duration(NS)", "a time as people write it: 1.50 s"},
	{"address(N)", "an address: 0x7f0123456789"},
	{"bytes_error(SIZE, BYTES)",
	 "over rows of allocations: half the 95 % interval of sum(bytes); 0: exact"},
	{"blocks_error(SIZE, BYTES)", "the same of sum(blocks)"},
	{0},
};

static struct sql *sql_of(sqlite3_context *context)
{
	return sqlite3_user_data(context);
}

static void functions_fail(sqlite3_context *context, int error, const struct err_text *err)
{
	sql_fail(sql_of(context), error, err);
	sqlite3_result_error(context, err_get(err, error), -1);
}

static bool functions_number_of(sqlite3_value *value, uint64_t *ret_number)
{
	if (sqlite3_value_numeric_type(value) == SQLITE_NULL || sqlite3_value_int64(value) < 0)
		return false;
	*ret_number = (uint64_t)sqlite3_value_int64(value);
	return true;
}

/* Returns the number of the node, or 0 if the value is not a node. */
static uint32_t stack_of(sqlite3_context *context, sqlite3_value *value)
{
	uint64_t number;

	return functions_number_of(value, &number) &&
			       number <= recording_nodes(sql_of(context)->recording)
		       ? (uint32_t)number
		       : 0;
}

/* ---- regular expressions ---- */

static void free_pattern(void *pattern)
{
	pattern_free(pattern);
}

/* X REGEXP Y calls regexp(Y, X). If the expression is constant, SQLite keeps its compiled form with
 * the statement. */
static void call_regexp(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct pattern *pattern = sqlite3_get_auxdata(context, 0), *made = NULL;
	const char *expression = (const char *)sqlite3_value_text(argv[0]);
	const char *text = (const char *)sqlite3_value_text(argv[1]);
	struct err_text err = {0};
	int r = 0;

	(void)argc;
	if (!expression || !text)
		return;
	if (!pattern) {
		r = pattern_new("regexp", expression, &made, &err);
		pattern = made;
	}
	if (!r)
		r = pattern_match(pattern, text, &err);
	if (r < 0)
		functions_fail(context, r, &err);
	else
		sqlite3_result_int(context, r);
	/* SQLite may free `made` at once, so this comes last. */
	if (made)
		sqlite3_set_auxdata(context, 0, made, free_pattern);
}

/* ---- what a backtrace passes through ---- */

enum what { WHAT_FUNCTION, WHAT_SOURCE, WHAT_MODULE };

/* The verdicts: one per node, which covers the node and all its callers. */
struct through {
	struct sql *sql;
	enum what what;
	struct pattern *pattern; /* NULL: WHAT_MODULE */
	char *module;
	uint32_t nodes;
	uint8_t verdict[]; /* by node: UNKNOWN, NO, YES */
};

enum { UNKNOWN, NO, YES };

static void free_through(void *context)
{
	struct through *t = context;

	if (!t)
		return;
	pattern_free(t->pattern);
	sqlite3_free(t->module);
	sqlite3_free(t);
}

static int new_through(struct sql *sql, enum what what, const char *text,
		       struct through **ret_through, struct err_text *err)
{
	uint32_t nodes = recording_nodes(sql->recording);
	/* SQLite allocates this, so that it is accounted: a text may have many of these. */
	struct through *t = sqlite3_malloc64(sizeof(*t) + nodes + 1);
	int r = 0;

	if (!t)
		return err_set(err, -ENOMEM, "out of memory");
	memset(t, 0, sizeof(*t) + nodes + 1);
	t->sql = sql;
	t->what = what;
	t->nodes = nodes;
	t->verdict[0] = NO;
	if (what == WHAT_MODULE)
		t->module = sqlite3_mprintf("%s", text);
	else
		r = pattern_new(what == WHAT_SOURCE ? "through_source" : "through", text,
				&t->pattern, err);
	if (what == WHAT_MODULE && !t->module)
		r = err_set(err, -ENOMEM, "out of memory");
	if (r < 0)
		free_through(t);
	else
		*ret_through = t;
	return r;
}

static int judge_frame(const struct through *t, const struct view_frame *frame,
		       struct err_text *err)
{
	if (t->what == WHAT_MODULE)
		return frame->module && (!strcmp(frame->module, t->module) ||
					 !strcmp(module_basename(frame->module), t->module));
	if (t->what == WHAT_SOURCE)
		return frame->file ? pattern_match(t->pattern, frame->file, err) : 0;
	return pattern_match(t->pattern, frame->name, err);
}

/* Tests the node's own frames. */
static int judge_node(const struct through *t, uint32_t node, struct err_text *err)
{
	uint32_t count = view_frame_count(t->sql->view, node);
	int r = 0;

	for (uint32_t i = 0; !r && i < count; i++) {
		struct view_frame frame = view_frame(t->sql->view, node, i);

		r = judge_frame(t, &frame, err);
	}
	return r;
}

/* Walks outwards to the first node whose verdict is known, then hands the verdict down. A parent's
 * number is lower, so the walk ends. */
static int judge_stack(struct through *t, uint32_t stack, struct err_text *err)
{
	uint32_t node = stack, verdict;
	int r = 0;

	while (!t->verdict[node]) {
		const struct stack_node *n;

		r = judge_node(t, node, err);
		if (r < 0)
			return r;
		if (r) {
			t->verdict[node] = YES;
			break;
		}
		n = recording_node(t->sql->recording, node);
		node = n && n->parent < node ? n->parent : 0;
	}
	verdict = t->verdict[node];
	for (uint32_t below = stack; below != node && !t->verdict[below];) {
		const struct stack_node *n = recording_node(t->sql->recording, below);

		t->verdict[below] = (uint8_t)verdict;
		below = n && n->parent < below ? n->parent : 0;
	}
	return verdict == YES;
}

static void answer_through(sqlite3_context *context, sqlite3_value **argv, enum what what)
{
	struct through *t = sqlite3_get_auxdata(context, 1), *made = NULL;
	const char *text = (const char *)sqlite3_value_text(argv[1]);
	struct err_text err = {0};
	int r = 0;

	if (!text)
		return;
	if (!t) {
		r = new_through(sql_of(context), what, text, &made, &err);
		t = made;
	}
	if (!r)
		r = judge_stack(t, stack_of(context, argv[0]), &err);
	if (r < 0)
		functions_fail(context, r, &err);
	else
		sqlite3_result_int(context, r);
	if (made)
		sqlite3_set_auxdata(context, 1, made, free_through);
}

static void call_through(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	(void)argc;
	answer_through(context, argv, WHAT_FUNCTION);
}

static void call_through_source(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	(void)argc;
	answer_through(context, argv, WHAT_SOURCE);
}

static void call_through_module(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	(void)argc;
	answer_through(context, argv, WHAT_MODULE);
}

/* ---- texts ---- */

static void call_stack_text(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	const char *separator = argc > 1 ? (const char *)sqlite3_value_text(argv[1]) : ";";

	if (sqlite3_value_type(argv[0]) != SQLITE_NULL && separator)
		stack_text_result(sql_of(context), stack_of(context, argv[0]), separator, context);
}

static void call_site(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct view_frame site;

	(void)argc;
	if (facts_site(sql_of(context), stack_of(context, argv[0]), &site))
		put_text(context, site.name);
}

static void call_depth(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	(void)argc;
	if (sqlite3_value_type(argv[0]) != SQLITE_NULL)
		put_number(context, facts_depth(sql_of(context), stack_of(context, argv[0])));
}

static void call_bytes(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	double bytes = sqlite3_value_double(argv[0]);
	char size[32], text[40];

	(void)argc;
	if (sqlite3_value_type(argv[0]) == SQLITE_NULL)
		return;
	snprintf(text, sizeof(text), "%s%s", bytes < 0 ? "-" : "",
		 format_size(size, bytes < 0 ? -bytes : bytes));
	sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
}

static void call_short_name(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	const char *name = (const char *)sqlite3_value_text(argv[0]);
	size_t size = (size_t)sqlite3_value_bytes(argv[0]) + 1;
	char *folded;

	(void)argc;
	if (!name)
		return;
	folded = sqlite3_malloc64(size);
	if (!folded) {
		sqlite3_result_error_nomem(context);
		return;
	}
	fold_name(folded, size, name);
	sqlite3_result_text(context, folded, -1, sqlite3_free);
}

static void call_duration(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	uint64_t ns;
	char text[32];

	(void)argc;
	if (functions_number_of(argv[0], &ns))
		sqlite3_result_text(context, format_duration(text, ns), -1, SQLITE_TRANSIENT);
}

static void call_address(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	char text[32];

	(void)argc;
	if (sqlite3_value_numeric_type(argv[0]) != SQLITE_INTEGER)
		return;
	snprintf(text, sizeof(text), "0x%llx", (unsigned long long)sqlite3_value_int64(argv[0]));
	sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
}

/* ---- errors of estimates ---- */

static void step_error(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct tally *tally = sqlite3_aggregate_context(context, sizeof(*tally));
	uint64_t size, weight;

	(void)argc;
	if (tally && functions_number_of(argv[0], &size) && functions_number_of(argv[1], &weight))
		tally_add(tally, size, weight);
}

static struct usage usage_of(sqlite3_context *context)
{
	const struct tally *tally = sqlite3_aggregate_context(context, 0);

	return tally ? tally_usage(tally) : (struct usage){0};
}

static void give_bytes_error(sqlite3_context *context)
{
	sqlite3_result_double(context, usage_of(context).bytes_error);
}

static void give_blocks_error(sqlite3_context *context)
{
	sqlite3_result_double(context, usage_of(context).blocks_error);
}

int functions_add(struct sql *sql)
{
	static const struct {
		const char *name;
		int arguments;
		void (*call)(sqlite3_context *context, int argc, sqlite3_value **argv);
		void (*step)(sqlite3_context *context, int argc, sqlite3_value **argv);
		void (*give)(sqlite3_context *context);
	} functions[] = {
		{"regexp", 2, call_regexp, NULL, NULL},
		{"through", 2, call_through, NULL, NULL},
		{"through_source", 2, call_through_source, NULL, NULL},
		{"through_module", 2, call_through_module, NULL, NULL},
		{"stack_text", 1, call_stack_text, NULL, NULL},
		{"stack_text", 2, call_stack_text, NULL, NULL},
		{"depth", 1, call_depth, NULL, NULL},
		{"site", 1, call_site, NULL, NULL},
		{"short_name", 1, call_short_name, NULL, NULL},
		{"bytes", 1, call_bytes, NULL, NULL},
		{"duration", 1, call_duration, NULL, NULL},
		{"address", 1, call_address, NULL, NULL},
		{"bytes_error", 2, NULL, step_error, give_bytes_error},
		{"blocks_error", 2, NULL, step_error, give_blocks_error},
	};
	int r = SQLITE_OK;

	for (size_t i = 0; r == SQLITE_OK && i < sizeof(functions) / sizeof(functions[0]); i++)
		r = sqlite3_create_function_v2(sql->db, functions[i].name, functions[i].arguments,
					       SQLITE_UTF8 | SQLITE_DETERMINISTIC, sql,
					       functions[i].call, functions[i].step,
					       functions[i].give, NULL);
	return r;
}
