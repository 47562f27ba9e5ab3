/* collector snapshot: records what a fleet has in use at one moment. */
#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/cli/program.h"
#include "base/error.h"
#include "base/parse.h"
#include "collector/catalogue/store.h"
#include "collector/cli/commands.h"
#include "collector/cli/ask/question.h"
#include "collector/cli/output.h"
#include "collector/cli/fleet/snapshot_diff.h"
#include "collector/cli/fleet/snapshot_answers.h"
#include "collector/cli/fleet/snapshot_series.h"
#include "collector/cli/fleet/snapshot_shared.h"
#include "collector/cli/fleet/snapshot_text.h"
#include "collector/cli/terminal.h"
#include "collector/cli/progress.h"
#include "collector/answers/json.h"
#include "collector/answers/snapshots.h"
#include "collector/query/query.h"
#include "collector/recording/stream_id.h"
#include "collector/snapshot/snapshot.h"
#include "base/ban.h"

#define PAUSE_US   10000
#define TIMEOUT_NS 10000000000u
#define ROWS_SHOWN 10
#define KEPT_BYTES (32 << 20) /* of each thread, at most */

DEFINE_CLEANUP(store_close, struct store *)
DEFINE_CLEANUP(snapshot_taking_free, struct snapshot_taking *)

struct snapshot_options {
	struct question_options question; /* show takes the options of other questions */
	uint64_t timeout_ns;
	uint64_t late_ns;  /* 0: nobody joins late */
	uint64_t every_ns; /* 0: once */
	uint64_t keep_ns;  /* 0: all are kept */
	const char *store; /* URL of the shared store; NULL: the folder */
};

/* ---- take ---- */

static int snapshot_take_all(struct snapshot_taking *taking, struct err_text *err)
{
	static char waiting[] = "waiting for streams up to their markers";
	int r;

	do {
		uint64_t done, of;

		r = snapshot_take_step(taking, err);
		snapshot_take_progress(taking, &done, &of);
		progress_show(waiting, r == 1 || (r < 0 && r != -EAGAIN) ? of : done, of);
		if (r == -EAGAIN)
			usleep(PAUSE_US);
	} while (r == 0 || r == -EAGAIN);
	return r < 0 ? r : 0;
}

static int show_taken(struct command_call *call, const struct snapshot *s)
{
	const struct snapshot_options *o = call->options;
	cleanup(buf_done) struct buf out = {0};
	struct json json;

	if (o->question.common.json) {
		output_json_begin(call->command, &json, &out);
		json_snapshot(&json, s);
		json_end(&json, '}');
		return output_json(call->command, stdout, &out);
	}
	snapshot_print_summary(s);
	snapshot_print_missing(s);
	snapshot_print_incomplete(s);
	putchar('\n');
	terminal_say(STYLE_PLAIN, 0,
		     "'collector snapshot show %s' has the processes; 'collector "
		     "report " SNAPSHOT_PREFIX "%s' and all other questions of a stream work.",
		     s->name, s->name);
	return EXIT_DONE;
}

static int take_failed(struct command_call *call, const struct snapshot_taking *taking, int error,
		       const struct err_text *err)
{
	if (error == -EINVAL || error == -EEXIST)
		return command_usage_error(call->command, "%s", err_get(err, error));
	if (error != -ENODATA)
		return command_fault(call->command, error, err);
	command_note(call->command, "%s", err_get(err, error));
	if (taking)
		snapshot_print_missing(snapshot_taken(taking));
	return EXIT_NO;
}

static struct snapshot_request take_request(const struct command_call *call)
{
	const struct snapshot_options *o = call->options;

	return (struct snapshot_request){
		.data = o->question.common.data,
		.name = call->argument_count > 1 ? call->arguments[1] : NULL,
		.timeout_ns = o->timeout_ns,
		.late_ns = o->late_ns,
		.streams = (const char *const *)call->arguments + 2,
		.stream_count = call->argument_count > 2 ? (size_t)call->argument_count - 2 : 0,
		.select = call->argument_count > 2 ? NULL : o->question.common.select,
	};
}

