/* /list: the recordings that can be asked about. */
#include <errno.h>
#include <stdio.h>

#include "collector/catalogue/store.h"
#include "collector/answers/json.h"
#include "collector/http/server/routes.h"
#include "collector/http/server/sources.h"
#include "collector/http/routes/values.h"

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
	    "in use at the end, or as far as the recording goes"),
	ROW("final_allocated_count", summary.in_use_blocks, "blocks",
	    "in use at the end, or as far as the recording goes"),
	ROW_AS("runtime", summary.last_ns, ANSWER_TIME, "duration", "how long was recorded"),
	ROW("unique_backtrace_count", backtraces, "backtraces",
	    "that allocated; absent until it has been opened, as the next three", WHEN(is_open)),
	ROW("maximum_backtrace_depth", depth, "frames", "inlined ones not counted", WHEN(is_open)),
	ROW("watched_from_start", watched_from_start, NULL, "false: it had run before",
	    WHEN(is_open)),
	ROW("watched_to_end", watched_to_end, NULL, "false: its end was not seen", WHEN(is_open)),
	ROW_AS("timestamp", summary.start_wall_ns, ANSWER_TIME, "since the epoch",
	       "when recording began"),
	ROW("host", summary.host, NULL, ""),
	ROW("pid", summary.pid, NULL, "0: no program was recorded here, it was imported"),
	ROW_AS("state", summary.state, ANSWER_WORD, NULL,
	       "interrupted: no end was recorded and nobody writes to it", .words = states),
	ROW("is_snapshot", summary.is_snapshot, NULL, "of a fleet: what was in use at a moment"),
	ROW("events", summary.events, "events", "that have come so far"),
	ROW("events_per_second", events_per_second, "events/s",
	    "of /events alone: since the look before", WHEN(has_rate)),
	ROW("recording_bytes", summary.recording_bytes, "bytes", "on the disk"),
	ROW("incomplete", summary.incomplete, NULL, "what it does not hold, in a sentence",
	    .when = IF_TEXT),
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

int list_step(struct exchange *x)
{
	struct source_line *lines;
	struct json json;
	size_t count;
	int r = no_parameters(x);

	if (!r)
		r = sources_list(x->sources, &lines, &count, &x->err);
	if (r < 0)
		return r;
	sources_tell_note(x);
	x->content_type = "application/json";
	json_init(&json, &x->out);
	json_array(&json, NULL);
	for (size_t i = 0; i < count; i++)
		json_object_of(&json, NULL, &list_answer, &lines[i], NULL);
	json_end(&json, ']');
	sources_list_free(lines, count);
	return buf_error(&x->out);
}
