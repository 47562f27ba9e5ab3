#pragma once
/* `collector export --anonymise`: writes a recording under other names (rewrite/anonymise.h).
 * Functions have the names that the data folder's symbols give them. Any other format is then made
 * from that recording. */
#include "collector/cli/ask/question.h"

struct anonymise_options {
	struct question_options question; /* the first member, so that its tables can be shared */
	bool wanted;
	struct option_list keep;
	const char *seed, *salt_file;
};

extern const struct option anonymise_table[];

/* Runs the export that the call, which has anonymise_options, asks for, under other names. Without
 * a format, or with "heapcast", it writes a recording. For any other format it calls `export` with
 * the renamed recording, and with options that do not ask for renaming again. Returns an exit
 * status. */
int anonymise_export(struct command_call *call, int (*export)(struct command_call *call));
