#pragma once
/*
 * Reads the daemon's configuration file: lines NAME = VALUE with the names of the long options.
 *
 *   # a comment; also after a value and a blank
 *   memory-limit = 16M
 *   output = "/var/lib/heapcast/a name with # in it"
 *
 * A name may occur only once. Blanks around names and values are ignored; quotes keep them.
 */
#include "agent/cli/options/options.h"

#define CONFIG_DEFAULT "/etc/heapcast/agent.conf"

struct err_text;

/* Applies the file `path` to the options. Their values point into *ret_text, which the caller frees
 * when it no longer uses them. Returns 0, or a negative errno with a sentence that names the file
 * and the line. */
int config_read(struct options *options, enum option_command command, const char *path,
		char **ret_text, struct err_text *err);
/* Like config_read, for a text in memory, which it modifies. */
int config_parse(struct options *options, enum option_command command, const char *path, char *text,
		 struct err_text *err);
