/* Writes a line to standard error; see say.h. */
#include "agent/preload/start/say.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>

#include "agent/preload/system/env.h"
#include "agent/preload/start/spawn.h"
#include "agent/preload/system/sys.h"

#include "agent/preload/poison.h"

#define STANDARD_ERROR 2
#define ANCESTORS_MAX  64
#define SIGNAL_WORDS   3 /* more words than a kernel's signal set has */
#define NAME_LONGEST   64
#define PARTS	       5

static bool is_off(void)
{
	const char *log = env_get("HEAPCAST_LOG");

	if (!log)
		log = env_get("MEMORY_PROFILER_LOG");
	return log && !strcmp(log, "off");
}

/* ---- is this the first process of its tree? ---- */

/* Writes "/proc/PID/name". */
static void proc_path(char *to, long pid, const char *name)
{
	memcpy(to, "/proc/", 6);
	spawn_decimal(to + 6, (unsigned long)pid);
	memcpy(to + strlen(to), name, strlen(name) + 1);
}

/* Returns the parent's pid; 0 if there is none, or it is unknown. */
static long say_parent_of(long pid)
{
	char path[48], text[512];
	const char *at;
	long length, parent = 0;

	proc_path(path, pid, "/stat");
	length = sys_read_file(path, text, sizeof(text) - 1);
	text[length > 0 ? length : 0] = 0;
	at = strrchr(text, ')'); /* "PID (NAME) S PARENT" */
	for (at = at && strlen(at) > 4 ? at + 4 : ""; *at >= '0' && *at <= '9'; at++)
		parent = 10 * parent + (*at - '0');
	return parent;
}

static bool has_line_end(const char *text, size_t length, const char *name, size_t name_length)
{
	for (size_t i = 0; i + name_length < length; i++)
		if (text[i] == name[0] && !memcmp(text + i, name, name_length) &&
		    text[i + name_length] == '\n')
			return true;
	return false;
}

/* Returns true if this process maps a file with this name. A process that cannot be read does not
 * count as recorded. */
static bool maps_file(long pid, const char *name)
{
	size_t name_length = strlen(name), kept = 0;
	char path[48], text[2048];
	bool found = false;
	long fd, got;

	proc_path(path, pid, "/maps");
	fd = sys_call(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && !found &&
	       (got = sys_call(SYS_read, fd, text + kept, sizeof(text) - kept)) > 0) {
		size_t length = kept + (size_t)got;

		found = has_line_end(text, length, name, name_length);
		kept = length < NAME_LONGEST + 2 ? length : NAME_LONGEST + 2;
		memmove(text, text + length - kept, kept);
	}
	if (fd >= 0)
		sys_call(SYS_close, fd);
	return found;
}

/* Returns true if the process that started this one is gone. A parent is in its child's session,
 * unless the child has begun a session. If the present parent is not, it has only adopted this
 * process. */
static bool is_orphan(void)
{
	long session = sys_call(SYS_getsid, 0), parent = sys_call(SYS_getppid);

	return parent && session != sys_call(SYS_getpid) && sys_call(SYS_getsid, parent) != session;
}

static bool is_first(void)
{
	const char *path = spawn_self(), *name = path ? strrchr(path, '/') : NULL;
	long pid = sys_call(SYS_getppid);

	if (!name || strlen(name) > NAME_LONGEST || is_orphan())
		return false;
	for (int i = 0; i < ANCESTORS_MAX && pid > 0; i++, pid = say_parent_of(pid))
		if (maps_file(pid, name))
			return false;
	return true;
}

/* ---- the line ---- */

static bool say_has_room(void)
{
	struct pollfd wanted = {.fd = STANDARD_ERROR, .events = POLLOUT};
	const struct {
		long seconds;
		long nanoseconds;
	} now = {0};

	return sys_call(SYS_ppoll, &wanted, 1, &now, NULL, 0) == 1 && wanted.revents == POLLOUT;
}

/* Writes the line. A write may raise a signal: the reader may be gone, the file may be at its size
 * limit, or the terminal may belong to another process group. The function therefore blocks all
 * signals during the write, and removes those that the write raised. */
static void say_put(const struct iovec *part, int count)
{
	static const int caused[] = {SIGPIPE, SIGXFSZ};
	const uint64_t all[SIGNAL_WORDS] = {~0ull, ~0ull, ~0ull};
	uint64_t before[SIGNAL_WORDS] = {0}, pending[SIGNAL_WORDS] = {0};
	const struct {
		long seconds;
		long nanoseconds;
	} now = {0};
	size_t size = NSIG / 8;
	long written;

	if (sys_call(SYS_rt_sigprocmask, SIG_SETMASK, all, before, size) < 0)
		return;
	sys_call(SYS_rt_sigpending, pending, size);
	written = sys_call(SYS_writev, STANDARD_ERROR, part, count);
	for (unsigned i = 0; written < 0 && i < 2; i++) {
		uint64_t one[SIGNAL_WORDS] = {0};
		unsigned long *word = (unsigned long *)(void *)one;
		unsigned bit = (unsigned)caused[i] - 1, bits = 8 * sizeof(*word);

		word[bit / bits] = 1ul << bit % bits;
		if (!(((unsigned long *)(void *)pending)[bit / bits] & word[bit / bits]))
			sys_call(SYS_rt_sigtimedwait, one, NULL, &now, size);
	}
	sys_call(SYS_rt_sigprocmask, SIG_SETMASK, before, NULL, size);
}

void say(const char *first, const char *second, const char *third)
{
	const char *const text[PARTS] = {"heapcast: ", first, second, third, "\n"};
	struct iovec part[PARTS];
	int count = 0;

	if (is_off() || env_get("HEAPCAST_FD") || !is_first() || !say_has_room())
		return;
	for (unsigned i = 0; i < PARTS; i++)
		if (text[i])
			part[count++] = (struct iovec){.iov_base = (char *)(uintptr_t)text[i],
						       .iov_len = strlen(text[i])};
	say_put(part, count);
}
