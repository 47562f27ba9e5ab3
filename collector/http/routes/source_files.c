/* Finds and reads source files. See source_files.h. */
#include "collector/http/routes/source_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"

#include "base/ban.h"

static int source_files_read_all(int fd, struct buf *out)
{
	uint8_t slice[16384];
	ssize_t n;

	while ((n = read(fd, slice, sizeof(slice))) > 0) {
		buf_append(out, slice, (size_t)n);
		if (out->length > SOURCE_BYTES_MAX)
			return -EFBIG;
	}
	return n < 0 ? -errno : buf_error(out);
}

/* Opens a regular file that lies below `folder` once all links are followed. `folder` is a result
 * of realpath. */
static int open_below(const char *folder, const char *path, int *ret_fd)
{
	char real[PATH_MAX];
	size_t length = strlen(folder);
	struct stat st;
	int fd;

	if (!realpath(path, real))
		return -errno;
	if (strncmp(real, folder, length) != 0 ||
	    (real[length] != '/' && folder[length - 1] != '/'))
		return -ENOENT;
	fd = open(real, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return -ENOENT;
	}
	*ret_fd = fd;
	return 0;
}

/* Opens the path itself if it is below the folder, else its longest suffix that exists there. */
static int open_by_end(const char *folder, const char *path, int *ret_fd)
{
	char joined[2 * PATH_MAX];

	if (path[0] == '/' && open_below(folder, path, ret_fd) == 0)
		return 0;
	for (const char *end = path; end; end = strchr(end, '/')) {
		end += strspn(end, "/");
		if (!*end)
			break;
		snprintf(joined, sizeof(joined), "%s/%s", folder, end);
		if (open_below(folder, joined, ret_fd) == 0)
			return 0;
	}
	return -ENOENT;
}

static int open_mapped(const char *from, size_t length, const char *folder, const char *path,
		       int *ret_fd)
{
	char joined[2 * PATH_MAX];

	while (length && from[length - 1] == '/')
		length--;
	if (strncmp(path, from, length) != 0 || path[length] != '/')
		return -ENOENT;
	snprintf(joined, sizeof(joined), "%s%s", folder, path + length);
	return open_below(folder, joined, ret_fd);
}

static int open_in(const char *choice, const char *path, int *ret_fd)
{
	const char *equals = strchr(choice, '='), *folder = equals ? equals + 1 : choice;
	char real[PATH_MAX];

	if (!realpath(folder, real))
		return -errno;
	return equals ? open_mapped(choice, (size_t)(equals - choice), real, path, ret_fd)
		      : open_by_end(real, path, ret_fd);
}

int source_file_read(const char *const *folders, const char *path, struct buf *ret_text,
		     struct err_text *err)
{
	int r;

	if (!folders || !folders[0])
		return err_set(err, -ENOENT,
			       "no folder of sources was named: start this with --source DIR");
	for (; *folders; folders++) {
		int fd;

		if (strlen(path) >= PATH_MAX || open_in(*folders, path, &fd) < 0)
			continue;
		r = source_files_read_all(fd, ret_text);
		close(fd);
		if (r == -EFBIG)
			return err_set(err, r, "the file has more than %u MiB",
				       SOURCE_BYTES_MAX >> 20);
		return r ? err_set(err, r, "reading %.200s: %s", path, strerror(-r)) : 0;
	}
	return err_set(
		err, -ENOENT,
		"there is no such file below the folders of sources: --source DIR names them");
}
