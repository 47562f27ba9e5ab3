/* The store's folder: opening, the lock, paths. folder.h and store.h describe the interface. */
#include "collector/catalogue/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/words.h"
#include "collector/catalogue/listing.h"
#include "collector/catalogue/store.h"
#include "collector/catalogue/writer.h"
#include "collector/recording/file.h"
#include "collector/recording/stream_id.h"
#include "collector/recording/stream_position.h"
#include "base/ban.h"

#define LOCK_TRIES    20 /* a collector that was just killed releases the lock in a moment */
#define LOCK_PAUSE_US 25000

char *stream_id_format(char out[STREAM_ID_TEXT], const struct stream_id *id)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < sizeof(id->bytes); i++) {
		out[2 * i] = digits[id->bytes[i] >> 4];
		out[2 * i + 1] = digits[id->bytes[i] & 15];
	}
	out[2 * sizeof(id->bytes)] = 0;
	return out;
}

static char *folder_path_of(const struct store *store, const char *name)
{
	char *path;

	return asprintf(&path, "%s/%s", store->path, name) < 0 ? NULL : path;
}

char *stream_folder_path(const struct store *store, const struct stream_id *id)
{
	char text[STREAM_ID_TEXT], *path;

	return asprintf(&path, "%s/streams/%s", store->path, stream_id_format(text, id)) < 0 ? NULL
											     : path;
}

char *stream_recording_path(const struct store *store, const struct stream_id *id)
{
	char text[STREAM_ID_TEXT], *path;

	return asprintf(&path, "%s/streams/%s/" RECORDING_NAME, store->path,
			stream_id_format(text, id)) < 0
		       ? NULL
		       : path;
}

/* ---- opening ---- */

void folder_make_private(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd >= 0)
		close(fd);
}

static int folder_make_folder(const char *path, struct err_text *err)
{
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return err_set(err, -errno, "cannot make the folder %s: %s", path, strerror(errno));
	return 0;
}

static int lock_busy(int fd, const char *path, struct err_text *err)
{
	char pid[24] = "";
	ssize_t n = pread(fd, pid, sizeof(pid) - 1, 0);

	pid[n > 0 ? strcspn(pid, "\n") : 0] = 0;
	return err_set(err, -EBUSY,
		       "another collector (pid %s) is writing to %s; stop it, or give another "
		       "folder with --data",
		       pid[0] ? pid : "unknown", path);
}

static int take_lock(struct store *store, struct err_text *err)
{
	cleanup(cleanup_free) char *path = folder_path_of(store, "lock");
	cleanup(cleanup_close) int fd = -1;
	char pid[24];
	int n;

	if (!path)
		return -ENOMEM;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_set(err, -errno, "cannot open %s: %s", path, strerror(errno));
	for (unsigned i = 0; recording_mark_written(fd) < 0; i++) {
		if (i == LOCK_TRIES)
			return lock_busy(fd, store->path, err);
		usleep(LOCK_PAUSE_US);
	}
	n = snprintf(pid, sizeof(pid), "%ld\n", (long)getpid());
	errno = ENOSPC; /* a short write sets no errno */
	if (ftruncate(fd, 0) < 0 || pwrite(fd, pid, (size_t)n, 0) != n)
		return err_set(err, -EIO, "cannot write %s: %s", path, strerror(errno));
	store->lock = take_fd(fd);
	return 0;
}

/*
 * Makes the recording durable; returns false on failure. Data that the catalogue covers is not
 * checked again. It must therefore be on the disk, and not only in the page cache, where a killed
 * collector may have left it.
 */
static bool is_durable(const struct store *store, const struct stream_id *id)
{
	cleanup(cleanup_free) char *path = stream_recording_path(store, id);
	cleanup(cleanup_close) int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;

	return fd >= 0 && fdatasync(fd) == 0;
}

/* Unreadable streams are skipped; their readers report the errors. */
void store_fill_catalogue(struct store *store)
{
	struct stream_id *ids = NULL;
	size_t count = 0;

	if (listing_ids(store, &ids, &count, NULL) < 0)
		return;
	for (size_t i = 0; i < count; i++) {
		struct totals totals = {0};

		if (catalogue_get(store->catalogue, &ids[i], &totals) != 1 &&
		    folder_totals(store, &ids[i], &totals, NULL, NULL) == 0 &&
		    is_durable(store, &ids[i]))
			catalogue_put(store->catalogue, &ids[i], &totals, NULL);
		totals_done(&totals);
	}
	free(ids);
}

/*
 * A process that adds streams takes no lock, because each recording has its own. Readers find
 * streams that the catalogue lacks.
 */
static int open_write(struct store *store, bool adds, struct err_text *err)
{
	cleanup(cleanup_free) char *streams = folder_path_of(store, "streams");
	cleanup(cleanup_free) char *catalogue = folder_path_of(store, "catalogue.sqlite");
	int r;

	if (!streams || !catalogue)
		return -ENOMEM;
	r = folder_make_folder(store->path, err);
	if (!r && !adds)
		r = take_lock(store, err);
	if (!r)
		r = folder_make_folder(streams, err);
	if (r < 0)
		return r;
	if (adds) {
		if (catalogue_open_add(catalogue, &store->catalogue) < 0)
			store->catalogue = NULL;
		return 0;
	}
	r = catalogue_open_write(catalogue, &store->catalogue, &store->rebuilt, err);
	if (!r)
		store_fill_catalogue(store);
	return r;
}

