#pragma once
/* Prints a table of an answer's members that are SHOWN as columns (answers/answer.h): "-" where a
 * value is not known. Texts come from outside, so they are printed as terminal_text does. */
#include "collector/cli/terminal.h"

struct answer;

/* Prints the titles. */
void table_head(const struct answer *answer, enum style style);
/* Prints the row of one object, as an element of a list if the answer has lists of it. */
void table_row(const struct answer *answer, const void *object);
/* The same without the end of the line. */
void table_cells(const struct answer *answer, const void *object);
