/* Opens and reads files of /proc. file.h describes the interface. */
#include "base/proc/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/ban.h"

int proc_open(pid_t pid)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	return fd;
}

int proc_open_file(int folder, const char *name)
{
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int proc_open_mapped(int folder, uint64_t start, uint64_t end, int flags)
{
	char name[64];
	int fd;

	snprintf(name, sizeof(name), "map_files/%" PRIx64 "-%" PRIx64, start, end);
	fd = openat(folder, name, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

long proc_read(int folder, const char *name, char *out, size_t size)
{
	cleanup(cleanup_close) int fd = proc_open_file(folder, name);
	size_t length = 0;
	ssize_t n = 1;

	*out = '\0';
	if (fd < 0)
		return fd;
	while (length < size - 1 && n) {
		n = read(fd, out + length, size - 1 - length);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			*out = '\0';
			return -errno;
		}
		length += (size_t)n;
	}
	out[length] = '\0';
	return (long)length;
}

pid_t proc_next(DIR *proc)
{
	struct dirent *entry;

	while ((entry = readdir(proc))) {
		long pid = strtol(entry->d_name, NULL, 10);

		if (pid > 0)
			return (pid_t)pid;
	}
	return 0;
}
