#pragma once
/* Prints for a person: as wide as the terminal (80 columns if piped), and in colour only on a
 * terminal. Text from a recording never reaches the terminal as a control sequence. */
#include <stdbool.h>
#include <stddef.h>

enum style { STYLE_PLAIN, STYLE_BOLD, STYLE_DIM, STYLE_RED, STYLE_GREEN, STYLE_YELLOW };

/* Returns the width of standard output in columns, from the terminal or from COLUMNS. */
unsigned terminal_width(void);
bool terminal_colours(void);
/* Prints at most `width` columns of `text` (0: all of it), with control characters as '?'. A longer
 * text ends in "...". Returns the number of columns used. */
unsigned terminal_text(enum style style, const char *text, unsigned width);
/* Sets how names of functions are shown: --full-names, and --wide, which cuts no line. */
void terminal_show(bool full_names, bool wide);
/* Prints the name of a function, without template arguments and parameters (fold_name.h) unless
 * full names are wanted. On a terminal the name is cut to `width` columns. Returns the number of
 * columns used. */
unsigned terminal_name(enum style style, const char *name, unsigned width);
/* Returns how terminal_name would print: the number of columns (0: unlimited), and whether names
 * are folded. */
void terminal_name_ways(unsigned *ret_width, bool *ret_short);
/* Returns the columns that terminal_text uses for the whole text. */
unsigned terminal_columns(const char *text);
/* Prints the first `columns` columns of `text`, without an ellipsis. */
void terminal_cut(const char *text, unsigned columns);
/* Prints a sentence, wrapped at the width. Commands in it are spelled as the user has to type them
 * (program_words). The caller has begun the first line. Further lines begin with `indent`
 * blanks. */
void terminal_paragraph(enum style style, const char *sentence, unsigned indent);
/* Formats a sentence and prints it as terminal_paragraph does, all of it indented by `indent`
 * blanks. */
void terminal_say(enum style style, unsigned indent, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Prints a text as terminal_text does, and a newline. */
void terminal_line(enum style style, const char *text, unsigned width);
/* Prints `count` blanks. */
void terminal_blanks(unsigned count);
/* Prints a heading with an empty line before it. */
void terminal_heading(const char *text);
