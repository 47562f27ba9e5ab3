/* Parses /proc/PID/maps. See maps.h. */
#include "agent/ebpf/maps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/array.h"
#include "base/cleanup.h"

static bool read_line(char *line, struct process_map *ret)
{
	unsigned major, minor;
	char rights[5];
	int path = -1;

	*ret = (struct process_map){0};
	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n",
		   &ret->start, &ret->end, rights, &ret->offset, &major, &minor, &ret->inode,
		   &path) < 7 ||
	    path < 0 || ret->start >= ret->end)
		return false;
	ret->device = makedev(major, minor);
	ret->readable = rights[0] == 'r';
	ret->executable = rights[2] == 'x';
	if (line[path])
		ret->path = strdup(line + path);
	return true;
}

int process_maps_read(pid_t pid, struct process_map **ret, uint32_t *ret_count)
{
	cleanup(cleanup_fclose) FILE *file = NULL;
	cleanup(cleanup_free) char *line = NULL;
	struct process_map *maps = NULL;
	uint32_t count = 0, capacity = 0;
	char name[64];
	size_t size = 0;

	snprintf(name, sizeof(name), "/proc/%d/maps", (int)pid);
	file = fopen(name, "re");
	if (!file)
		return errno == ENOENT ? -ESRCH : -errno;
	while (count < PROCESS_MAPS_MAX && getline(&line, &size, file) > 0) {
		if (array_reserve(&maps, &capacity, count + 1, sizeof(*maps))) {
			process_maps_free(maps, count);
			return -ENOMEM;
		}
		count += read_line(line, &maps[count]);
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
