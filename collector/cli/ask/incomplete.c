/* Says what a recording lacks. See incomplete.h. */
#include "collector/cli/ask/incomplete.h"

#include <stdio.h>

#include "collector/cli/command.h"
#include "collector/cli/terminal.h"
#include "collector/answers/json.h"
#include "collector/recording/completeness.h"

#include "base/ban.h"

void incomplete_print(const char *what, const struct completeness *c)
{
	enum style style = c->complete ? STYLE_DIM : STYLE_YELLOW;
	unsigned width;
	bool folded;

	if (!c->line[0])
		return;
	if (what)
		printf("%s: ", what);
	terminal_name_ways(&width, &folded);
	if (width)
		terminal_paragraph(style, c->line, 2);
	else /* one line, because people search piped text by line */
		terminal_line(style, c->line, 0);
}

void incomplete_json(struct json *json, const char *key, const struct completeness *c)
{
	if (c->line[0])
		json_string(json, key, c->line);
}

void incomplete_note(const struct command *command, const struct completeness *c)
{
	if (c->line[0])
		command_note(command, "%s", c->line);
}
