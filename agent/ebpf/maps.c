/* Collects the mappings of a process. See maps.h. */
#include "agent/ebpf/maps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/proc/file.h"
#include "base/proc/maps.h"

static struct process_map map_of(const struct proc_mapping *m)
{
	return (struct process_map){
		.start = m->start,
		.end = m->end,
		.offset = m->offset,
		.device = makedev(m->major, m->minor),
		.inode = m->inode,
		.readable = m->permissions & PROC_READABLE,
		.executable = m->permissions & PROC_EXECUTABLE,
		.path = *m->path ? strdup(m->path) : NULL,
	};
}

int process_maps_read(pid_t pid, struct process_map **ret, uint32_t *ret_count)
{
	cleanup(cleanup_close) int proc = proc_open(pid);
	cleanup(cleanup_close) int fd = proc < 0 ? proc : proc_open_file(proc, "maps");
	struct process_map *maps = NULL;
	uint32_t count = 0, capacity = 0;
	struct proc_mapping mapping;
	struct proc_maps reader;

	if (fd < 0)
		return fd == -ENOENT ? -ESRCH : fd;
	proc_maps_begin(&reader, fd);
	while (count < PROCESS_MAPS_MAX && proc_maps_next(&reader, &mapping) == 1) {
		if (array_reserve(&maps, &capacity, count + 1, sizeof(*maps))) {
			process_maps_free(maps, count);
			return -ENOMEM;
		}
		maps[count++] = map_of(&mapping);
	}
	*ret = maps;
	*ret_count = count;
	return count ? 0 : -ESRCH;
}

void process_maps_free(struct process_map *maps, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		free(maps[i].path);
	free(maps);
}
