/* The members of a snapshot, and its name. state.h describes the interface. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/error.h"
#include "collector/control/control.h"
#include "collector/catalogue/store.h"
#include "collector/recording/stream_id.h"
#include "collector/snapshot/state.h"
#include "base/ban.h"

/* A stream without an end and without news for this long has probably ended unseen. */
#define ABSENT_NS  86400000000000u
#define NAME_TRIES 100

struct snapshot_member *members_add(struct snapshot_taking *t, const struct stream_id *id)
{
	struct snapshot *s = &t->snapshot;
	struct snapshot_member *m;

	if (array_reserve(&s->members, &t->members_capacity, s->count + 1, sizeof(*s->members)) <
		    0 ||
	    array_reserve(&t->places, &t->places_capacity, s->count + 1, sizeof(*t->places)) < 0)
		return NULL;
	m = &s->members[s->count];
	*m = (struct snapshot_member){.stream = *id, .host = strdup(""), .executable = strdup("")};
	t->places[s->count] = (struct place){.state = PLACE_ASKED};
	if (!m->host || !m->executable) {
		snapshot_member_done(m);
		return NULL;
	}
	s->count++;
	return m;
}

struct place *place_of(struct snapshot_taking *t, const struct snapshot_member *m)
{
	return &t->places[m - t->snapshot.members];
}

struct snapshot_member *members_find(struct snapshot_taking *t, const struct stream_id *id)
{
	for (size_t i = 0; i < t->snapshot.count; i++)
		if (!memcmp(&t->snapshot.members[i].stream, id, sizeof(*id)))
			return &t->snapshot.members[i];
	return NULL;
}

void member_set_text(char **text, const char *value)
{
	char *copy = strdup(value);

	if (!copy)
		return;
	free(*text);
	*text = copy;
}

void member_set_missing(struct snapshot_taking *t, struct snapshot_member *m, const char *why)
{
	place_of(t, m)->state = t->request->late_ns ? PLACE_LATE : PLACE_MISSING;
	member_set_text(&m->missing, why);
}

static bool is_named(const struct snapshot_taking *t, const struct stream_id *id)
{
	return stream_id_among(id, t->named, t->named_count);
}

/*
 * Tells whether a stream is live, or should be. Nothing is expected of a stream without news for a
 * day.
 */
static bool is_expected(const struct snapshot_taking *t, const struct stream_summary *s)
{
	uint64_t heard = s->start_wall_ns + s->last_ns;

	if (t->named)
		return is_named(t, &s->id);
	return !s->is_snapshot && s->state != STREAM_ENDED &&
	       (s->state == STREAM_LIVE || heard + ABSENT_NS > t->snapshot.wall_ns);
}

static int expect(struct snapshot_taking *t, const struct stream_summary *s)
{
	struct snapshot_member *m = members_add(t, &s->id);

	if (!m)
		return -ENOMEM;
	member_set_text(&m->host, s->host);
	member_set_text(&m->executable, s->executable);
	m->pid = s->pid;
	m->wall_ns = s->start_wall_ns + s->last_ns;
	place_of(t, m)->named = t->named != NULL;
	return 0;
}

static int find_named(struct snapshot_taking *t, struct err_text *err)
{
	const struct snapshot_request *q = t->request;
	enum stream_state state;
	int r = 0;

	if (!q->stream_count)
		return 0;
	if (q->stream_count > SNAPSHOT_STREAMS_MAX)
		return err_set(err, -EINVAL, "more than %u streams are named",
			       SNAPSHOT_STREAMS_MAX);
	t->named = calloc(q->stream_count, sizeof(*t->named));
	if (!t->named)
		return -ENOMEM;
	for (size_t i = 0; !r && i < q->stream_count; i++) {
		struct stream_id id;

		r = store_find_id(t->store, q->streams[i], &id, &state, err);
		if (!r && !is_named(t, &id))
			t->named[t->named_count++] = id;
	}
	/* An unknown stream is reported like an invalid name. */
	return r == -ENOENT || r == -EEXIST ? -EINVAL : r;
}

/* Names the live streams that the request selects. */
static int find_selected(struct snapshot_taking *t, struct err_text *err)
{
	const char *select = t->request->select;
	struct stream_summary *list = NULL;
	size_t count = 0;
	int r;

	if (!select)
		return 0;
	r = control_reach(t->request->data, err);
	if (r < 0)
		return r;
	r = store_list_selected(t->store, select, false, &list, &count, err);
	if (!r)
		t->named = calloc(count + 1, sizeof(*t->named));
	if (!r && !t->named)
		r = -ENOMEM;
	for (size_t i = 0; !r && i < count; i++)
		if (list[i].state == STREAM_LIVE && !list[i].is_snapshot)
			t->named[t->named_count++] = list[i].id;
	store_list_free(list, count);
	if (!r && !t->named_count)
		r = err_set(err, -ENODATA, "no running program matches --select '%.200s'", select);
	return r;
}

int members_list(struct snapshot_taking *t, struct err_text *err)
{
	struct stream_summary *list;
	size_t count;
	int r = find_named(t, err);

	if (!r)
		r = find_selected(t, err);
	if (!r)
		r = store_list_quickly(t->store, &list, &count, err);

	if (r < 0)
		return r;
	for (size_t i = 0; !r && i < count; i++)
		if (is_expected(t, &list[i]))
			r = expect(t, &list[i]);
	store_list_free(list, count);
	return r;
}

/* ---- the name ---- */

static int members_is_taken(struct snapshot_taking *t, const char *name)
{
	struct snapshot other;
	int r = store_snapshot_get(t->store, name, &other, NULL);

	if (r == -ENOENT)
		return 0;
	if (!r)
		snapshot_done(&other);
	return r < 0 ? r : 1;
}

/* The default name is the time. */
int members_find_name(struct snapshot_taking *t, struct err_text *err)
{
	time_t seconds = (time_t)(t->snapshot.wall_ns / 1000000000);
	char *name = t->snapshot.name, when[32] = "now";
	struct tm tm;
	int r;

	if (t->request->name) {
		r = snapshot_name_check(t->request->name, err);
		if (r < 0)
			return r;
		snprintf(name, sizeof(t->snapshot.name), "%s", t->request->name);
		r = members_is_taken(t, name);
		return r <= 0 ? r
			      : err_set(err, -EEXIST,
					"there is a snapshot called '%s' already: take another "
					"name, "
					"or remove that one first ('collector snapshot remove %s')",
					name, name);
	}
	if (localtime_r(&seconds, &tm))
		strftime(when, sizeof(when), "%Y-%m-%dT%H-%M-%S", &tm);
	snprintf(name, sizeof(t->snapshot.name), "%s", when);
	r = members_is_taken(t, name);
	for (unsigned i = 2; r == 1 && i < NAME_TRIES; i++) {
		snprintf(name, sizeof(t->snapshot.name), "%s-%u", when, i);
		r = members_is_taken(t, name);
	}
	return r <= 0 ? r : -EEXIST;
}
