/* collector list: lists what has been recorded. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/cli/program.h"
#include "base/error.h"
#include "base/parse.h"
#include "collector/catalogue/store.h"
#include "collector/cli/commands.h"
#include "collector/cli/here.h"
#include "collector/cli/last.h"
#include "collector/cli/output.h"
#include "collector/cli/table.h"
#include "collector/clickhouse/client.h"
#include "collector/share/collectors.h"
#include "collector/share/shared_open.h"
#include "collector/share/shared_streams.h"
#include "collector/answers/answer.h"
#include "collector/answers/json.h"
#include "base/ban.h"

DEFINE_CLEANUP(clickhouse_close, struct clickhouse *)

#define DISK_LEAST (64u << 10)
#define INDENT	   13 /* of what stands below a row: behind the id */
#define ROW_WIDTH  68 /* of a row before its state */

static const char *const states[] = {
	[STREAM_LIVE] = "live",
	[STREAM_ENDED] = "ended",
	[STREAM_INTERRUPTED] = "interrupted",
};

static const char *state_of(const struct stream_summary *s)
{
	if (s->is_snapshot)
		return "snapshot";
	return s->pid || s->state != STREAM_ENDED ? states[s->state] : "imported";
}

/* Tells whether anything is missing. The line may also say since when the program was watched,
 * which is not a loss. */
static bool is_incomplete(const struct stream_summary *s)
{
	return !strncmp(s->incomplete, "Incomplete", strlen("Incomplete"));
}

/* `collector` and what follows: of streams from the shared store. */
struct told_stream {
	struct stream_summary s;
	const char *state;
	const char *collector, *address;
	uint64_t away_since_ns;
};

#define ANSWER_OF struct told_stream
static const struct answer_field stream_fields[] = {
	ROW_AS("id", s.id, ANSWER_ID, NULL, "32 hexadecimal digits",
	       SHOWN(1, "ID", -12, .form = COLUMN_CUT)),
	ROW("name", s.name, NULL, "what people call the program",
	    SHOWN(3, "PROGRAM", -11, .form = COLUMN_CUT)),
	ROW("executable", s.executable, NULL, "path of the program"),
	ROW("command_line", s.command_line, NULL, "arguments, joined by blanks"),
	ROW("host", s.host, NULL, ""),
	ROW("architecture", s.architecture, NULL, "as in uname -m"),
	ROWS_OF_LABELS(s.labels),
	ROW("pid", s.pid, NULL, "number of the process; 0: the recording was imported",
	    SHOWN(4, "PID", 7, .form = COLUMN_PLAIN | COLUMN_DASH)),
	ROW("start_wall_ns", s.start_wall_ns, "ns since the epoch",
	    "when recording began; 0: unknown",
	    SHOWN(2, "STARTED", -16, .form = COLUMN_DATE | COLUMN_DASH)),
	ROW("duration_ns", s.last_ns, "ns", ""),
	ROW("events", s.events, "events", "", SHOWN(5, "EVENTS", 8, .form = COLUMN_PLAIN)),
	ROW("recording_bytes", s.recording_bytes, "bytes",
	    "length of the recording; compressed ones take less room"),
	ROW("in_use_bytes", s.in_use_bytes, "bytes", "bytes in use at the end",
	    SHOWN(6, "IN USE", 8)),
	ROW("in_use_blocks", s.in_use_blocks, "blocks", "blocks in use at the end"),
	ROW("state", state, NULL, "", SHOWN(7, "STATE", 0)),
	ROW("began_on", s.began_on, NULL,
	    "the collector that has the beginning: the agent has moved", .when = IF_TEXT),
	ROW("incomplete", s.incomplete, NULL, "what the recording does not hold", .when = IF_TEXT),
	ROW("collector", collector, NULL,
	    "with --store: host of the collector that has the recording", .when = IF_TEXT),
	ROW("collector_address", address, NULL, "of its page, where all about the stream is",
	    .when = IF_TEXT),
	ROW("collector_away_since_ns", away_since_ns, "ns since the epoch",
	    "the collector gives no sign since then", .when = IF_SET),
	{0},
};
static const struct answer stream_answer = {"stream", stream_fields};

/* The columns where streams are of several hosts: which one it is says more than the number of a
 * process or of events, and 80 columns have no room for all. */
