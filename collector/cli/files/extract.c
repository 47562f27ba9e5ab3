/* collector extract: writes files that came with a recording, or were fetched for it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/parse.h"
#include "base/write.h"
#include "collector/catalogue/store.h"
#include "collector/cli/commands.h"
#include "collector/cli/files/extract_place.h"
#include "collector/cli/output.h"
#include "collector/cli/table.h"
#include "collector/cli/progress.h"
#include "collector/answers/extract_items.h"
#include "collector/recording/names.h"
#include "base/ban.h"

struct extract_options {
	struct common_options common;
	const char *output;
	bool list, force;
};

/* ---- listing the items ---- */

static int extract_print(const struct command_call *call, const struct extract_items *items)
{
	const struct extract_options *o = call->options;

	if (o->common.json)
		return output_answer(call->command, stdout, &extract_items_answer, items);
	table_head(&extract_item_answer, STYLE_PLAIN);
	for (uint32_t i = 0; i < items->count; i++)
		table_row(&extract_item_answer, &items->list[i]);
	return EXIT_DONE;
}

/* ---- writing ---- */

static int extract_put_file(int to, const char *source)
{
	cleanup(cleanup_close) int from = open(source, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	char bytes[65536];
	ssize_t n = from < 0 ? -1 : 1;
	int r = 0;

	while (!r && n > 0) {
		n = read(from, bytes, sizeof(bytes));
		if (n > 0)
			r = write_all(to, bytes, (size_t)n);
	}
	return n < 0 ? -errno : r;
}

static int write_item(const struct extract_item *item, int below, bool replace,
		      struct err_text *err)
{
	cleanup(extract_place_done) struct extract_place place = EXTRACT_PLACE_NONE;
	int r = extract_place_open(&place, below, item->name, err);

	if (r < 0)
		return r;
	r = item->source ? extract_put_file(place.fd, item->source)
			 : write_all(place.fd, item->text, item->size);
	if (r < 0)
		return err_set(err, r, "writing %.300s: %s", item->name, strerror(-r));
	return extract_place_keep(&place, replace, err);
}

static int extract_open_folder(const char *path, struct err_text *err)
{
	int fd;

	if (mkdir(path, 0777) < 0 && errno != EEXIST)
		return err_set(err, -errno, "making the folder %.300s: %s", path, strerror(errno));
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_set(err, -errno, "opening the folder %.300s: %s", path, strerror(errno));
	return fd;
}

/* Writes all files. Reports a file that cannot be written, and continues. */
static int write_items(const struct command_call *call, const struct extract_items *items)
{
	const struct extract_options *o = call->options;
	const char *folder = o->output ? o->output : ".";
	struct err_text err = {0};
	cleanup(cleanup_close) int below = extract_open_folder(folder, &err);
	char count[FORMAT_COUNTED];
	uint32_t written = 0;
	bool there = false;

	if (below < 0)
		return command_fault(call->command, below, &err);
	for (uint32_t i = 0; i < items->count; i++) {
		int r = write_item(&items->list[i], below, o->force, &err);

		names_make_showable(err.text, strlen(err.text));
		if (r < 0)
			command_note(call->command, "%s", err.text);
		there |= r == -EEXIST;
		written += !r;
	}
	if (there)
		command_note(call->command, "--force replaces what is there");
	if (o->common.json)
		extract_print(call, items);
	else
		printf("%s written below %s\n", format_counted(count, written, "file"), folder);
	return written == items->count ? EXIT_DONE : EXIT_FAULT;
}

/* ---- the command ---- */

static int none(const struct command_call *call, const char *stream,
		const struct extract_items *items)
{
	const struct extract_options *o = call->options;

	if (o->common.json && o->list)
		extract_print(call, items);
	command_note(
		call->command,
		"nothing came with %s: none of its %u modules with a build id has "
		"a file in %s/" STORE_SYMBOLS
		" ('collector symbols fetch' asks their host for them), and no memory maps were "
		"gathered (agent run --gather-maps)",
		stream, items->modules, o->common.data);
	return EXIT_NO;
}

static int extract_run(struct command_call *call)
{
	const struct extract_options *o = call->options;
	const char *stream = call->argument_count ? call->arguments[0] : "last";
	cleanup(extract_items_done) struct extract_items items = {0};
	cleanup(cleanup_free) char *path = NULL, *symbols = NULL;
	struct err_text err = {0};
	int r = command_find_stream(&o->common, stream, &path, &err);

	if (!r && asprintf(&symbols, "%s/" STORE_SYMBOLS, o->common.data) < 0) {
		symbols = NULL;
		r = -ENOMEM;
	}
	if (!r)
		r = extract_items_find(path, symbols, progress_show, &items, &err);
	if (r < 0)
		return command_input_fault(call->command, r, &err);
	if (!items.count)
		return none(call, stream, &items);
	return o->list ? extract_print(call, &items) : write_items(call, &items);
}

static const struct option extract_table[] = {
	OPTION_TEXT(struct extract_options, output, "output", "DIR",
		    "write them below this folder, made if it is not there (the current one)"),
	OPTION_FLAG(struct extract_options, list, "list", "only say what there is"),
	OPTION_FLAG(struct extract_options, force, "force", "replace files that are there"),
	{0},
};

static const struct option_group groups[] = {
	{NULL, extract_table}, {"Common options", common_table}, {0}};

static const struct extract_options defaults = {.common.data = DEFAULT_DATA};

const struct command command_extract = {
	.name = "extract",
	.answers = {&extract_items_answer},
	.work = "extracting",
	.summary = "files that came with a recording: symbol files, memory maps",
	.usage = "[OPTION...] [STREAM]",
	.about =
		"Writes out what came with a recording or was fetched for it, each file under the\n"
		"path that it had on its host: programs and libraries of which the data folder\n"
		"has the file, by build id; their separate debug files, as PATH.debug; the last\n"
		"reading of memory maps, as proc/PID/maps and proc/PID/smaps. Nothing is written\n"
		"outside the folder. Exit status 1 if there is nothing.\n",
	.examples = "  collector extract --list last\n"
		    "  collector extract -o files last\n"
		    "  gdb -ex 'set sysroot files' files/usr/bin/sqlite3\n",
	.groups = groups,
	.options_size = sizeof(struct extract_options),
	.defaults = &defaults,
	.arguments_max = 1,
	.run = extract_run,
};
