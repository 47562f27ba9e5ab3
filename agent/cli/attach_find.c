/* Processes to attach to. See attach_find.h. */
#include "agent/cli/attach_find.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/streamer/target.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/parse.h"
#include "base/ban.h"

int attach_parse_pids(struct attach_want *want, const char *text, struct err_text *err)
{
	char number[24];

	while (*text) {
		size_t length = strcspn(text, ",");
		uint64_t pid = 0;

		if (length < sizeof(number)) {
			memcpy(number, text, length);
			number[length] = '\0';
		}
		if (length >= sizeof(number) || parse_u64(number, &pid) < 0 || !pid ||
		    pid > INT32_MAX)
			return err_set(err, -EINVAL, "-p takes the number of a process, not '%.*s'",
				       (int)length, text);
		if (want->pids == ATTACH_PIDS_MAX)
			return err_set(err, -EINVAL, "-p: at most %d processes at a time",
				       ATTACH_PIDS_MAX);
		want->pid[want->pids++] = (pid_t)pid;
		text += length + (text[length] == ',');
	}
	return 0;
}

/* In the group, or in one below it: a line "0::/PATH", or of an older hierarchy "7:memory:/PATH". */
static bool in_cgroup(pid_t pid, const char *cgroup)
{
	char path[64], line[4200];
	size_t length = strlen(cgroup);
	cleanup(cleanup_fclose) FILE *file = NULL;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		char *at = strchr(line, ':');

		at = at ? strchr(at + 1, ':') : NULL;
		if (!at)
			continue;
		at++;
		at[strcspn(at, "\n")] = '\0';
		if (!strncmp(at, cgroup, length) && (!at[length] || at[length] == '/'))
			return true;
	}
	return false;
}

bool attach_wants(const struct attach_want *want, pid_t pid)
{
	char path[64], target[16], comm[16];

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	if (pid == getpid() || readlink(path, target, sizeof(target)) <= 0)
		return false;
	if (want->comm &&
	    (target_thread_name(pid, pid, comm) < 0 || strncmp(comm, want->comm, sizeof(comm) - 1)))
		return false;
	return !want->cgroup || in_cgroup(pid, want->cgroup);
}

void attach_each(void (*found)(void *context, pid_t pid), void *context)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;

	while (proc && (entry = readdir(proc))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (pid > 0)
			found(context, pid);
	}
	if (proc)
		closedir(proc);
}
