/*
 * Appends to a stream's recording.
 *
 * Invariant: bytes [0, totals.bytes) of the file are the accepted frames; a failed append truncates
 * the file to that length. The loop changes the totals under the mutex, and the syncing worker
 * copies them under it. Only the loop writes the file.
 */
#include "proto/columns.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/catalogue/compress.h"
#include "collector/catalogue/folder.h"
#include "collector/catalogue/store.h"
#include "collector/recording/compressed.h"
#include "collector/recording/recording.h"
#include "collector/catalogue/writer.h"
#include "collector/derive/recording_parts.h"
#include "collector/recording/stream_id.h"
#include "collector/recording/stream_position.h"
#include "base/ban.h"

#define OPEN_TRIES   10
#define DERIVE_BYTES (2u << 20) /* bytes of frames per run: a few hundred milliseconds */

struct stream_writer {
	struct store *store;
	struct stream_id id;
	int fd;		 /* -1: nothing stored yet; the first frame creates the file */
	bool named;	 /* the folder entries are durable; owned by the syncing worker */
	bool compressed; /* it has ended, and is compressed: nothing is appended */
	bool gone; /* the file was removed: nothing more is done; owned by the syncing worker */
	uint64_t announced;	/* from a catch-up: number of the next batch; earlier ones are
				 * lost */
	uint64_t durable_bytes; /* durable bytes of the file; written by the syncing worker */
	pthread_mutex_t mutex;	/* guards totals and sums */
	struct totals totals;
	struct totals sums;	   /* the live heap, by the deriving worker; only sums are valid */
	struct recording *derived; /* NULL: not begun, or parked; this and the members below belong
				    * to the deriving worker */
	uint64_t derived_bytes;	   /* bytes of frames whose rows are derived */
	bool underivable;	   /* the disk refused rows, so readers derive them */
	struct err_text news;	   /* not reported yet; empty: none */
};

static int sync_folder(const char *path)
{
	cleanup(cleanup_close) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || fsync(fd) < 0)
		return -errno;
	return 0;
}

static int writer_cannot(struct err_text *err, const char *what, const char *path)
{
	return err_set(err, -errno, "cannot %s %s: %s", what, path, strerror(errno));
}

/* Opens the file and marks it as being written. Returns 0 or a negative errno; -ENOENT is none for
 * a stream that is new. */
static int open_marked(struct stream_writer *w, const char *path, struct err_text *err)
{
	int r = -ESTALE;

	/* The file may be replaced meanwhile by what it is compressed, or restored, to. */
	for (unsigned i = 0; r == -ESTALE && i < OPEN_TRIES; i++) {
		cleanup_close(&w->fd);
		w->fd = open(path, O_RDWR | O_CLOEXEC);
		if (w->fd < 0)
			return errno == ENOENT ? 0 : writer_cannot(err, "open", path);
		r = recording_mark_at(w->fd, path);
	}
	return r < 0 ? err_set(err, -EBUSY, "%s is being written by somebody else", path) : 0;
}

/* A stream that may go on is restored. */
static int open_compressed(struct stream_writer *w, const char *path, struct err_text *err)
{
	struct compressed head;
	int r = compressed_look(path, w->fd, &head, err), fd;

	if (r <= 0)
		return r;
	w->compressed = w->totals.ended;
	if (w->compressed)
		return 0;
	r = recording_decompress(path, w->fd, &fd, err);
	if (r < 0)
		return r;
	close(w->fd);
	w->fd = fd;
	return 0;
}

static int open_existing(struct stream_writer *w, const char *path, uint64_t *ret_cut_bytes,
			 struct err_text *err)
{
	struct stat st;
	int r = open_marked(w, path, err);

	if (r < 0 || w->fd < 0)
		return r;
	r = folder_totals(w->store, &w->id, &w->totals, NULL, err);
	if (!r)
		r = open_compressed(w, path, err);
	if (r < 0)
		return r;
	if (fstat(w->fd, &st) < 0)
		return writer_cannot(err, "read", path);
	w->durable_bytes = w->totals.bytes;
	if (!w->compressed && (uint64_t)st.st_size > w->totals.bytes) {
		if (ftruncate(w->fd, (off_t)w->totals.bytes) < 0)
			return writer_cannot(err, "cut the damaged end of", path);
		*ret_cut_bytes = (uint64_t)st.st_size - w->totals.bytes;
	}
	return 0;
}

