#pragma once
/* The agent's commands. Each gets its own name as argv[0] and returns the exit status. */
#include "agent/cli/options/options.h"
#include "agent/serve/agent.h"

int command_run(int argc, char **argv);
int command_serve(int argc, char **argv);
int command_attach(int argc, char **argv);
int command_ctl(int argc, char **argv);
int command_pair(int argc, char **argv);

/* Returns the version of the library that loads programs into the kernel; "no" in a build without
 * these programs. */
const char *attach_library(void);

#define EXIT_USAGE 2
#define EXIT_FAULT 3

/* Converts options to the settings of the streamer. Returns 0, or -EINVAL with the reason. */
int command_settings(const struct options *options, struct agent_settings *ret_settings,
		     struct err_text *err);
/* Reads the key or the certificates into the settings. Without them it opens the keys by pairing,
 * and uses these if the agent has links. `settings` points to static data afterwards, so a process
 * may call this only once. Returns 0, or a negative errno with the reason. */
int command_secure(const struct options *options, struct agent_settings *settings,
		   struct err_text *err);
/* Opens the log as the options say (by default at `level`, on standard error), and logs the
 * notices. `program` and `pid` are for the name of the log file. Returns 0, or a negative errno
 * with the reason. */
int command_log(const struct options *options, const char *level, const char *program, pid_t pid,
		struct err_text *err);
/* Sets only the log level, to `level` if the options have none. Returns 0, or -EINVAL with the
 * reason. */
int command_log_level(const struct options *options, const char *level, struct err_text *err);
/* Prints "agent: sentence" and returns `status`. */
int command_fail(int status, const struct err_text *err, int error);
