/* What `collector COMMAND --help` shows: made of the same tables that parse the command line. */
#include <stdio.h>
#include <string.h>

#include "collector/cli/command.h"
#include "base/ban.h"

#define HELP_COLUMN 28
#define HELP_WIDTH  79

/* `text` from HELP_COLUMN on, broken at blanks; the line before it is already `used` wide. */
static void wrapped(const char *text, int used)
{
	int column = used;

	while (*text) {
		int word = (int)strcspn(text, " ");

		if (column > HELP_COLUMN && column + 1 + word > HELP_WIDTH) {
			printf("\n%*s", HELP_COLUMN, "");
			column = HELP_COLUMN;
		} else if (column > HELP_COLUMN) {
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

static void option_help(const struct option *option)
{
	char left[80];
	int n;

	if (option->letter)
		n = snprintf(left, sizeof(left), "  -%c, --%s", option->letter, option->name);
	else
		n = snprintf(left, sizeof(left), "      --%s", option->name);
	if (option->argument)
		n += snprintf(left + n, sizeof(left) - (size_t)n, " %s", option->argument);
	printf("%-*s", HELP_COLUMN, left);
	if (n >= HELP_COLUMN - 1)
		printf("\n%*s", HELP_COLUMN, "");
	wrapped(option->help, HELP_COLUMN);
}

void command_help(const struct command *command)
{
	printf("Usage: collector %s %s\n\n%s", command->name, command->usage, command->about);
	for (const struct option_group *g = command->groups; g && g->options; g++) {
		printf("\n%s:\n", g->heading ? g->heading : "Options");
		for (const struct option *o = g->options; o->name; o++)
			option_help(o);
	}
	if (command->examples)
		printf("\nExamples:\n%s", command->examples);
}