int stream_writer_open(struct store *store, const struct stream_id *id,
		       struct stream_writer **ret_writer, uint64_t *ret_cut_bytes,
		       struct err_text *err)
{
	cleanup(cleanup_free) char *path = stream_recording_path(store, id);
	struct stream_writer *w = calloc(1, sizeof(*w));
	uint64_t cut = 0;
	int r;

	if (!path || !w) {
		free(w);
		return -ENOMEM;
	}
	w->store = store;
	w->id = *id;
	w->fd = -1;
	pthread_mutex_init(&w->mutex, NULL);
	r = open_existing(w, path, &cut, err);
	if (r < 0) {
		stream_writer_close(w);
		return r;
	}
	*ret_cut_bytes = cut;
	*ret_writer = w;
	return 0;
}

/* Removes a stream whose first frame found no room on the disk. */
static void remove_empty(const struct stream_writer *w)
{
	cleanup(cleanup_free) char *folder = stream_folder_path(w->store, &w->id);
	cleanup(cleanup_free) char *path = stream_recording_path(w->store, &w->id);
	struct stat st;

	if (folder && path && fstat(w->fd, &st) == 0 && st.st_nlink && !st.st_size &&
	    unlink(path) == 0)
		rmdir(folder);
}

void stream_writer_close(struct stream_writer *w)
{
	if (!w)
		return;
	if (w->fd >= 0) {
		if (!w->gone)
			remove_empty(w);
		close(w->fd);
	}
	recording_close(w->derived);
	totals_done(&w->totals);
	totals_done(&w->sums);
	pthread_mutex_destroy(&w->mutex);
	free(w);
}

void stream_writer_abandon(struct stream_writer *w)
{
	/* If truncation fails, too, the contents of the page cache are the best available. */
	if (w && w->fd >= 0 && !w->gone && w->durable_bytes < w->totals.bytes)
		(void)!ftruncate(w->fd, (off_t)w->durable_bytes);
	stream_writer_close(w);
}

struct stream_position stream_writer_position(const struct stream_writer *w)
{
	return w->totals.position;
}

uint64_t stream_writer_bytes(const struct stream_writer *w)
{
	return w->totals.bytes;
}

uint64_t stream_writer_events(const struct stream_writer *w)
{
	return w->totals.events;
}

static int create_file(struct stream_writer *w, struct err_text *err)
{
	cleanup(cleanup_free) char *folder = stream_folder_path(w->store, &w->id);
	cleanup(cleanup_free) char *path = stream_recording_path(w->store, &w->id);
	if (!folder || !path)
		return -ENOMEM;
	if (mkdir(folder, 0700) < 0 && errno != EEXIST)
		return writer_cannot(err, "make the folder", folder);
	w->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (w->fd < 0)
		return writer_cannot(err, "make", path);
	if (recording_mark_written(w->fd) < 0)
		return err_set(err, -EBUSY, "%s is being written by somebody else", path);
	return 0;
}

static int sync_name(struct stream_writer *w, struct err_text *err)
{
	cleanup(cleanup_free) char *folder = stream_folder_path(w->store, &w->id);
	char streams[4096];

	if (!folder)
		return -ENOMEM;
	snprintf(streams, sizeof(streams), "%s/streams", w->store->path);
	if (sync_folder(folder) < 0 || sync_folder(streams) < 0)
		return writer_cannot(err, "make durable the folder", folder);
	w->named = true;
	return 0;
}

/* Writes the whole frame or nothing: what a full disk accepted is truncated again. */
static int writer_write_frame(struct stream_writer *w, const uint8_t *frame, size_t length,
			      struct err_text *err)
{
	size_t done = 0;

	while (done < length) {
		ssize_t n =
			pwrite(w->fd, frame + done, length - done, (off_t)(w->totals.bytes + done));
		int error = n < 0 ? errno : ENOSPC;

		if (n > 0) {
			done += (size_t)n;
			continue;
		}
		if (n < 0 && error == EINTR)
			continue;
		if (done && ftruncate(w->fd, (off_t)w->totals.bytes) < 0)
			return err_set(
				err, -errno,
				"cannot write the recording (%s), nor cut off the half frame",
				strerror(error));
		return err_set(err, -error, "cannot write the recording: %s", strerror(error));
	}
	return 0;
}

