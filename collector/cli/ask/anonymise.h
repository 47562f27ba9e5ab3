#pragma once
/*
 * `collector export --anonymise`: a recording under other names (rewrite/anonymise.h),
 * with the names of functions as the data folder's symbols have them. Any other format is then made
 * of that recording.
 */
#include "collector/cli/command.h"

struct question_options;

struct anonymise_choice {
	bool wanted;
	struct option_list keep;
	const char *seed, *salt_file;
};

extern const struct option anonymise_table[];

/* The export that the call asks for, under other names: without a format, or with "heapcast", a
 * recording; any other format is made by `export`, which is called with options that ask for no
 * other names and with the recording that has them. An exit status. */
int anonymise_export(struct command_call *call, int (*export)(struct command_call *call));
