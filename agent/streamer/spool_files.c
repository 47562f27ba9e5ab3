/* Files of a spool on disk. See spool_files.h. */
#include "agent/streamer/spool_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/parse.h"
#include "proto/discovery.h"
#include "base/ban.h"

#define ID_DIGITS     (2 * STREAM_ID_SIZE)
#define NUMBER_DIGITS 16
#define RECORDING     ".heapcast"

static const char *const endings[] = {
	[SPOOL_FRAMES] = ".frames", [SPOOL_DEFINITIONS] = ".definitions"};

char *spool_file_name(char out[SPOOL_NAME_MAX], const uint8_t *stream, uint32_t incarnation,
		      uint64_t first, enum spool_file kind)
{
	size_t n = 0;

	for (unsigned i = 0; i < STREAM_ID_SIZE; i++)
		n += (size_t)snprintf(out + n, SPOOL_NAME_MAX - n, "%02x", stream[i]);
	if (incarnation > 1)
		n += (size_t)snprintf(out + n, SPOOL_NAME_MAX - n, ".%u", incarnation);
	snprintf(out + n, SPOOL_NAME_MAX - n, "-%0*llx%s", NUMBER_DIGITS, (unsigned long long)first,
		 endings[kind]);
	return out;
}

int spool_file_make(int folder, const char *name)
{
	int fd = openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);

	return fd < 0 ? -errno : fd;
}

int spool_file_nameless(int folder)
{
	static const char name[] = "index";
	int fd = openat(folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0)
		return fd;
	unlinkat(folder, name, 0); /* a file system without O_TMPFILE */
	fd = spool_file_make(folder, name);
	if (fd >= 0)
		unlinkat(folder, name, 0);
	return fd;
}

int spool_file_write(int fd, const void *data, size_t length, uint64_t offset)
{
	for (size_t done = 0; done < length;) {
		ssize_t n = pwrite(fd, (const char *)data + done, length - done,
				   (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -ENOSPC;
		done += (size_t)n;
	}
	return 0;
}

int spool_files_lock(int folder)
{
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	int fd = openat(folder, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600), r = 0;

	if (fd < 0)
		return -errno;
	if (fcntl(fd, F_OFD_SETLK, &whole) < 0)
		r = errno == EAGAIN || errno == EACCES ? -EBUSY : -errno;
	if (r < 0)
		close(fd);
	return r < 0 ? r : fd;
}

/* ---- what a dead agent has left ---- */

static bool has_ending(const char *name, size_t stem, const char *ending)
{
	return strlen(name) == stem + strlen(ending) && !strcmp(name + stem, ending);
}

/* Characters of the stream's id, and of its incarnation if that is there. */
static size_t stem_of(const char *name)
{
	size_t n = strspn(name, "0123456789abcdef");

	return name[n] == '.' ? n + 1 + strspn(name + n + 1, "0123456789") : n;
}

static int is_frames(const struct dirent *e)
{
	size_t stem = stem_of(e->d_name);

	return strspn(e->d_name, "0123456789abcdef") == ID_DIGITS && e->d_name[stem] == '-' &&
	       has_ending(e->d_name, stem + 1 + NUMBER_DIGITS, endings[SPOOL_FRAMES]);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* Appends the file `name` to `out`, and removes it. A missing one is as good as an empty one. */
static int move_behind(int folder, const char *name, int out)
{
	cleanup(cleanup_close) int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	off_t start = lseek(out, 0, SEEK_CUR);
	ssize_t n;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	do
		n = sendfile(out, fd, NULL, 1u << 20);
	while (n > 0 || (n < 0 && errno == EINTR));
	if (n < 0) {
		int r = -errno;

		return ftruncate(out, start) < 0 ? -errno : r;
	}
	return unlinkat(folder, name, 0) < 0 ? -errno : 0;
}

/* The segments of one incarnation of a stream, the oldest first: `list[0]` to `list[count - 1]`. */
static int join(int folder, struct dirent **list, int count, const char *recording)
{
	int length = (int)stem_of(list[0]->d_name) + 1 + NUMBER_DIGITS;
	char definitions[SPOOL_NAME_MAX];
	cleanup(cleanup_close) int out =
		openat(folder, recording, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	off_t begun =
		out < 0 ? -1 : lseek(out, 0, SEEK_END); /* > 0: by an agent that died over it */
	int r = begun < 0 ? -errno : 0;

	for (int i = 0; !r && i < count; i++) {
		snprintf(definitions, sizeof(definitions), "%.*s%s", length, list[i]->d_name,
			 endings[SPOOL_DEFINITIONS]);
		if (i || begun)
			unlinkat(folder, definitions, 0);
		else
			r = move_behind(folder, definitions, out);
		if (!r)
			r = move_behind(folder, list[i]->d_name, out);
	}
	return r;
}

static void take_up_stream(int folder, const char *path, struct dirent **list, int count)
{
	char recording[SPOOL_NAME_MAX];
	int r;

	snprintf(recording, sizeof(recording), "%.*s" RECORDING, (int)stem_of(list[0]->d_name),
		 list[0]->d_name);
	r = join(folder, list, count, recording);
	if (r < 0)
		log_warn("can't put together what an earlier agent has left in %s of stream %.8s: "
			 "%s",
			 path, recording, strerror(-r));
	else
		log_warn("an earlier agent has ended before a collector had taken all: the rest is "
			 "in %s/%s (collector report %s/%s)",
			 path, recording, path, recording);
}

static uint64_t size_of_recordings(int folder)
{
	cleanup(cleanup_close) int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *all = again < 0 ? NULL : fdopendir(again);
	uint64_t bytes = 0;
	struct dirent *e;
	struct stat st;

	if (!all)
		return 0;
	again = -1; /* the stream's now */
	while ((e = readdir(all)))
		if (strlen(e->d_name) > sizeof(RECORDING) &&
		    has_ending(e->d_name, strlen(e->d_name) - (sizeof(RECORDING) - 1), RECORDING) &&
		    fstatat(folder, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			bytes += (uint64_t)st.st_size;
	closedir(all);
	return bytes;
}

uint64_t spool_files_take_up(int folder, const char *path)
{
	struct dirent **list = NULL;
	int count = scandirat(folder, ".", &list, is_frames, by_name);
	uint64_t bytes;
	char size[32];

	for (int i = 0, end; i < count; i = end) {
		for (end = i + 1; end < count && !strncmp(list[i]->d_name, list[end]->d_name,
							  stem_of(list[i]->d_name) + 1);
		     end++)
			;
		take_up_stream(folder, path, list + i, end - i);
	}
	for (int i = 0; i < count; i++)
		free(list[i]);
	free(list);
	bytes = size_of_recordings(folder);
	if (bytes)
		log_info("recordings in %s take up %s of the spool's limit until they are moved "
			 "away",
			 path, format_size(size, (double)bytes));
	return bytes;
}