static int take_once(struct command_call *call)
{
	const struct snapshot_request request = take_request(call);
	cleanup(cleanup_snapshot_taking_free) struct snapshot_taking *taking = NULL;
	struct err_text err = {0};
	int status, r = snapshot_take(&request, &taking, &err);

	if (!r)
		r = snapshot_take_all(taking, &err);
	if (r < 0)
		return take_failed(call, taking, r, &err);
	status = show_taken(call, snapshot_taken(taking));
	return status == EXIT_DONE && snapshot_taken(taking)->missing ? EXIT_NO : status;
}

/* ---- take, at intervals ---- */

static void print_one_of_series(const struct snapshot *s, int removed)
{
	struct usage total = snapshot_total(s);
	char bytes[32], blocks[32], old[48] = "", missing[48] = "";

	if (s->missing)
		snprintf(missing, sizeof(missing), ", %zu missing", s->missing);
	if (removed > 0)
		snprintf(old, sizeof(old), "; %d old one%s removed", removed,
			 removed == 1 ? "" : "s");
	printf("%s: %s in %s blocks of %zu process%s%s%s\n", s->name,
	       format_size(bytes, (double)total.bytes), format_count(blocks, total.blocks),
	       s->count - s->missing, s->count - s->missing == 1 ? "" : "es", missing, old);
	fflush(stdout);
}

/* Takes the snapshot of a series that is due. A failure is reported, and the series goes on: agents
 * and the collector may come back. Returns an exit status only for wrong usage. */
static int take_due(struct command_call *call, struct snapshot_request *request, uint64_t due_ns)
{
	const struct snapshot_options *o = call->options;
	cleanup(cleanup_snapshot_taking_free) struct snapshot_taking *taking = NULL;
	const char *prefix = request->name;
	char name[SNAPSHOT_NAME_MAX + 1];
	struct err_text err = {0};
	int r, removed = 0;

	series_name(name, prefix, due_ns);
	request->name = name;
	r = snapshot_take(request, &taking, &err);
	if (!r)
		r = snapshot_take_all(taking, &err);
	request->name = prefix;
	if (r < 0) {
		command_note(call->command, "%s: not taken: %s", name, err_get(&err, r));
		return r == -EINVAL ? EXIT_USAGE : EXIT_DONE;
	}
	if (o->keep_ns)
		removed = series_retain(request->data, prefix, o->keep_ns, due_ns, &err);
	if (removed < 0)
		command_note(call->command, "old ones stay: %s", err_get(&err, removed));
	if (!o->question.common.json)
		print_one_of_series(snapshot_taken(taking), removed);
	return o->question.common.json ? show_taken(call, snapshot_taken(taking)) : EXIT_DONE;
}

static uint64_t wall_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static int take_series(struct command_call *call)
{
	const struct snapshot_options *o = call->options;
	struct snapshot_request request = take_request(call);
	struct err_text err = {0};
	int status = EXIT_DONE;

	if (!request.name)
		request.name = SERIES_PREFIX;
	if (strlen(request.name) > SERIES_PREFIX_MOST ||
	    snapshot_name_check(request.name, &err) < 0)
		return command_usage_error(
			call->command,
			"a series' name has letters, digits, '.', '-' and '_', %u "
			"at most, and begins with a letter or digit; '%.80s' is "
			"none",
			SERIES_PREFIX_MOST, request.name);
	if (o->every_ns < 1000000000)
		return command_usage_error(call->command, "--every takes 1s at least");
	while (status == EXIT_DONE) {
		uint64_t due = series_due(wall_now(), o->every_ns);
		const struct timespec at = {(time_t)(due / 1000000000), (long)(due % 1000000000)};

		while (clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &at, NULL) == EINTR)
			;
		status = take_due(call, &request, due);
	}
	return status;
}

/* Memory that one stream has given back is for the next one: 2,000 streams took 42,000 page faults
 * otherwise. */
static void keep_memory(void)
{
#ifdef M_TRIM_THRESHOLD
	mallopt(M_MMAP_THRESHOLD, KEPT_BYTES / 4);
	mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
#endif
}

