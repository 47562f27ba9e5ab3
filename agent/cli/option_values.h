#pragma once
/* Values of options as text: for --check-config, and to say what a changed file has changed. */
#include "agent/cli/options.h"

#define OPTION_TEXT_MAX 1024

/* Every option of the command, a line each as a file has it, with where the value comes from.
 * `file`: that was read; NULL: none. */
void options_print(const struct options *options, enum option_command command, const char *file);
/* Compares `next` with what holds in a running agent. What can change there does, and is told with
 * its old and new text; what can't is set back in `next` and told with `kept`. */
void options_compare(struct options *next, const struct options *running,
		     enum option_command command,
		     void (*tell)(const char *name, const char *running, const char *wanted,
				  bool kept));
