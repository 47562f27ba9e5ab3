#pragma once
/* Formats option values as text: for --check-config, and to log the changes of a reload. */
#include "agent/cli/options/options.h"

#define OPTION_TEXT_MAX 1024

/* Prints every option of the command as a line of a configuration file, with the source of its
 * value. `file` is the file that was read, or NULL. */
void options_print(const struct options *options, enum option_command command, const char *file);
/* Compares `next` with the options of a running agent, and calls `tell` for each difference with
 * the old and the new text. An option that can't change in a running agent is set back in `next`,
 * and `kept` is true. */
void options_compare(struct options *next, const struct options *running,
		     enum option_command command,
		     void (*tell)(const char *name, const char *running, const char *wanted,
				  bool kept));
