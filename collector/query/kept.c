/* See kept.h. */
#include "collector/query/kept.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"

#include "base/ban.h"

#define BYTES_MAX (1u << 30)

static int read_all(const char *path, struct buf *out)
{
	cleanup(cleanup_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;
	uint8_t *room;
	size_t done = 0;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size > BYTES_MAX)
		return -EBADMSG;
	room = buf_reserve(out, (size_t)st.st_size);
	if (!room)
		return -ENOMEM;
	while (done < (size_t)st.st_size) {
		ssize_t n = read(fd, room + done, (size_t)st.st_size - done);

		if (n <= 0)
			return n ? -errno : -EBADMSG;
		done += (size_t)n;
	}
	out->length += done;
	return 0;
}

/* Under a name of this process first: readers see all of it or nothing. */
static void write_all(const char *path, const struct buf *bytes)
{
	char temporary[4096];
	size_t done = 0;
	int fd;

	if ((size_t)snprintf(temporary, sizeof(temporary), "%s.%d", path, (int)getpid()) >=
	    sizeof(temporary))
		return;
	fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return;
	while (done < bytes->length) {
		ssize_t n = write(fd, bytes->data + done, bytes->length - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	if (close(fd) < 0 || done < bytes->length || rename(temporary, path) < 0)
		unlink(temporary);
}

int kept_read(const struct recording *recording, const char *name, struct buf *out,
	      uint64_t *ret_frames)
{
	cleanup(cleanup_free) char *path = NULL;
	int r = recording_rows(recording) < KEPT_ROWS_MIN
			? -ENOENT
			: recording_keep(recording, name, &path, ret_frames);

	return r ? r : read_all(path, out);
}

bool kept_wanted(const struct recording *recording, const char *name, uint64_t *ret_frames)
{
	cleanup(cleanup_free) char *path = NULL;

	return recording_rows(recording) >= KEPT_ROWS_MIN &&
	       recording_keep(recording, name, &path, ret_frames) == 0;
}

void kept_write(const struct recording *recording, const char *name, const struct buf *bytes)
{
	cleanup(cleanup_free) char *path = NULL;
	uint64_t frames;

	if (bytes->length <= BYTES_MAX && recording_keep(recording, name, &path, &frames) == 0)
		write_all(path, bytes);
}
