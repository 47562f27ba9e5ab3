/* collector import: turns files of other tools into streams, and adds to a stream what a board has
 * kept of it. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/parse.h"
#include "collector/cli/analyze/analyze.h"
#include "collector/cli/commands.h"
#include "collector/cli/files/import_said.h"
#include "collector/cli/new_file.h"
#include "collector/cli/output.h"
#include "collector/cli/terminal.h"
#include "collector/cli/progress.h"
#include "collector/answers/json.h"
#include "collector/formats/formats.h"
#include "collector/formats/import.h"
#include "collector/catalogue/beginning.h"
#include "collector/catalogue/continue.h"
#include "collector/catalogue/store.h"
#include "collector/recording/stream_id.h"
#include "collector/symbols/symbols.h"
#include "collector/http/server/import.h"
#include "collector/answers/answer.h"
#include "base/ban.h"

#define NOTE_INDENT 14

DEFINE_CLEANUP(symbols_free, struct symbols *)

struct import_command {
	struct common_options common;
	const char *format, *output, *unit;
	bool force;
};

/* Writes the recording to a new file. */
static int import_to_file(const char *path, const struct import_command *o,
			  const struct import_options *options, struct import_result *ret_result,
			  struct err_text *err)
{
	cleanup(new_file_done) struct new_file file = NEW_FILE_NONE;
	int r = new_file_open(&file, o->output, o->force, err);

	if (!r)
		r = import_file(path, file.fd, NULL, options, ret_result, err);
	return r ? r : new_file_keep(&file, err);
}

static void import_print_text(const char *path, const char *output,
			      const struct import_result *result)
{
	char id[STREAM_ID_TEXT], count[FORMAT_COUNTED];

	printf("%.12s  %s: %s%s%s%s, %s%s%s\n", stream_id_format(id, &result->id), path,
	       result->format, result->tool[0] ? " (" : "", result->tool,
	       result->tool[0] ? ")" : "", format_counted(count, result->events, "event"),
	       output ? ", in " : "", output ? output : "");
	if (result->note[0]) {
		terminal_blanks(NOTE_INDENT);
		terminal_paragraph(STYLE_PLAIN, result->note, NOTE_INDENT);
	}
}

static void import_print_json(struct json *json, const char *path, const char *output,
			      const struct import_result *result)
{
	json_object(json, NULL);
	import_say_members(json, path, result);
	json_string(json, "output", output);
	json_end(json, '}');
}

static const struct answer_field import_fields[] = {
	ROWS_BY_HAND(import_answer),
	BY_HAND("output", ANSWER_TEXT, NULL,
		"path of the recording that was made; null: it is in the data folder",
		.may_be_null = true),
	{0},
};
static const struct answer import_file_answer = {"imported_file", import_fields};

static const struct answer_field imported_fields[] = {
	BY_HAND("files", ANSWER_OBJECT, NULL, "files, in the order in which they were added",
		.of = &import_file_answer, .shape = ANSWER_LIST),
	{0},
};
static const struct answer imported_answer = {"imported", imported_fields};

struct rest {
	const char *path;
	struct recording_beginning beginning;
};

static int compare_rests(const void *a, const void *b)
{
	return recording_beginning_compare(&((const struct rest *)a)->beginning,
					   &((const struct rest *)b)->beginning);
}

static bool import_is_recording(const struct import_command *o, const char *path)
{
	return !o->format && !o->output && !analyze_is_file(path);
}

/* Takes recordings out of the arguments, and sorts them into the order in which they must be
 * added. */
static int take_rests(struct command_call *call, struct rest *rests, size_t *ret_count,
		      struct err_text *err)
{
	int left = 0, r;

	*ret_count = 0;
	for (int i = 0; i < call->argument_count; i++) {
		struct rest *rest = &rests[*ret_count];

		rest->path = call->arguments[i];
		if (!import_is_recording(call->options, rest->path)) {
			call->arguments[left++] = call->arguments[i];
			continue;
		}
		r = recording_beginning(rest->path, &rest->beginning, err);
		if (r < 0)
			return r;
		++*ret_count;
	}
	call->argument_count = left;
	qsort(rests, *ret_count, sizeof(*rests), compare_rests);
	return 0;
}

/* All files that make the stream, for people. */
static void name_all(struct buf *out, const char *const *paths, size_t count)
{
	buf_clear(out);
	for (size_t i = 0; i < count; i++)
		buf_printf(out, "%s%s", i ? ", " : "", paths[i]);
}

