#pragma once
/* Starting a program of ours beside this one: no signal is blocked or ignored there. */
#include <stdbool.h>
#include <sys/types.h>

#define SPAWN_NOTHING -1 /* /dev/null */
#define SPAWN_SAME    -2 /* as here */

struct spawn {
	const char *program; /* path */
	char *const *arguments;
	char *const *environment;
	int input, output, error; /* descriptors, or one of the above */
	bool own_group;		  /* Ctrl-C is not for it */
};

/* 0 or a negative errno. */
int spawn(const struct spawn *what, pid_t *ret_pid);
/* The environment without what would record the program, configure heapcast or ask debuginfod
 * servers: a list to free, of texts that are the environment's. NULL: no memory. */
char **spawn_environment(void);
