/* Compresses recordings where they lie. compress.h describes the interface. */
#include "collector/catalogue/compress.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/recording/compressed.h"
#include "collector/recording/written.h"
#include "base/ban.h"

#define DRAFT	       ".draft"
#define SMALLER(bytes) ((bytes) - (bytes) / 20)

int recording_mark_at(int fd, const char *path)
{
	int r = recording_mark_written(fd);
	struct stat ours, there;

	if (r < 0)
		return r;
	if (fstat(fd, &ours) < 0 || stat(path, &there) < 0)
		return errno == ENOENT ? -ESTALE : -errno;
	return ours.st_dev == there.st_dev && ours.st_ino == there.st_ino ? 0 : -ESTALE;
}

/* ---- one recording ---- */

struct replacing {
	const char *path;
	char draft[4096];
	int from, to;
	struct stat before;
	struct err_text *err;
};

static int replacing_failed(const struct replacing *p, int error, const char *what)
{
	return err_set(p->err, error, "cannot %s %s: %s", what, p->path,
		       error == -EBUSY || error == -ESTALE ? "another process uses it"
							   : strerror(-error));
}

/*
 * Takes the draft. It is marked as being written, so that two processes don't write one. In a
 * folder where others may write it must not be theirs, nor another name of a file.
 */
static int draft_take(int fd, const char *draft)
{
	int r = recording_mark_at(fd, draft);
	struct stat st;

	if (!r && fstat(fd, &st) < 0)
		r = -errno;
	if (!r && (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_nlink != 1))
		r = -EEXIST;
	return r;
}

static int draft_open(struct replacing *p)
{
	int r;

	if (snprintf(p->draft, sizeof(p->draft), "%s" DRAFT, p->path) >= (int)sizeof(p->draft))
		return replacing_failed(p, -ENAMETOOLONG, "make a file beside");
	if (fstat(p->from, &p->before) < 0)
		return replacing_failed(p, -errno, "read");
	p->to = open(p->draft, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	r = p->to < 0 ? -errno : draft_take(p->to, p->draft);
	if (r < 0) {
		cleanup_close(&p->to);
		p->to = -1;
	} else if (ftruncate(p->to, 0) < 0) {
		r = -errno;
	}
	return r < 0 ? replacing_failed(p, r, "make a file beside") : 0;
}

static int folder_sync(const char *path)
{
	const char *slash = strrchr(path, '/');
	cleanup(cleanup_close) int fd = -1;
	char folder[4096];

	snprintf(folder, sizeof(folder), "%.*s/", slash ? (int)(slash - path) : 1,
		 slash ? path : ".");
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 || fsync(fd) < 0 ? -errno : 0;
}

/* Moves the draft to its place, if the recording is what it was. */
static int draft_keep(struct replacing *p)
{
	const struct timespec times[] = {p->before.st_atim, p->before.st_mtim};
	struct stat now;
	int r = 0;

	/* Another owner's file can't be given back to him without privileges. */
	if ((p->before.st_uid != geteuid() &&
	     fchown(p->to, p->before.st_uid, p->before.st_gid) < 0) ||
	    fchmod(p->to, p->before.st_mode & 07777) < 0 || futimens(p->to, times) < 0 ||
	    fsync(p->to) < 0)
		return replacing_failed(p, -errno, "replace");
	r = recording_mark_at(p->from, p->path);
	if (!r && fstat(p->from, &now) < 0)
		r = -errno;
	if (!r &&
	    (now.st_size != p->before.st_size || now.st_mtim.tv_sec != p->before.st_mtim.tv_sec ||
	     now.st_mtim.tv_nsec != p->before.st_mtim.tv_nsec))
		r = -ESTALE;
	if (!r && rename(p->draft, p->path) < 0)
		r = -errno;
	if (!r)
		r = folder_sync(p->path);
	return r < 0 ? replacing_failed(p, r, "replace") : 0;
}

static void draft_done(struct replacing *p, int r)
{
	if (r && p->to >= 0)
		unlink(p->draft);
	cleanup_close(&p->to);
}

int recording_compress(const char *path, bool (*stop)(void *), void *context, struct err_text *err)
{
	cleanup(cleanup_close) int from = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct replacing p = {.path = path, .from = from, .to = -1, .err = err};
	struct compressed head;
	struct stat st;
	int r;

	if (from < 0)
		return err_set(err, -errno, "cannot open %s: %s", path, strerror(errno));
	r = compressed_look(path, from, &head, err);
	if (r)
		return r;
	if (recording_is_written(from))
		return replacing_failed(&p, -EBUSY, "compress");
	r = draft_open(&p);
	if (!r)
		r = compressed_write(path, from, (uint64_t)p.before.st_size, p.to, stop, context,
				     err);
	if (!r && fstat(p.to, &st) < 0)
		r = replacing_failed(&p, -errno, "compress");
	if (!r && st.st_size > SMALLER(p.before.st_size))
		r = 1;
	if (!r)
		r = compressed_restore(p.draft, p.to, -1, err);
	if (!r)
		r = draft_keep(&p);
	draft_done(&p, r);
	return r;
}

int recording_decompress(const char *path, int from, int *ret_fd, struct err_text *err)
{
	struct replacing p = {.path = path, .from = from, .to = -1, .err = err};
	int r = draft_open(&p);

	if (!r)
		r = compressed_restore(path, from, p.to, err);
	if (!r)
		r = draft_keep(&p);
	if (!r && ret_fd)
		*ret_fd = take_fd(p.to);
	draft_done(&p, r);
	return r;
}
