/* Snapshots of a fleet. See snapshots.h. */
#include "collector/export/snapshots.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/saturated.h"
#include "collector/export/export.h"
#include "collector/export/results.h"

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

/* They stand in the order of their hosts. */
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

static void write_member(struct json *json, const struct snapshot_member *m)
{
	struct usage usage = snapshot_member_usage(m);
	char id[STREAM_ID_TEXT], build_id[2 * sizeof(m->build_id) + 1] = "";

	for (uint32_t i = 0; i < m->build_id_length; i++)
		snprintf(build_id + (size_t)2 * i, 3, "%02x", m->build_id[i]);
	json_object(json, NULL);
	json_string(json, "stream", stream_id_format(id, &m->stream));
	json_string(json, "host", m->host);
	json_string(json, "executable", m->executable);
	json_u64(json, "pid", m->pid);
	if (m->missing) {
		json_string(json, "why", m->missing);
		json_u64(json, "last_wall_ns", m->wall_ns);
	} else {
		json_string(json, "build_id", m->build_id_length ? build_id : NULL);
		json_usage(json, "in_use", &usage);
		json_u64(json, "mark", m->mark);
		json_u64(json, "time_ns", m->time_ns);
		json_u64(json, "wall_ns", m->wall_ns);
	}
	json_end(json, '}');
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
