/* Starts an agent beside the program; see spawn.h. */
#include "agent/preload/start/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <linux/close_range.h>
#include <linux/prctl.h>
#include <linux/wait.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>

#include "agent/preload/system/elf_image.h"
#include "agent/preload/system/env.h"
#include "agent/preload/start/settings.h"
#include "agent/preload/system/sys.h"

#include "agent/preload/poison.h"

#define LINGER	      "10s"
#define SIGNALS	      64
#define DESCRIPTORS   65536 /* closed one by one if close_range is missing */
#define ENTRIES_EXTRA 1

/* Everything is prepared before the clone, on the stack and in one piece of memory. */
struct plan {
	char program[PATH_MAX];
	char pid[24];
	const char *arguments[10];
	const char **environment;
};

static bool runnable(const char *path)
{
	return !sys_call(SYS_faccessat, AT_FDCWD, path, X_OK);
}

/* Joins `folder` and `name`. Returns false if the path is too long, or is not executable. */
static bool try_program(char *to, const char *folder, size_t folder_length, const char *name)
{
	size_t name_length = strlen(name);

	if (folder_length + 1 + name_length + 1 > PATH_MAX)
		return false;
	memcpy(to, folder, folder_length);
	to[folder_length] = '/';
	memcpy(to + folder_length + 1, name, name_length + 1);
	return runnable(to);
}

static int visit_self(struct dl_phdr_info *info, size_t size, void *context)
{
	const char **ret_path = context;

	(void)size;
	if (!elf_image_holds(info, (uintptr_t)spawn_agent))
		return 0;
	*ret_path = info->dlpi_name;
	return 1;
}

const char *spawn_self(void)
{
	const char *self = NULL;

	dl_iterate_phdr(visit_self, &self);
	return self;
}

/* Looks in the library's own directory, and in the usual directories of programs relative to it:
 * lib/../bin, lib/TRIPLET/../../bin. */
static bool find_beside(char *to)
{
	static const char *const names[] = {"agent",	       "heapcast-agent",
					    "../bin/agent",    "../bin/heapcast-agent",
					    "../../bin/agent", "../../bin/heapcast-agent"};
	const char *self = spawn_self(), *slash;

	slash = self ? strrchr(self, '/') : NULL;
	if (!slash)
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (try_program(to, self, (size_t)(slash - self), names[i]))
			return true;
	return false;
}

static bool find_in_path(char *to, const char *name)
{
	const char *folder = env_get("PATH");

	while (folder && *folder) {
		const char *end = strchrnul(folder, ':');

		if (*folder == '/' && try_program(to, folder, (size_t)(end - folder), name))
			return true;
		folder = *end ? end + 1 : end;
	}
	return false;
}

static bool find_program(char *to)
{
	const char *given = env_get("HEAPCAST_AGENT");

	if (given) {
		size_t length = strlen(given);

		if (length >= PATH_MAX || !runnable(given))
			return false;
		memcpy(to, given, length + 1);
		return true;
	}
	/* In PATH, "agent" may be another program. */
	return find_beside(to) || find_in_path(to, "heapcast-agent");
}

void spawn_decimal(char *to, unsigned long value)
{
	char digits[24];
	size_t count = 0;

	do
		digits[count++] = (char)('0' + value % 10);
	while (value /= 10);
	while (count)
		*to++ = digits[--count];
	*to = 0;
}

/* Returns true if the agent inherits this variable. Settings that concern only the program are left
 * out, because the next program may have others. */
static bool inherited(const char *entry)
{
	return strncmp(entry, "LD_PRELOAD=", 11) && !settings_of_program(entry);
}

static int plan_environment(struct plan *plan)
{
	char *const *from = env_all();
	size_t count = 0;

	while (from[count])
		count++;
	plan->environment = sys_pages((count + ENTRIES_EXTRA) * sizeof(char *));
	if (!plan->environment)
		return -ENOMEM;
	for (size_t i = 0, at = 0; i < count; i++)
		if (inherited(from[i]))
			plan->environment[at++] = from[i];
	return 0;
}

