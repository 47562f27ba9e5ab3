/* Examines a process. See sites_survey.h. */
#include "agent/ebpf/sites_survey.h"

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

static bool sites_survey_is_code(const struct process_map *map)
{
	return map->executable && map->inode && map->path && map->path[0] == '/' &&
	       strlen(map->path) < sizeof(((struct surveyed_module *)0)->path);
}

static bool sites_survey_is_known(const struct sites_survey *sites, const char *path)
{
	for (uint32_t i = 0; i < sites->count; i++)
		if (!strcmp(sites->module[i].path, path))
			return true;
	return false;
}

static int sites_survey_add(pid_t pid, const struct process_map *map, uint32_t *capacity,
			    struct sites_survey *sites)
{
	static const struct sites_options options;
	cleanup(cleanup_close) int fd = -1;
	struct surveyed_module *module;
	int error;

	if (sites->count == SURVEY_MODULES_MAX) {
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

static int sites_survey_choose(struct sites_survey *sites)
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

int sites_survey_run(pid_t pid, struct sites_survey *ret)
{
	uint32_t capacity = 0, count = 0;
	struct process_map *maps = NULL;
	int error;

	*ret = (struct sites_survey){0};
	error = process_maps_read(pid, &maps, &count);
	if (error)
		return error;
	ret->go = is_go(pid);
	for (uint32_t i = 0; !error && i < count; i++)
		if (sites_survey_is_code(&maps[i]) && !sites_survey_is_known(ret, maps[i].path))
			error = sites_survey_add(pid, &maps[i], &capacity, ret);
	process_maps_free(maps, count);
	return error ? error : sites_survey_choose(ret);
}

void sites_survey_done(struct sites_survey *sites)
{
	for (uint32_t i = 0; i < sites->count; i++)
		sites_done(&sites->module[i].sites);
	free(sites->module);
	free(sites->choice);
	*sites = (struct sites_survey){0};
}
