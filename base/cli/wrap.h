#pragma once
/* Wraps messages at the width of a terminal. What goes into a pipe or a file is not wrapped, so
 * that others can search it by line. */
#include <stdio.h>

struct buf;

struct wrap {
	unsigned width;	 /* in columns; 0: lines are left as they are */
	unsigned column; /* where the text stands; 0: a line begins */
	unsigned indent; /* of the lines that continue this one */
};

/* Appends `text`. What follows in another call goes on in the same line. Lines break at blanks, and
 * those that continue a line are indented: as the line itself, or by two blanks. */
void wrap_text(struct wrap *wrap, struct buf *out, const char *text);
/* Prints it on standard error, wrapped if that is a terminal. */
void wrap_to_standard_error(const char *text);