static const struct answer_field host_fields[] = {
	ROW_AS("id", s.id, ANSWER_ID, NULL, "", SHOWN(1, "ID", -12, .form = COLUMN_CUT)),
	ROW("start_wall_ns", s.start_wall_ns, "ns since the epoch", "",
	    SHOWN(2, "STARTED", -16, .form = COLUMN_DATE | COLUMN_DASH)),
	ROW("host", s.host, NULL, "", SHOWN(3, "HOST", -16, .form = COLUMN_CUT | COLUMN_DASH)),
	ROW("name", s.name, NULL, "", SHOWN(4, "PROGRAM", -11, .form = COLUMN_CUT)),
	ROW("in_use_bytes", s.in_use_bytes, "bytes", "", SHOWN(5, "IN USE", 8)),
	ROW("state", state, NULL, "", SHOWN(6, "STATE", 0)),
	{0},
};
#undef ANSWER_OF
static const struct answer host_answer = {"stream", host_fields};

static const struct answer_field list_fields[] = {
	BY_HAND("streams", ANSWER_OBJECT, NULL, "recordings, the oldest first",
		.of = &stream_answer, .shape = ANSWER_LIST),
	{0},
};
static const struct answer list_answer = {"streams", list_fields};

/* An imported recording may not say its host. */
static bool has_several_hosts(const struct stream_summary *list, size_t count)
{
	const char *first = NULL;

	for (size_t i = 0; i < count; i++) {
		if (!*list[i].host)
			continue;
		if (first && strcmp(first, list[i].host) != 0)
			return true;
		first = list[i].host;
	}
	return false;
}

/* The collector that has the beginning, in a line of its own if the terminal has no room. */
static void print_began_on(const struct stream_summary *s)
{
	static const char before[] = "began on ";
	size_t row = ROW_WIDTH + strlen(state_of(s)) + is_incomplete(s);
	unsigned width = terminal_width();

	if (!*s->began_on) {
		putchar('\n');
		return;
	}
	if (row + 2 + strlen(before) + terminal_columns(s->began_on) > width) {
		putchar('\n');
		terminal_blanks(INDENT);
	} else {
		printf(", ");
	}
	printf("%s", before);
	width -= width > 2 * INDENT + strlen(before) ? INDENT + (unsigned)strlen(before) : 0;
	terminal_line(STYLE_PLAIN, s->began_on, width);
}

static void print_row(const struct answer *columns, const struct stream_summary *s)
{
	table_cells(columns, &(struct told_stream){.s = *s, .state = state_of(s)});
	printf(is_incomplete(s) ? "*" : "");
	print_began_on(s);
}

static void explain_mark(const struct stream_summary *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (is_incomplete(&list[i])) {
			program_printf(
				stdout,
				"* incomplete: 'collector ledger ID' says what is missing\n");
			return;
		}
}

static const struct answer *columns_of(const struct stream_summary *list, size_t count)
{
	return has_several_hosts(list, count) ? &host_answer : &stream_answer;
}

static void list_print_text(const struct stream_summary *list, size_t count, const char *select)
{
	const struct answer *columns = columns_of(list, count);

	if (!count) {
		program_printf(stdout, "%s\n",
			       select ? "No stream matches --select."
				      : "Nothing has been recorded yet. 'collector gather' waits "
					"for agents.");
		return;
	}
	table_head(columns, STYLE_PLAIN);
	for (size_t i = 0; i < count; i++)
		print_row(columns, &list[i]);
	explain_mark(list, count);
}

static int list_print_json(const struct command *command, const struct stream_summary *list,
			   size_t count)
{
	cleanup(buf_done) struct buf out = {0};
	struct json json;

	output_json_begin(command, &json, &out);
	json_array(&json, "streams");
	for (size_t i = 0; i < count; i++)
		json_object_of(&json, NULL, &stream_answer,
			       &(struct told_stream){.s = list[i],
						     .state = state_of(&list[i]),
						     .collector = "",
						     .address = ""},
			       NULL);
	json_end(&json, ']');
	json_end(&json, '}');
	return output_json(command, stdout, &out);
}

/* Prints where the rest of an interrupted stream may be: the agent keeps it on its machine. */
static void hint_at_the_rest(const struct stream_summary *list, size_t count)
{
	size_t interrupted = 0;

	for (size_t i = 0; i < count; i++)
		interrupted += list[i].state == STREAM_INTERRUPTED && list[i].pid;
	if (interrupted)
		program_printf(stderr,
			       "collector list: %zu of them %s interrupted: the agent may have "
			       "kept the rest, in a file or in the folder of its --spool, which "
			       "is added by 'collector import FILE'\n",
			       interrupted, interrupted == 1 ? "is" : "are");
}

/* Warns of a full disk. A gather that cannot store says so itself, but perhaps on another
 * terminal. */
