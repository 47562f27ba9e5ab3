#pragma once
/*
 * The environment beside the options: the variables of the profiler that this one succeeds
 * (MEMORY_PROFILER_NAME), and what libheapcast.so itself reads. Each has its line in one table,
 * from which the values are taken, the notices are given and docs/environment.md is printed.
 */
#include "agent/cli/options.h"

/* Sets the options that variables of the old names ask for. 0; -EINVAL with the variable's name. */
int variables_take(struct options *options, enum option_command command, struct err_text *err);
/* One line to the log for each that is set and means nothing here. Call once the log is open. */
void variables_notices(void);
/* docs/environment.md, on standard output. */
void variables_document(void);
