/* Reads seccomp filters from /proc/PID/task. See filters.h. */
#include "agent/watch/filters.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/watch/smaps.h"
#include "base/cleanup.h"
#include "base/ban.h"

#define STATUS_SIZE 4096

struct entry { /* struct linux_dirent64: getdents64(2) */
	uint64_t inode;
	int64_t next;
	uint16_t length;
	uint8_t type;
	char name[];
};

static void look(int tasks, const char *tid, struct filters *f)
{
	char path[64], text[STATUS_SIZE];
	cleanup(cleanup_close) int fd = -1;
	uint64_t mode, count;
	ssize_t length;

	snprintf(path, sizeof(path), "%.16s/status", tid);
	fd = openat(tasks, path, O_RDONLY | O_CLOEXEC);
	length = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (length <= 0)
		return;
	text[length] = '\0';
	mode = smaps_key(text, "Seccomp");
	count = smaps_key(text, "Seccomp_filters");
	if (!count)
		count = mode == SECCOMP_MODE_FILTER;
	if (count > f->count)
		f->count = (uint32_t)count;
	f->strict |= mode == SECCOMP_MODE_STRICT;
}

int filters_read(int proc, uint64_t *at, struct filters *ret)
{
	cleanup(cleanup_close) int tasks = openat(proc, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_Alignas(struct entry) char piece[2048]; /* about sixty threads */
	long length;

	*ret = (struct filters){0};
	if (tasks < 0)
		return -errno;
	if (*at && lseek(tasks, (off_t)*at, SEEK_SET) < 0)
		return -errno;
	length = syscall(SYS_getdents64, tasks, piece, sizeof(piece));
	if (length < 0)
		return -errno;
	*at = 0;
	for (long i = 0; i < length;) {
		const struct entry *e = (const struct entry *)(const void *)(piece + i);

		if (e->name[0] != '.')
			look(tasks, e->name, ret);
		*at = (uint64_t)e->next;
		i += e->length;
	}
	return 0;
}
