#pragma once
/* A row of the table of options (options.c), for the code that parses and prints options. */
#include <stdbool.h>
#include <stddef.h>

enum option_type {
	TEXT,
	FLAG,
	SWITCH,
	SIZE,
	DURATION,
	NUMBER,
	MODE,
	POLICY,
	MAPS,
	SYMBOLS,
	ORDERS
};

struct option_row {
	const char *name;
	const char *argument; /* as --help shows it; NULL: the option takes no argument */
	unsigned commands;    /* set of enum option_command */
	enum option_type type;
	size_t offset; /* in struct options */
	const char *help;
};

/* Returns the row, or NULL behind the last one. */
const struct option_row *option_row(unsigned index);
/* True if a configuration file may set the option. */
bool option_for_files(const struct option_row *row);
/* Finds the option of `command` that was probably meant: one with this prefix, or else the one with
 * the smallest edit distance. Returns NULL if no option is near. */
const char *option_nearest(const char *name, size_t length, unsigned command);
/* Returns the present name of an option that was renamed, or NULL if `old` is no former name. */
const char *option_present_name(const char *old, size_t length);
/* Returns the former name of an option, or NULL if it has none. */
const char *option_old_name(const char *name);
