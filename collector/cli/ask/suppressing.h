#pragma once
/* --suppress of leaks: leaves out blocks by patterns, and says what was left out. */
#include "collector/answers/answer.h"
#include "collector/cli/ask/question.h"

#define OPTION_SUPPRESS                                                                            \
	OPTION_LIST(struct question_options, suppress, "suppress", "FILE",                         \
		    "leave out what a suppression file of LeakSanitizer names, beside the "        \
		    "libraries' own blocks; may be given more than once; none: leave out nothing " \
		    "that is built in (docs/suppressions.md)")

/* Reads the files, and puts the patterns into the question's filter. Returns 0 or a negative
 * errno. */
int suppressing_begin(struct question *question, struct err_text *err);
/* Computes what the patterns leave out of `value`. The caller sets all other conditions of the
 * filter first. Returns 0 or a negative errno. */
int suppressing_ask(struct question *question, struct err_text *err);
/* Writes "; 8 KiB in 2 of them suppressed", or "". Returns `out`. */
const char *suppressing_words(const struct question *question, char *out, size_t size);
/* Prints the patterns that matched anything. */
void suppressing_print(const struct question *question);
