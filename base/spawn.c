/* Starts helper programs. spawn.h describes the interface. */
#include "base/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/ban.h"

extern char **environ;

static bool dropped(const char *variable)
{
	static const char *const prefixes[] = {"LD_PRELOAD=", "LD_AUDIT=", "DEBUGINFOD_",
					       "HEAPCAST_", "MEMORY_PROFILER_"};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (!strncmp(variable, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

char **spawn_environment(void)
{
	size_t count = 0, kept = 0;
	char **environment;

	while (environ && environ[count])
		count++;
	environment = calloc(count + 1, sizeof(*environment));
	for (size_t i = 0; environment && i < count; i++)
		if (!dropped(environ[i]))
			environment[kept++] = environ[i];
	return environment;
}

static int spawn_give(posix_spawn_file_actions_t *actions, int there, int here)
{
	if (here == SPAWN_SAME)
		return 0;
	if (here == SPAWN_NOTHING)
		return posix_spawn_file_actions_addopen(actions, there, "/dev/null",
							there == STDIN_FILENO ? O_RDONLY : O_WRONLY,
							0);
	return posix_spawn_file_actions_adddup2(actions, here, there);
}

int spawn(const struct spawn *what, pid_t *ret_pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t signals;
	int error;

	if (posix_spawn_file_actions_init(&actions))
		return -ENOMEM;
	posix_spawnattr_init(&attributes);
	sigemptyset(&signals);
	posix_spawnattr_setsigmask(&attributes, &signals);
	sigfillset(&signals);
	posix_spawnattr_setsigdefault(&attributes, &signals);
	posix_spawnattr_setpgroup(&attributes, 0);
	posix_spawnattr_setflags(&attributes,
				 (short)(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
					 (what->own_group ? POSIX_SPAWN_SETPGROUP : 0)));
	error = spawn_give(&actions, STDIN_FILENO, what->input);
	if (!error)
		error = spawn_give(&actions, STDOUT_FILENO, what->output);
	if (!error)
		error = spawn_give(&actions, STDERR_FILENO, what->error);
	if (!error)
		error = posix_spawn(ret_pid, what->program, &actions, &attributes, what->arguments,
				    what->environment);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	return -error;
}
