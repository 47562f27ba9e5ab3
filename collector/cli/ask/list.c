/* collector list: lists what has been recorded. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/parse.h"
#include "collector/catalogue/store.h"
#include "collector/cli/commands.h"
#include "collector/answers/json.h"
#include "collector/recording/stream_id.h"
#include "base/ban.h"

#define DISK_LEAST (64u << 10)

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

/* A line may also say since when the program was watched. That is no loss. */
static bool is_incomplete(const struct stream_summary *s)
{
	return !strncmp(s->incomplete, "Incomplete", strlen("Incomplete"));
}

static void list_print_text(const struct stream_summary *list, size_t count)
{
	if (!count) {
		printf("Nothing has been recorded yet. 'collector gather' waits for agents.\n");
		return;
	}
	printf("%-12s %-16s %-14s %7s %10s %9s %s\n", "ID", "STARTED", "PROGRAM", "PID", "EVENTS",
	       "IN USE", "STATE");
	for (size_t i = 0; i < count; i++) {
		char id[STREAM_ID_TEXT], size[32], started[32] = "-", pid[16];
		time_t seconds = (time_t)(list[i].start_wall_ns / 1000000000);
		struct tm local;

		stream_id_format(id, &list[i].id);
		if (seconds && localtime_r(&seconds, &local)) /* else nobody said when it began */
			strftime(started, sizeof(started), "%Y-%m-%d %H:%M", &local);
		snprintf(pid, sizeof(pid), "%u", list[i].pid);
		printf("%.12s %-16s %-14.14s %7s %10llu %9s %s%s\n", id, started, list[i].name,
		       list[i].pid ? pid : "-", (unsigned long long)list[i].events,
		       format_size(size, (double)list[i].in_use_bytes), state_of(&list[i]),
		       is_incomplete(&list[i]) ? ", incomplete" : "");
	}
}

static void list_print_json(const struct stream_summary *list, size_t count)
{
	struct buf out = {0};
	struct json json;

	json_init(&json, &out);
	json_array(&json, NULL);
	for (size_t i = 0; i < count; i++) {
		char id[STREAM_ID_TEXT];

		json_object(&json, NULL);
		json_string(&json, "id", stream_id_format(id, &list[i].id));
		json_string(&json, "name", list[i].name);
		json_string(&json, "executable", list[i].executable);
		json_string(&json, "command_line", list[i].command_line);
		json_string(&json, "host", list[i].host);
		json_string(&json, "architecture", list[i].architecture);
		json_u64(&json, "pid", list[i].pid);
		json_u64(&json, "start_wall_ns", list[i].start_wall_ns);
		json_u64(&json, "duration_ns", list[i].last_ns);
		json_u64(&json, "events", list[i].events);
		json_u64(&json, "recording_bytes", list[i].recording_bytes);
		json_u64(&json, "in_use_bytes", list[i].in_use_bytes);
		json_u64(&json, "in_use_blocks", list[i].in_use_blocks);
		json_string(&json, "state", state_of(&list[i]));
		if (list[i].incomplete[0])
			json_string(&json, "incomplete", list[i].incomplete);
		json_end(&json, '}');
	}
	json_end(&json, ']');
	buf_byte(&out, '\n');
	fwrite(out.data, 1, out.length, stdout);
	buf_done(&out);
}

/* The rest of an interrupted stream may lie where it was recorded: the agent keeps it there. */
static void hint_at_the_rest(const struct stream_summary *list, size_t count)
{
	size_t interrupted = 0;

	for (size_t i = 0; i < count; i++)
		interrupted += list[i].state == STREAM_INTERRUPTED && list[i].pid;
	if (interrupted)
		fprintf(stderr,
			"collector list: %zu of them %s interrupted: the agent may have "
			"kept the rest, in a file or in the folder of its --spool, which "
			"is added by 'collector import FILE'\n",
			interrupted, interrupted == 1 ? "is" : "are");
}

/* A gather that can't store says so itself, but perhaps on another terminal. */
static void warn_of_full_disk(const char *folder)
{
	struct statvfs fs;
	char size[32];

	if (statvfs(folder, &fs) < 0 || !fs.f_blocks || fs.f_bavail * fs.f_frsize >= DISK_LEAST)
		return;
	fprintf(stderr,
		"collector list: the disk of %s is full (%s free): what agents send is not stored, "
		"nor acknowledged, until there is room\n",
		folder, format_size(size, (double)(fs.f_bavail * fs.f_frsize)));
}

static int list_run(struct command_call *call)
{
	const struct common_options *options = call->options;
	struct stream_summary *list = NULL;
	struct store *store = NULL;
	struct err_text err = {0};
	char note[STORE_NOTE_MAX];
	size_t count = 0;
	int r = store_open(options->data, STORE_READ, &store, &err);

	if (!r)
		r = store_list(store, &list, &count, &err);
	if (!r && options->json)
		list_print_json(list, count);
	else if (!r)
		list_print_text(list, count);
	if (!r && !options->json)
		hint_at_the_rest(list, count);
	if (!r)
		warn_of_full_disk(options->data);
	if (!r && store_note(store, note))
		fprintf(stderr, "collector list: not all is recorded here: %s\n", note);
	store_list_free(list, count);
	store_close(store);
	return r < 0 ? command_fault(call->command, r, &err) : EXIT_DONE;
}

static const struct option_group groups[] = {{NULL, common_table}, {0}};

const struct command command_list = {
	.name = "list",
	.summary = "what has been recorded",
	.usage = "[OPTION...]",
	.about =
		"Lists the streams in the data folder, the oldest first.\n\n"
		"IN USE is what was allocated and not freed when the recording ended, or as far\n"
		"as it goes. STATE: live (still growing), ended (the program's end is recorded),\n"
		"interrupted (no end, and nobody is writing it), imported (from a file of another\n"
		"tool), snapshot (of many programs, merged).\n",
	.examples = "  collector list\n  collector list --json | jq '.[-1].id'\n",
	.groups = groups,
	.options_size = sizeof(struct common_options),
	.run = list_run,
};
