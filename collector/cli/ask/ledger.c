/* collector ledger: shows the account of a recording, and what the recording lacks. No loss goes
 * unreported. */
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
#include "collector/answers/answer.h"
#include "collector/answers/recorded.h"
#include "collector/answers/json.h"
#include "collector/cli/output.h"
#include "collector/cli/table.h"
#include "collector/cli/progress.h"
#include "collector/recording/completeness.h"
#include "collector/recording/recording.h"
#include "base/ban.h"

#define ROWS_SHOWN 20

static void print_lines(const struct recording *r)
{
	char number[32];

	for (size_t i = 0; i < account_line_count; i++) {
		uint64_t value = account_number(r, &account_lines[i]);

		if (value || account_lines[i].always)
			printf("%-36s %20s\n", account_lines[i].text, format_count(number, value));
	}
}

static void print_rest(uint32_t rows, uint32_t shown)
{
	if (rows > shown)
		printf("... and %u more (--json has all)\n", rows - shown);
}

static void print_threads(const struct recording *r)
{
	uint32_t count = recording_threads(r), shown = 0;

	putchar('\n');
	table_head(&account_thread_answer, STYLE_PLAIN);
	for (uint32_t i = 1; i <= count && shown < ROWS_SHOWN; i++) {
		if (!recording_thread(r, i))
			continue;
		table_row(&account_thread_answer, recording_thread(r, i));
		shown++;
	}
	print_rest(count, shown);
}

static void print_gaps(const struct recording *r)
{
	uint32_t count = recording_gaps(r);

	if (!count)
		return;
	putchar('\n');
	table_head(&account_gap_answer, STYLE_PLAIN);
	for (uint32_t i = 0; i < count && i < ROWS_SHOWN; i++) {
		const struct account_gap gap = account_gap(r, i);

		table_row(&account_gap_answer, &gap);
	}
	print_rest(count, ROWS_SHOWN);
}

static void print_parts(const struct recording *r)
{
	if (!recording_parts(r))
		return;
	putchar('\n');
	table_head(&account_part_answer, STYLE_PLAIN);
	for (uint32_t i = 0; i < recording_parts(r); i++)
		table_row(&account_part_answer, recording_part(r, i));
}

static void print_unrecorded(const struct recording *r)
{
	uint32_t count = recording_unrecorded_count(r);

	if (!count)
		return;
	putchar('\n');
	table_head(&account_unrecorded_answer, STYLE_PLAIN);
	for (uint32_t i = 0; i < count && i < ROWS_SHOWN; i++)
		table_row(&account_unrecorded_answer, recording_unrecorded(r, i));
	print_rest(count, ROWS_SHOWN);
}

/* Prints the program's file, and the program's name if that differs. */
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
	char id[STREAM_ID_TEXT], number[FORMAT_COUNTED];

	if (!p->forked)
		return;
	printf("forked by %s, after %s of it\n\n", stream_id_format(id, &p->parent),
	       format_counted(number, p->parent_event, "event"));
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
	print_parts(r);
	print_unrecorded(r);
	ledger_states_print(r);
	ledger_end_print(r);
	if (c->adds_up)
		printf("\nThe account adds up%s.\n",
		       c->complete ? ", and is complete" : ", but is NOT complete");
	else
		printf("\nThe account DOES NOT add up: %s.\n", reason->text);
}

static int ledger_print_json(const struct command *command, const struct recording *r,
			     const struct completeness *c, const struct err_text *reason)
{
	cleanup(buf_done) struct buf out = {0};
	struct recorded recorded;
	struct json json;

	output_json_begin(command, &json, &out);
	incomplete_json(&json, "incomplete", c);
	recorded_of(r, &recorded);
	json_object_of(&json, "process", &recorded_answer, &recorded, NULL);
	json_account(&json, r, c, reason->text);
	json_end(&json, '}');
	return output_json(command, stdout, &out);
}

static int ledger_run(struct command_call *call)
{
	const struct common_options *options = call->options;
	cleanup(cleanup_free) char *path = NULL;
	struct err_text err = {0}, reason = {0};
	struct completeness completeness;
	struct recording *recording;
	static char doing[] = "reading the recording";
	const char *stream = call->argument_count ? call->arguments[0] : "last";
	int status = EXIT_DONE, r = command_find_stream(options, stream, &path, &err);

	if (!r)
		r = recording_open(path, progress_show, doing, &recording, &err);
	if (r < 0)
		return command_input_fault(call->command, r, &err);
	command_note_opening(call->command, recording);
	recording_completeness(recording, &completeness);
	recording_adds_up(recording, &reason);
	if (options->json)
		status = ledger_print_json(call->command, recording, &completeness, &reason);
	else
		ledger_print_text(recording, &completeness, &reason);
	recording_close(recording);
	return status					       ? status
	       : completeness.adds_up && completeness.complete ? EXIT_DONE
							       : EXIT_NO;
}

static const struct answer_field ledger_fields[] = {
	ROW_INCOMPLETE,
	BY_HAND("process", ANSWER_OBJECT, NULL, "which program was recorded, and how",
		.of = &recorded_answer),
	ROWS_BY_HAND(account_answer),
	{0},
};
static const struct answer ledger_answer = {"ledger", ledger_fields};

static const struct option_group groups[] = {{NULL, answer_table}, {0}};

const struct command command_ledger = {
	.name = "ledger",
	.work = "adding up the account",
	.answers = {&ledger_answer},
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
