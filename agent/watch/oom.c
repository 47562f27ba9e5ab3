/* Reads the OOM killer's counters. See oom.h. */
#include "agent/watch/oom.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "heapcast.pb-c.h"
#include "base/ban.h"

#define CGROUP_TEXT 8192
#define COUNT_NAME  "oom_kill "

static const struct {
	const char *file;
	int counter;
} files[2][2] = {
	{{"memory.oom_control", HEAPCAST__OOM_COUNTER__OOM_COUNTER_CGROUP_1}},
	{{"memory.events.local", HEAPCAST__OOM_COUNTER__OOM_COUNTER_CGROUP_2},
	 {"memory.events", HEAPCAST__OOM_COUNTER__OOM_COUNTER_CGROUP_2}},
};

/* FNV-1a, 64 bits. */
static uint64_t hash(const char *text)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (; *text; text++)
		h = (h ^ (uint8_t)*text) * 0x100000001b3u;
	return h;
}

static long read_text(int fd, char *out, size_t size)
{
	size_t length = 0;
	ssize_t n;

	while (length < size - 1 &&
	       (n = pread(fd, out + length, size - 1 - length, (off_t)length)) > 0)
		length += (size_t)n;
	out[length] = '\0';
	return (long)length;
}

static long read_cgroups(const char *root, pid_t pid, char *out, size_t size)
{
	char path[PATH_MAX];
	cleanup(cleanup_close) int fd = -1;

	snprintf(path, sizeof(path), "%s/proc/%d/cgroup", root, (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : read_text(fd, out, size);
}

/* Returns true if `word` is in the comma-separated list. */
static bool has_word(const char *list, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = list; at && *at; at = strchr(at, ',')) {
		at += *at == ',';
		if (!strncmp(at, word, length) && (!at[length] || at[length] == ','))
			return true;
	}
	return false;
}

const char *oom_cgroup(char *text, bool *ret_version_2)
{
	const char *unified = NULL;

	for (char *rest = text, *line; (line = strsep(&rest, "\n"));) {
		char *controllers = strchr(line, ':');
		char *path = controllers ? strchr(++controllers, ':') : NULL;

		if (!path)
			continue;
		*path++ = '\0';
		*ret_version_2 = false;
		if (has_word(controllers, "memory"))
			return path;
		if (!*controllers)
			unified = path;
	}
	*ret_version_2 = true;
	return unified;
}

/* Field 4 of the line is the mounted part of the hierarchy, field 5 the mount point. After " - "
 * come type, source, and options, which include the controllers. */
bool oom_folder(const char *line, const char *path, bool version_2, char *out, size_t size)
{
	char root[1024], where[1024], type[32], options[1024];
	const char *behind = strstr(line, " - ");
	size_t length;

	if (!behind || sscanf(line, "%*s %*s %*s %1023s %1023s", root, where) != 2 ||
	    sscanf(behind + 3, "%31s %*s %1023s", type, options) != 2)
		return false;
	if (strcmp(type, version_2 ? "cgroup2" : "cgroup") ||
	    (!version_2 && !has_word(options, "memory")))
		return false;
	length = strcmp(root, "/") ? strlen(root) : 0;
	if (strncmp(path, root, length) || (path[length] && path[length] != '/'))
		return false;
	return (size_t)snprintf(out, size, "%s%s", where, path + length) < size;
}

static bool cgroup_folder(const char *root, const char *path, bool version_2, char *out,
			  size_t size)
{
	char name[PATH_MAX];
	cleanup(cleanup_fclose) FILE *mounts = NULL;
	cleanup(cleanup_free) char *line = NULL;
	size_t room = 0,
	       length = (size_t)snprintf(name, sizeof(name), "%s/proc/self/mountinfo", root);
	bool found = false;

	mounts = length < sizeof(name) ? fopen(name, "re") : NULL;
	length = strlen(root);
	if (length >= size)
		return false;
	memcpy(out, root, length);
	while (mounts && !found && getline(&line, &room, mounts) > 0)
		found = oom_folder(line, path, version_2, out + length, size - length);
	return found;
}

bool oom_find_cgroup(const char *root, pid_t pid, bool *ret_version_2, uint64_t *ret_hash,
		     char *out, size_t size)
{
	char text[CGROUP_TEXT];
	const char *path;

	if (read_cgroups(root, pid, text, sizeof(text)) <= 0)
		return false;
	*ret_hash = hash(text);
	path = oom_cgroup(text, ret_version_2);
	return path && cgroup_folder(root, path, *ret_version_2, out, size);
}

uint64_t oom_count(int fd)
{
	char text[CGROUP_TEXT];
	const char *at = text, *end;

	if (fd < 0 || read_text(fd, text, sizeof(text)) <= 0)
		return UINT64_MAX;
	while (strncmp(at, COUNT_NAME, strlen(COUNT_NAME)) != 0) {
		end = strchr(at, '\n');
		if (!end)
			return UINT64_MAX;
		at = end + 1;
	}
	return strtoull(at + strlen(COUNT_NAME), NULL, 10);
}

/* Opens this file if it has the counter. */
static bool open_counter(struct oom_watch *w, const char *path, int counter)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint64_t kills = oom_count(fd);

	if (kills == UINT64_MAX) {
		cleanup_close(&fd);
		return false;
	}
	w->fd = fd;
	w->counter = counter;
	w->kills = kills;
	return true;
}

