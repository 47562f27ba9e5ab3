/* collector import: files of other tools become streams. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/parse.h"
#include "collector/cli/analyze.h"
#include "collector/cli/commands.h"
#include "collector/cli/terminal.h"
#include "collector/export/export.h"
#include "collector/import/import.h"
#include "collector/store/store.h"
#include "collector/symbols/symbols.h"
#include "base/ban.h"

#define NOTE_INDENT 14

DEFINE_CLEANUP(symbols_free, struct symbols *)

struct import_command {
	struct common_options common;
	const char *format, *output, *unit;
};

/* Never over a file that is there already: a recording is not made twice. */
static int import_to_file(const char *path, const char *output,
			  const struct import_options *options, struct import_result *ret_result,
			  struct err_text *err)
{
	int fd = open(output, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600), r;

	if (fd < 0)
		return err_set(err, -errno, "cannot make %s: %s", output, strerror(errno));
	r = import_file(path, fd, NULL, options, ret_result, err);
	if (!r && fsync(fd) < 0)
		r = err_set(err, -errno, "cannot write %s: %s", output, strerror(errno));
	close(fd);
	if (r < 0)
		unlink(output);
	return r;
}

static void print_text(const char *path, const char *output, const struct import_result *result)
{
	char id[STREAM_ID_TEXT], count[32];

	printf("%.12s  %s: %s%s%s%s, %s events%s%s\n", stream_id_format(id, &result->id), path,
	       result->format, result->tool[0] ? " (" : "", result->tool,
	       result->tool[0] ? ")" : "", format_count(count, result->events),
	       output ? ", in " : "", output ? output : "");
	if (result->note[0]) {
		terminal_blanks(NOTE_INDENT);
		terminal_paragraph(STYLE_PLAIN, result->note, NOTE_INDENT);
	}
}

static void print_json(struct json *json, const char *path, const char *output,
		       const struct import_result *result)
{
	char id[STREAM_ID_TEXT];

	json_object(json, NULL);
	json_string(json, "file", path);
	json_string(json, "id", stream_id_format(id, &result->id));
	json_string(json, "format", result->format);
	json_string(json, "tool", result->tool);
	json_string(json, "note", result->note);
	json_u64(json, "events", result->events);
	json_string(json, "output", output);
	json_end(json, '}');
}

static int import_all(struct command_call *call, struct store *store, struct symbols *symbols,
		      struct json *json)
{
	const struct import_command *o = call->options;
	static char doing[] = "importing";
	const struct import_options options = {
		.format = o->format,
		.unit = o->unit,
		.symbols = symbols,
		.progress = command_progress,
		.context = doing,
	};

	for (int i = 0; i < call->argument_count; i++) {
		const char *path = call->arguments[i];
		struct import_result result = {0};
		struct err_text err = {0};
		int r = store ? import_to_store(path, store, &options, &result, &err)
			      : import_to_file(path, o->output, &options, &result, &err);

		if (r == -EBADMSG && !analyze_is_file(path))
			err_set(&err, r,
				"%s is a recording already: commands take it as it is, "
				"'collector report %s'",
				path, path);

		if (r < 0)
			return command_input_fault(call->command, r, &err);
		if (o->common.json)
			print_json(json, path, o->output, &result);
		else
			print_text(path, o->output, &result);
	}
	return EXIT_DONE;
}

static int check(const struct command_call *call)
{
	const struct import_command *o = call->options;

	if (o->format && !import_knows(o->format))
		return command_usage_error(
			call->command, "--format takes " IMPORT_FORMATS ", not '%s'", o->format);
	if (o->output && call->argument_count > 1)
		return command_usage_error(call->command,
					   "--output is one recording: it takes one file");
	return EXIT_DONE;
}

static int run(struct command_call *call)
{
	const struct import_command *o = call->options;
	cleanup(buf_done) struct buf out = {0};
	cleanup(cleanup_symbols_free) struct symbols *symbols = NULL;
	struct store *store = NULL;
	struct err_text err = {0};
	struct json json;
	int status = check(call), r = 0;

	if (status)
		return status;
	r = symbols_new(&(struct symbols_options){0}, &symbols, &err);
	if (!r && !o->output)
		r = store_open(o->common.data, STORE_WRITE, &store, &err);
	if (r < 0)
		return command_fault(call->command, r, &err);
	json_init(&json, &out);
	json_array(&json, NULL);
	status = import_all(call, store, symbols, &json);
	store_close(store);
	json_end(&json, ']');
	buf_byte(&out, '\n');
	if (o->common.json && !status)
		fwrite(out.data, 1, out.length, stdout);
	return status;
}

static const struct option import_table[] = {
	OPTION_TEXT(struct import_command, format, "format", "FORMAT",
		    IMPORT_FORMATS " (default: told by the content)"),
	OPTION_TEXT(struct import_command, output, "output", "FILE",
		    "write the recording here, instead of adding a stream to the data folder"),
	OPTION_TEXT(struct import_command, unit, "unit", "WHAT",
		    "collapsed, google-pprof --raw: what its numbers are: bytes (the default), "
		    "blocks, or a word of your own"),
	{0},
};

static const struct option_group groups[] = {
	{NULL, import_table},
	{"Common options", common_table},
	{0},
};

static const struct import_command defaults = {.common.data = DEFAULT_DATA};

const struct command command_import = {
	.name = "import",
	.summary = "profiles of other tools: heaptrack, pprof, jemalloc, gperftools...",
	.usage = "[OPTION...] FILE...",
	.about = "Makes streams of files that other tools wrote, so that every question can be\n"
		 "asked of them: report, top, leaks, tree, flamegraph, diff.\n"
		 "\n"
		 "  heaptrack   every allocation, with times (text of versions 1 to 3)\n"
		 "  jemalloc    heap_v2: sums a backtrace and thread, scaled up as jeprof does\n"
		 "  gperftools  heap profile: sums a backtrace, scaled up as google-pprof does\n"
		 "              (both also with names in front, \"--- symbol\", of jeprof --raw)\n"
		 "  pprof       sums a backtrace\n"
		 "  collapsed   lines `frame;frame;frame NUMBER`\n"
		 "\n"
		 "Files may be packed by gzip or zstd. Sums have no times, so their peak is what\n"
		 "is in use. Estimates come with their error, counts without.\n",
	.examples = "  collector import heaptrack.app.4711.zst && collector report last\n"
		    "  collector import --output app.heapcast jeprof.4711.0.f.heap\n"
		    "  collector diff --base app.heapcast last\n",
	.groups = groups,
	.options_size = sizeof(struct import_command),
	.defaults = &defaults,
	.arguments_min = 1,
	.arguments_max = -1,
	.run = run,
};
