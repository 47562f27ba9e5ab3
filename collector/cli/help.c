/* What `collector COMMAND --help` shows: made of the same tables that parse the command line. */
#include <stdio.h>
#include <string.h>

#include "collector/cli/command.h"
#include "base/ban.h"

#define HELP_COLUMN  28
#define HELP_WIDTH   79
#define USAGE_INDENT 4

/* `text`, broken at blanks, where the line is `used` wide already; lines that follow begin at
 * `indent`. */
static void wrapped(const char *text, int used, int indent)
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
	if (n >= HELP_COLUMN - 1)
		printf("%s\n%*s", left, HELP_COLUMN, "");
	else
		printf("%-*s", HELP_COLUMN, left);
	wrapped(option->help, HELP_COLUMN, HELP_COLUMN);
}

void command_help(const struct command *command)
{
	wrapped(command->usage, printf("Usage: collector %s", command->name), USAGE_INDENT);
	printf("\n%s", command->about);
	for (const struct option_group *g = command->groups; g && g->options; g++) {
		printf("\n%s:\n", g->heading ? g->heading : "Options");
		for (const struct option *o = g->options; o->name; o++)
			option_help(o);
	}
	if (command->examples)
		printf("\nExamples:\n%s", command->examples);
}
