#pragma once
/* The agent that `top --live` starts beside itself, for a process or a command. */
#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

struct err_text;

struct started {
	pid_t agent;	     /* 0: none, or it has ended */
	bool is_command;     /* it runs a command; else it has joined a process */
	char path[PATH_MAX]; /* of the recording; "": nothing was started */
	bool own_folder;     /* both files are in a new temporary folder */
	char said[PATH_MAX]; /* where the command and the agent write what they say */
};

/* `pid`: the process to join, or 0: run `command`. `output`: the file to record into; NULL: one in
 * a new temporary folder. */
int start_agent(struct started *s, unsigned long pid, char *const *command, const char *output,
		struct err_text *err);
/* Waits until the recording can be read. -EIO with a sentence, once the end of what was said has
 * been printed: it came to nothing. -EINTR: a signal came. */
int start_wait(struct started *s, struct err_text *err);
/* After a start that came to nothing: removes what there is of it, unless there is a recording. */
void start_forget(const struct started *s);
/* Has the agent end the program, or let it go, and finish its recording. Returns false if that
 * takes too long; then it goes on. */
bool start_end(struct started *s);
