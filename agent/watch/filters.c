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

#include "base/cleanup.h"
#include "base/proc/lines.h"
#include "base/ban.h"

struct entry { /* struct linux_dirent64: getdents64(2) */
	uint64_t inode;
	int64_t next;
	uint16_t length;
	uint8_t type;
	char name[];
};

static void filters_look(int tasks, const char *tid, struct filters *f)
{
	struct proc_field field[] = {{.name = "Seccomp"}, {.name = "Seccomp_filters"}};
	uint64_t mode, count;
	char path[64];

	snprintf(path, sizeof(path), "%.16s/status", tid);
	if (proc_file_fields(tasks, path, field, 2) < 0)
		return;
	mode = field[0].value;
	count = field[1].value;
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
			filters_look(tasks, e->name, ret);
		*at = (uint64_t)e->next;
		i += e->length;
	}
	return 0;
}
