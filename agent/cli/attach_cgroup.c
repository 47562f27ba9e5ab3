/*
 * Control groups. A path below the mount of a hierarchy belongs to this hierarchy, and is compared
 * with its line in /proc/PID/cgroup: "0::/PATH" for version 2, "4:memory:/PATH" for version 1. Any
 * other path is compared with the path of every line.
 */
#include <stdio.h>
#include <string.h>

#include "agent/cli/attach_find.h"
#include "base/cleanup.h"
#include "base/ban.h"

#define LINE_BYTES 8192

/* If `path` is `folder` or lies below it, returns the rest without its leading slash; otherwise
 * NULL. */
static const char *below(const char *path, const char *folder)
{
	size_t length = strlen(folder);

	while (length && folder[length - 1] == '/')
		length--;
	if (strncmp(path, folder, length) != 0 || (path[length] && path[length] != '/'))
		return NULL;
	return path[length] ? path + length + 1 : path + length;
}

/* True if `word` is an element of the comma-separated `list`. */
static bool has_word(const char *list, const char *word)
{
	size_t length = strlen(word);

	while (*list) {
		size_t part = strcspn(list, ",");

		if (length == part && !strncmp(list, word, length))
			return true;
		list += part + (list[part] == ',');
	}
	return false;
}

/* Finds the cgroup mount with the longest mount point that contains the path. A line of mountinfo:
 * "32 31 0:30 ROOT POINT rw - cgroup cgroup OPTIONS". */
static void take_mount(struct attach_cgroup *c, const char *path, char *line, size_t *longest)
{
	char root[2048], point[2048], type[32], options[512];
	const char *rest, *dash = strstr(line, " - ");

	if (!dash || sscanf(line, "%*s %*s %*s %2047s %2047s", root, point) != 2 ||
	    sscanf(dash + 3, "%31s %*s %511s", type, options) != 2 ||
	    strncmp(type, "cgroup", 6) != 0)
		return;
	rest = below(path, point);
	if (!rest || strlen(point) < *longest)
		return;
	*longest = strlen(point);
	c->version = !strcmp(type, "cgroup2") ? 2 : 1;
	snprintf(c->options, sizeof(c->options), "%s", options);
	snprintf(c->path, sizeof(c->path), "%s/%s", strcmp(root, "/") ? root : "", rest);
}

void attach_cgroup_read(const char *path, struct attach_cgroup *ret)
{
	cleanup(cleanup_fclose) FILE *file = fopen("/proc/self/mountinfo", "re");
	char line[LINE_BYTES];
	size_t longest = 0, length;

	*ret = (struct attach_cgroup){0};
	snprintf(ret->path, sizeof(ret->path), "%s", path);
	while (file && fgets(line, sizeof(line), file))
		take_mount(ret, path, line, &longest);
	length = strlen(ret->path);
	while (length > 1 && ret->path[length - 1] == '/')
		ret->path[--length] = '\0';
}

static bool is_of(const struct attach_cgroup *c, const char *controllers)
{
	char first[128];

	if (c->version != 1)
		return !c->version || !*controllers;
	snprintf(first, sizeof(first), "%.*s", (int)strcspn(controllers, ","), controllers);
	return *first && has_word(c->options, first);
}

bool attach_cgroup_has(const struct attach_cgroup *c, pid_t pid)
{
	char path[64], line[LINE_BYTES];
	cleanup(cleanup_fclose) FILE *file = NULL;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		char *controllers = strchr(line, ':'), *at;

		at = controllers ? strchr(controllers + 1, ':') : NULL;
		if (!at)
			continue;
		*at++ = '\0';
		at[strcspn(at, "\n")] = '\0';
		if (is_of(c, controllers + 1) && below(at, c->path))
			return true;
	}
	return false;
}
