/* Names, creates and finds the files of a spool on disk. See spool_files.h. */
#include "agent/spool/spool_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
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
	unlinkat(folder, name, 0); /* the file system has no O_TMPFILE */
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

static bool has_ending(const char *name, const char *ending)
{
	size_t length = strlen(name), tail = strlen(ending);

	return length > tail && !strcmp(name + length - tail, ending);
}

static int spool_files_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Parses ID[.INCARNATION]-FIRST.frames, the format of spool_file_name. */
static bool parse_name(const char *name, struct spool_left *ret)
{
	char again[SPOOL_NAME_MAX], *end;
	unsigned long incarnation = 1;
	const char *at = name + ID_DIGITS;

	if (strspn(name, "0123456789abcdef") != ID_DIGITS)
		return false;
	for (unsigned i = 0; i < STREAM_ID_SIZE; i++)
		ret->stream[i] = (uint8_t)(spool_files_digit(name[2 * i]) << 4 |
					   spool_files_digit(name[2 * i + 1]));
	if (*at == '.') {
		incarnation = strtoul(at + 1, &end, 10);
		at = end;
	}
	if (*at != '-' || incarnation > UINT32_MAX)
		return false;
	ret->incarnation = (uint32_t)incarnation;
	ret->first = strtoull(at + 1, &end, 16);
	return ret->first && !strcmp(name, spool_file_name(again, ret->stream, ret->incarnation,
							   ret->first, SPOOL_FRAMES));
}

static int by_place(const void *a, const void *b)
{
	const struct spool_left *x = a, *y = b;
	int by_id = memcmp(x->stream, y->stream, STREAM_ID_SIZE);

	if (by_id || x->incarnation != y->incarnation)
		return by_id ? by_id : x->incarnation < y->incarnation ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

static DIR *open_again(int folder)
{
	int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *all = again < 0 ? NULL : fdopendir(again);

	if (!all && again >= 0)
		close(again);
	return all;
}

int spool_files_left(int folder, struct spool_left **ret)
{
	DIR *all = open_again(folder);
	struct spool_left *left = NULL, one;
	uint32_t capacity = 0;
	struct dirent *e;
	int count = 0, r = all ? 0 : -errno;

	while (!r && (e = readdir(all))) {
		if (!parse_name(e->d_name, &one))
			continue;
		r = array_reserve(&left, &capacity, (uint64_t)count + 1, sizeof(*left));
		if (!r)
			left[count++] = one;
	}
	if (all)
		closedir(all);
	if (r < 0) {
		free(left);
		return r;
	}
	if (count)
		qsort(left, (size_t)count, sizeof(*left), by_place);
	*ret = left;
	return count;
}

/* Returns the size of all files with this ending, in bytes. */
static uint64_t spool_files_size_of(int folder, const char *ending)
{
	DIR *all = open_again(folder);
	uint64_t bytes = 0;
	struct dirent *e;
	struct stat st;

	while (all && (e = readdir(all)))
		if (has_ending(e->d_name, ending) &&
		    fstatat(folder, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			bytes += (uint64_t)st.st_size;
	if (all)
		closedir(all);
	return bytes;
}

uint64_t spool_files_used(int folder, const char *path)
{
	uint64_t recordings = spool_files_size_of(folder, RECORDING);
	char size[32];

	if (recordings)
		log_info("recordings in %s use %s of the spool's limit until they are moved "
			 "away",
			 path, format_size(size, (double)recordings));
	return recordings + spool_files_size_of(folder, endings[SPOOL_FRAMES]) +
	       spool_files_size_of(folder, endings[SPOOL_DEFINITIONS]);
}

uint64_t spool_file_remove(int folder, const char *name)
{
	struct stat st;

	if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || unlinkat(folder, name, 0) < 0)
		return 0;
	return (uint64_t)st.st_size;
}
