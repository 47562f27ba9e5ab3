#pragma once
/* A row of the table of options (options.c), for what reads and prints them. */
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
	const char *argument; /* as help shows it; NULL: takes none */
	unsigned commands;    /* enum option_command */
	enum option_type type;
	size_t offset; /* in struct options */
	const char *help;
};

/* NULL: there are no more. */
const struct option_row *option_row(unsigned index);
/* May a file set it? */
bool option_for_files(const struct option_row *row);
/* The option of `command` that was meant: one that begins so, else the one with the fewest wrong
 * letters; NULL: all are far. */
const char *option_nearest(const char *name, size_t length, unsigned command);
