/*
 * Allows only one agent per process: two agents would record it twice, and stop it twice at each
 * call. An agent that attaches listens at an abstract socket whose name identifies the process
 * regardless of pid namespaces. The kernel removes the name when the agent ends, even if it is
 * killed. (Abstract names belong to a network namespace, so agents in different ones don't see each
 * other.) Any user may take any name, so the lock counts only if its holder is our user or root.
 */
#include "agent/cli/attach.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/proc/file.h"
#include "base/proc/lines.h"
#include "base/ban.h"

/* Returns the last number of the line NSpid of `status`; 0 if the line is missing. */
static uint64_t innermost_pid(int status)
{
	char memory[PROC_LINE_MAX];
	struct proc_lines lines;
	uint64_t number = 0;
	const char *line;

	proc_lines_begin(&lines, status, memory, sizeof(memory));
	while ((line = proc_lines_next(&lines, NULL))) {
		const char *at = proc_value(line, "NSpid");

		while (at && proc_number(&at, &number))
			;
	}
	return number;
}

/* Forms the name from the process's pid in its innermost pid namespace, and the namespace's
 * inode. */
static int attach_lock_name_of(pid_t pid, struct sockaddr_un *ret, socklen_t *ret_size)
{
	cleanup(cleanup_close) int proc = proc_open(pid);
	cleanup(cleanup_close) int fd = proc < 0 ? proc : proc_open_file(proc, "status");
	uint64_t number = 0;
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstatat(proc, "ns/pid", &st, 0) < 0)
		return -errno;
	number = innermost_pid(fd);
	if (!number)
		return -ESRCH;
	*ret = (struct sockaddr_un){.sun_family = AF_UNIX};
	*ret_size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
				(size_t)snprintf(ret->sun_path + 1, sizeof(ret->sun_path) - 1,
						 "heapcast-attach-%lu-%lu",
						 (unsigned long)st.st_ino, (unsigned long)number));
	return 0;
}

/* Returns the pid of the trusted agent that holds the name; otherwise 0. */
static pid_t holder(const struct sockaddr_un *name, socklen_t size)
{
	cleanup(cleanup_close) int fd =
		socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct ucred who;
	socklen_t length = sizeof(who);

	if (fd < 0 || connect(fd, (const struct sockaddr *)name, size) < 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &length) < 0)
		return 0;
	return who.uid == 0 || who.uid == geteuid() ? who.pid : 0;
}

int attach_lock(pid_t pid, int *ret_lock, struct err_text *err)
{
	cleanup(cleanup_close) int fd =
		socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un name;
	socklen_t size = 0;
	pid_t other;

	*ret_lock = -1;
	if (fd < 0 || attach_lock_name_of(pid, &name, &size) < 0)
		return 0; /* attach without a lock */
	if (bind(fd, (const struct sockaddr *)&name, size) < 0) {
		other = errno == EADDRINUSE ? holder(&name, size) : 0;
		return !other ? 0
			      : err_set(err, -EEXIST,
					"pid %d is recorded by another agent already (pid %d): its "
					"events "
					"would be on record twice",
					(int)pid, (int)other);
	}
	if (listen(fd, 8) == 0)
		*ret_lock = take_fd(fd);
	return 0;
}

void attach_unlock(int lock)
{
	if (lock >= 0)
		close(lock);
}
