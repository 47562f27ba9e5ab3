/* Conditions for scripts (--fail-if). See fail_if.h. */
#include "collector/cli/ask/fail_if.h"
#include "collector/query/survivors.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/cli/program.h"
#include "base/error.h"
#include "base/parse.h"
#include "base/cli/nearest.h"

#include "base/ban.h"

struct totals {
	struct report report;
	struct survivors survivors;
	struct groups value;
	uint64_t lost;
};

/* Lists all names that a condition can use, with the values of these totals. */
static void fail_if_fill(struct sql_named values[FAIL_IF_MAX], const struct totals *t)
{
	const struct report *r = &t->report;
	const struct sql_named all[] = {
		{"allocated_bytes", (double)r->allocated.bytes},
		{"allocated_blocks", (double)r->allocated.blocks},
		{"freed_bytes", (double)r->freed.bytes},
		{"freed_blocks", (double)r->freed.blocks},
		{"leaked_bytes", (double)r->leaked.bytes},
		{"leaked_blocks", (double)r->leaked.blocks},
		{"peak_bytes", (double)r->peak.bytes},
		{"peak_blocks", (double)r->peak.blocks},
		{"peak_at", (double)r->peak_ns / 1e9},
		{"duration", (double)r->duration_ns / 1e9},
		{"allocations", (double)r->allocations},
		{"frees", (double)r->frees},
		{"reallocations", (double)r->reallocations},
		{"failed_allocations", (double)r->failed},
		{"distinct_backtraces", (double)r->distinct_stacks},
		{"threads", (double)r->threads},
		{"suspect_bytes", (double)t->survivors.suspect_bytes},
		{"old_bytes", (double)t->survivors.old.bytes},
		{"old_blocks", (double)t->survivors.old.blocks},
		{"recent_bytes", (double)t->survivors.young.bytes},
		{"recent_blocks", (double)t->survivors.young.blocks},
		{"value_bytes", (double)t->value.total.bytes},
		{"value_blocks", (double)t->value.total.blocks},
		{"lost_events", (double)t->lost},
		{NULL, 0},
	};
	_Static_assert(sizeof(all) / sizeof(all[0]) <= FAIL_IF_MAX, "room for all names");

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		values[i] = all[i];
}

/* Reports an unknown name, with the nearest name and all names. */
static int fail_if_unknown(const struct command *command, const char *name,
			   const struct sql_named *values, const struct err_text *err)
{
	cleanup(buf_done) struct buf names = {0};
	struct nearest near;

	nearest_begin(&near, name, strlen(name));
	for (size_t i = 0; values[i].name; i++) {
		nearest_try(&near, values[i].name);
		buf_printf(&names, "%s %s", i ? "," : "", values[i].name);
	}
	if (near.found)
		return command_usage_error(command,
					   "--fail-if: %s; did you mean \"%s\"? There are%s",
					   err->text, near.found, buf_text(&names));
	return command_usage_error(command, "--fail-if: %s; there are%s", err->text,
				   buf_text(&names));
}

static int fail_if_evaluate(const struct command *command, const char *condition,
			    const struct sql_named *values, bool *ret_true)
{
	char unknown[SQL_NAME_MAX];
	struct err_text err = {0};
	int r = sql_condition(condition, values, ret_true, unknown, &err);

	if (r == -ENOENT)
		return fail_if_unknown(command, unknown, values, &err);
	return r < 0 ? command_usage_error(command, "--fail-if: %s", err.text) : EXIT_DONE;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Tells whether the condition contains this name. */
static bool speaks_of(const char *condition, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = condition; (at = strstr(at, name)); at += length)
		if ((at == condition || !is_word(at[-1])) && !is_word(at[length]))
			return true;
	return false;
}

/* Returns the number of digits to show: all of a whole number, else two behind the point. */
static int digits_of(double value)
{
	int digits = 3;

	if (value == (double)(int64_t)value)
		return 15;
	for (double size = value < 0 ? -value : value; size >= 10; size /= 10)
		digits++;
	return digits < 15 ? digits : 15;
}

