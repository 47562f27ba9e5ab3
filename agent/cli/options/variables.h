#pragma once
/*
 * Reads the environment. It has variables for options, variables of the profiler that this one
 * succeeds (MEMORY_PROFILER_NAME), and variables that libheapcast.so reads itself. One table has a
 * row for each variable of the last two kinds. It is the source of their values, the notices and
 * docs/environment.md.
 */
#include "agent/cli/options/options.h"

/* Reads an environment: variables with old names, then HEAPCAST_NAME, which override them. The
 * command line is read later. Returns 0, or -EINVAL with the name of the variable. */
int variables_read(struct options *options, enum option_command command,
		   const struct option_environment *from, struct err_text *err);
/* Returns true if "HEAPCAST_NAME=value" is no setting but resembles one. Writes the name of that
 * setting to `meant`. */
bool variables_misspelt(const char *entry, char *meant, size_t size);
/* Logs a line for each variable that is set but has no meaning here, or is misspelt. Call this when
 * the log is open. */
void variables_notices(void);
/* Prints docs/environment.md to standard output. */
void variables_document(void);
