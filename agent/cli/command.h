#pragma once
/* The agent's commands: each gets its own name as argv[0] and returns the exit status. */
#include "agent/cli/options.h"
#include "agent/serve/agent.h"

int command_run(int argc, char **argv);
int command_serve(int argc, char **argv);
int command_attach(int argc, char **argv);
int command_ctl(int argc, char **argv);
int command_pair(int argc, char **argv);

#define EXIT_USAGE 2
#define EXIT_FAULT 3

/* Options as the streamer takes them. 0; -EINVAL with the reason. */
int command_settings(const struct options *options, struct agent_settings *ret_settings,
		     struct err_text *err);
/* Reads the key, if there is one, for the settings; else those by pairing, which are used if the
 * settings are for a network: once in a process, as they point to them. 0; a negative errno with
 * the reason. */
int command_secure(const struct options *options, struct agent_settings *settings,
		   struct err_text *err);
/* Opens the log where the options say (else at `level`, on standard error) and gives the notices.
 * `program` and `pid` are for the file's name. 0; -EINVAL or another negative errno with the
 * reason. */
int command_log(const struct options *options, const char *level, const char *program, pid_t pid,
		struct err_text *err);
/* Only the level of what is told, `level` where the options have none. 0; -EINVAL with the
 * reason. */
int command_log_level(const struct options *options, const char *level, struct err_text *err);
/* Prints "agent: sentence" and returns `status`. */
int command_fail(int status, const struct err_text *err, int error);