/* Prints the result of the condition, with the values that it compared. */
static void fail_if_tell(const struct command *command, const char *condition,
			 const struct sql_named *values, bool is_true)
{
	cleanup(buf_done) struct buf text = {0};
	char number[32];

	for (size_t i = 0; values[i].name; i++) {
		if (!speaks_of(condition, values[i].name))
			continue;
		buf_printf(&text, "%s%s is %.*g", text.length ? ", " : ": ", values[i].name,
			   digits_of(values[i].value), values[i].value);
		if (strstr(values[i].name, "bytes") && values[i].value >= 1024)
			buf_printf(&text, " (%s)", format_size(number, values[i].value));
	}
	fflush(stdout);
	command_note(command, "%s %s%s", is_true ? "it is true that" : "it is not true that",
		     condition, buf_text(&text) ? buf_text(&text) : "");
}

int fail_if_known(const struct command *command, const char *condition,
		  const struct sql_named *values)
{
	bool is_true;

	return fail_if_evaluate(command, condition, values, &is_true);
}

int fail_if_judge(const struct command *command, const char *condition,
		  const struct sql_named *values)
{
	bool is_true = false;
	int status = fail_if_evaluate(command, condition, values, &is_true);

	if (status)
		return status;
	fail_if_tell(command, condition, values, is_true);
	return is_true ? EXIT_NO : EXIT_DONE;
}

int fail_if_check(const struct command_call *call, fail_if_filler *fill)
{
	const struct question_options *o = call->options;
	struct sql_named values[FAIL_IF_MAX];
	const struct totals nothing = {0};
	bool is_true;

	if (!o->fail_if)
		return EXIT_DONE;
	if (fill)
		fill(values, NULL);
	else
		fail_if_fill(values, &nothing);
	return fail_if_evaluate(call->command, o->fail_if, values, &is_true);
}

static int fail_if_take_suppressed(const struct question *q, struct usage *leaked,
				   struct err_text *err)
{
	struct groups left = {0};
	int r = query_groups(q->view, &q->filter, GROUP_BY_SITE, VALUE_LEAKED, NO_TIME, &left, err);

	if (!r)
		*leaked = left.total;
	groups_done(&left);
	return r;
}

static int fail_if_ask(struct question *q, struct totals *t, struct err_text *err)
{
	const struct suppressions *suppress = q->filter.suppress;
	int r;

	/* Suppressed blocks are not leaks, but they still count as allocated. */
	q->filter.suppress = NULL;
	r = query_report(q->view, &q->filter, &t->report, err);
	q->filter.suppress = suppress;
	if (!r && suppress)
		r = fail_if_take_suppressed(q, &t->report.leaked, err);
	if (!r)
		r = query_survivors(q->view, &q->filter, NO_TIME, &t->survivors, err);
	if (!r)
		r = query_groups(q->view, &q->filter, GROUP_BY_SITE, q->value, q->at_ns, &t->value,
				 err);
	t->lost = q->recorded.lost;
	return r;
}

/* Queries the totals, and lists them. */
static int fail_if_totals(struct question *q, struct sql_named values[FAIL_IF_MAX])
{
	struct totals totals = {0};
	struct err_text err = {0};
	int r = fail_if_ask(q, &totals, &err);

	fail_if_fill(values, &totals);
	survivors_done(&totals.survivors);
	groups_done(&totals.value);
	return r < 0 ? question_failed(q, r, &err) : EXIT_DONE;
}

int fail_if_answer(struct question *q, fail_if_filler *fill, int status)
{
	const char *condition = q->options->fail_if;
	struct sql_named values[FAIL_IF_MAX];

	if (!condition || status != EXIT_DONE)
		return status;
	if (fill)
		fill(values, q->result);
	else
		status = fail_if_totals(q, values);
	return status ? status : fail_if_judge(q->command, condition, values);
}