static int take(struct command_call *call)
{
	const struct snapshot_options *o = call->options;

	keep_memory();
	if (o->question.common.select_typed && call->argument_count > 2)
		return command_usage_error(call->command, "takes streams or --select, not both");
	if (o->every_ns && o->late_ns >= o->every_ns)
		return command_usage_error(
			call->command, "--late takes less than --every: the next one is due then");
	if (o->keep_ns && !o->every_ns)
		return command_usage_error(call->command, "--keep goes with --every");
	return o->every_ns ? take_series(call) : take_once(call);
}

/* ---- list ---- */

/* Returns the URL of the shared store, or NULL: the folder is asked. */
static const char *store_of(const struct command_call *call)
{
	const struct snapshot_options *o = call->options;

	return command_store(&o->question.common, o->store);
}

static int snapshot_list(struct command_call *call)
{
	const struct common_options *o = call->options;
	cleanup(cleanup_store_close) struct store *store = NULL;
	struct snapshot *snapshots = NULL;
	struct err_text err = {0};
	size_t count = 0;
	int status, r;

	if (store_of(call))
		return snapshot_shared_list(call, store_of(call));
	r = store_open(o->data, STORE_READ, &store, &err);
	if (!r)
		r = store_snapshots(store, &snapshots, &count, &err);
	if (r < 0)
		return command_fault(call->command, r, &err);
	status = snapshot_list_answer(call->command, o, snapshots, count);
	store_snapshots_free(snapshots, count);
	return status;
}

/* ---- show ---- */

static int show_groups(struct question *q, const struct snapshot *s,
		       const struct question_options *o)
{
	cleanup(groups_done) struct groups groups = {0};
	struct err_text err = {0};
	int r = query_groups(q->view, &q->filter, GROUP_BY_FUNCTION, VALUE_IN_USE, NO_TIME, &groups,
			     &err);

	if (r < 0)
		return question_failed(q, r, &err);
	return snapshot_show_answer(q->command, &o->common, o->count, s, &groups, q);
}

static int check_name(const struct command_call *call)
{
	return call->argument_count == 2
		       ? EXIT_DONE
		       : command_usage_error(call->command,
					     "%s takes one name: collector snapshot %s NAME",
					     call->arguments[0], call->arguments[0]);
}

static int snapshot_get(struct command_call *call, struct store **ret_store,
			struct snapshot *ret_snapshot)
{
	const struct common_options *o = call->options;
	struct err_text err = {0};
	int r;

	r = store_open(o->data, STORE_READ, ret_store, &err);
	if (!r)
		r = store_snapshot_get(*ret_store, call->arguments[1], ret_snapshot, &err);
	return r ? command_input_fault(call->command, r, &err) : EXIT_DONE;
}

static int snapshot_show(struct command_call *call)
{
	cleanup(cleanup_store_close) struct store *store = NULL;
	cleanup(snapshot_done) struct snapshot snapshot = {0};
	char stream[sizeof(SNAPSHOT_PREFIX) + SNAPSHOT_NAME_MAX];
	struct question q;
	int status = check_name(call);

	if (!status && store_of(call))
		return snapshot_shared_show(call, store_of(call));
	if (!status)
		status = snapshot_get(call, &store, &snapshot);
	if (status)
		return status;
	snprintf(stream, sizeof(stream), SNAPSHOT_PREFIX "%s", snapshot.name);
	status = question_open_named(call, stream, VALUE_IN_USE, &q);
	if (status)
		return status;
	status = show_groups(&q, &snapshot, call->options);
	question_close(&q);
	return status;
}

/* ---- diff ---- */

static int open_side(struct command_call *call, struct store *store, const char *name,
		     struct snapshot *snapshot, struct question *ret_question)
{
	char stream[sizeof(SNAPSHOT_PREFIX) + SNAPSHOT_NAME_MAX];
	struct err_text err = {0};
	int r = store_snapshot_get(store, name, snapshot, &err);

