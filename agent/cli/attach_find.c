/* Selects processes to attach to. See attach_find.h. */
#include "agent/cli/attach_find.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/core/target.h"
#include "base/cli/program.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/parse.h"
#include "base/proc/file.h"
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

bool attach_wants(const struct attach_want *want, pid_t pid)
{
	char path[64], target[16], comm[16];

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	if (readlink(path, target, sizeof(target)) <= 0)
		return false;
	if (want->comm &&
	    (target_thread_name(pid, pid, comm) < 0 || strncmp(comm, want->comm, sizeof(comm) - 1)))
		return false;
	return !want->has_cgroup || attach_cgroup_has(&want->cgroup, pid);
}

/* Gets our own executable, and the collector's beside it. The entry of a missing file stays 0, an
 * inode that no file has.
 */
static void look_for_ours(struct stat ours[2])
{
	char path[PATH_MAX];

	stat("/proc/self/exe", &ours[0]);
	if (!program_beside(PROGRAM_COLLECTOR, path))
		stat(path, &ours[1]);
}

/* Compares the process's executable with our files. */
bool attach_is_ours(pid_t pid)
{
	static struct stat ours[2];
	static bool looked;
	struct stat st;
	char path[64];

	if (!looked)
		look_for_ours(ours);
	looked = true;
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	if (stat(path, &st) < 0)
		return false;
	for (unsigned i = 0; i < 2; i++)
		if (ours[i].st_ino == st.st_ino && ours[i].st_dev == st.st_dev)
			return true;
	return false;
}

void attach_each(void (*found)(void *context, pid_t pid), void *context)
{
	DIR *proc = opendir("/proc");
	pid_t pid;

	while (proc && (pid = proc_next(proc)))
		found(context, pid);
	if (proc)
		closedir(proc);
}
