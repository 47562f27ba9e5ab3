/* Writes files that appear only when they are complete. See new_file.h. */
#include "collector/cli/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/cli/former.h"
#include "base/ban.h"

static int new_file_cannot(const char *path, int error, struct err_text *err)
{
	return err_set(err, -error, "writing %.400s: %s", path, strerror(error));
}

static int is_there(const char *path, int former, struct err_text *err)
{
	return err_set(err, -EEXIST, "%.400s is there already%s (--force replaces it)", path,
		       former == FORMER_RECORDING ? ", and is a recording"
		       : former >= 0		  ? ", and is no earlier file of this kind"
						  : "");
}

/* Tells whether the path is a device. A file must not replace /dev/null, nor what /dev/stdout leads
 * to. */
static bool is_device(const char *path)
{
	struct stat st;

	return !strncmp(path, "/dev/std", 8) || !strncmp(path, "/dev/fd/", 8) ||
	       !strncmp(path, "/proc/", 6) ||
	       (!stat(path, &st) &&
		(S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode) || S_ISFIFO(st.st_mode)));
}

static int new_file_direct(struct new_file *f, const char *path, struct err_text *err)
{
	if (strcmp(path, "-") != 0)
		f->fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	else
		f->fd = STDOUT_FILENO;
	return f->fd < 0 ? new_file_cannot(path, errno, err) : 0;
}

/* Creates the file beside `path`. */
static int new_file_beside(struct new_file *f, const char *path, struct err_text *err)
{
	f->path = strdup(path);
	if (!f->path || asprintf(&f->temporary, "%s.XXXXXX", path) < 0) {
		f->temporary = NULL;
		return new_file_cannot(path, ENOMEM, err);
	}
	f->fd = mkostemp(f->temporary, O_CLOEXEC);
	if (f->fd >= 0)
		return 0;
	free(f->temporary);
	f->temporary = NULL;
	return new_file_cannot(path, errno, err);
}

int new_file_open(struct new_file *f, const char *path, bool force, struct err_text *err)
{
	struct stat st;

	*f = (struct new_file)NEW_FILE_NONE;
	if (!strcmp(path, "-") || is_device(path))
		return new_file_direct(f, path, err);
	if (!force && !lstat(path, &st) && (!S_ISREG(st.st_mode) || st.st_size))
		return is_there(path, -1, err);
	return new_file_beside(f, path, err);
}

/* Returns the kind of the file at `path`, or -EEXIST if a result may not replace it. */
static int new_file_look(const char *path, bool force, struct err_text *err)
{
	cleanup(cleanup_close) int fd = -1;
	int kind;

	if (force)
		return FORMER_EMPTY;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	kind = fd < 0 ? FORMER_OTHER : former_kind(fd, path);
	return kind == FORMER_OTHER || kind == FORMER_RECORDING ? is_there(path, kind, err) : kind;
}

int new_file_open_result(struct new_file *f, const char *path, bool force, struct err_text *err)
{
	cleanup(cleanup_free) char *real = NULL;
	struct stat st;
	mode_t mask = umask(0);
	int r, kind = FORMER_EMPTY;
	bool there;

	umask(mask);
	*f = (struct new_file)NEW_FILE_NONE;
	if (!strcmp(path, "-") || is_device(path))
		return new_file_direct(f, path, err);
	real = realpath(path, NULL); /* a result replaces the file behind a link */
	there = real && !stat(real, &st);
	if (there && S_ISDIR(st.st_mode))
		return new_file_cannot(path, EISDIR, err);
	if (there)
		kind = new_file_look(real, force, err);
	if (kind < 0)
		return kind;
	r = new_file_beside(f, there ? real : path, err);
	f->former = kind == FORMER_EMPTY ? 0 : kind;
	if (!r && fchmod(f->fd, there ? st.st_mode & 0777 : 0666 & ~mask) < 0)
		r = new_file_cannot(path, errno, err);
	return r;
}

void new_file_done(struct new_file *f)
{
	if (f->temporary)
		unlink(f->temporary);
	free(f->temporary);
	free(f->path);
	f->temporary = f->path = NULL;
	if (f->fd >= 0 && f->fd != STDOUT_FILENO)
		close(f->fd);
	f->fd = -1;
}

int new_file_keep(struct new_file *f, struct err_text *err)
{
	if (f->temporary && f->former && former_kind(f->fd, f->path) != f->former)
		return is_there(f->path, FORMER_OTHER, err);
	if (f->temporary && (fsync(f->fd) < 0 || rename(f->temporary, f->path) < 0))
		return new_file_cannot(f->path, errno, err);
	free(f->temporary);
	f->temporary = NULL;
	new_file_done(f);
	return 0;
}
