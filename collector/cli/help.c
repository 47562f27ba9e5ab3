/* What `collector COMMAND --help` shows: made of the same tables that parse the command line. */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "collector/cli/command.h"
#include "base/ban.h"

#define HELP_COLUMN  28
#define HELP_WIDTH   79
#define USAGE_INDENT 4
#define WORD_MAX     32

/* Prints `text` with line breaks at blanks. The first line already holds `used` columns; the others
 * begin at `indent`. */
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

/* `text` with what the command puts in place of its {words}; NULL without memory. */
static const char *filled(const struct command *command, const char *text, struct buf *out)
{
	char word[WORD_MAX];
	const char *brace;

	if (!command->fill)
		return text;
	buf_clear(out);
	for (; (brace = strchr(text, '{')); text = brace + strlen(word) + 2) {
		buf_append(out, text, (size_t)(brace - text));
		snprintf(word, sizeof(word), "%.*s", (int)strcspn(brace + 1, "}"), brace + 1);
		command->fill(word, out);
	}
	buf_string(out, text);
	return buf_text(out);
}

static void option_help(const struct command *command, const struct option *option)
{
	cleanup(buf_done) struct buf room = {0};
	const char *help = filled(command, option->help, &room);
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
	wrapped(help ? help : option->help, HELP_COLUMN, HELP_COLUMN);
}

void command_help(const struct command *command)
{
	cleanup(buf_done) struct buf room = {0};
	const char *about = filled(command, command->about, &room);

	wrapped(command->usage, printf("Usage: collector %s", command->name), USAGE_INDENT);
	printf("\n%s", about ? about : command->about);
	for (const struct option_group *g = command->groups; g && g->options; g++) {
		printf("\n%s:\n", g->heading ? g->heading : "Options");
		for (const struct option *o = g->options; o->name; o++)
			option_help(command, o);
	}
	if (command->examples)
		printf("\nExamples:\n%s", command->examples);
}
