#pragma once
/*
 * The daemon's file: lines of NAME = VALUE with the names of the long options.
 *
 *   # a comment; also behind a value, after a blank
 *   memory-limit = 16M
 *   output = "/var/lib/heapcast/a name with # in it"
 *
 * Each name at most once. Blanks around names and values do not count; quotes keep them.
 */
#include "agent/cli/options.h"

#define CONFIG_DEFAULT "/etc/heapcast/agent.conf"

struct err_text;

/* Sets what the file `path` says. The values point into *ret_text, which the caller frees once they
 * are not used any more. 0; -EINVAL or another negative errno with a sentence that names file and
 * line. */
int config_read(struct options *options, enum option_command command, const char *path,
		char **ret_text, struct err_text *err);
/* The same of a text in memory, which is written to. */
int config_parse(struct options *options, enum option_command command, const char *path, char *text,
		 struct err_text *err);
