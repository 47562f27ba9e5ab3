/* Snapshots of a fleet. See snapshots.h. */
#include "collector/answers/snapshots.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/saturated.h"
#include "collector/answers/answer.h"
#include "collector/answers/json.h"
#include "collector/answers/names.h"
#include "collector/answers/results.h"
#include "collector/recording/stream_id.h"

#include "base/ban.h"

struct usage snapshot_member_usage(const struct snapshot_member *m)
{
	return (struct usage){.blocks = m->blocks,
			      .bytes = m->bytes,
			      .samples = m->samples,
			      .blocks_error = m->blocks_error,
			      .bytes_error = m->bytes_error};
}

struct usage snapshot_total(const struct snapshot *s)
{
	struct usage total = {0};

	for (size_t i = 0; i < s->count; i++) {
		const struct snapshot_member *m = &s->members[i];

		add_most(&total.blocks, m->blocks);
		add_most(&total.bytes, m->bytes);
		total.samples += m->samples;
		total.blocks_error = hypot(total.blocks_error, m->blocks_error);
		total.bytes_error = hypot(total.bytes_error, m->bytes_error);
	}
	return total;
}

uint64_t snapshot_spread_ns(const struct snapshot *s)
{
	uint64_t first = UINT64_MAX, last = 0;

	for (size_t i = 0; i < s->count; i++) {
		if (s->members[i].missing)
			continue;
		first = s->members[i].wall_ns < first ? s->members[i].wall_ns : first;
		last = s->members[i].wall_ns > last ? s->members[i].wall_ns : last;
	}
	return last > first ? last - first : 0;
}

size_t snapshot_incomplete(const struct snapshot *s)
{
	size_t count = 0;

	for (size_t i = 0; i < s->count; i++)
		count += !s->members[i].missing && s->members[i].incomplete;
	return count;
}

/* Members are sorted by host, missing ones last. */
size_t snapshot_hosts(const struct snapshot *s)
{
	const char *before = NULL;
	size_t hosts = 0;

	for (size_t i = 0; i < s->count && !s->members[i].missing; i++) {
		hosts += !before || strcmp(before, s->members[i].host) != 0;
		before = s->members[i].host;
	}
	return hosts;
}

struct told_member {
	struct snapshot_member member;
	struct usage in_use;
	const char *build_id;
	bool has_clock;
};

#define ANSWER_OF struct told_member
#define ROWS_OF_MEMBER                                                                             \
	ROW_AS("stream", member.stream, ANSWER_ID, NULL, "id of its recording"),                   \
		ROW("host", member.host, NULL, ""),                                                \
		ROW("executable", member.executable, NULL, ""), ROW("pid", member.pid, NULL, "")

static const struct answer_field process_fields[] = {
	ROWS_OF_MEMBER,
	ROW("build_id", build_id, NULL, "of the program", .may_be_null = true),
	ROW("in_use", in_use, NULL, ""),
	ROW("mark", member.mark, NULL, "number of its marker"),
	ROW("time_ns", member.time_ns, "ns",
	    "time of the marker, since the start of the process's recording"),
	ROW("wall_ns", member.wall_ns, "ns since the epoch",
	    "time of the marker, by the clock of its host"),
	ROW("clock_offset_ns", member.clock_offset_ns, "ns",
	    "how far the clock of its host is ahead of the collector's", WHEN(has_clock)),
	ROW("clock_error_ns", member.clock_error_ns, "ns",
	    "the offset is not wrong by more: half of the time from the order to the reply",
	    WHEN(has_clock)),
	ROW("late", member.late, NULL,
	    "it had no marker, and joined when its data had come: what it had in use at the time "
	    "of the snapshot, by the clock of its host"),
	ROW("incomplete", member.incomplete, NULL,
	    "what its recording lacked: more may have been in use", .when = IF_SET),
	{0},
};
static const struct answer process_answer = {"snapshot_process", process_fields};

static const struct answer_field missing_fields[] = {
	ROWS_OF_MEMBER,
	ROW("why", member.missing, NULL, ""),
	ROW("last_wall_ns", member.wall_ns, "ns since the epoch", "when it was last heard of"),
	{0},
};
#undef ANSWER_OF
static const struct answer missing_answer = {"snapshot_missing", missing_fields};