static int continue_streams(struct command_call *call, struct store *store, struct json *json,
			    const struct rest *rests, size_t count)
{
	const struct import_command *o = call->options;
	cleanup(cleanup_free) const char **paths = calloc(count + 1, sizeof(*paths));
	cleanup(buf_done) struct buf names = {0};
	static char doing[] = "importing";

	for (size_t i = 0, n; paths && i < count; i += n) {
		struct stream_continued continued;
		struct import_result result;
		struct err_text err = {0};
		int r;

		for (n = 0;
		     i + n < count && !memcmp(&rests[i + n].beginning.id, &rests[i].beginning.id,
					      sizeof(rests[i].beginning.id));
		     n++)
			paths[n] = rests[i + n].path;
		r = store_continue(store, paths, n, progress_show, doing, &continued, &err);
		if (r < 0)
			return command_input_fault(call->command, r, &err);
		import_say_continued(&continued, &result);
		name_all(&names, paths, n);
		if (o->common.json)
			import_print_json(json, buf_text(&names), NULL, &result);
		else
			import_print_text(buf_text(&names), NULL, &result);
	}
	return paths ? EXIT_DONE : command_fault(call->command, -ENOMEM, NULL);
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
		.progress = progress_show,
		.context = doing,
	};

	for (int i = 0; i < call->argument_count; i++) {
		const char *path = call->arguments[i];
		struct import_result result = {0};
		struct err_text err = {0};
		int r = store ? import_to_store(path, store, &options, &result, &err)
			      : import_to_file(path, o, &options, &result, &err);

		if (r == -EBADMSG && !analyze_is_file(path))
			err_set(&err, r,
				"%s is a recording already: commands take it as it is, "
				"'collector report %s'",
				path, path);

		if (r < 0)
			return command_input_fault(call->command, r, &err);
		if (o->common.json)
			import_print_json(json, path, o->output, &result);
		else
			import_print_text(path, o->output, &result);
	}
	return EXIT_DONE;
}

static int import_check(const struct command_call *call)
{
	const struct import_command *o = call->options;
	char names[FORMAT_NAMES_MAX];

	if (o->format && !format_to_read(o->format))
		return command_usage_error(call->command, "--format takes %s, not '%s'",
					   format_names_read(names, " or "), o->format);
	if (o->output && call->argument_count > 1)
		return command_usage_error(call->command,
					   "--output is one recording: it takes one file");
	return EXIT_DONE;
}

static int import_run(struct command_call *call)
{
	const struct import_command *o = call->options;
	cleanup(cleanup_free) struct rest *rests =
		calloc((size_t)call->argument_count, sizeof(*rests));
	cleanup(buf_done) struct buf out = {0};
	cleanup(cleanup_symbols_free) struct symbols *symbols = NULL;
	struct store *store = NULL;
	struct err_text err = {0};
	struct json json;
	size_t count = 0;
	int status = import_check(call), r = 0;

	if (status)
		return status;
	if (!rests)
		return command_fault(call->command, -ENOMEM, NULL);
	r = take_rests(call, rests, &count, &err);
	if (r < 0)
		return command_input_fault(call->command, r, &err);
	r = symbols_new(&(struct symbols_options){0}, &symbols, &err);
	if (!r && !o->output)
		r = store_open(o->common.data, STORE_WRITE, &store, &err);
	if (r < 0)
		return command_fault(call->command, r, &err);
	output_json_begin(call->command, &json, &out);
	json_array(&json, "files");
	status = continue_streams(call, store, &json, rests, count);
	if (!status)
		status = import_all(call, store, symbols, &json);
	store_close(store);
	json_end(&json, ']');
	json_end(&json, '}');
	return o->common.json && !status ? output_json(call->command, stdout, &out) : status;
}

static void import_fill(const char *word, struct buf *out)
{
	char names[FORMAT_NAMES_MAX];

	if (!strcmp(word, "names"))
		buf_string(out, format_names_read(names, " or "));
	else
		for (const struct format *f = formats; f->name; f++)
			if (f->reader)
				buf_printf(out, "  %-10s  %s\n", f->name, f->reads);
}

static const struct option import_table[] = {
	OPTION_TEXT(struct import_command, format, "format", "FORMAT",
		    "{names} (default: told by the content)"),
	OPTION_TEXT(struct import_command, output, "output", "FILE",
		    "write the recording here, instead of adding a stream to the data folder"),
	OPTION_FLAG(struct import_command, force, "force", "replace FILE if it is there"),
	OPTION_TEXT(struct import_command, unit, "unit", "WHAT",
		    "collapsed, google-pprof --raw: what its numbers are: bytes (the default), "
		    "blocks, or a word of your own"),
	{0},
};

static const struct option_group groups[] = {
	{NULL, import_table},
	{"Common options", folder_table},
	{0},
};

static const struct import_command defaults = {.common.data = DEFAULT_DATA};

const struct command command_import = {
	.name = "import",
	.work = "importing",
	.answers = {&imported_answer},
	.summary = "what a board has kept; profiles of heaptrack, pprof, jemalloc...",
	.usage = "[OPTION...] FILE...",
	.about = "Makes streams of files that other tools wrote, so that every question can be\n"
		 "asked of them: report, top, leaks, tree, flamegraph, diff.\n"
		 "\n"
		 "A recording that an agent wrote because its collector was gone, or what it left\n"
		 "in the folder of --spool, continues the stream that is 'interrupted' here; what\n"
		 "is here already is skipped.\n"
		 "\n"
		 "{formats}"
		 "\n"
		 "Files may be packed by gzip or zstd; those of jemalloc and gperftools may have\n"
		 "names in front (\"--- symbol\", of jeprof --raw). Sums have no times, so their\n"
		 "peak is what is in use. Estimates come with their error, counts without.\n",
	.fill = import_fill,
	.examples = "  collector import heapcast_app_1700000000_42.heapcast   the rest of a "
		    "stream\n"
		    "  collector import heaptrack.app.4711.zst && collector report last\n"
		    "  collector import --output app.heapcast jeprof.4711.0.f.heap\n"
		    "  collector diff --base app.heapcast last\n",
	.groups = groups,
	.options_size = sizeof(struct import_command),
	.defaults = &defaults,
	.arguments_min = 1,
	.arguments_max = -1,
	.run = import_run,
};
