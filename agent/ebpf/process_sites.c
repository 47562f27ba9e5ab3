/* The sites of a process. See process_sites.h. */
#include "agent/ebpf/process_sites.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/ban.h"

/* One mapping of code. */
struct region {
	unsigned long low, high;
	char path[512];
};

/* "LOW-HIGH r-xp OFFSET DEVICE INODE PATH": false: it is no mapping of a file with code. */
static bool read_region(const char *line, struct region *ret)
{
	char executable;
	int at = 0;
	size_t length;

	if (sscanf(line, "%lx-%lx %*c%*c%c%*c %*s %*s %*s %n", &ret->low, &ret->high, &executable,
		   &at) != 3 ||
	    executable != 'x' || !at || line[at] != '/')
		return false;
	length = strcspn(line + at, "\n");
	if (length >= sizeof(ret->path))
		return false;
	memcpy(ret->path, line + at, length);
	ret->path[length] = 0;
	return true;
}

static bool is_known(const struct process_sites *sites, const char *path)
{
	for (uint32_t i = 0; i < sites->count; i++)
		if (!strcmp(sites->module[i].path, path))
			return true;
	return false;
}

/* The very file that is mapped, which may have been deleted or replaced since; else (not everybody may) the one of
 * that name, as the process sees it. */
static int open_mapped(pid_t pid, const struct region *region)
{
	char path[640];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%lx-%lx", pid, region->low, region->high);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0)
		return fd;
	snprintf(path, sizeof(path), "/proc/%d/root%s", pid, region->path);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

static int add(pid_t pid, const struct region *region, uint32_t *capacity,
	       struct process_sites *sites)
{
	const struct sites_options options = {.no_returns = sites->go};
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
	snprintf(module->path, sizeof(module->path), "%s", region->path);
	fd = open_mapped(pid, region);
	error = fd < 0 ? err_set(&module->reason, fd, "it can't be opened: %s", strerror(-fd))
		       : sites_find(fd, &options, &module->sites, &module->reason);
	module->known = !error;
	return error == -ENOMEM ? error : 0;
}

/* Whether the program itself is Go's counts for all of its libraries. */
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

static int choose(struct process_sites *sites)
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
	cleanup(cleanup_fclose) FILE *maps = NULL;
	uint32_t capacity = 0;
	struct region region;
	char line[1024];
	int error = 0;

	*ret = (struct process_sites){0};
	snprintf(line, sizeof(line), "/proc/%d/maps", pid);
	maps = fopen(line, "re");
	if (!maps)
		return errno == ENOENT ? -ESRCH : -errno;
	ret->go = is_go(pid);
	while (!error && fgets(line, sizeof(line), maps))
		if (read_region(line, &region) && !is_known(ret, region.path))
			error = add(pid, &region, &capacity, ret);
	return error ? error : choose(ret);
}

void process_sites_done(struct process_sites *sites)
{
	for (uint32_t i = 0; i < sites->count; i++)
		sites_done(&sites->module[i].sites);
	free(sites->module);
	free(sites->choice);
	*sites = (struct process_sites){0};
}