/*
 * Batch numbers are consecutive; only a catch-up may skip some. Nothing may follow the end of the
 * stream.
 */
static int check_order(const struct stream_writer *w, const Heapcast__Batch *batch,
		       struct err_text *err)
{
	const struct stream_position *p = &w->totals.position;
	uint64_t expected = batch->incarnation == p->incarnation ? p->next : 1;
	bool is_new = batch->incarnation > p->incarnation ||
		      (batch->incarnation == p->incarnation &&
		       (batch->catch_up || batch->number >= p->next));

	if (w->totals.ended && is_new)
		return err_set(err, -EBADMSG, "batch %llu came behind the end of its stream",
			       (unsigned long long)batch->number);
	if (batch->incarnation >= p->incarnation && batch->number > expected &&
	    batch->number != w->announced)
		return err_set(err, -EBADMSG, "batch %llu came, but %llu was expected",
			       (unsigned long long)batch->number, (unsigned long long)expected);
	return 0;
}

/*
 * The first batch must be acceptable to readers, because otherwise they could read nothing behind
 * it.
 */
static int check_first(const Heapcast__Batch *batch, struct err_text *err)
{
	struct definitions d;
	int r;

	definitions_init(&d);
	r = definitions_add(&d, batch, err);
	definitions_done(&d);
	return r;
}

int stream_writer_append(struct stream_writer *w, const uint8_t *frame, size_t length,
			 const Heapcast__Batch *batch, struct err_text *err)
{
	struct totals totals = {0};
	int r = check_order(w, batch, err);

	if (!r && w->compressed)
		return 1; /* definitions of an earlier incarnation, which it has */
	if (!r)
		r = totals_copy(&w->totals, &totals);
	if (!r)
		r = totals_add(&totals, &w->id, batch, err);
	if (!r && !w->totals.bytes)
		r = check_first(batch, err);
	if (!r && w->fd < 0)
		r = create_file(w, err);
	if (!r)
		r = writer_write_frame(w, frame, length, err);
	if (!r) {
		struct totals before;

		if (batch->catch_up)
			w->announced = batch->next;
		totals.bytes += length;
		pthread_mutex_lock(&w->mutex);
		before = w->totals;
		w->totals = totals;
		pthread_mutex_unlock(&w->mutex);
		totals = before;
	}
	totals_done(&totals);
	return r;
}

static int copy_totals(struct stream_writer *w, struct totals *ret_totals)
{
	int r;

	pthread_mutex_lock(&w->mutex);
	r = totals_copy(&w->totals, ret_totals);
	if (!r && w->sums.summed_up)
		r = totals_copy_sums(&w->sums, ret_totals);
	pthread_mutex_unlock(&w->mutex);
	return r;
}

/* Tells whether the recording or its folder was removed or moved. */
static int check_place(struct stream_writer *w, struct err_text *err)
{
	cleanup(cleanup_free) char *path = stream_recording_path(w->store, &w->id);
	struct stat ours, there;

	if (!path || fstat(w->fd, &ours) < 0)
		return 0;
	if (stat(path, &there) == 0 ? ours.st_dev == there.st_dev && ours.st_ino == there.st_ino
				    : errno != ENOENT && errno != ENOTDIR)
		return 0;
	w->gone = true;
	return err_set(err, -ESTALE,
		       "%s was removed while it was being written, and what it held is gone", path);
}

int stream_writer_sync(struct stream_writer *w, struct stream_position *ret_durable,
		       struct err_text *err)
{
	struct totals totals;
	int r = copy_totals(w, &totals);

	if (r < 0)
		return r;
	/* Once there are bytes, `fd` no longer changes. */
	if (totals.bytes)
		r = check_place(w, err);
	if (!r && totals.bytes && !w->named)
		r = sync_name(w, err);
	if (!r && totals.bytes && fdatasync(w->fd) < 0)
		r = err_set(err, -errno, "cannot make the recording durable: %s", strerror(errno));
	if (!r) {
		__atomic_store_n(&w->durable_bytes, totals.bytes, __ATOMIC_RELEASE);
		*ret_durable = totals.position;
		/* The recording is durable. Readers make up for a stale catalogue. */
		if (totals.bytes)
			catalogue_put(w->store->catalogue, &w->id, &totals, NULL);
	}
	totals_done(&totals);
	return r;
}

/* ---- rows ---- */

