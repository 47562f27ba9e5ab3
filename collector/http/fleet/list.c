/* /list: the recordings that can be queried. */
#include <errno.h>
#include <stdio.h>

#include "collector/catalogue/select.h"
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
	ROWS_OF_LABELS(summary.labels),
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
	ROW("recording_bytes", summary.recording_bytes, "bytes",
	    "length of the recording; compressed ones take less room"),
	ROW("began_on", summary.began_on, NULL,
	    "the collector that has the beginning: the agent has moved", .when = IF_TEXT),
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
	size_t count, shown, at; /* `shown`: of `count`, the first so many are selected */
};

static void told_list_done(void *result)
{
	struct told_list *list = result;

	sources_list_free(list->lines, list->count);
}

/* Leaves out the lines that the request does not select. */
static int list_select(struct asking *a, struct told_list *list)
{
	struct selector *selector;
	size_t kept = 0;
	int r = a->values.select ? selector_parse(a->values.select, &selector, &a->x->err) : 0;

	if (r < 0)
		return asking_fault(a, "select", r);
	if (!a->values.select)
		return 0;
	for (size_t i = 0; i < list->count; i++) {
		struct source_line line = list->lines[i];

		if (!selector_matches(selector, &line.summary))
			continue;
		list->lines[i] = list->lines[kept];
		list->lines[kept++] = line;
	}
	list->shown = kept;
	selector_free(selector);
	return 0;
}

static int list_ask(struct asking *a)
{
	struct told_list *list = a->result;
	int r = sources_list(a->x->sources, &list->lines, &list->count, &a->x->err);

	list->shown = list->count;
	if (!r)
		r = list_select(a, list);
	if (!r)
		sources_tell_note(a->x);
	return r;
}

static int list_next(struct asking *a)
{
	struct told_list *list = a->result;

	return list->at < list->shown ? asking_element(a, &list_answer, &list->lines[list->at++])
				      : 0;
}

const struct route list_route = {
	.path = "/list",
	.about = "the recordings",
	.flags = ROUTE_ARRAY,
	.parameters = (const struct route_parameter[]){REQUEST_SELECT, {0}},
	.takes_filter = takes_none,
	.answer = &list_answer,
	ROUTE_ASKS(struct told_list, list_ask, told_list_done),
	.next = list_next,
};
