/* /list: the recordings that can be asked about. */
#include <errno.h>
#include <stdio.h>

#include "collector/export/export.h"
#include "collector/http/routes.h"
#include "collector/http/sources.h"
#include "collector/http/values.h"

#include "base/ban.h"

static const char *const states[] = {
	[STREAM_LIVE] = "live", [STREAM_ENDED] = "ended", [STREAM_INTERRUPTED] = "interrupted"};

void json_source_line(struct json *json, const struct source_line *line)
{
	const struct stream_summary *s = &line->summary;
	char id[STREAM_ID_TEXT];

	json_object(json, NULL);
	json_string(json, "id", stream_id_format(id, &s->id));
	json_string(json, "name", s->name);
	json_string(json, "executable", s->executable);
	json_string(json, "cmdline", s->command_line);
	json_string(json, "architecture", s->architecture);
	json_u64(json, "final_allocated", s->in_use_bytes);
	json_u64(json, "final_allocated_count", s->in_use_blocks);
	json_time(json, "runtime", s->last_ns);
	if (line->is_open) {
		json_u64(json, "unique_backtrace_count", line->backtraces);
		json_u64(json, "maximum_backtrace_depth", line->depth);
		json_bool(json, "watched_from_start", !line->ran_before_ns);
		json_bool(json, "watched_to_end", line->watched_to_end);
	}
	json_time(json, "timestamp", s->start_wall_ns);
	json_string(json, "host", s->host);
	json_u64(json, "pid", s->pid);
	json_string(json, "state", states[s->state]);
	json_u64(json, "events", s->events);
	if (line->has_rate)
		json_u64(json, "events_per_second", line->events_per_second);
	json_u64(json, "recording_bytes", s->recording_bytes);
	if (s->incomplete && s->incomplete[0])
		json_string(json, "incomplete", s->incomplete);
	json_end(json, '}');
}

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
		json_source_line(&json, &lines[i]);
	json_end(&json, ']');
	sources_list_free(lines, count);
	return buf_error(&x->out);
}
