/* Prepares ended streams for questions. See gather_ready.h. Errors are not reported here: a
 * question that needs the result meets the error again, and reports it. */
#include "collector/cli/run/gather_ready.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "collector/catalogue/store.h"
#include "collector/query/query.h"
#include "collector/recording/recording.h"
#include "collector/recording/stream_id.h"
#include "base/ban.h"

DEFINE_CLEANUP(store_close, struct store *)
DEFINE_CLEANUP(recording_close, struct recording *)
DEFINE_CLEANUP(view_free, struct view *)

static int stop_reading(void *context, uint64_t done, uint64_t of)
{
	const struct gather_ready *ready = context;

	(void)done;
	(void)of;
	return atomic_load(&ready->cancelled);
}

static int gather_ready_prepare(struct gather_ready *ready)
{
	cleanup(cleanup_store_close) struct store *store = NULL;
	cleanup(cleanup_recording_close) struct recording *recording = NULL;
	cleanup(cleanup_view_free) struct view *view = NULL;
	cleanup(cleanup_free) char *path = NULL;
	char name[STREAM_ID_TEXT];
	int r = store_open(ready->data, STORE_READ, &store, NULL);

	if (!r)
		r = store_find(store, stream_id_format(name, &ready->at_work), &path, NULL);
	if (!r)
		r = recording_open(path, stop_reading, ready, &recording, NULL);
	if (!r)
		r = view_new(recording, NULL, &view, NULL);
	return r ? r : query_prepare(view, &ready->cancelled, NULL);
}

static void do_work(uv_work_t *work)
{
	gather_ready_prepare(work->data);
}

static void gather_ready_start(struct gather_ready *ready);

static void on_done(uv_work_t *work, int status)
{
	struct gather_ready *ready = work->data;

	(void)status;
	ready->working = false;
	gather_ready_start(ready);
}

static void gather_ready_start(struct gather_ready *ready)
{
	if (ready->working || !ready->count || atomic_load(&ready->cancelled))
		return;
	ready->at_work = ready->waiting[--ready->count];
	ready->work.data = ready;
	ready->working = uv_queue_work(ready->loop, &ready->work, do_work, on_done) == 0;
}

void gather_ready_init(struct gather_ready *ready, uv_loop_t *loop, const char *data)
{
	*ready = (struct gather_ready){.loop = loop, .data = data};
}

void gather_ready_event(struct gather_ready *ready, const struct ingest_event *event)
{
	if (event->kind != INGEST_STREAM_ENDED || event->complete)
		return;
	if (array_reserve(&ready->waiting, &ready->capacity, (uint64_t)ready->count + 1,
			  sizeof(*ready->waiting)) < 0)
		return;
	ready->waiting[ready->count++] = *event->stream;
	gather_ready_start(ready);
}

void gather_ready_cancel(struct gather_ready *ready)
{
	atomic_store(&ready->cancelled, true);
}

void gather_ready_done(struct gather_ready *ready)
{
	free(ready->waiting);
	*ready = (struct gather_ready){0};
}
