/* Adds and removes snapshots, name and folder together. snapshots.h describes them. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/catalogue/new_stream.h"
#include "collector/catalogue/folder.h"
#include "collector/catalogue/snapshots_file.h"
#include "collector/catalogue/store.h"
#include "base/ban.h"

static int snapshot_keep_find_place(void *context, struct err_text *err)
{
	return new_stream_place(context, err);
}

int store_snapshot_keep(struct store *store, struct new_stream *draft, struct snapshot *snapshot,
			struct err_text *err)
{
	int r = new_stream_sync(draft, err);

	if (r < 0)
		return r;
	snapshot->stream = *new_stream_id(draft);
	r = snapshots_file_put(store->path, snapshot, snapshot_keep_find_place, draft, err);
	/* Without a name the stream would never be found. */
	if (r < 0)
		new_stream_withdraw(draft);
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
