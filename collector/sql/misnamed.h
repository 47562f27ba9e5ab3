#pragma once
/* What a statement names and does not exist: SQLite says its name, and not always where it is. */
#include <stddef.h>

struct err_text;

/* Reads SQLite's message "no such table: NAME" or "no such column: NAME". Returns the offset of
 * that name in the statement, where it is a word of its own for the first time, or -1. */
long misnamed_offset(const char *message, const char *text, size_t length);
/* Appends to the message, which is in `err`, which of our tables or columns may have been meant. */
void misnamed_suggest(struct err_text *err);
