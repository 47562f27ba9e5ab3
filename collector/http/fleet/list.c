/* /list: the recordings that can be queried. */
#include <errno.h>
#include <stdio.h>

#include "collector/catalogue/store.h"
#include "collector/http/routes/asking.h"
#include "collector/http/server/fleet.h"
#include "collector/http/server/routes.h"
#include "collector/http/server/sources.h"

#include "base/ban.h"

static const char *const states[] = {[STREAM_LIVE] = "live",
				     [STREAM_ENDED] = "ended",
				     [STREAM_INTERRUPTED] = "interrupted",
				     NULL};

#define ANSWER_OF struct source_line
static const struct answer_field list_fields[] = {
	ROW_AS("id", summary.id, ANSWER_ID, NULL, "32 hexadecimal digits"),
	ROW("name", summary.name, NULL, "what people call the program"),
	ROW("executable", summary.executable, NULL, "path of the program"),
	ROW("cmdline", summary.command_line, NULL, "arguments, joined by blanks"),
	ROW("architecture", summary.architecture, NULL, "as in uname -m"),
	ROW("final_allocated", summary.in_use_bytes, "bytes",
	    "bytes in use at the end, or as far as the recording goes"),
	ROW("final_allocated_count", summary.in_use_blocks, "blocks",
	    "blocks in use at the end, or as far as the recording goes"),
	ROW_AS("runtime", summary.last_ns, ANSWER_TIME, "duration", "how long the recording is"),
	ROW("unique_backtrace_count", backtraces, "backtraces",
	    "different backtraces that allocated; this and the next three members are absent until "
	    "the recording has been opened",
	    WHEN(is_open)),
	ROW("maximum_backtrace_depth", depth, "frames",
	    "frames of the deepest backtrace, inlined ones not counted", WHEN(is_open)),
	ROW("watched_from_start", watched_from_start, NULL,
	    "false: the program had run before recording began", WHEN(is_open)),
	ROW("watched_to_end", watched_to_end, NULL, "false: the program's end was not seen",
	    WHEN(is_open)),
	ROW_AS("timestamp", summary.start_wall_ns, ANSWER_TIME, "since the epoch",
	       "when recording began"),
	ROW("host", summary.host, NULL, ""),
	ROW("pid", summary.pid, NULL, "number of the process; 0: the recording was imported"),
	ROW_AS("state", summary.state, ANSWER_WORD, NULL,
	       "interrupted: no end was recorded, and nobody writes to it", .words = states),
	ROW("is_snapshot", summary.is_snapshot, NULL,
	    "true: a snapshot of a fleet, with what was in use at one moment"),
	ROW("events", summary.events, "events", "events that have come so far"),
	ROW("events_per_second", events_per_second, "events/s",
	    "events a second since the look before; only in /events", WHEN(has_rate)),
	ROW("recording_bytes", summary.recording_bytes, "bytes", "bytes on the disk"),
	ROW("incomplete", summary.incomplete, NULL,
	    "what the recording does not hold, in a sentence", .when = IF_TEXT),
	{0},
};
#undef ANSWER_OF
const struct answer list_answer = {"recording", list_fields};

void sources_tell_note(struct exchange *x)
{
	char note[STORE_NOTE_MAX];

	x->incomplete[0] = '\0';
	if (sources_note(x->sources, note))
		snprintf(x->incomplete, sizeof(x->incomplete), "Incomplete: %s", note);
}

struct told_list {
	struct source_line *lines;
	size_t count, at;
};

static void told_list_done(void *result)
{
	struct told_list *list = result;

	sources_list_free(list->lines, list->count);
}

static int list_ask(struct asking *a)
{
	struct told_list *list = a->result;
	int r = sources_list(a->x->sources, &list->lines, &list->count, &a->x->err);

	if (!r)
		sources_tell_note(a->x);
	return r;
}

static int list_next(struct asking *a)
{
	struct told_list *list = a->result;

	return list->at < list->count ? asking_element(a, &list_answer, &list->lines[list->at++])
				      : 0;
}

const struct route list_route = {
	.path = "/list",
	.about = "the recordings",
	.flags = ROUTE_ARRAY,
	.answer = &list_answer,
	ROUTE_ASKS(struct told_list, list_ask, told_list_done),
	.next = list_next,
};
