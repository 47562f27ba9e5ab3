#pragma once
/* Draws graphs with Graphviz, if it is installed. */
#include <stdio.h>

struct buf;
struct err_text;

/* Has `dot` draw `text` as `kind` ("svg", "pdf") into the file. Returns -ENOPKG if `dot` is not
 * installed. */
int dot_draw(const struct buf *text, const char *kind, FILE *file, struct err_text *err);
