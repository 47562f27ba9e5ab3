/* Removes old streams, as set in ingest_options. A worker checks at the start and every minute. */
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "collector/catalogue/store.h"
#include "collector/ingest/state.h"
#include "collector/recording/stream_id.h"
#include "base/ban.h"

#define INTERVAL_MS 60000

static void on_removed(void *context, const struct stream_id *id, uint64_t bytes, bool waited)
{
	struct ingest *ingest = context;
	char text[STREAM_ID_TEXT], size[32];

	buf_printf(&ingest->removed, "removed the stream %s (%s)%s\n", stream_id_format(text, id),
		   format_size(size, (double)bytes),
		   waited ? ", before it was known whether the shared store has all of it" : "");
}

static bool retain_waits(void *context, const struct stream_id *id)
{
	const struct ingest *ingest = context;

	return ingest->waits && ingest->waits(ingest->context, id);
}

static void do_retain(uv_work_t *work)
{
	struct ingest *ingest = work->data;
	const struct retention retention = {.keep_ns = ingest->keep_ns,
					    .keep_bytes = ingest->keep_bytes,
					    .waits = retain_waits,
					    .removed = on_removed,
					    .context = ingest};
	struct err_text err = {0};

	if (store_retain(ingest->store, &retention, &err) < 0)
		buf_printf(&ingest->removed, "cannot remove old streams: %s\n", err.text);
}

static void on_retained(uv_work_t *work, int status)
{
	struct ingest *ingest = work->data;
	const char *line = status ? NULL : buf_text(&ingest->removed);

	for (const char *end; line && (end = strchr(line, '\n')); line = end + 1)
		ingest_warn(ingest, "%.*s", (int)(end - line), line);
	buf_done(&ingest->removed);
	ingest->retaining = false;
	ingest_released(ingest);
}

void retain_tick(struct ingest *ingest, uint64_t now_ms)
{
	if ((!ingest->keep_ns && !ingest->keep_bytes) || ingest->retaining ||
	    (ingest->retained_ms && now_ms - ingest->retained_ms < INTERVAL_MS))
		return;
	ingest->retain_work.data = ingest;
	if (uv_queue_work(ingest->loop, &ingest->retain_work, do_retain, on_retained) < 0)
		return;
	ingest->retained_ms = now_ms ? now_ms : 1;
	ingest->retaining = true;
	ingest->pending++;
}
