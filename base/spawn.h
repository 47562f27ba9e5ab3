#pragma once
/* Starts a helper program beside this one. The helper starts with no signal blocked or ignored. */
#include <stdbool.h>
#include <sys/types.h>

#define SPAWN_NOTHING -1 /* /dev/null */
#define SPAWN_SAME    -2 /* inherited from this process */

struct spawn {
	const char *program; /* a path */
	char *const *arguments;
	char *const *environment;
	int input, output, error; /* descriptors, or one of the constants above */
	bool own_group;		  /* a separate process group, so that Ctrl-C does not reach it */
};

/* Returns 0 or a negative errno. */
int spawn(const struct spawn *what, pid_t *ret_pid);
/*
 * Returns the environment without the variables that would preload a library into the helper,
 * configure heapcast or make it query debuginfod servers. The caller frees the array; the strings
 * belong to the environment. Returns NULL if memory is short.
 */
char **spawn_environment(void);
