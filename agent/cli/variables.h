#pragma once
/*
 * The environment beside the options: the variables of the profiler that this one succeeds
 * (MEMORY_PROFILER_NAME), and what libheapcast.so itself reads. Each has its line in one table,
 * from which the values are taken, the notices are given and docs/environment.md is printed.
 */
#include "agent/cli/options.h"

/* Sets the options that variables of the old names ask for. 0; -EINVAL with the variable's name. */
int variables_take(struct options *options, enum option_command command,
		   const struct option_environment *from, struct err_text *err);
/* Is this "HEAPCAST_NAME=value" no setting, but nearly one? Then `meant` is that one. */
bool variables_misspelt(const char *entry, char *meant, size_t size);
/* One line to the log for each that is set and means nothing here, or was misspelt. Call once the
 * log is open. */
void variables_notices(void);
/* docs/environment.md, on standard output. */
void variables_document(void);
