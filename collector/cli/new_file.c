/* Files that appear only when they are complete. See new_file.h. */
#include "collector/cli/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/ban.h"

static int new_file_cannot(const char *path, int error, struct err_text *err)
{
	return err_set(err, -error, "writing %.400s: %s", path, strerror(error));
}

/* A device such as /dev/null must not be replaced by a file. */
static bool is_device(const char *path)
{
	struct stat st;

	return !stat(path, &st) &&
	       (S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode) || S_ISFIFO(st.st_mode));
}

int new_file_open(struct new_file *f, const char *path, bool replace, struct err_text *err)
{
	struct stat st;

	*f = (struct new_file){.path = path, .fd = -1};
	if (!strcmp(path, "-")) {
		f->fd = STDOUT_FILENO;
		return 0;
	}
	if (is_device(path)) {
		f->fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
		return f->fd < 0 ? new_file_cannot(path, errno, err) : 0;
	}
	if (!replace && !lstat(path, &st))
		return err_set(err, -EEXIST, "%.400s is there already (--force replaces it)", path);
	if (asprintf(&f->temporary, "%s.XXXXXX", path) < 0) {
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

void new_file_done(struct new_file *f)
{
	if (f->temporary)
		unlink(f->temporary);
	free(f->temporary);
	f->temporary = NULL;
	if (f->fd >= 0 && f->fd != STDOUT_FILENO)
		close(f->fd);
	f->fd = -1;
}

int new_file_keep(struct new_file *f, struct err_text *err)
{
	if (f->temporary && (fsync(f->fd) < 0 || rename(f->temporary, f->path) < 0))
		return new_file_cannot(f->path, errno, err);
	free(f->temporary);
	f->temporary = NULL;
	new_file_done(f);
	return 0;
}
