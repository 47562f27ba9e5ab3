/* A stream in the making. new_stream.h describes it. */
#include "collector/catalogue/new_stream.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/catalogue/folder.h"
#include "collector/catalogue/store.h"
#include "collector/recording/stream_id.h"
#include "base/ban.h"

#define DRAFT "draft-"

struct new_stream {
	struct store *store;
	struct stream_id id;
	int fd;
	char *folder; /* NULL: it was moved into place */
};

/* Removes drafts of processes that were killed, recognized by the missing lock. */
static void remove_leftovers(const struct store *store)
{
	cleanup(cleanup_free) char *streams = NULL;
	const struct dirent *entry;
	DIR *dir;

	if (asprintf(&streams, "%s/streams", store->path) < 0)
		return;
	dir = opendir(streams);
	while (dir && (entry = readdir(dir))) {
		cleanup(cleanup_free) char *folder = NULL;
		cleanup(cleanup_free) char *recording = NULL;
		cleanup(cleanup_close) int fd = -1;

		if (strncmp(entry->d_name, DRAFT, strlen(DRAFT)) != 0 ||
		    asprintf(&folder, "%s/%s", streams, entry->d_name) < 0 ||
		    asprintf(&recording, "%s/" RECORDING_NAME, folder) < 0)
			continue;
		fd = open(recording, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
		if (fd >= 0 && recording_mark_written(fd) == 0)
			folder_remove(folder);
	}
	if (dir)
		closedir(dir);
}

static int make_file(struct new_stream *d, struct err_text *err)
{
	cleanup(cleanup_free) char *path = NULL;
	int r;

	if (mkdir(d->folder, 0700) < 0)
		return err_set(err, -errno, "cannot make the folder %s: %s", d->folder,
			       strerror(errno));
	if (asprintf(&path, "%s/" RECORDING_NAME, d->folder) < 0)
		return -ENOMEM;
	d->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	r = d->fd < 0 ? -errno : recording_mark_written(d->fd);
	return r < 0 ? err_set(err, r, "cannot make %s: %s", path, strerror(-r)) : 0;
}

int new_stream_new(struct store *store, struct new_stream **ret_draft, struct err_text *err)
{
	struct new_stream *d = calloc(1, sizeof(*d));
	char text[STREAM_ID_TEXT];
	int r;

	if (!d)
		return -ENOMEM;
	remove_leftovers(store);
	d->store = store;
	d->fd = -1;
	if (getrandom(d->id.bytes, sizeof(d->id.bytes), 0) != (ssize_t)sizeof(d->id.bytes))
		r = err_set(err, -EIO, "no random number can be had");
	else if (asprintf(&d->folder, "%s/streams/" DRAFT "%s", store->path,
			  stream_id_format(text, &d->id)) < 0)
		r = -ENOMEM;
	else
		r = make_file(d, err);
	if (r < 0) {
		new_stream_free(d);
		return r;
	}
	*ret_draft = d;
	return 0;
}

void new_stream_free(struct new_stream *d)
{
	if (!d)
		return;
	if (d->folder)
		folder_remove(d->folder);
	new_stream_close(d);
	free(d->folder);
	free(d);
}

int new_stream_fd(const struct new_stream *d)
{
	return d->fd;
}

const struct stream_id *new_stream_id(const struct new_stream *d)
{
	return &d->id;
}

static int sync_folder(const char *path)
{
	cleanup(cleanup_close) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 || fsync(fd) < 0 ? -errno : 0;
}

int new_stream_sync(struct new_stream *d, struct err_text *err)
{
	if (fsync(d->fd) < 0 || sync_folder(d->folder) < 0)
		return err_set(err, -errno, "cannot make %s durable: %s", d->folder,
			       strerror(errno));
	return 0;
}

int new_stream_place(struct new_stream *d, struct err_text *err)
{
	cleanup(cleanup_free) char *place = stream_folder_path(d->store, &d->id);
	cleanup(cleanup_free) char *streams = NULL;

	if (!place || asprintf(&streams, "%s/streams", d->store->path) < 0)
		return -ENOMEM;
	if (rename(d->folder, place) < 0)
		return err_set(err, -errno, "cannot make the folder %s: %s", place,
			       strerror(errno));
	free(d->folder);
	d->folder = NULL;
	return sync_folder(streams);
}

void new_stream_close(struct new_stream *d)
{
	if (d->fd >= 0)
		close(d->fd);
	d->fd = -1;
}

void new_stream_withdraw(struct new_stream *d)
{
	if (!d->folder)
		d->folder = stream_folder_path(d->store, &d->id);
}
