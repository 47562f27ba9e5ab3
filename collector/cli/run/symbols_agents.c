/* Asks agents for symbol files. See symbols_agents.h. */
#include "collector/cli/run/symbols_agents.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/parse.h"
#include "collector/cli/build_id.h"
#include "collector/cli/terminal.h"
#include "collector/control/control.h"

#include "base/ban.h"

struct asking {
	const struct wanted_file *file;
	bool terminal;
};

static void symbols_agents_show_progress(const struct asking *a, const char *line)
{
	uint64_t received, total;
	char at[32], all[32];

	if (sscanf(line, "at %" SCNu64 " %" SCNu64, &received, &total) != 2 || !a->terminal)
		return;
	if (total)
		fprintf(stderr, "\r%s of %s\033[K", format_size(at, (double)received),
			format_size(all, (double)total));
	else
		fprintf(stderr, "\rwaiting for an agent\033[K");
}

static void on_line(void *context, const char *line)
{
	struct asking *a = context;
	char id[BUILD_ID_TEXT];

	if (!strncmp(line, "at ", 3)) {
		symbols_agents_show_progress(a, line);
		return;
	}
	if (a->terminal)
		fprintf(stderr, "\r\033[K");
	printf("%s  ", build_id_format(id, a->file->build_id, a->file->build_id_length));
	terminal_text(STYLE_PLAIN, a->file->name, 0);
	printf("\n    ");
	terminal_line(STYLE_PLAIN, line + strcspn(line, " ") + (strchr(line, ' ') ? 1 : 0), 0);
	fflush(stdout);
}

int symbols_fetch_files(const char *data, const struct wanted_file *files, size_t count,
			size_t *ret_failed, struct err_text *err)
{
	struct asking a = {.terminal = isatty(STDERR_FILENO)};
	char id[BUILD_ID_TEXT], question[BUILD_ID_TEXT + 16];
	size_t failed = 0;

	for (size_t i = 0; i < count; i++) {
		int r;

		a.file = &files[i];
		snprintf(question, sizeof(question), "fetch %s",
			 build_id_format(id, files[i].build_id, files[i].build_id_length));
		r = control_ask(data, question, on_line, &a, err);
		if (r < 0)
			return r;
		failed += r == 1;
	}
	*ret_failed = failed;
	return 0;
}
