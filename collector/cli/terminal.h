#pragma once
/* Prints for a person: as wide as the terminal (80 columns when piped), with colours on a terminal
 * only. Text from a recording never reaches the terminal as a control sequence. */
#include <stdbool.h>
#include <stddef.h>

enum style { STYLE_PLAIN, STYLE_BOLD, STYLE_DIM, STYLE_RED, STYLE_GREEN, STYLE_YELLOW };

/* Returns the width of standard output in columns: of the terminal, or as COLUMNS says. */
unsigned terminal_width(void);
bool terminal_colours(void);
/* Prints at most `width` columns of `text` (0: all of it), control characters as '?'. Longer text
 * ends in "...". Returns the columns used. */
unsigned terminal_text(enum style style, const char *text, unsigned width);
/* How names of functions are shown: --full-names, and --wide, which cuts no line. */
void terminal_show(bool full_names, bool wide);
/* Prints the name of a function: without template arguments and parameters (fold_name.h) unless
 * full names are wanted, and cut to `width` columns on a terminal. What is piped is not cut. */
unsigned terminal_name(enum style style, const char *name, unsigned width);
/* How terminal_name would do it: the columns that there are (0: any number), and whether names are
 * folded. */
void terminal_name_ways(unsigned *ret_width, bool *ret_short);
/* Returns the columns that terminal_text uses for the whole text. */
unsigned terminal_columns(const char *text);
/* Prints the first `columns` columns of `text`, and no sign that there are more. */
void terminal_cut(const char *text, unsigned columns);
/* Prints a sentence, wrapped at the width, with commands as they have to be typed here
 * (program_words). The caller has begun the first line; the others begin with `indent` blanks. */
void terminal_paragraph(enum style style, const char *sentence, unsigned indent);
/* Formats such a sentence and prints it, the whole of it indented by `indent` blanks. */
void terminal_say(enum style style, unsigned indent, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Prints a line: terminal_text, and its end. */
void terminal_line(enum style style, const char *text, unsigned width);
/* Prints `count` blanks. */
void terminal_blanks(unsigned count);
/* Prints a heading with an empty line before it. */
void terminal_heading(const char *text);
