/*
 * Removes streams that are too old or take too much space. A stream that is being written, or may
 * soon be again, stays. During removal its recording is locked as if it were being written, so no
 * writer opens it. The folder is renamed first, so readers see all of it or nothing; the next run
 * removes the remains of a crash. Snapshots stay until the user removes them. If the list of
 * snapshots cannot be read, nothing is removed.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/catalogue/folder.h"
#include "collector/catalogue/listing.h"
#include "collector/catalogue/snapshots.h"
#include "collector/catalogue/store.h"
#include "collector/recording/stream_id.h"
#include "collector/recording/totals.h"
#include "base/ban.h"

#define REMOVED "removed-"
/* how long an agent may take to return to a stream that has no end */
#define INTERRUPTED_NS 3600000000000u

struct candidate {
	struct stream_id id;
	uint64_t modified_ns, bytes;
	bool removable, waits;
};

static _Thread_local uint64_t summed_bytes; /* bytes on the disk in the current walk */

static int add_bytes(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)path;
	(void)type;
	(void)ftw;
	summed_bytes += (uint64_t)st->st_blocks * 512;
	return 0;
}

static uint64_t folder_bytes(const char *path)
{
	summed_bytes = 0;
	nftw(path, add_bytes, 8, FTW_PHYS);
	return summed_bytes;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

/* Removes folders that were renamed, now or by a process that was killed. */
static void remove_renamed(const struct store *store)
{
	char path[4096], folder[4096];
	struct dirent *entry;
	DIR *dir;

	snprintf(folder, sizeof(folder), "%s/streams", store->path);
	dir = opendir(folder);
	while (dir && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, REMOVED, strlen(REMOVED)))
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	}
	if (dir)
		closedir(dir);
}

void folder_remove(const char *path)
{
	const char *name = strrchr(path, '/');
	char renamed[4096];

	if (!name || snprintf(renamed, sizeof(renamed), "%.*s/" REMOVED "%s", (int)(name - path),
			      path, name + 1) >= (int)sizeof(renamed))
		return;
	if (rename(path, renamed) == 0)
		nftw(renamed, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void survey(struct store *store, struct candidate *c, uint64_t now_ns)
{
	cleanup(cleanup_free) char *folder = stream_folder_path(store, &c->id);
	cleanup(cleanup_free) char *path = stream_recording_path(store, &c->id);
	struct totals totals = {0};
	bool live = true;
	struct stat st;

	if (!folder || !path || stat(path, &st) < 0)
		return;
	c->modified_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
	c->bytes = folder_bytes(folder);
	if (folder_totals(store, &c->id, &totals, &live, NULL) < 0)
		return;
	c->removable = !live && (totals.ended || c->modified_ns + INTERRUPTED_NS < now_ns);
	totals_done(&totals);
}

static int by_age(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->modified_ns != y->modified_ns)
		return x->modified_ns < y->modified_ns ? -1 : 1;
	return memcmp(x->id.bytes, y->id.bytes, sizeof(x->id.bytes));
}

static int remove_stream(struct store *store, const struct stream_id *id)
{
	cleanup(cleanup_free) char *folder = stream_folder_path(store, id);
	cleanup(cleanup_free) char *path = stream_recording_path(store, id);
	cleanup(cleanup_close) int fd = -1;
	char renamed[4096], text[STREAM_ID_TEXT];

	if (!folder || !path)
		return -ENOMEM;
	snprintf(renamed, sizeof(renamed), "%s/streams/" REMOVED "%s", store->path,
		 stream_id_format(text, id));
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (recording_mark_written(fd) < 0)
		return -EBUSY;
	if (rename(folder, renamed) < 0)
		return -errno;
	catalogue_remove(store->catalogue, id);
	return 0;
}

/*
 * Called after the survey. A snapshot that is taken meanwhile is locked as being written until its
 * name is stored, so one of the two checks protects it.
 */
static int keep_snapshots(const struct store *store, struct candidate *list, size_t count,
			  struct err_text *err)
{
	cleanup(cleanup_free) struct stream_id *snapshots = NULL;
	size_t snapshot_count;
	int r = store_snapshot_ids(store, &snapshots, &snapshot_count, err);

	for (size_t i = 0; !r && i < count; i++)
		if (stream_id_among(&list[i].id, snapshots, snapshot_count))
			list[i].removable = false;
	return r;
}

static void find_waiting(const struct retention *o, struct candidate *list, size_t count)
{
	for (size_t i = 0; o->waits && i < count; i++)
		list[i].waits = list[i].removable && o->waits(o->context, &list[i].id);
}

/* Returns how many bytes are left of `bytes`. */
static uint64_t remove_old(struct store *store, const struct retention *o, struct candidate *list,
			   size_t count, uint64_t now_ns, uint64_t bytes, bool waiting)
{
	for (size_t i = 0; i < count; i++) {
		const struct candidate *c = &list[i];
		bool old = !waiting && o->keep_ns && now_ns > c->modified_ns &&
			   now_ns - c->modified_ns > o->keep_ns;

		if (!c->removable || c->waits != waiting ||
		    !(old || (o->keep_bytes && bytes > o->keep_bytes)) ||
		    remove_stream(store, &c->id) < 0)
			continue;
		bytes -= c->bytes;
		o->removed(o->context, &c->id, c->bytes, waiting);
	}
	return bytes;
}

int store_retain(struct store *store, const struct retention *retention, struct err_text *err)
{
	cleanup(cleanup_free) struct stream_id *ids = NULL;
	cleanup(cleanup_free) struct candidate *list = NULL;
	struct timespec now;
	uint64_t now_ns, bytes = 0;
	size_t count;
	int r = listing_ids(store, &ids, &count, err);

	if (r < 0)
		return r;
	list = calloc(count + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	clock_gettime(CLOCK_REALTIME, &now);
	now_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	for (size_t i = 0; i < count; i++) {
		list[i].id = ids[i];
		survey(store, &list[i], now_ns);
		bytes += list[i].bytes;
	}
	r = keep_snapshots(store, list, count, err);
	if (r < 0)
		return r;
	qsort(list, count, sizeof(*list), by_age);
	find_waiting(retention, list, count);
	bytes = remove_old(store, retention, list, count, now_ns, bytes, false);
	remove_old(store, retention, list, count, now_ns, bytes, true);
	remove_renamed(store);
	return 0;
}
