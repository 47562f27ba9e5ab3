#pragma once
/*
 * What `heapcast run` says at the end: peak, leaks and the heaviest call sites. The collector
 * beside this agent works it out. It reads the recording while the program runs, with less
 * priority, so that little is left to do at the end.
 */
#include <stdbool.h>
#include <sys/types.h>

struct answer {
	pid_t pid; /* of the collector; 0: not started */
	int end;   /* closed once the recording is complete */
};

/* Tells whether there is a collector to ask: this agent was started as heapcast, which has one. */
bool answer_possible(void);
/* Starts it for the recording at `path`. It prints to standard error. Without success nothing is
 * said at the end. */
void answer_begin(struct answer *answer, const char *path);
/* What became of it. The collector says itself why it failed. */
enum answer_end { ANSWER_GIVEN, ANSWER_LATE, ANSWER_FAILED };
/* The recording is complete: waits a second at most, and three where the machine is busy. */
enum answer_end answer_end(struct answer *answer);
/* Has the collector run `command` with an option (may be NULL) and the recording at `path`, for as
 * long as that takes. Returns false if that failed. */
bool answer_with(const char *command, const char *option, const char *path);
