/*
 * Compresses streams that have ended, as set in ingest_options. A thread of its own at the lowest
 * priority looks at the start and every minute, and compresses one stream after the other.
 */
#include <sys/resource.h>

#include "collector/ingest/state.h"
#include "base/ban.h"

#define INTERVAL_MS 60000
#define FAILED_MS   3600000 /* until it is tried again */
#define LOWEST	    19

static bool compress_stops(void *context)
{
	return __atomic_load_n(&((const struct ingest *)context)->stopping, __ATOMIC_RELAXED);
}

static void do_compress(struct pool_work *work)
{
	struct ingest *ingest = work->data;
	struct compressing *c = &ingest->compressing;

	setpriority(PRIO_PROCESS, 0, LOWEST); /* on Linux this changes only the calling thread */
	c->error = store_compress(ingest->store, &c->settings, &c->err);
}

static void on_done(struct pool_work *work)
{
	struct ingest *ingest = work->data;
	struct compressing *c = &ingest->compressing;

	if (c->error < 0)
		ingest_warn(ingest, "%s; the next try is in an hour", err_get(&c->err, c->error));
	c->next_ms = uv_now(ingest->loop) + (c->error < 0 ? FAILED_MS : INTERVAL_MS);
	c->busy = false;
	ingest_released(ingest);
}

void compress_tick(struct ingest *ingest, uint64_t now_ms)
{
	struct compressing *c = &ingest->compressing;

	if (!c->pool || c->busy || now_ms < c->next_ms)
		return;
	c->busy = true;
	ingest->pending++;
	pool_queue(c->pool, &c->work, do_compress, on_done);
}

int compress_start(struct ingest *ingest, const struct ingest_options *options)
{
	struct compressing *c = &ingest->compressing;

	if (!options->compress)
		return 0;
	c->work.data = ingest;
	c->settings = (struct compression){
		.after_ns = options->compress_after_ns, .stop = compress_stops, .context = ingest};
	return pool_new(ingest->loop, 1, true, &c->pool);
}

void compress_done(struct ingest *ingest)
{
	buf_done(&ingest->compressing.settings.tried);
}
