#pragma once
/* --suppress of leaks: which blocks are left out, and the words about them. */
#include "collector/answers/answer.h"
#include "collector/cli/ask/question.h"

#define OPTION_SUPPRESS                                                                            \
	OPTION_LIST(struct question_options, suppress, "suppress", "FILE",                         \
		    "leave out what a suppression file of LeakSanitizer names, beside the "        \
		    "libraries' own blocks; may be given more than once; none: leave out nothing " \
		    "that is built in (docs/suppressions.md)")

/* Reads the files and puts them into the question's filter. */
int suppressing_begin(struct question *question, struct err_text *err);
/* Asks what is left out of `value`; the filter has all its conditions by now. */
int suppressing_ask(struct question *question, struct err_text *err);
/* Writes "; 8 KiB in 2 of them suppressed", or nothing. */
const char *suppressing_words(const struct question *question, char *out, size_t size);
/* Lists the patterns that were used. */
void suppressing_print(const struct question *question);
