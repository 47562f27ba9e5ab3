/*
 * The index of a stream that has ended is kept beside its rows, by whichever question needs it first and may write there. It is a
 * cache: what is damaged or of another state of the recording is made anew and replaced.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/query/usage_index.h"

#include "base/ban.h"

#define NAME	  "usage"
#define BYTES_MAX (1u << 30)
/* That of a recording with fewer rows is made faster than it is read. */
#define ROWS_MIN ROWS_PER_BLOCK

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

int usage_index_load(const struct recording *recording, struct buf *bytes,
		     struct usage_index **ret_index)
{
	cleanup(cleanup_free) char *path = NULL;
	uint64_t frames;
	int r = recording_rows(recording) < ROWS_MIN
			? -ENOENT
			: recording_keep(recording, NAME, &path, &frames);

	if (!r)
		r = read_all(path, bytes);
	return r ? r
		 : usage_index_read(bytes->data, bytes->length, recording, frames, ret_index, NULL);
}

void usage_index_save(const struct usage_index *index, const struct recording *recording)
{
	cleanup(cleanup_free) char *path = NULL;
	struct buf bytes = {0};
	uint64_t frames;

	if (recording_rows(recording) < ROWS_MIN ||
	    recording_keep(recording, NAME, &path, &frames) < 0)
		return;
	if (usage_index_write(index, recording, frames, &bytes) == 0 && bytes.length <= BYTES_MAX)
		write_all(path, &bytes);
	buf_done(&bytes);
}
