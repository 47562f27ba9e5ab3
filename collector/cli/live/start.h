#pragma once
/* Starts an agent for `top --live`, to record a process or a command. */
#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

struct err_text;

struct started {
	pid_t agent;	     /* process id; 0: none, or it has ended */
	bool is_command;     /* the agent runs a command; else it has joined a process */
	char path[PATH_MAX]; /* path of the recording; "": nothing was started */
	bool own_folder;     /* both files lie in a new temporary folder */
	char said[PATH_MAX]; /* file with the output of the command and the agent */
};

/* Starts the agent. It joins the process `pid`, or runs `command` if `pid` is 0. It records into
 * the file `output`, or into one in a new temporary folder if that is NULL. Returns 0 or a negative
 * errno with an error text. */
int start_agent(struct started *s, unsigned long pid, char *const *command, const char *output,
		struct err_text *err);
/* Waits until the recording can be read. Returns 0; -EIO with an error text if the start failed,
 * after printing the end of the output; or -EINTR if a signal arrived. */
int start_wait(struct started *s, struct err_text *err);
/* Cleans up after a failed start. Keeps the files if there is a recording. */
void start_forget(const struct started *s);
/* Has the agent end the program or detach from it, and finish the recording. Returns false if that
 * takes too long; the agent then goes on. */
bool start_end(struct started *s);