static void writer_give_up(struct stream_writer *w)
{
	recording_close(w->derived);
	w->derived = NULL;
	w->underivable = true;
}

static int begin_deriving(struct stream_writer *w, const char *path, struct err_text *err)
{
	uint64_t cut = 0, durable = __atomic_load_n(&w->durable_bytes, __ATOMIC_ACQUIRE), kept;
	int r = recording_open_writing(path, &w->derived, &cut, err);

	if (r < 0)
		return r;
	kept = w->derived->derived.saved_offset;
	if (w->derived->derived.anew.text[0])
		err_set(&w->news, 0, "%s; its rows are derived anew from %llu bytes of frames",
			w->derived->derived.anew.text, (unsigned long long)durable);
	else if (cut)
		err_set(&w->news, 0,
			"cut %llu bytes off the rows of %s that were written after its last state, "
			"which covers %llu events; "
			"they are derived again from %llu bytes of frames",
			(unsigned long long)cut, path,
			(unsigned long long)w->derived->ledger.stored,
			(unsigned long long)(durable > kept ? durable - kept : 0));
	return 0;
}

bool stream_writer_take_news(struct stream_writer *w, struct err_text *ret_news)
{
	if (!w->news.text[0])
		return false;
	*ret_news = w->news;
	w->news.text[0] = 0;
	return true;
}

/* Returns 1 if more frames are left, 0 if all durable frames were taken, or a negative errno. */
static int derive(struct stream_writer *w, const char *path, struct err_text *err)
{
	int r = 0;

	if (!w->derived)
		r = begin_deriving(w, path, err);
	if (!r)
		r = recording_derive(w->derived,
				     __atomic_load_n(&w->durable_bytes, __ATOMIC_ACQUIRE),
				     DERIVE_BYTES, err);
	if (r < 0)
		writer_give_up(w);
	else
		w->derived_bytes = w->derived->scan.offset;
	return r;
}

int stream_writer_derive(struct stream_writer *w, struct err_text *err)
{
	cleanup(cleanup_free) char *path = stream_recording_path(w->store, &w->id);

	if (w->underivable || !w->durable_bytes)
		return 0;
	return path ? derive(w, path, err) : -ENOMEM;
}

size_t stream_writer_memory(const struct stream_writer *w)
{
	return w->derived ? recording_memory(w->derived) : 0;
}

uint64_t stream_writer_behind(const struct stream_writer *w)
{
	uint64_t durable = __atomic_load_n(&w->durable_bytes, __ATOMIC_ACQUIRE);

	return w->underivable || durable < w->derived_bytes ? 0 : durable - w->derived_bytes;
}

int stream_writer_sum_up(struct stream_writer *w, struct err_text *err)
{
	struct totals sums = {0}, before;
	int r = w->derived ? recording_sum_up(w->derived, &sums, err) : 0;

	if (!r && sums.summed_up) {
		pthread_mutex_lock(&w->mutex);
		before = w->sums;
		w->sums = sums;
		pthread_mutex_unlock(&w->mutex);
		sums = before;
	}
	totals_done(&sums);
	return r;
}

int stream_writer_park(struct stream_writer *w, struct err_text *err)
{
	int r = w->derived ? recording_park(w->derived, err) : 0;

	if (r < 0)
		writer_give_up(w);
	recording_close(w->derived);
	w->derived = NULL;
	return r;
}

/* If rows could not be saved, the sums are computed in memory. */
static int writer_finish(struct stream_writer *w, const char *path, struct totals *totals,
			 struct err_text *err)
{
	int r = w->underivable ? -EIO : 1;

	while (r == 1)
		r = derive(w, path, err);
	if (!r)
		r = recording_finish(w->derived, err);
	if (!r)
		r = recording_sum_up(w->derived, totals, err);
	recording_close(w->derived);
	w->derived = NULL;
	return r < 0 ? recording_sum_up_of(path, totals, err) : r;
}

int stream_writer_finish(struct stream_writer *w, struct err_text *err)
{
	cleanup(cleanup_free) char *path = stream_recording_path(w->store, &w->id);
	struct totals totals;
	int r = copy_totals(w, &totals);

	if (r < 0)
		return r;
	r = path ? writer_finish(w, path, &totals, err) : -ENOMEM;
	if (!r)
		r = catalogue_put(w->store->catalogue, &w->id, &totals, err);
	totals_done(&totals);
	return r;
}
