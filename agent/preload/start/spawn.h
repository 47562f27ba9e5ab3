#pragma once
/*
 * Starting an agent that is nobody's child: started by clone with exit signal 0 and reaped with
 * __WALL, so that no wait() of the program ever sees it; forked once more, so that it belongs to
 * init; in a session of its own; with every descriptor replaced, so that it holds no pipe of the
 * program open.
 *
 * The process in between, its *waiter*, stays until the program has its answer: it is how the
 * program learns that the agent is over already, without a descriptor or a second child.
 */

/* The path of this library, as the loader has it; NULL: unknown. */
const char *spawn_self(void);
/* The digits of a number; room for 21 of them. */
void spawn_decimal(char *to, unsigned long value);
/* A copy of the process, without a signal at its end. Its pid, 0 in there, or a negative errno. */
long spawn_clone(void);
/* As wait4, of such a child. */
long spawn_reap(long pid, int *ret_status, int options);

/* Starts `agent serve --for-pid PID --socket NAME --linger-idle 10s`. The waiter's pid (greater
 * than 0), to be given to spawn_done; -ENOENT: no agent's program was found; -ENOTSUP: this process
 * would be its parent (pid 1, a subreaper). That it runs is seen when it answers. */
long spawn_agent(const char *socket_name);

enum spawn_state {
	SPAWN_STARTING, /* or running: there is no difference to be seen from here */
	SPAWN_LEFT,	/* it has ended well: another agent serves its socket, or is about to */
	SPAWN_FAILED,	/* it could not be run, has failed, or was killed */
};

/* What has become of the agent. After anything but SPAWN_STARTING the waiter is reaped, and
 * *waiter 0; asked again, that is SPAWN_LEFT. */
enum spawn_state spawn_look(long *waiter);

/* Lets the agent go its own way: ends the waiter and reaps it. Nothing is left that a wait() could
 * see. */
void spawn_done(long waiter);