static int make_plan(struct plan *plan, const char *socket_name)
{
	if (!find_program(plan->program))
		return -ENOENT;
	spawn_decimal(plan->pid, (unsigned long)sys_call(SYS_getpid));
	plan->arguments[0] = plan->program;
	plan->arguments[1] = "serve";
	plan->arguments[2] = "--for-pid";
	plan->arguments[3] = plan->pid;
	plan->arguments[4] = "--socket";
	plan->arguments[5] = socket_name;
	plan->arguments[6] = "--linger-idle";
	plan->arguments[7] = LINGER;
	plan->arguments[8] = NULL;
	return plan_environment(plan);
}

/* Resets the properties that exec would pass on from the program: ignored signals, the signal mask,
 * descriptors. The kernel's struct sigaction is not larger than libc's; all zero, it means the
 * default action in any layout. */
static void shed(void)
{
	static const struct sigaction standard;
	static const uint64_t no_signals[SIGNALS / 64 + 1];
	long null_fd;

	for (int signal = 1; signal <= SIGNALS; signal++)
		sys_call(SYS_rt_sigaction, signal, &standard, NULL, SIGNALS / 8);
	sys_call(SYS_rt_sigprocmask, SIG_SETMASK, no_signals, NULL, SIGNALS / 8);
	if (sys_call(SYS_close_range, 0, ~0u, 0) < 0)
		for (int fd = 0; fd < DESCRIPTORS; fd++)
			sys_call(SYS_close, fd);
	null_fd = sys_call(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR);
	if (null_fd == 0) {
		sys_call(SYS_dup3, 0, 1, 0);
		sys_call(SYS_dup3, 0, 2, 0);
	}
}

long spawn_clone(void)
{
	return sys_call(SYS_clone, 0, 0, 0, 0, 0);
}

static void spawn_run(const struct plan *plan)
{
	sys_call(SYS_execve, plan->program, plan->arguments, plan->environment);
	sys_call(SYS_exit_group, 127);
}

long spawn_reap(long pid, int *ret_status, int options)
{
	long reaped;

	do
		reaped = sys_call(SYS_wait4, pid, ret_status, __WALL | options, NULL);
	while (reaped == -EINTR);
	return reaped;
}

/* Runs as the waiter, which holds no resource of the program, and ends with it. Its exit status
 * summarises the agent's: 0 or 1. */
static void wait_for_agent(const struct plan *plan, long program)
{
	int status = 0;
	long agent;

	sys_call(SYS_setsid);
	shed();
	sys_call(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	agent = spawn_clone();
	if (!agent)
		spawn_run(plan);
	if (agent > 0 && sys_call(SYS_getppid) == program)
		spawn_reap(agent, &status, 0);
	sys_call(SYS_exit_group, agent < 0 || status);
}

long spawn_agent(const char *socket_name)
{
	struct plan plan;
	int subreaper = 0;
	long child, self = sys_call(SYS_getpid);
	int error;

	if (self == 1)
		return -ENOTSUP;
	sys_call(SYS_prctl, PR_GET_CHILD_SUBREAPER, &subreaper, 0, 0, 0);
	if (subreaper)
		return -ENOTSUP;
	error = make_plan(&plan, socket_name);
	if (error)
		return error;
	child = spawn_clone();
	if (!child)
		wait_for_agent(&plan, self);
	return child;
}

enum spawn_state spawn_look(long *waiter)
{
	int status = 0;
	long reaped = *waiter > 0 ? spawn_reap(*waiter, &status, WNOHANG) : -ECHILD;

	if (!reaped)
		return SPAWN_STARTING;
	*waiter = 0;
	return reaped > 0 && status ? SPAWN_FAILED : SPAWN_LEFT;
}

/* Kills the waiter only while it is known to exist and to be a child: after another thread has
 * reaped it, its pid may belong to any process. */
void spawn_done(long waiter)
{
	if (spawn_look(&waiter) != SPAWN_STARTING)
		return;
	/* If kill is refused, the waiter ends with the program. */
	if (!sys_call(SYS_kill, waiter, SIGKILL))
		spawn_reap(waiter, NULL, 0);
}
