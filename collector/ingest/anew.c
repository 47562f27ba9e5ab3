/*
 * Handles the removal of the catalogue while it is in use. The store makes a new one; this file
 * reports it and has a worker fill it.
 */
#include "collector/catalogue/store.h"
#include "collector/ingest/state.h"
#include "base/ban.h"

static void do_fill(uv_work_t *work)
{
	store_fill_catalogue(((struct ingest *)work->data)->store);
}

static void on_filled(uv_work_t *work, int status)
{
	struct ingest *ingest = work->data;

	(void)status;
	ingest->filling = false;
	ingest_released(ingest);
}

void anew_tick(struct ingest *ingest)
{
	unsigned lost = store_catalogue_lost(ingest->store);

	if (lost == ingest->told_lost || ingest->filling)
		return;
	ingest_warn(ingest, "the catalogue of %s was removed: it is made anew from the recordings",
		    store_path(ingest->store));
	ingest->fill_work.data = ingest;
	if (uv_queue_work(ingest->loop, &ingest->fill_work, do_fill, on_filled) < 0)
		return;
	ingest->told_lost = lost;
	ingest->filling = true;
	ingest->pending++;
}
