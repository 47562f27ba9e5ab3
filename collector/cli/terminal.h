#pragma once
/*
 * Writing for a person: as wide as the terminal (80 when piped), colours on a terminal only, and
 * nothing from a recording that a terminal would take for an order.
 */
#include <stdbool.h>
#include <stddef.h>

enum style { STYLE_PLAIN, STYLE_BOLD, STYLE_DIM, STYLE_RED, STYLE_GREEN, STYLE_YELLOW };

/* Columns of standard output. */
unsigned terminal_width(void);
bool terminal_colours(void);
/* Prints at most `width` columns of `text` (0: all), control characters as '?'; what is too long
 * ends in "...". Returns the columns used. */
unsigned terminal_text(enum style style, const char *text, unsigned width);
/* Columns that terminal_text uses for all of the text. */
unsigned terminal_columns(const char *text);
/* Prints a sentence, wrapped at the width; lines after the first begin with `indent` blanks, as the
 * caller has begun the first. */
void terminal_paragraph(enum style style, const char *text, unsigned indent);
/* `count` blanks. */
void terminal_blanks(unsigned count);
/* A heading with a blank line before it. */
void terminal_heading(const char *text);