static void open_any(struct oom_watch *w, const char *path, bool version_2)
{
	char folder[2048], file[2100];

	oom_end(w);
	if (path && cgroup_folder("", path, version_2, folder, sizeof(folder)))
		for (unsigned i = 0; i < 2 && files[version_2][i].file; i++) {
			snprintf(file, sizeof(file), "%s/%s", folder, files[version_2][i].file);
			if (open_counter(w, file, files[version_2][i].counter))
				return;
		}
	open_counter(w, "/proc/vmstat", HEAPCAST__OOM_COUNTER__OOM_COUNTER_SYSTEM);
}

static void count(struct oom_watch *w, uint64_t now)
{
	uint64_t kills = oom_count(w->fd);

	if (kills == UINT64_MAX || kills <= w->kills)
		return; /* the cgroup may have been removed meanwhile */
	w->kills = kills;
	w->rose_ns = now;
}

static bool rose(const struct oom_watch *w, uint64_t now)
{
	return w->rose_ns && now - w->rose_ns <= OOM_RECENT_NS;
}

/* A process that is being killed leaves its cgroup of version 1 before it is gone. So if the
 * counter has just risen, a move to another cgroup is ignored for now. */
void oom_look(struct oom_watch *w, pid_t pid, bool at_once, uint64_t now)
{
	char text[CGROUP_TEXT];
	const char *path;
	uint64_t cgroup;
	bool version_2 = false;

	if (!at_once && now - w->looked_ns < OOM_LOOK_NS)
		return;
	w->looked_ns = now;
	if (read_cgroups("", pid, text, sizeof(text)) <= 0)
		return;
	cgroup = hash(text);
	count(w, now);
	if (w->fd >= 0 && (w->cgroup == cgroup || (!at_once && rose(w, now))))
		return;
	path = oom_cgroup(text, &version_2);
	open_any(w, path, version_2);
	w->cgroup = cgroup;
	w->rose_ns = 0;
}

void oom_begin(struct oom_watch *w, pid_t pid, uint64_t now)
{
	*w = (struct oom_watch){.fd = -1};
	oom_look(w, pid, true, now);
}

int oom_verdict(struct oom_watch *w, uint64_t now)
{
	count(w, now);
	return rose(w, now) ? w->counter : HEAPCAST__OOM_COUNTER__OOM_COUNTER_NONE;
}

void oom_end(struct oom_watch *w)
{
	cleanup_close(&w->fd);
	w->fd = -1;
}
