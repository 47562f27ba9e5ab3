/*
 * POST /snapshot: what all programs have in use now, taken over the socket of the collector that
 * gathers into the folder. The step does what there is to do, and is called again in a moment: no
 * thread waits. GET /snapshots: those that there are.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "collector/catalogue/store.h"
#include "collector/answers/json.h"
#include "collector/answers/snapshots.h"
#include "collector/http/server/body.h"
#include "collector/http/server/routes.h"
#include "collector/http/server/sources.h"
#include "collector/http/routes/values.h"
#include "collector/snapshot/snapshot.h"

#include "base/ban.h"

#define TIMEOUT_SECONDS 10
#define TIMEOUT_MAX	60
#define STREAMS_BYTES	4096

DEFINE_CLEANUP(store_close, struct store *)

const struct route_parameter take_snapshot_body[] = {
	{"name", NULL, "string", "what it is called; by the time unless it is given"},
	{"timeout", NULL, "integer", "seconds that an agent may take; 10 unless given, 60 at most"},
	{"streams", NULL, "string",
	 "ids of those that are meant, with blanks between; all live ones "
	 "unless it is given"},
	{0},
};

struct asked_snapshot {
	struct snapshot_request request;
	struct snapshot_taking *taking;
	char name[SNAPSHOT_NAME_MAX + 2];
	char streams[STREAMS_BYTES];
	const char *stream[STREAMS_BYTES / 2];
};

static void work_free(void *work)
{
	struct asked_snapshot *a = work;

	snapshot_taking_free(a->taking);
	free(a);
}

static void split_streams(struct asked_snapshot *a)
{
	char *rest = NULL;

	for (char *id = strtok_r(a->streams, " ,", &rest); id; id = strtok_r(NULL, " ,", &rest))
		a->stream[a->request.stream_count++] = id;
	a->request.streams = a->stream;
}

static int snapshots_read_request(struct exchange *x, struct asked_snapshot *a)
{
	uint64_t seconds = TIMEOUT_SECONDS;
	struct body_member table[] = {{"name", a->name, sizeof(a->name), NULL, false},
				      {"timeout", NULL, 0, &seconds, false},
				      {"streams", a->streams, sizeof(a->streams), NULL, false},
				      {0}};
	int r = buf_error(&x->request.body);

	if (!r)
		r = body_read((const char *)x->request.body.data, x->request.body.length, table,
			      x->parameter, &x->err);
	if (r < 0)
		return r;
	if (seconds > TIMEOUT_MAX) {
		snprintf(x->parameter, sizeof(x->parameter), "timeout");
		return err_set(&x->err, -EINVAL, "timeout takes seconds, %u at most", TIMEOUT_MAX);
	}
	a->request.data = sources_data(x->sources);
	a->request.name = table[0].given ? a->name : NULL;
	a->request.timeout_ns = seconds * 1000000000u;
	split_streams(a);
	return 0;
}

/* Without the collector that has the links nothing can be taken; that is no fault of who asks. */
static int snapshots_begin(struct exchange *x)
{
	struct asked_snapshot *a;
	int r = no_parameters(x);

	if (r < 0)
		return r;
	if (!sources_data(x->sources)) {
		x->status = 409;
		return err_set(&x->err, -EINVAL, "only streams of a data folder have agents");
	}
	a = calloc(1, sizeof(*a));
	if (!a)
		return -ENOMEM;
	x->work = a;
	x->work_free = work_free;
	r = snapshots_read_request(x, a);
	if (r < 0)
		return r;
	r = snapshot_take(&a->request, &a->taking, &x->err);
	if (r < 0 && r != -EINVAL && r != -EEXIST)
		x->status = 503;
	return r;
}

int take_snapshot_step(struct exchange *x)
{
	const struct asked_snapshot *a;
	struct json json;
	int r = x->work ? 0 : snapshots_begin(x);

	if (r < 0)
		return r;
	a = x->work;
	do
		r = x->cancelled ? -ECANCELED : snapshot_take_step(a->taking, &x->err);
	while (!r);
	if (r == -ENODATA)
		x->status = 409;
	if (r < 0)
		return r;
	x->content_type = "application/json";
	json_init(&json, &x->out);
	json_object(&json, NULL);
	json_snapshot(&json, snapshot_taken(a->taking));
	json_end(&json, '}');
	buf_byte(&x->out, '\n');
	return buf_error(&x->out);
}

int snapshots_step(struct exchange *x)
{
	cleanup(cleanup_store_close) struct store *store = NULL;
	struct snapshot *list = NULL;
	struct json json;
	size_t count = 0;
	int r = no_parameters(x);

	if (!r && sources_data(x->sources))
		r = store_open(sources_data(x->sources), STORE_READ, &store, &x->err);
	if (!r && store)
		r = store_snapshots(store, &list, &count, &x->err);
	if (r < 0 && r != -ENOENT)
		return r;
	x->content_type = "application/json";
	json_init(&json, &x->out);
	json_array(&json, NULL);
	for (size_t i = 0; i < count; i++) {
		json_object(&json, NULL);
		json_snapshot(&json, &list[i]);
		json_end(&json, '}');
	}
	json_end(&json, ']');
	store_snapshots_free(list, count);
	return buf_error(&x->out);
}