static void warn_of_full_disk(const char *folder)
{
	struct statvfs fs;
	char size[32];

	if (statvfs(folder, &fs) < 0 || !fs.f_blocks || fs.f_bavail * fs.f_frsize >= DISK_LEAST)
		return;
	program_printf(
		stderr,
		"collector list: the disk of %s is full (%s free): what agents send is not stored, "
		"nor acknowledged, until there is room\n",
		folder, format_size(size, (double)(fs.f_bavail * fs.f_frsize)));
}

struct list_options {
	struct common_options common;
	const char *store;
};

/* ---- the streams of all collectors that share a data base ---- */

struct shared_list {
	struct stream_summary *list;
	uint64_t *owners; /* by stream */
	size_t count;
	struct shared_collector *collectors;
	size_t collector_count;
	size_t waiting; /* streams of which nothing has arrived */
};

static void shared_list_done(struct shared_list *l)
{
	store_list_free(l->list, l->count);
	free(l->owners);
	shared_collectors_free(l->collectors, l->collector_count);
}

static int shared_list_read(struct shared_list *l, const struct list_options *o,
			    struct err_text *err)
{
	cleanup(cleanup_clickhouse_close) struct clickhouse *client = NULL;
	int r = shared_open(o->store, NULL, &client, err);

	if (!r)
		r = shared_streams_owned(client, o->common.select, &l->list, &l->owners, &l->count,
					 err);
	if (!r)
		r = shared_collectors(client, &l->collectors, &l->collector_count, err);
	return r ? r : shared_streams_waiting(client, o->common.select, &l->waiting, err);
}

static const struct shared_collector *owner_of(const struct shared_list *l, size_t i)
{
	return shared_collector_find(l->collectors, l->collector_count, l->owners[i]);
}

static int shared_list_json(const struct command *command, const struct shared_list *l)
{
	cleanup(buf_done) struct buf out = {0};
	struct json json;

	output_json_begin(command, &json, &out);
	json_array(&json, "streams");
	for (size_t i = 0; i < l->count; i++) {
		const struct shared_collector *owner = owner_of(l, i);
		const struct told_stream told = {
			.s = l->list[i],
			.state = state_of(&l->list[i]),
			.collector = owner ? owner->name : "",
			.address = owner ? owner->address : "",
			.away_since_ns = owner ? shared_collector_away_since(owner) : 0,
		};

		json_object_of(&json, NULL, &stream_answer, &told, NULL);
	}
	json_end(&json, ']');
	json_end(&json, '}');
	return output_json(command, stdout, &out);
}

/* "On desk1, away since 2026-11-30 17:05:01:" A name may have come from a foreign host. */
static void print_owner(const struct shared_collector *owner)
{
	uint64_t away_ns = owner ? shared_collector_away_since(owner) : 0;
	time_t seconds = (time_t)(away_ns / 1000000000u);
	char since[48] = "", address[COLLECTOR_ADDRESS_MAX + 4] = "";
	struct tm tm;

	if (away_ns && localtime_r(&seconds, &tm))
		strftime(since, sizeof(since), ", away since %Y-%m-%d %H:%M:%S", &tm);
	if (owner && *owner->address)
		snprintf(address, sizeof(address), " (%s)", owner->address);
	terminal_say(STYLE_PLAIN, 0, "On %.200s%s%s:",
		     owner && *owner->name ? owner->name : "a collector that is not known", address,
		     since);
}

/* A table of each collector: rows have no room for its name. */
static void print_by_collector(const struct shared_list *l)
{
	const struct answer *columns = columns_of(l->list, l->count);
	bool any = false;

	for (size_t i = 0; i < l->count; i++) {
		const uint64_t owner = l->owners[i];
		bool first = true;

		for (size_t k = 0; k < i && first; k++)
			first = l->owners[k] != owner;
		if (!first)
			continue;
		if (any)
			putchar('\n');
		any = true;
		print_owner(owner_of(l, i));
		table_head(columns, STYLE_PLAIN);
		for (size_t k = i; k < l->count; k++)
			if (l->owners[k] == owner)
				print_row(columns, &l->list[k]);
	}
	explain_mark(l->list, l->count);
}

static void shared_list_print(const struct shared_list *l, const char *select)
{
	char streams[FORMAT_COUNTED];

	print_by_collector(l);
	if (l->waiting && l->count)
		putchar('\n');
	if (l->waiting)
		terminal_say(
			STYLE_PLAIN, 0,
			"No sums have come yet of %s: those of a minute arrive when it is "
			"complete.",
			format_counted(streams, l->waiting, l->count ? "more stream" : "stream"));
	else if (!l->count)
		terminal_say(STYLE_PLAIN, 0, "%s",
			     select ? "No stream matches --select."
				    : "Nothing has been sent here yet. 'collector gather --store' "
				      "and 'collector share' do that.");
}

