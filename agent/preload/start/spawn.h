#pragma once
/*
 * Starts an agent that is not a child of the program. It is started by clone with exit signal 0 and
 * reaped with __WALL, so that no wait() of the program ever sees it. A second clone makes it a
 * child of init. It has a session of its own, and all its descriptors are replaced, so that it
 * holds no pipe of the program open.
 *
 * The process in between, its *waiter*, stays until the program has its answer. It tells the
 * program if the agent has already ended, without a descriptor or a second child.
 */

/* Returns the path of this library as the loader knows it; NULL: unknown. */
const char *spawn_self(void);
/* Writes a number in decimal; `to` must have room for 21 bytes. */
void spawn_decimal(char *to, unsigned long value);
/* Copies the process; the copy sends no signal when it ends. Returns the copy's pid, 0 in the copy,
 * or a negative errno. */
long spawn_clone(void);
/* Does the same as wait4, for such a copy. */
long spawn_reap(long pid, int *ret_status, int options);

/* Starts `agent serve --for-pid PID --socket NAME --linger-idle 10s`. Returns the waiter's pid
 * (greater than 0), which the caller passes to spawn_done; -ENOENT if no agent program was found;
 * or -ENOTSUP if this process would become the agent's parent (pid 1, a subreaper). Only the
 * agent's answer shows that it runs. */
long spawn_agent(const char *socket_name);

enum spawn_state {
	SPAWN_STARTING, /* or running: the two cannot be told apart here */
	SPAWN_LEFT,	/* ended without an error: another agent serves its socket, or soon will */
	SPAWN_FAILED,	/* could not be run, has failed, or was killed */
};

/* Returns the agent's state. After any result but SPAWN_STARTING the waiter is reaped and *waiter
 * is 0; a further call then returns SPAWN_LEFT. */
enum spawn_state spawn_look(long *waiter);

/* Releases the agent: ends the waiter and reaps it. Nothing remains that a wait() could see. */
void spawn_done(long waiter);