static int open_read(struct store *store, struct err_text *err)
{
	cleanup(cleanup_free) char *streams = folder_path_of(store, "streams");
	cleanup(cleanup_free) char *catalogue = folder_path_of(store, "catalogue.sqlite");
	struct stat st;

	if (!streams || !catalogue)
		return -ENOMEM;
	if (stat(streams, &st) < 0 && errno == EACCES)
		return err_set(err, -EACCES, "cannot look into %s: %s", store->path,
			       strerror(EACCES));
	if (stat(store->path, &st) < 0 && errno == ENOENT)
		return err_set(err, -ENOENT,
			       "there is no folder %s: 'collector gather' makes it, --data names "
			       "another",
			       store->path);
	if (stat(streams, &st) < 0 || !S_ISDIR(st.st_mode))
		return err_set(err, -ENOENT,
			       "there are no recordings in %s: 'collector gather' makes them, "
			       "--data names another folder",
			       store->path);
	if (catalogue_open_read(catalogue, &store->catalogue) < 0)
		store->catalogue = NULL;
	return 0;
}

int store_open(const char *path, enum store_access access, struct store **ret_store,
	       struct err_text *err)
{
	struct store *store = calloc(1, sizeof(*store));
	int r;

	if (!store)
		return -ENOMEM;
	store->lock = -1;
	store->access = access;
	store->path = strdup(path);
	if (!store->path)
		r = -ENOMEM;
	else
		r = access == STORE_READ ? open_read(store, err)
					 : open_write(store, access == STORE_ADD, err);
	if (r < 0) {
		store_close(store);
		return r;
	}
	*ret_store = store;
	return 0;
}

void store_close(struct store *store)
{
	if (!store)
		return;
	catalogue_close(store->catalogue);
	sqlite3_close(store->symbols);
	if (store->lock >= 0)
		close(store->lock);
	free(store->path);
	free(store);
}

const char *store_path(const struct store *store)
{
	return store->path;
}

unsigned store_catalogue_lost(const struct store *store)
{
	return catalogue_lost(store->catalogue);
}

bool store_was_rebuilt(const struct store *store)
{
	return store->rebuilt;
}

struct sqlite3 *store_symbol_cache(struct store *store)
{
	cleanup(cleanup_free) char *path = folder_path_of(store, "symbols.sqlite");

	if (store->symbols || !path)
		return store->symbols;
	folder_make_private(path);
	if (sqlite3_open_v2(path, &store->symbols, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
			    NULL) != SQLITE_OK ||
	    sqlite3_db_readonly(store->symbols, "main") == 1) {
		sqlite3_close(store->symbols);
		store->symbols = NULL;
		return NULL;
	}
	sqlite3_busy_timeout(store->symbols, 2000);
	sqlite3_exec(store->symbols, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL", NULL,
		     NULL, NULL);
	return store->symbols;
}

/* ---- one stream ---- */

int folder_totals(struct store *store, const struct stream_id *id, struct totals *ret_totals,
		  bool *ret_live, struct err_text *err)
{
	cleanup(cleanup_free) char *path = stream_recording_path(store, id);
	cleanup(recording_file_close) struct recording_file file = RECORDING_FILE_NONE;
	struct totals totals = {0};
	struct stat st;
	int r = path ? recording_file_open(path, &file, err) : -ENOMEM;

	if (r < 0)
		return r;
	if (fstat(file.fd, &st) < 0)
		return err_set(err, -errno, "cannot read %s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return err_set(err, -EBADMSG, "%s is no file", path);
	if (ret_live)
		*ret_live = recording_file_is_written(&file);
	if (catalogue_get(store->catalogue, id, &totals) == 1 &&
	    totals.bytes > (uint64_t)st.st_size)
		totals_done(&totals);
	if (totals.bytes < (uint64_t)st.st_size)
		r = recording_file_fill(&file, path, err);
	if (!r)
		r = totals_scan(&totals, id, file.fd, (uint64_t)st.st_size, err);
	if (r < 0) {
		totals_done(&totals);
		return r;
	}
	*ret_totals = totals;
	return 0;
}

struct stream_position store_position(struct store *store, const struct stream_id *id)
{
	struct totals totals = {0};
	struct stream_position position;

	catalogue_get(store->catalogue, id, &totals);
	position = totals.position;
	totals_done(&totals);
	return position;
}

/* ---- the note ---- */

void store_set_note(struct store *store, const char *note)
{
	cleanup(cleanup_free) char *path = folder_path_of(store, "note"),
				   *fresh = folder_path_of(store, "note.new");
	cleanup(cleanup_close) int fd = -1;
	size_t length = note ? strlen(note) : 0;

	if (!path || !fresh)
		return;
	if (!note) {
		unlink(path);
		return;
	}
	fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	/* The note is a convenience; the log has the same information. */
	if (fd >= 0 && write(fd, note, length) == (ssize_t)length)
		(void)!rename(fresh, path);
}

bool store_note(const struct store *store, char out[STORE_NOTE_MAX])
{
	cleanup(cleanup_free) char *path = folder_path_of(store, "note");
	cleanup(cleanup_close) int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
	char text[STORE_NOTE_MAX];
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0 || time(NULL) - st.st_mtime > STORE_NOTE_S)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = 0;
	words_clean(out, STORE_NOTE_MAX, text, strlen(text));
	return *out;
}

bool folder_is_idle(const struct store *store, const struct stream_id *id)
{
	cleanup(cleanup_free) char *path = stream_recording_path(store, id);
	cleanup(cleanup_close) int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;

	return fd >= 0 && !recording_is_written(fd);
}
