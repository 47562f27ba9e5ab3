/* Opens the file behind a mapping. See mapped.h. */
#include "agent/ebpf/mapped.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/proc/file.h"
#include "base/proc/maps.h"
#include "base/ban.h"

/* Opens a regular file. O_NONBLOCK: opening a pipe must not wait for its writer. O_NOCTTY: a
 * terminal must not become ours. */
static int open_regular(const char *path, struct stat *ret_stat)
{
	cleanup(cleanup_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	if (fd < 0)
		return -errno;
	return !fstat(fd, ret_stat) && S_ISREG(ret_stat->st_mode) ? take_fd(fd) : -ENOENT;
}

/* Overlayfs and btrfs show other device and inode numbers in /proc/PID/maps than in stat(). So the
 * agent maps the file itself, and compares the numbers in its own maps. */
static bool is_mapped_alike(int fd, const struct process_map *map)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *own = mmap(NULL, page, PROT_READ, MAP_PRIVATE, fd, 0);
	cleanup(cleanup_close) int proc = proc_open(getpid());
	struct proc_mapping m;
	bool alike;

	if (own == MAP_FAILED)
		return false;
	alike = proc_maps_find(proc, (uintptr_t)own, &m) && m.inode == map->inode &&
		makedev(m.major, m.minor) == map->device;
	munmap(own, page);
	return alike;
}

/* Returns -ESTALE if the path names another file. */
static int open_if_same(const char *path, const struct process_map *map)
{
	struct stat st;
	cleanup(cleanup_close) int fd = open_regular(path, &st);

	if (fd < 0)
		return fd;
	return (st.st_ino == map->inode && st.st_dev == map->device) || is_mapped_alike(fd, map)
		       ? take_fd(fd)
		       : -ESTALE;
}

/* Names in /proc/PID/maps are as in our mount namespace; a file of another mount namespace has its
 * name in that one. */
int mapped_open(pid_t pid, const struct process_map *map)
{
	char path[64 + 4096];
	int fd, why;

	if (!map->inode || !map->path || map->path[0] != '/')
		return -ENOENT;
	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid,
		 map->start, map->end);
	fd = open_if_same(path, map);
	if (fd >= 0)
		return fd;
	why = open_if_same(map->path, map);
	if (why >= 0)
		return why;
	if (snprintf(path, sizeof(path), "/proc/%d/root%s", (int)pid, map->path) >=
	    (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = open_if_same(path, map);
	return fd == -ENOENT || (fd < 0 && why == -ESTALE) ? -ESTALE : fd;
}

const char *mapped_reason(int error)
{
	return error == -ESTALE ? "another file has its name now, or none, and the one that is "
				  "mapped can be opened only by who has "
				  "CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN"
				: strerror(-error);
}
