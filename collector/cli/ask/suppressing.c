/* Leaves out blocks by --suppress of leaks. See suppressing.h. */
#include "collector/cli/ask/suppressing.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/parse.h"
#include "collector/cli/terminal.h"

#include "base/ban.h"

static bool suppressing_known(const struct option_list *files)
{
	for (size_t i = 0; i < files->count; i++)
		if (!strcmp(files->texts[i], "none"))
			return false;
	return true;
}

int suppressing_begin(struct question *q, struct err_text *err)
{
	const struct option_list *files = &q->options->suppress;
	const char *first;
	size_t ignored;
	int r = 0;

	q->suppressions = suppressions_new(suppressing_known(files));
	if (!q->suppressions)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; !r && i < files->count; i++)
		if (strcmp(files->texts[i], "none") != 0)
			r = suppressions_read(q->suppressions, files->texts[i], err);
	if (r < 0)
		return r == -ENOMEM ? err_set(err, r, "out of memory") : r;
	ignored = suppressions_ignored(q->suppressions, &first);
	if (ignored)
		command_note(q->command,
			     "--suppress: %zu line%s for other sanitizers, the first for "
			     "%s:",
			     ignored, ignored == 1 ? " is" : "s are", first);
	if (suppressing_known(files) || suppressions_count(q->suppressions))
		q->filter.suppress = q->suppressions;
	return 0;
}

int suppressing_ask(struct question *q, struct err_text *err)
{
	return query_suppressed(q->view, &q->filter, q->value, q->at_ns, &q->suppressed, err);
}

const char *suppressing_words(const struct question *q, char *out, size_t size)
{
	const struct usage *total = &q->suppressed.total;
	char bytes[32], blocks[32];

	out[0] = 0;
	if (total->blocks)
		snprintf(out, size, "; %s in %s of them suppressed",
			 format_size(bytes, (double)total->bytes),
			 format_count(blocks, total->blocks));
	return out;
}

void suppressing_print(const struct question *q)
{
	const struct suppressed *s = &q->suppressed;
	char bytes[32], blocks[32], line[512];

	if (!s->count)
		return;
	putchar('\n');
	terminal_line(STYLE_DIM, "SUPPRESSED  BLOCKS  BY", 0);
	for (size_t i = 0; i < s->count; i++) {
		const struct suppressed_by *by = &s->list[i];

		printf("%10s %7s  ", format_size(bytes, (double)by->usage.bytes),
		       format_count(blocks, by->usage.blocks));
		snprintf(line, sizeof(line), "%s%.200s%s%s", by->about ? "" : "leak:", by->pattern,
			 by->about ? "  " : "", by->about ? by->about : "");
		terminal_line(STYLE_PLAIN, line, by->about ? terminal_width() - 20 : 0);
	}
}
