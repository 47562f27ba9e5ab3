/*
 * POST /snapshot takes a snapshot of what all programs have in use, over the socket of the
 * collector that gathers into the folder. The step does what can be done now, and is called again
 * soon, so no thread waits. GET /snapshots lists the snapshots of the folder, GET /shared/snapshots
 * those of all collectors that share a data base.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "collector/catalogue/store.h"
#include "collector/answers/snapshots.h"
#include "collector/clickhouse/client.h"
#include "collector/http/fleet/source.h"
#include "collector/http/routes/asking.h"
#include "collector/http/server/body.h"
#include "collector/http/server/routes.h"
#include "collector/http/server/sources.h"
#include "collector/share/shared_open.h"
#include "collector/share/shared_snapshots.h"
#include "collector/snapshot/snapshot.h"

#include "base/ban.h"

#define TIMEOUT_SECONDS 10
#define TIMEOUT_MAX	60
#define LATE_MAX	3600
#define LATE_AGAIN_MS	200 /* who waits for late boards is in no hurry */
#define STREAMS_BYTES	4096

DEFINE_CLEANUP(store_close, struct store *)
DEFINE_CLEANUP(clickhouse_close, struct clickhouse *)

struct asked_snapshot {
	struct snapshot_request request;
	struct snapshot_taking *taking;
	uint64_t seconds, late;
	char *streams; /* members of the body */
	const char *stream[STREAMS_BYTES / 2];
};

static const struct route_parameter take_snapshot_body[] = {
	PARAMETER(struct asked_snapshot, "name", PARAMETER_TEXT, request.name, "string",
		  "name of the snapshot; by default it is called by the time",
		  .most = SNAPSHOT_NAME_MAX + 1),
	PARAMETER(struct asked_snapshot, "timeout", PARAMETER_NUMBER, seconds, "integer",
		  "seconds that an agent may take to answer; default 10, at most 60"),
	PARAMETER(struct asked_snapshot, "late", PARAMETER_NUMBER, late, "integer",
		  "seconds to wait for boards that are away: they join when they are back and "
		  "their data has come; default 0, at most 3600"),
	PARAMETER(struct asked_snapshot, "streams", PARAMETER_TEXT, streams, "string",
		  "ids of the streams, with blanks between; default all live streams",
		  .most = STREAMS_BYTES - 1),
	PARAMETER(struct asked_snapshot, "select", PARAMETER_TEXT, request.select, "string",
		  ABOUT_SELECT ". Not together with streams", .most = SELECT_MAX),
	{0},
};

static void asked_snapshot_done(void *result)
{
	snapshot_taking_free(((struct asked_snapshot *)result)->taking);
}

static void split_streams(struct asked_snapshot *a)
{
	char *rest = NULL;

	for (char *id = a->streams ? strtok_r(a->streams, " ,", &rest) : NULL; id;
	     id = strtok_r(NULL, " ,", &rest))
		a->stream[a->request.stream_count++] = id;
	a->request.streams = a->stream;
}

static int snapshots_read_request(struct exchange *x, struct asked_snapshot *a)
{
	int r;

	a->seconds = TIMEOUT_SECONDS;
	r = body_read_request(x, a);
	if (r < 0)
		return r;
	if (a->seconds > TIMEOUT_MAX) {
		snprintf(x->parameter, sizeof(x->parameter), "timeout");
		return err_set(&x->err, -EINVAL, "timeout takes seconds, %u at most", TIMEOUT_MAX);
	}
	if (a->late > LATE_MAX) {
		snprintf(x->parameter, sizeof(x->parameter), "late");
		return err_set(&x->err, -EINVAL, "late takes seconds, %u at most", LATE_MAX);
	}
	a->request.late_ns = a->late * 1000000000u;
	a->request.data = sources_data(x->sources);
	a->request.timeout_ns = a->seconds * 1000000000u;
	split_streams(a);
	if (a->request.select && a->request.stream_count) {
		snprintf(x->parameter, sizeof(x->parameter), "select");
		return err_set(&x->err, -EINVAL, "select does not go together with streams");
	}
	return 0;
}