	if (r < 0)
		return command_input_fault(call->command, r, &err);
	snprintf(stream, sizeof(stream), SNAPSHOT_PREFIX "%s", snapshot->name);
	return question_open_named(call, stream, VALUE_IN_USE, ret_question);
}

static int show_diff(struct command_call *call, const struct snapshot *base,
		     const struct snapshot *now, const struct question *base_question,
		     const struct question *now_question)
{
	const struct question_options *o = call->options;
	cleanup(diff_done) struct diff functions = {0};
	struct err_text err = {0};
	int r = query_diff(&(struct diff_side){base_question->view, &base_question->filter,
					       VALUE_IN_USE, NO_TIME},
			   &(struct diff_side){now_question->view, &now_question->filter,
					       VALUE_IN_USE, NO_TIME},
			   GROUP_BY_FUNCTION, &functions, &err);

	return r < 0 ? command_fault(call->command, r, &err)
		     : snapshot_diff_show(call, base, now, &functions, o->count, o->common.json);
}

static int snapshot_diff(struct command_call *call)
{
	const struct common_options *o = call->options;
	cleanup(cleanup_store_close) struct store *store = NULL;
	cleanup(snapshot_done) struct snapshot base = {0}, now = {0};
	struct question base_question, now_question;
	struct err_text err = {0};
	int status, r;

	if (call->argument_count != 3)
		return command_usage_error(
			call->command, "diff takes two names: collector snapshot diff BASE NAME");
	if (store_of(call))
		return snapshot_shared_diff(call, store_of(call));
	r = store_open(o->data, STORE_READ, &store, &err);
	if (r < 0)
		return command_input_fault(call->command, r, &err);
	status = open_side(call, store, call->arguments[1], &base, &base_question);
	if (status)
		return status;
	status = open_side(call, store, call->arguments[2], &now, &now_question);
	if (!status) {
		status = show_diff(call, &base, &now, &base_question, &now_question);
		question_close(&now_question);
	}
	question_close(&base_question);
	return status;
}

/* ---- remove ---- */

static int snapshot_drop(struct command_call *call)
{
	cleanup(cleanup_store_close) struct store *store = NULL;
	cleanup(snapshot_done) struct snapshot snapshot = {0};
	struct err_text err = {0};
	int r, status = check_name(call);

	if (!status)
		status = snapshot_get(call, &store, &snapshot);
	if (status)
		return status;
	r = store_snapshot_remove(store, snapshot.name, &err);
	return r < 0 ? command_fault(call->command, r, &err) : EXIT_DONE;
}

/* ---- the command ---- */

static const struct {
	const char *name;
	int (*run)(struct command_call *call);
	int arguments_max; /* -1: any number */
	bool shared;	   /* --store answers it, too */
} actions[] = {{"take", take, -1, false},
	       {"list", snapshot_list, 1, true},
	       {"show", snapshot_show, -1, true},
	       {"diff", snapshot_diff, -1, true},
	       {"remove", snapshot_drop, -1, false}};

static int snapshot_run(struct command_call *call)
{
	const struct common_options *common = call->options;

	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
		if (strcmp(call->arguments[0], actions[i].name) != 0)
			continue;
		if (actions[i].arguments_max >= 0 &&
		    call->argument_count > actions[i].arguments_max)
			return command_usage_error(call->command, "'%.60s' is too much",
						   call->arguments[actions[i].arguments_max]);
		if (common->select_typed && actions[i].run != take)
			return command_usage_error(
				call->command,
				"--select goes with take: it chooses the streams of a new "
				"snapshot, and %s is about %s",
				actions[i].name,
				actions[i].run == snapshot_list ? "all that there are"
								: "those that it names");
		if (common->store_typed && !actions[i].shared)
			return command_usage_error(
				call->command,
				"--store goes with list, show and diff: %s works "
				"in the collector's own folder",
				actions[i].name);
		if (command_store_check(call->command, common))
			return EXIT_USAGE;
		return actions[i].run(call);
	}
	return command_usage_error(call->command,
				   "takes take, list, show, diff or remove, not '%.60s'",
				   call->arguments[0]);
}

