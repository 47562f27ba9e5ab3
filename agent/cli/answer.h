#pragma once
/*
 * Prints what `heapcast run` says at the end: peak, leaks and the heaviest call sites. The
 * collector beside this agent computes them. It reads the recording while the program runs, with
 * lower priority, so that little work is left at the end.
 */
#include <stdbool.h>
#include <sys/types.h>

struct answer {
	pid_t pid; /* of the collector; 0: not started */
	int end;   /* closed once the recording is complete */
};

/* Returns true if the agent can ask a collector: it was started as heapcast, and a collector is
 * beside it. */
bool answer_possible(void);
/* Starts the collector for the recording at `path`. The collector prints to standard error. If it
 * can't be started, answer_end returns ANSWER_FAILED. */
void answer_begin(struct answer *answer, const char *path);
/* The outcome. A collector that fails prints the reason itself. */
enum answer_end { ANSWER_GIVEN, ANSWER_LATE, ANSWER_FAILED };
/* Waits for the answer after the recording is complete: at most one second, or three seconds on a
 * busy machine. Then kills the collector. */
enum answer_end answer_end(struct answer *answer);
/* Has the collector run `command` with an option (may be NULL) and the recording at `path`. Waits
 * until the command has ended. Returns false if it failed. */
bool answer_with(const char *command, const char *option, const char *path);