/* Without the collector that has the connections no snapshot can be taken. That is not the client's
 * fault, so the status is 503. */
static int snapshots_begin(struct exchange *x, struct asked_snapshot *asked)
{
	int r;

	if (!sources_data(x->sources)) {
		x->status = 409;
		return err_set(&x->err, -EINVAL, "only streams of a data folder have agents");
	}
	r = snapshots_read_request(x, asked);
	if (r < 0)
		return r;
	r = snapshot_take(&asked->request, &asked->taking, &x->err);
	if (r < 0 && r != -EINVAL && r != -EEXIST && r != -ENODATA)
		x->status = 503;
	return r;
}

static int take_snapshot_ask(struct asking *a)
{
	struct asked_snapshot *asked = a->result;
	struct exchange *x = a->x;
	int r = asked->taking ? 0 : snapshots_begin(x, asked);

	while (!r)
		r = x->cancelled ? -ECANCELED : snapshot_take_step(asked->taking, &x->err);
	if (r == -ENODATA)
		x->status = 409;
	if (r == -EAGAIN && asked->late)
		x->again_ms = LATE_AGAIN_MS;
	return r < 0 ? r : 0;
}

static int take_snapshot_write(struct asking *a)
{
	const struct asked_snapshot *asked = a->result;

	json_snapshot(&a->json, snapshot_taken(asked->taking));
	return 0;
}

const struct route take_snapshot_route = {
	.path = "/snapshot",
	.about = "takes a snapshot: what all programs have in use now",
	.method = ROUTE_ORDER,
	.body = take_snapshot_body,
	.answer = &snapshot_answer,
	ROUTE_ASKS(struct asked_snapshot, take_snapshot_ask, asked_snapshot_done),
	.write = take_snapshot_write,
};

struct told_snapshots {
	struct snapshot *list;
	size_t count, at;
};

static void told_snapshots_done(void *result)
{
	struct told_snapshots *told = result;

	store_snapshots_free(told->list, told->count);
}

static int snapshots_ask(struct asking *a)
{
	cleanup(cleanup_store_close) struct store *store = NULL;
	const char *data = sources_data(a->x->sources);
	struct told_snapshots *told = a->result;
	int r = data ? store_open(data, STORE_READ, &store, &a->x->err) : 0;

	if (!r && store)
		r = store_snapshots(store, &told->list, &told->count, &a->x->err);
	return r == -ENOENT ? 0 : r;
}

static int snapshots_next(struct asking *a)
{
	struct told_snapshots *told = a->result;

	if (told->at == told->count)
		return 0;
	json_object(&a->json, NULL);
	json_snapshot(&a->json, &told->list[told->at++]);
	json_end(&a->json, '}');
	return 1;
}

const struct route snapshots_route = {
	.path = "/snapshots",
	.about = "snapshots of the fleet, with the processes in them; each snapshot is a "
		 "recording, too",
	.flags = ROUTE_ARRAY,
	.answer = &snapshot_answer,
	ROUTE_ASKS(struct told_snapshots, snapshots_ask, told_snapshots_done),
	.next = snapshots_next,
};

/* ---- of all collectors ---- */

static int shared_snapshots_ask(struct asking *a)
{
	cleanup(cleanup_clickhouse_close) struct clickhouse *client = NULL;
	cleanup(shared_snapshots_done) struct shared_snapshots all = {0};
	const char *url = sources_shared(a->x->sources);
	struct told_snapshots *told = a->result;
	int r = url ? fleet_open_shared(a->x, QUESTION_MS, a->x->begun_ns, &client, &a->x->err) : 0;

	if (!r && url)
		r = shared_snapshots(client, &all, &a->x->err);
	told->list = take_ptr(all.list);
	told->count = all.count;
	all.count = 0;
	return r;
}

const struct route shared_snapshots_route = {
	.path = "/shared/snapshots",
	.about = "the snapshots of all collectors that share a data base (--store); without one, "
		 "none",
	.flags = ROUTE_ARRAY | ROUTE_ASKS_SHARED,
	.answer = &snapshot_answer,
	ROUTE_ASKS(struct told_snapshots, shared_snapshots_ask, told_snapshots_done),
	.next = snapshots_next,
};
