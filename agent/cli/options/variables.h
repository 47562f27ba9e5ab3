#pragma once
/*
 * The environment: options, and what is none: variables of the profiler that this one succeeds
 * (MEMORY_PROFILER_NAME), and those that libheapcast.so reads itself. One table has a row for each;
 * it is the source of the values, the notices and docs/environment.md.
 */
#include "agent/cli/options/options.h"

/* Reads an environment: variables with old names, then HEAPCAST_NAME, which count more; the command
 * line comes later. Returns 0, or -EINVAL with the name of the variable. */
int variables_read(struct options *options, enum option_command command,
		   const struct option_environment *from, struct err_text *err);
/* True if "HEAPCAST_NAME=value" is no setting but resembles one, which is then in `meant`. */
bool variables_misspelt(const char *entry, char *meant, size_t size);
/* Logs a line for each variable that is set but has no meaning here, or is misspelt. To be called
 * once the log is open. */
void variables_notices(void);
/* Prints docs/environment.md to standard output. */
void variables_document(void);
