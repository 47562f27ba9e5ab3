#pragma once
/* Wraps messages at the width of a terminal. Output to a pipe or a file is not wrapped, so that
 * other programs can search it by line. */
#include <stdio.h>

struct buf;

struct wrap {
	unsigned width;	 /* in columns; 0: lines are left as they are */
	unsigned column; /* the current column; 0 at the start of a line */
	unsigned indent; /* of the lines that continue this one */
};

/* Appends `text`. The next call continues in the same line. Lines break at blanks. A continuation
 * line is indented as the line that it continues, or by two blanks. */
void wrap_text(struct wrap *wrap, struct buf *out, const char *text);
/* Prints `text` on standard error, wrapped if that is a terminal. */
void wrap_to_standard_error(const char *text);