static const struct option take_table[] = {
	OPTION_TIME(struct snapshot_options, timeout_ns, "timeout", "TIME",
		    "how long an agent may take for its answer, and then its stream to come as far "
		    "(10s, at most 1m)"),
	OPTION_TIME(struct snapshot_options, late_ns, "late", "TIME",
		    "wait so long for boards that are away: they join when they are back and their "
		    "data has come (not at all)"),
	OPTION_TIME(struct snapshot_options, every_ns, "every", "TIME",
		    "take one again and again, at multiples of this time (5m: at 12:00, 12:05...), "
		    "until Ctrl-C; NAME is the beginning of their names (every)"),
	OPTION_TIME(struct snapshot_options, keep_ns, "keep", "TIME",
		    "with --every: remove those of the series that are older"),
	{0},
};

static const struct option show_table[] = {
	OPTION_NUMBER(struct snapshot_options, question.count, "count", "N",
		      "functions shown (10)"),
	OPTION_PAIR(
		struct snapshot_options, question.filters, "hide", "WHICH",
		"auto, rules or none: functions that only pass allocations on are left out: known "
		"by name and found by their share (auto, the default), or by name alone (rules, "
		"the default with --store)"),
	SYMBOL_OPTIONS(struct snapshot_options, question.symbols),
	{0},
};

static const struct option shared_table[] = {
	STORE_OPTION(struct snapshot_options, store),
	{0},
};

static const struct option_group groups[] = {{"Options of take", take_table},
					     {"Options of list, show and diff", shared_table},
					     {"Options of show and diff", show_table},
					     {"Common options", common_table},
					     {0}};

static const struct snapshot_options defaults = {.question.common.data = DEFAULT_DATA,
						 .question.count = ROWS_SHOWN,
						 .timeout_ns = TIMEOUT_NS};

const struct command command_snapshot = {
	.name = "snapshot",
	.answers = {&snapshot_answer, &snapshots_answer, &snapshot_shown_answer,
		    &snapshot_diff_answer},
	.summary = "the heap of a fleet at one moment: take, list, show, diff, remove",
	.usage = "[OPTION...] take [NAME [STREAM...]] | list | show NAME | diff BASE NAME | remove "
		 "NAME",
	.about =
		"take sends a marker through every stream whose agent is connected to the\n"
		"'collector gather' at work in the same data folder (or through those that are\n"
		"named), waits until each is stored beyond its marker, and merges what was in\n"
		"use there into one recording. It has a name (the time, unless one is given),\n"
		"and 'snapshot:NAME' can be asked about like any other STREAM: report, top,\n"
		"tree, flamegraph, export, diff. Each process is a thread of it, called\n"
		"HOST/PROGRAM/PID: --thread-name picks some.\n\n"
		"A process is missing, and named, if its agent is not connected, does not answer,\n"
		"or does not reach its marker in time. Exit status: 0 all are in it; 1 some are\n"
		"missing; 3 no collector is at work. With --late take waits for such boards: when\n"
		"they are back, and their data has come, what they had in use at the time of the\n"
		"snapshot joins.\n\n"
		"show has the processes and the functions that hold most, over all builds of a\n"
		"program. diff has what changed from one snapshot to another: by device, by\n"
		"build, and by function. A snapshot stays until it is removed.\n\n"
		"With --store, list, show and diff answer from the data base that collectors\n"
		"share, whichever of them took the snapshot, also after it was removed there.\n"
		"NAME@HOST, or an id, names one where several collectors have the same NAME. Call\n"
		"sites are chosen as with --hide rules; sums of sampled programs have no errors.\n",
	.examples = "  collector snapshot take before\n"
		    "  collector snapshot take --every 5m --keep 1d night\n"
		    "  collector snapshot take --late 30m evening\n"
		    "  collector snapshot show before\n"
		    "  collector snapshot diff before after\n"
		    "  collector snapshot list --store clickhouse://heaps@db1/heapcast\n",
	.groups = groups,
	.options_size = sizeof(struct snapshot_options),
	.defaults = &defaults,
	.arguments_min = 1,
	.arguments_max = -1,
	.run = snapshot_run,
};
