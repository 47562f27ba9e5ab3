/* Reads the OOM killer's counters. See oom.h. */
#include "agent/watch/oom.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/proc/cgroup.h"
#include "base/proc/file.h"
#include "base/proc/lines.h"
#include "heapcast.pb-c.h"
#include "base/ban.h"

#define CGROUP_TEXT 8192

static const struct {
	const char *file;
	int counter;
} files[2][2] = {
	{{"memory.oom_control", HEAPCAST__OOM_COUNTER__OOM_COUNTER_CGROUP_1}},
	{{"memory.events.local", HEAPCAST__OOM_COUNTER__OOM_COUNTER_CGROUP_2},
	 {"memory.events", HEAPCAST__OOM_COUNTER__OOM_COUNTER_CGROUP_2}},
};

/* FNV-1a, 64 bits. */
static uint64_t oom_hash(const char *text)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (; *text; text++)
		h = (h ^ (uint8_t)*text) * 0x100000001b3u;
	return h;
}

static long read_cgroups(const char *root, pid_t pid, char *out, size_t size)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/proc/%d/cgroup", root, (int)pid);
	return proc_read(-1, path, out, size);
}

const char *oom_cgroup(char *text, bool *ret_version_2)
{
	const char *unified = NULL;
	struct proc_cgroup cgroup;

	for (char *rest = text, *line; (line = strsep(&rest, "\n"));) {
		if (!proc_cgroup_parse(line, &cgroup))
			continue;
		*ret_version_2 = false;
		if (proc_list_has(cgroup.controllers, "memory"))
			return cgroup.path;
		if (!*cgroup.controllers)
			unified = cgroup.path;
	}
	*ret_version_2 = true;
	return unified;
}

bool oom_folder(char *line, const char *path, bool version_2, char *out, size_t size)
{
	struct proc_mount mount;
	const char *rest;

	if (!proc_mount_parse(line, &mount) ||
	    strcmp(mount.type, version_2 ? "cgroup2" : "cgroup") != 0 ||
	    (!version_2 && !proc_list_has(mount.options, "memory")))
		return false;
	rest = proc_path_below(path, mount.root);
	return rest &&
	       (size_t)snprintf(out, size, "%s%s%s", mount.point, *rest ? "/" : "", rest) < size;
}

static bool cgroup_folder(const char *root, const char *path, bool version_2, char *out,
			  size_t size)
{
	char name[PATH_MAX], memory[PROC_LINE_MAX], *line;
	size_t length = (size_t)snprintf(name, sizeof(name), "%s/proc/self/mountinfo", root);
	cleanup(cleanup_close) int fd = length < sizeof(name) ? proc_open_file(-1, name) : -1;
	struct proc_lines lines;

	length = strlen(root);
	if (length >= size)
		return false;
	memcpy(out, root, length);
	proc_lines_begin(&lines, fd, memory, sizeof(memory));
	while ((line = proc_lines_next(&lines, NULL)))
		if (oom_folder(line, path, version_2, out + length, size - length))
			return true;
	return false;
}

bool oom_find_cgroup(const char *root, pid_t pid, bool *ret_version_2, uint64_t *ret_hash,
		     char *out, size_t size)
{
	char text[CGROUP_TEXT];
	const char *path;

	if (read_cgroups(root, pid, text, sizeof(text)) <= 0)
		return false;
	*ret_hash = oom_hash(text);
	path = oom_cgroup(text, ret_version_2);
	return path && cgroup_folder(root, path, *ret_version_2, out, size);
}

uint64_t oom_count(int fd)
{
	struct proc_field kills = {.name = "oom_kill", .value = UINT64_MAX};

	if (fd >= 0 && lseek(fd, 0, SEEK_SET) == 0)
		proc_fields(fd, &kills, 1);
	return kills.value;
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
	cgroup = oom_hash(text);
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
