/*
 * Selects processes by control group. A path below the mount of a hierarchy belongs to this
 * hierarchy. It is compared with the hierarchy's line in /proc/PID/cgroup: "0::/PATH" for version
 * 2, "4:memory:/PATH" for version 1. Any other path is compared with the path of every line.
 */
#include <stdio.h>
#include <string.h>

#include "agent/cli/attach_find.h"
#include "base/cleanup.h"
#include "base/proc/cgroup.h"
#include "base/proc/file.h"
#include "base/proc/lines.h"
#include "base/ban.h"

#define LINE_BYTES 8192

/* Takes the cgroup mount in `line` if it contains the path and no longer mount point was found
 * before. */
static void take_mount(struct attach_cgroup *c, const char *path, char *line, size_t *longest)
{
	struct proc_mount mount;
	const char *rest;

	if (!proc_mount_parse(line, &mount) || strncmp(mount.type, "cgroup", 6) != 0)
		return;
	rest = proc_path_below(path, mount.point);
	if (!rest || strlen(mount.point) < *longest)
		return;
	*longest = strlen(mount.point);
	c->version = !strcmp(mount.type, "cgroup2") ? 2 : 1;
	snprintf(c->options, sizeof(c->options), "%s", mount.options);
	snprintf(c->path, sizeof(c->path), "%s/%s", strcmp(mount.root, "/") ? mount.root : "",
		 rest);
}

void attach_cgroup_read(const char *path, struct attach_cgroup *ret)
{
	cleanup(cleanup_close) int fd = proc_open_file(-1, "/proc/self/mountinfo");
	char memory[LINE_BYTES], *line;
	struct proc_lines lines;
	size_t longest = 0, length;

	*ret = (struct attach_cgroup){0};
	snprintf(ret->path, sizeof(ret->path), "%s", path);
	proc_lines_begin(&lines, fd, memory, sizeof(memory));
	while ((line = proc_lines_next(&lines, NULL)))
		take_mount(ret, path, line, &longest);
	length = strlen(ret->path);
	while (length > 1 && ret->path[length - 1] == '/')
		ret->path[--length] = '\0';
}

static bool attach_cgroup_is_of(const struct attach_cgroup *c, const char *controllers)
{
	char first[128];

	if (c->version != 1)
		return !c->version || !*controllers;
	snprintf(first, sizeof(first), "%.*s", (int)strcspn(controllers, ","), controllers);
	return *first && proc_list_has(c->options, first);
}

bool attach_cgroup_has(const struct attach_cgroup *c, pid_t pid)
{
	cleanup(cleanup_close) int proc = proc_open(pid);
	cleanup(cleanup_close) int fd = proc_open_file(proc, "cgroup");
	char memory[LINE_BYTES], *line;
	struct proc_cgroup cgroup;
	struct proc_lines lines;

	proc_lines_begin(&lines, fd, memory, sizeof(memory));
	while ((line = proc_lines_next(&lines, NULL)))
		if (proc_cgroup_parse(line, &cgroup) &&
		    attach_cgroup_is_of(c, cgroup.controllers) &&
		    proc_path_below(cgroup.path, c->path))
			return true;
	return false;
}
