/* collector ledger: shows the account of a recording, and what the recording lacks. Nothing is lost
 * in silence. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/parse.h"
#include "collector/cli/commands.h"
#include "collector/cli/ask/incomplete.h"
#include "collector/cli/ask/ledger_end.h"
#include "collector/answers/account.h"
#include "collector/answers/json.h"
#include "collector/recording/completeness.h"
#include "collector/recording/info.h"
#include "collector/recording/recording.h"
#include "collector/recording/stream_id.h"
#include "base/ban.h"

#define THREADS_SHOWN	 20
#define GAPS_SHOWN	 20
#define UNRECORDED_SHOWN 20

static void print_lines(const struct recording *r)
{
	char number[32];

	for (size_t i = 0; i < account_line_count; i++) {
		uint64_t value = account_number(r, &account_lines[i]);

		if (value || account_lines[i].always)
			printf("%-36s %20s\n", account_lines[i].text, format_count(number, value));
	}
}

static void print_threads(const struct recording *r)
{
	uint32_t count = recording_threads(r), shown = 0;

	printf("\n%-8s %-16s %14s %14s %12s\n", "THREAD", "NAME", "PRODUCED", "STORED", "LOST");
	for (uint32_t i = 1; i <= count && shown < THREADS_SHOWN; i++) {
		const struct thread_info *t = recording_thread(r, i);
		char a[32], b[32], c[32];

		if (!t)
			continue;
		printf("%-8u %-16.16s %14s %14s %12s\n", i, t->name, format_count(a, t->produced),
		       format_count(b, t->stored), format_count(c, t->lost));
		shown++;
	}
	if (count > shown)
		printf("... and %u more (--json has all)\n", count - shown);
}

static void print_gaps(const struct recording *r)
{
	uint32_t count = recording_gaps(r);

	if (!count)
		return;
	printf("\n%-8s %11s %11s %11s %11s %10s %10s  %s\n", "GAP IN", "EVENTS", "ALLOCATIONS",
	       "FREES", "BYTES", "FROM", "FOR", "REASON");
	for (uint32_t i = 0; i < count && i < GAPS_SHOWN; i++) {
		const struct gap_info *g = recording_gap(r, i);
		uint64_t ns = g->to_ns > g->from_ns ? g->to_ns - g->from_ns : 0;
		char a[32], b[32], c[32], d[32], from[32], lasted[32], thread[16];

		snprintf(thread, sizeof(thread), "%u", g->thread);
		printf("%-8s %11s %11s %11s %11s %10s %10s  %s\n", g->thread ? thread : "-",
		       format_count(a, g->events), format_count(b, g->allocations),
		       format_count(c, g->frees), format_size(d, (double)g->bytes),
		       format_duration(from, g->from_ns), format_duration(lasted, ns),
		       account_reason(g->reason));
	}
	if (count > GAPS_SHOWN)
		printf("... and %u more (--json has all)\n", count - GAPS_SHOWN);
}

static void print_unrecorded(const struct recording *r)
{
	uint32_t count = recording_unrecorded_count(r);

	if (!count)
		return;
	printf("\n%-16s %8s %14s %14s %12s\n", "NOT RECORDED", "PID", "EVENTS", "ALLOCATIONS",
	       "BYTES");
	for (uint32_t i = 0; i < count && i < UNRECORDED_SHOWN; i++) {
		const struct unrecorded_info *u = recording_unrecorded(r, i);
		char a[32], b[32], c[32];

		printf("%-16s %8u %14s %14s %12s\n", u->name, u->pid,
		       u->counted ? format_count(a, u->events) : "-",
		       u->counted ? format_count(b, u->allocations) : "-",
		       u->counted ? format_size(c, (double)u->bytes) : "-");
	}
	if (count > UNRECORDED_SHOWN)
		printf("... and %u more (--json has all)\n", count - UNRECORDED_SHOWN);
}

/* Prints the program's file, and the name that people call it if that differs. */
static void print_program(const struct recording *r)
{
	const struct process_info *p = recording_process(r);
	const char *file = p->executable ? p->executable : "", *slash = strrchr(file, '/');
	char id[STREAM_ID_TEXT];

	printf("%s  ", stream_id_format(id, recording_id(r)));
	if (p->name && strcmp(p->name, slash ? slash + 1 : file) != 0)
		printf("%.40s, of ", p->name);
	printf("%.40s\n\n", file);
}

static void print_parent(const struct process_info *p)
{
	char id[STREAM_ID_TEXT], number[32];

	if (!p->forked)
		return;
	printf("forked by %s, after %s events of it\n\n", stream_id_format(id, &p->parent),
	       format_count(number, p->parent_event));
}

static void ledger_print_text(const struct recording *r, const struct completeness *c,
			      const struct err_text *reason)
{
	incomplete_print(NULL, c);
	print_program(r);
	print_parent(recording_process(r));
	print_lines(r);
	print_threads(r);
	print_gaps(r);
	print_unrecorded(r);
	ledger_states_print(r);
	ledger_end_print(r);
	if (c->adds_up)
		printf("\nThe account adds up%s.\n",
		       c->complete ? ", and is complete" : ", but is NOT complete");
	else
		printf("\nThe account DOES NOT add up: %s.\n", reason->text);
}

static void ledger_print_json(const struct recording *r, const struct completeness *c,
			      const struct err_text *reason)
{
	struct buf out = {0};
	struct json json;

	json_init(&json, &out);
	json_object(&json, NULL);
	incomplete_json(&json, "incomplete", c);
	json_account(&json, r, c, reason->text);
	json_end(&json, '}');
	buf_byte(&out, '\n');
	fwrite(out.data, 1, out.length, stdout);
	buf_done(&out);
}

static int ledger_run(struct command_call *call)
{
	const struct common_options *options = call->options;
	cleanup(cleanup_free) char *path = NULL;
	struct err_text err = {0}, reason = {0};
	struct completeness completeness;
	struct recording *recording;
	char doing[] = "reading";
	const char *stream = call->argument_count ? call->arguments[0] : "last";
	int r = command_find_stream(options->data, stream, &path, &err);

	if (!r)
		r = recording_open(path, command_progress, doing, &recording, &err);
	if (r < 0)
		return command_input_fault(call->command, r, &err);
	command_note_opening(call->command, recording);
	recording_completeness(recording, &completeness);
	recording_adds_up(recording, &reason);
	if (options->json)
		ledger_print_json(recording, &completeness, &reason);
	else
		ledger_print_text(recording, &completeness, &reason);
	recording_close(recording);
	return completeness.adds_up && completeness.complete ? EXIT_DONE : EXIT_NO;
}

static const struct option_group groups[] = {{NULL, common_table}, {0}};

const struct command command_ledger = {
	.name = "ledger",
	.summary = "the account of a stream: what was produced, stored, lost",
	.usage = "[OPTION...] [STREAM]",
	.about =
		"Every thread of a recorded program numbers its events. The account adds up if\n"
		"  produced = delivered + short-lived + not sampled + lost + pending\n"
		"  delivered = stored + before the collector joined + missed\n"
		"It is complete if nothing was lost, start and end are known, and nothing of it\n"
		"is damaged or cut off. Unless both hold, the exit status is 1.\n"
		"\n"
		"STREAM is an id, a unique beginning of one, 'last' (the default), or the path of\n"
		"a recording.\n",
	.examples = "  collector ledger last\n  collector ledger --json heapcast_sqlite3.heapcast "
		    "| jq .lost\n",
	.groups = groups,
	.options_size = sizeof(struct common_options),
	.arguments_max = 1,
	.run = ledger_run,
};
