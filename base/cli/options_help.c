/* Prints the options for --help, from the same rows that parse the command line. */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/cli/options.h"
#include "base/cli/program.h"
#include "base/ban.h"

#define HELP_COLUMN 28
#define HELP_WIDTH  79

void options_print_wrapped(const char *text, int used, int indent)
{
	int column = used;

	while (*text) {
		int word = (int)strcspn(text, " ");

		if (column > indent && column + 1 + word > HELP_WIDTH) {
			printf("\n%*s", indent, "");
			column = indent;
		} else if (column > indent) {
			putchar(' ');
			column++;
		}
		printf("%.*s", word, text);
		column += word;
		text += word;
		text += strspn(text, " ");
	}
	putchar('\n');
}

static void options_help_row(const struct option_set *set, const struct option *option)
{
	cleanup(cleanup_free) char *help =
		set->filled ? set->filled(set->context, option->help) : NULL;
	cleanup(buf_done) struct buf words = {0};
	char left[80];
	int n;

	if (options_letter(option))
		n = snprintf(left, sizeof(left), "  -%c, --%s", options_letter(option),
			     option->name);
	else
		n = snprintf(left, sizeof(left), "      --%s", option->name);
	if (option->argument)
		n += snprintf(left + n, sizeof(left) - (size_t)n, " %s", option->argument);
	if (n >= HELP_COLUMN - 1)
		printf("%s\n%*s", left, HELP_COLUMN, "");
	else
		printf("%-*s", HELP_COLUMN, left);
	program_words(&words, help ? help : option->help);
	options_print_wrapped(buf_text(&words) ? buf_text(&words) : option->help, HELP_COLUMN,
			      HELP_COLUMN);
}

void options_print_help(const struct option_set *set)
{
	for (const struct option_group *g = set->groups; g && g->options; g++) {
		printf("\n%s:\n", g->heading ? g->heading : "Options");
		for (const struct option *o = g->options; o->name; o++)
			if (o->help && options_has(set, o))
				options_help_row(set, o);
	}
}
