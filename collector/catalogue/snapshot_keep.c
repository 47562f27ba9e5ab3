/* Adds and removes snapshots, name and folder together. snapshots.h describes them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/catalogue/catalogue.h"
#include "collector/catalogue/new_stream.h"
#include "collector/catalogue/folder.h"
#include "collector/catalogue/snapshots_file.h"
#include "collector/catalogue/store.h"
#include "collector/recording/scan.h"
#include "collector/recording/totals.h"
#include "base/ban.h"

DEFINE_CLEANUP(catalogue_close, struct catalogue *)

static int snapshot_keep_find_place(void *context, struct err_text *err)
{
	return new_stream_place(context, err);
}

/* Fills in what lists show of the recording. Its first batch has the process. */
static int find_totals(const struct new_stream *draft, const struct snapshot_sums *sums,
		       struct totals *totals)
{
	int fd = new_stream_fd(draft), r;
	struct scan_item item;
	struct scan scan;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	r = scan_init(&scan, fd, 0, NULL);
	if (!r)
		r = scan_next(&scan, (uint64_t)st.st_size, &item);
	if (r == 1)
		r = totals_add(totals, new_stream_id(draft), item.batch, NULL);
	else
		r = r < 0 ? r : -EBADMSG;
	scan_done(&scan);
	totals->incomplete = strdup("");
	totals->position = (struct stream_position){1, sums->batches + 1};
	totals->events = sums->events;
	totals->last_ns = sums->last_ns;
	totals->bytes = totals->summed_bytes = (uint64_t)st.st_size;
	totals->in_use_bytes = sums->in_use_bytes;
	totals->in_use_blocks = sums->in_use_blocks;
	totals->ended = totals->summed_up = true;
	return totals->incomplete ? r : -ENOMEM;
}

/*
 * Without its line in the catalogue, each list would read the whole recording. If the line cannot
 * be written, lists do that.
 */
static void tell_catalogue(const struct store *store, const struct new_stream *draft,
			   const struct snapshot_sums *sums)
{
	cleanup(cleanup_free) char *path = NULL;
	cleanup(cleanup_catalogue_close) struct catalogue *catalogue = NULL;
	struct totals totals = {0};

	if (!sums || asprintf(&path, "%s/catalogue.sqlite", store->path) < 0 ||
	    access(path, F_OK) < 0 || catalogue_open_add(path, &catalogue) < 0)
		return;
	if (!find_totals(draft, sums, &totals))
		catalogue_put(catalogue, new_stream_id(draft), &totals, NULL);
	totals_done(&totals);
}

int store_snapshot_keep(struct store *store, struct new_stream *draft, struct snapshot *snapshot,
			const struct snapshot_sums *sums, struct err_text *err)
{
	int r = new_stream_sync(draft, err);

	if (r < 0)
		return r;
	snapshot->stream = *new_stream_id(draft);
	r = snapshots_file_put(store->path, snapshot, snapshot_keep_find_place, draft, err);
	/* Without a name the stream would never be found. */
	if (r < 0)
		new_stream_withdraw(draft);
	else
		tell_catalogue(store, draft, sums);
	return r;
}

int store_snapshot_remove(struct store *store, const char *name, struct err_text *err)
{
	cleanup(snapshot_done) struct snapshot snapshot = {0};
	cleanup(cleanup_free) char *folder = NULL;
	int r = store_snapshot_get(store, name, &snapshot, err);

	if (!r)
		r = snapshots_file_remove(store->path, name, err);
	if (r < 0)
		return r;
	folder = stream_folder_path(store, &snapshot.stream);
	if (!folder)
		return -ENOMEM;
	folder_remove(folder);
	catalogue_remove(store->catalogue, &snapshot.stream);
	return 0;
}
