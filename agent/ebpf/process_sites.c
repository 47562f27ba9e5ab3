/* Finds the sites of a process. See process_sites.h. */
#include "agent/ebpf/process_sites.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/ebpf/mapped.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/ban.h"

static bool process_sites_is_code(const struct process_map *map)
{
	return map->executable && map->inode && map->path && map->path[0] == '/' &&
	       strlen(map->path) < sizeof(((struct process_module *)0)->path);
}

static bool process_sites_is_known(const struct process_sites *sites, const char *path)
{
	for (uint32_t i = 0; i < sites->count; i++)
		if (!strcmp(sites->module[i].path, path))
			return true;
	return false;
}

static int process_sites_add(pid_t pid, const struct process_map *map, uint32_t *capacity,
			     struct process_sites *sites)
{
	static const struct sites_options options;
	cleanup(cleanup_close) int fd = -1;
	struct process_module *module;
	int error;

	if (sites->count == PROCESS_MODULES_MAX) {
		sites->overflow = true;
		return 0;
	}
	if (array_reserve(&sites->module, capacity, (uint64_t)sites->count + 1, sizeof(*module)))
		return -ENOMEM;
	module = &sites->module[sites->count++];
	snprintf(module->path, sizeof(module->path), "%s", map->path);
	fd = mapped_open(pid, map);
	error = fd < 0 ? err_set(&module->reason, fd, "it can't be opened: %s", mapped_reason(fd))
		       : sites_find(fd, &options, &module->sites, &module->reason);
	module->known = !error;
	return error == -ENOMEM ? error : 0;
}

static bool is_go(pid_t pid)
{
	static const struct sites_options options;
	cleanup(cleanup_close) int fd = -1;
	struct sites sites;
	char path[64];
	bool go;

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || sites_find(fd, &options, &sites, NULL))
		return false;
	go = sites.go;
	sites_done(&sites);
	return go;
}

static int process_sites_choose(struct process_sites *sites)
{
	cleanup(cleanup_free) struct sites_module *list =
		calloc((size_t)sites->count + 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	for (uint32_t i = 0; i < sites->count; i++)
		list[i] = (struct sites_module){sites->module[i].known ? &sites->module[i].sites
								       : NULL,
						sites->module[i].path};
	return sites_choose(list, sites->count, &sites->choice, &sites->chosen);
}

int process_sites_find(pid_t pid, struct process_sites *ret)
{
	uint32_t capacity = 0, count = 0;
	struct process_map *maps = NULL;
	int error;

	*ret = (struct process_sites){0};
	error = process_maps_read(pid, &maps, &count);
	if (error)
		return error;
	ret->go = is_go(pid);
	for (uint32_t i = 0; !error && i < count; i++)
		if (process_sites_is_code(&maps[i]) && !process_sites_is_known(ret, maps[i].path))
			error = process_sites_add(pid, &maps[i], &capacity, ret);
	process_maps_free(maps, count);
	return error ? error : process_sites_choose(ret);
}

void process_sites_done(struct process_sites *sites)
{
	for (uint32_t i = 0; i < sites->count; i++)
		sites_done(&sites->module[i].sites);
	free(sites->module);
	free(sites->choice);
	*sites = (struct process_sites){0};
}
