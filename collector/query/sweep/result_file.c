/* See result_file.h. */
#include "collector/query/sweep/result_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/write.h"
#include "collector/recording/recording.h"

#include "base/ban.h"

#define BYTES_MAX (1u << 30)

static int map_all(const char *path, struct result_file *ret)
{
	cleanup(cleanup_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;
	void *at;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || !st.st_size || st.st_size > BYTES_MAX)
		return -EBADMSG;
	at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		return -errno;
	*ret = (struct result_file){at, (size_t)st.st_size};
	return 0;
}

/* Writes to a temporary name with the process id first, so that readers see all of the file or
 * nothing. */
static void write_whole(const char *path, const struct buf *head, const uint8_t *rest,
			size_t length)
{
	char temporary[4096];
	int fd, r;

	if ((size_t)snprintf(temporary, sizeof(temporary), "%s.%d", path, (int)getpid()) >=
	    sizeof(temporary))
		return;
	fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return;
	r = write_all(fd, head->data, head->length);
	if (!r)
		r = write_all(fd, rest, length);
	if (close(fd) < 0 || r < 0 || rename(temporary, path) < 0)
		unlink(temporary);
}

int result_file_open(const struct recording *recording, const char *name,
		     struct result_file *ret_kept, uint64_t *ret_frames)
{
	cleanup(cleanup_free) char *path = NULL;
	int r = recording_rows(recording) < RESULT_FILE_ROWS_MIN
			? -ENOENT
			: recording_keep(recording, name, &path, ret_frames);

	return r ? r : map_all(path, ret_kept);
}

void result_file_close(struct result_file *kept)
{
	if (kept->data)
		munmap((void *)(uintptr_t)kept->data, kept->length);
	*kept = (struct result_file){0};
}

bool result_file_wanted(const struct recording *recording, const char *name, uint64_t *ret_frames)
{
	cleanup(cleanup_free) char *path = NULL;

	return recording_rows(recording) >= RESULT_FILE_ROWS_MIN &&
	       recording_keep(recording, name, &path, ret_frames) == 0;
}

void result_file_write(const struct recording *recording, const char *name, const struct buf *head,
		       const uint8_t *rest, size_t length)
{
	cleanup(cleanup_free) char *path = NULL;
	uint64_t frames;

	if (head->length + length <= BYTES_MAX &&
	    recording_keep(recording, name, &path, &frames) == 0)
		write_whole(path, head, rest, length);
}
