#pragma once
/* `collector export --anonymise`: writes a recording with other names (rewrite/anonymise.h). Before
 * that, functions get the names that the symbols in the data folder give them. Any other format is
 * made from the renamed recording. */
#include "collector/cli/ask/question.h"

struct anonymise_options {
	struct question_options question; /* the first member, so that its tables can be shared */
	bool wanted;
	struct option_list keep;
	const char *seed, *salt_file;
};

extern const struct option anonymise_table[];

/* Runs an export of the call, whose options are anonymise_options, with other names. Without a
 * format, or with "heapcast", it writes a recording. For any other format it calls `export` with
 * the renamed recording, and with options that do not ask for renaming again. Returns an exit
 * status. */
int anonymise_export(struct command_call *call, int (*export)(struct command_call *call));
