#pragma once
/* Finds names in a statement that do not exist. SQLite's message contains the name, but not always
 * its position. */
#include <stddef.h>

struct err_text;

/* Parses SQLite's message "no such table: NAME" or "no such column: NAME". Returns the offset of
 * the first place in the statement where NAME is a whole word, or -1. */
long misnamed_offset(const char *message, const char *text, size_t length);
/* Appends to the message in `err` which of our tables or columns may have been meant. */
void misnamed_suggest(struct err_text *err);
