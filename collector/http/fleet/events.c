/*
 * /events: server-sent events about all recordings, for a page that shows a fleet while it runs.
 * The first event `list` has all recordings. Later ones, at most one a second, have those that have
 * changed, are new or are gone. If nothing changes, a comment line is sent now and then, as on
 * /live. The events end only with the connection. fleet.h computes them, in steps. A watcher waits
 * in the workers' queue and holds no thread.
 */
#include <errno.h>
#include <stdlib.h>
#include <uv.h>

#include "collector/http/routes/values.h"
#include "collector/answers/json.h"
#include "collector/http/server/fleet.h"
#include "collector/http/server/routes.h"
#include "collector/http/server/sources.h"

#include "base/ban.h"

#define INTERVAL_MS 1000
#define QUIET_MS    15000
#define STEP_BYTES  (128u << 10)

struct events {
	struct sources *sources;
	struct fleet_watcher watcher;
	struct json json; /* writer of the current event */
	bool writing;
	uint64_t due_ms, said_ms;
};

static void events_free(void *work)
{
	struct events *e = work;

	fleet_leave(sources_fleet(e->sources), &e->watcher);
	sources_unwatch(e->sources);
	free(e);
}

static int events_begin(struct exchange *x, struct events **ret_events)
{
	struct events *e;

	if (!sources_watch(x->sources))
		return err_set(&x->err, -EBUSY,
			       "%u watch already: close one, or ask /list now and then",
			       WATCHERS_MAX);
	e = calloc(1, sizeof(*e));
	if (!e) {
		sources_unwatch(x->sources);
		return err_set(&x->err, -ENOMEM, "out of memory");
	}
	e->sources = x->sources;
	fleet_join(sources_fleet(x->sources), &e->watcher);
	x->work = e;
	x->work_free = events_free;
	*ret_events = e;
	return 0;
}

/* Writes a part of an event. Returns 1, or a negative errno. */
static int write_some(struct exchange *x, struct events *e, uint64_t now)
{
	if (!e->writing) {
		sources_tell_note(x);
		buf_string(&x->out, "event: list\ndata: ");
		json_answer(&e->json, x);
		e->writing = true;
	}
	if (!fleet_tell(sources_fleet(x->sources), &e->watcher, &e->json, STEP_BYTES)) {
		json_end(&e->json, '}');
		buf_string(&x->out, "\n\n");
		e->writing = false;
		e->said_ms = now;
		e->due_ms = now + INTERVAL_MS;
	}
	return buf_error(&x->out) ? buf_error(&x->out) : 1;
}

static const struct answer_field events_fields[] = {
	ROW_INCOMPLETE,
	BY_HAND("changed", ANSWER_OBJECT, NULL,
		"in the first event all recordings, in later ones those that are new or have "
		"changed",
		.shape = ANSWER_LIST, .of = &list_answer),
	BY_HAND("gone", ANSWER_TEXT, NULL, "ids of recordings that were removed",
		.shape = ANSWER_LIST),
	{0},
};
static const struct answer events_answer = {"recordings", events_fields};

static int events_step(struct exchange *x)
{
	struct events *e = x->work;
	uint64_t now = uv_hrtime() / 1000000;
	int r = e ? 0 : events_begin(x, &e);

	if (r < 0)
		return r;
	if (e->writing)
		return write_some(x, e, now);
	if (now < e->due_ms) {
		x->again_ms = e->due_ms - now;
		return -EAGAIN;
	}
	r = fleet_look(x->sources, &x->err);
	if (r < 0)
		return r;
	if (fleet_has_news(sources_fleet(x->sources), &e->watcher))
		return write_some(x, e, now);
	e->due_ms = now + INTERVAL_MS;
	if (now - e->said_ms < QUIET_MS) {
		x->again_ms = INTERVAL_MS;
		return -EAGAIN;
	}
	buf_string(&x->out, ": nothing new\n\n");
	e->said_ms = now;
	return buf_error(&x->out) ? buf_error(&x->out) : 1;
}

const struct route events_route = {
	.path = "/events",
	.about = "the recordings, and afterwards each that is new or has changed",
	.content_type = "text/event-stream",
	.answer = &events_answer,
	.step = events_step,
};
