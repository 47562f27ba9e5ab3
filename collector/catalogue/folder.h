#pragma once
/* The store's folder; private to the files that implement the store. */
#include "collector/catalogue/catalogue.h"
#include "collector/catalogue/store.h"
#include "collector/recording/stream_id.h"
#include "collector/recording/written.h"

#define RECORDING_NAME "recording.heapcast"

struct store {
	char *path;
	enum store_access access;
	int lock;		     /* writer: holds the lock; else -1 */
	struct catalogue *catalogue; /* NULL for a reader without a readable catalogue */
	struct sqlite3 *symbols;
	bool rebuilt;	 /* the catalogue was unusable */
	size_t left_out; /* streams that the last list left out, because they can't be read */
};

/*
 * retention.c: removes a stream's folder with its contents. The folder is renamed first, so that it
 * vanishes for readers at once.
 */
void folder_remove(const char *path);

/* Returns the path of a stream's folder. The caller frees it. Returns NULL if memory is short. */
char *stream_folder_path(const struct store *store, const struct stream_id *id);

/* Tells whether no process writes the stream. */
bool folder_is_idle(const struct store *store, const struct stream_id *id);
/*
 * Returns the totals of a stream up to the last whole frame of its recording: the catalogue's, plus
 * what came after. Returns -ENOENT if there is no recording.
 */
int folder_totals(struct store *store, const struct stream_id *id, struct totals *ret_totals,
		  bool *ret_live, struct err_text *err);
/*
 * Creates a file with private permissions if it does not exist, for a library that would create it
 * with the umask. Errors are ignored, because the library meets them as well.
 */
void folder_make_private(const char *path);
