#pragma once
/* Prints a table of an answer's members that are SHOWN as columns (answers/answer.h), with "-" for
 * unknown values. Texts come from outside, so they are printed with terminal_text. */
#include "collector/cli/terminal.h"

struct answer;

/* Prints the titles. */
void table_head(const struct answer *answer, enum style style);
/* Prints the row of one object, which is an element if the answer has lists of it. */
void table_row(const struct answer *answer, const void *object);
/* Does the same without a newline. */
void table_cells(const struct answer *answer, const void *object);