static const struct answer_field snapshot_fields[] = {
	BY_HAND("name", ANSWER_TEXT, NULL, ""),
	BY_HAND("called", ANSWER_TEXT, NULL,
		"what names it where several collectors share a data base, and its name alone does "
		"not: NAME@HOST, or its id",
		.when = SOMETIMES),
	BY_HAND("id", ANSWER_TEXT, NULL, "id of the snapshot's recording", .may_be_null = true),
	BY_HAND("wall_ns", ANSWER_U64, "ns since the epoch", "when the snapshot was begun"),
	BY_HAND("took_ns", ANSWER_U64, "ns", "time from the beginning to the last marker"),
	BY_HAND("clock_spread_ns", ANSWER_U64, "ns",
		"time between the first and the last marker, by the clocks of the hosts"),
	BY_HAND("in_use", ANSWER_USAGE, NULL, "in use in all processes"),
	BY_HAND("processes", ANSWER_OBJECT, NULL, "", .shape = ANSWER_LIST, .of = &process_answer),
	BY_HAND("missing", ANSWER_OBJECT, NULL, "", .shape = ANSWER_LIST, .of = &missing_answer),
	{0},
};
const struct answer snapshot_answer = {"fleet_snapshot", snapshot_fields};

static void write_member(struct json *json, const struct snapshot_member *m)
{
	char build_id[2 * sizeof(m->build_id) + 1] = "";

	for (uint32_t i = 0; i < m->build_id_length; i++)
		snprintf(build_id + (size_t)2 * i, 3, "%02x", m->build_id[i]);
	json_object_of(json, NULL, m->missing ? &missing_answer : &process_answer,
		       &(struct told_member){.member = *m,
					     .in_use = snapshot_member_usage(m),
					     .build_id = m->build_id_length ? build_id : NULL,
					     .has_clock = m->clock_error_ns != 0},
		       NULL);
}

static void write_members(struct json *json, const char *key, const struct snapshot *s,
			  bool missing)
{
	json_array(json, key);
	for (size_t i = 0; i < s->count; i++)
		if (!s->members[i].missing == !missing)
			write_member(json, &s->members[i]);
	json_end(json, ']');
}

void json_snapshot(struct json *json, const struct snapshot *s)
{
	static const struct stream_id none;
	struct usage total = snapshot_total(s);
	char id[STREAM_ID_TEXT];

	json_string(json, "name", s->name);
	if (s->called)
		json_string(json, "called", s->called);
	json_string(json, "id",
		    memcmp(&s->stream, &none, sizeof(none)) ? stream_id_format(id, &s->stream)
							    : NULL);
	json_u64(json, "wall_ns", s->wall_ns);
	json_u64(json, "took_ns", s->took_ns);
	json_u64(json, "clock_spread_ns", snapshot_spread_ns(s));
	json_usage(json, "in_use", &total);
	write_members(json, "processes", s, false);
	write_members(json, "missing", s, true);
}

/* ---- by function ---- */

#define FROM_FOLDER "; only from a data folder"
#define ANSWER_OF   struct group
static const struct answer_field function_fields[] = {
	ROWS_SITE,
	ROW("backtrace_id", node, "id", "id of the heaviest backtrace" FROM_FOLDER,
	    .when = IF_NO_MAX),
	ROW("value", value, NULL, "what is in use"),
	ROW("allocated", allocated, NULL, "the same: a snapshot has nothing else"),
	ROW("leaked", leaked, NULL, "the same"),
	ROW("temporary", freed, NULL, "nothing"),
	ROW("min_size", min_size, "bytes", "size of the smallest block" FROM_FOLDER,
	    .when = IF_NO_MAX),
	ROW("max_size", max_size, "bytes", "size of the largest block" FROM_FOLDER,
	    .when = IF_NO_MAX),
	ROW("first_ns", first_ns, "ns", "time of the first marker, since the start" FROM_FOLDER,
	    .when = IF_NO_MAX),
	ROW("last_ns", last_ns, "ns", "time of the last marker, since the start" FROM_FOLDER,
	    .when = IF_NO_MAX),
	{0},
};
#undef ANSWER_OF
static const struct answer function_answer = {"snapshot_function", function_fields};

#define ANSWER_OF struct groups
static const struct answer_field functions_fields[] = {
	ROW("total", total, NULL, "all functions together"),
	ROW("function_count", count, "functions", "number of functions"),
	ROW_PAGE("functions", list, count, function_answer, "functions, the heaviest first"),
	{0},
};
#undef ANSWER_OF
const struct answer snapshot_functions_answer = {"snapshot_functions", functions_fields};
