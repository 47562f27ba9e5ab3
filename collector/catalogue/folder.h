#pragma once
/* The store's folder, for the files of collector/store only. */
#include "collector/catalogue/catalogue.h"
#include "collector/catalogue/store.h"
#include "collector/recording/stream_id.h"

#define RECORDING_NAME "recording.heapcast"

struct store {
	char *path;
	enum store_access access;
	int lock;		     /* writer: holds the lock; else -1 */
	struct catalogue *catalogue; /* NULL for a reader if there is none that it can read */
	struct sqlite3 *symbols;
	bool rebuilt; /* the catalogue was of no use */
};

/* retention.c: a stream's folder with all that is in it, for readers at once: it is renamed
 * first. */
void folder_remove(const char *path);

/* Path of a stream's folder. Free it; NULL: no memory. */
char *stream_folder_path(const struct store *store, const struct stream_id *id);

/* True if a stream_writer holds the recording open. */
bool recording_is_written(int fd);
/* Takes that mark. 0 or -EBUSY. */
int recording_mark_written(int fd);

/* Totals of a stream as far as its recording goes: the catalogue's, and what came after. -ENOENT:
 * no recording. */
/* Nobody writes the stream now. */
bool folder_is_idle(const struct store *store, const struct stream_id *id);
int folder_totals(struct store *store, const struct stream_id *id, struct totals *ret_totals,
		  bool *ret_live, struct err_text *err);
/* Makes a file that nobody else can read, if there is none, for a library that would make one as
 * the umask has it. What does not succeed the library will meet as well. */
void folder_make_private(const char *path);