static int list_shared(struct command_call *call)
{
	const struct list_options *o = call->options;
	cleanup(shared_list_done) struct shared_list l = {0};
	struct err_text err = {0};
	int r = shared_list_read(&l, o, &err);

	if (r < 0)
		return command_input_fault(call->command, r, &err);
	if (o->common.json)
		return shared_list_json(call->command, &l);
	shared_list_print(&l, o->common.select);
	return EXIT_DONE;
}

/* ---- those of a folder ---- */

static int list_streams(struct command_call *call, struct store *store)
{
	const struct common_options *options = call->options;
	struct stream_summary *list = NULL;
	struct err_text err = {0};
	char note[STORE_NOTE_MAX];
	size_t count = 0;
	int status = EXIT_DONE, r = options->select ? store_list_selected(store, options->select,
									  true, &list, &count, &err)
						    : store_list(store, &list, &count, &err);

	if (!r && options->json)
		status = list_print_json(call->command, list, count);
	else if (!r)
		list_print_text(list, count, options->select);
	if (!r && !options->json)
		hint_at_the_rest(list, count);
	if (!r)
		warn_of_full_disk(options->data);
	if (!r && store_note(store, note))
		program_printf(stderr, "collector list: not all is recorded here: %s\n", note);
	if (!r && store_list_left_out(store))
		command_note(call->command,
			     "%zu stream%s left out: no recording, or this user may not read it",
			     store_list_left_out(store),
			     store_list_left_out(store) == 1 ? " is" : "s are");
	store_list_free(list, count);
	if (r == -EINVAL)
		return command_usage_error(call->command, "%s", err.text);
	return r < 0 ? command_fault(call->command, r, &err) : status;
}

/* Lists files first. If there are files, the data folder may be missing. */
static int list_run(struct command_call *call)
{
	const struct common_options *options = call->options;
	struct here_list files = {0};
	struct store *store = NULL;
	struct err_text err = {0};
	int status = EXIT_DONE, r;

	if (command_store_check(call->command, options))
		return EXIT_USAGE;
	if (command_store(options, ((const struct list_options *)call->options)->store))
		return list_shared(call);
	r = store_open(options->data, STORE_READ, &store, &err);
	if (!options->json && !options->select &&
	    here_find(options->data_only ? options->data : ".", &files) < 0)
		r = -ENOMEM;
	if (files.count)
		here_print(&files);
	if (r == -ENOENT && options->select)
		err_set(&err, r,
			"there is no data folder %.200s, and --select chooses among the "
			"streams of one: --data names another",
			options->data);
	else if (r == -ENOENT && !files.count && !options->data_only)
		last_none(options->data, &err);
	if (!r && files.count)
		program_printf(stdout, "\nStreams in %s; 'collector report ID' opens one:\n",
			       options->data);
	if (!r)
		status = list_streams(call, store);
	else if (r != -ENOENT || !files.count)
		status = command_input_fault(call->command, r, &err);
	store_close(store);
	here_done(&files);
	return status;
}

static const struct option list_table[] = {
	STORE_OPTION(struct list_options, store),
	{0},
};

static const struct option_group groups[] = {
	{NULL, list_table}, {"Common options", answer_table}, {0}};

const struct command command_list = {
	.name = "list",
	.work = "reading the recordings",
	.answers = {&list_answer},
	.summary = "what has been recorded",
	.usage = "[OPTION...]",
	.about =
		"Lists the recordings that lie in this folder as files (*.heapcast), and the\n"
		"streams in the data folder, the oldest first. With --data, only what that folder\n"
		"has. --json has the streams only, as /data over HTTP does. Where streams are of\n"
		"several hosts, HOST stands in the place of PID and EVENTS. With --store, there\n"
		"is a table of each collector, and since when it has been away.\n\n"
		"PEAK RSS is the most resident memory, as the kernel told it last. END of a\n"
		"file: how the program ended, or recording (an agent of this host still writes\n"
		"it), broken off (no end, and nobody writes it), imported.\n\n"
		"IN USE is what was allocated and not freed when the recording ended, or as far\n"
		"as it goes. STATE: live (still growing), ended (the program's end is recorded),\n"
		"interrupted (no end, and nobody is writing it), imported (from a file of another\n"
		"tool), snapshot (of many programs, merged); a * marks what is incomplete.\n",
	.examples = "  collector list\n  collector list --json | jq '.streams[-1].id'\n",
	.groups = groups,
	.options_size = sizeof(struct list_options),
	.run = list_run,
};
