/* collector pack: writes a recording that includes the names of its functions, and on request their
 * binaries. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/parse.h"
#include "collector/cli/commands.h"
#include "collector/cli/new_file.h"
#include "collector/cli/files/pack_files.h"
#include "collector/cli/ask/question.h"
#include "collector/cli/output.h"
#include "collector/cli/progress.h"
#include "collector/answers/answer.h"
#include "proto/stack_columns.h"
#include "collector/recording/info.h"
#include "collector/recording/recording.h"
#include "collector/rewrite/bring_names.h"
#include "base/ban.h"

struct pack_options {
	struct question_options question; /* has the symbols and the output */
	bool force, with_binaries;
};

/* Returns the functions that the view has named, as rows of the place that will be written. */
static bool pack_frame_of(void *context, uint32_t node, uint32_t index,
			  struct named_frame *ret_frame)
{
	struct view *view = context;
	struct view_frame frame;

	if (index >= view_frame_count(view, node))
		return false;
	frame = view_frame(view, node, index);
	*ret_frame = (struct named_frame){frame.function, frame.file, frame.line};
	return true;
}

static bool is_said(void *context, uint32_t node)
{
	const struct recording *recording = view_recording(context);
	const struct stack_node *n = recording_node(recording, node);
	uint32_t first, count;

	return n && recording_named(recording, n->module, n->offset, &first, &count);
}

static void left_out(void *context, const struct bring_file *file, const char *why)
{
	(void)context;
	(void)file;
	command_note(&command_pack, "%s: it is left out", why);
}

static void pack_print_text(FILE *out, const struct name_result *r)
{
	char named[32], places[32], before[32], after[32], files[32];

	fprintf(out, "%s of %s places have names; %s became %s.\n", format_count(named, r->named),
		format_count(places, r->places), format_size(before, (double)r->bytes_before),
		format_size(after, (double)r->bytes_after));
	if (r->files)
		fprintf(out, "%s %s in it, %s.\n", format_count(files, r->files),
			r->files == 1 ? "binary is" : "binaries are",
			format_size(before, (double)r->file_bytes));
}

#define ANSWER_OF struct name_result
static const struct answer_field pack_fields[] = {
	ROW("places", places, NULL, "places in backtraces"),
	ROW("named", named, NULL, "places with a name"),
	ROW("binaries", files, NULL, "binaries in the file"),
	ROW("binary_bytes", file_bytes, "bytes", "bytes of these binaries"),
	ROW("bytes_before", bytes_before, "bytes", ""),
	ROW("bytes_after", bytes_after, "bytes", ""),
	{0},
};
#undef ANSWER_OF
static const struct answer pack_answer = {"packed", pack_fields};

static int pack(const struct pack_options *o, const struct question *q,
		struct name_result *ret_result, struct err_text *err)
{
	cleanup(new_file_done) struct new_file file = NEW_FILE_NONE;
	cleanup(pack_files_done) struct pack_files files = {0};
	static char doing[] = "packing";
	struct name_settings settings = {.copy = {.progress = progress_show, .context = doing},
					 .frame = pack_frame_of,
					 .said = is_said,
					 .left_out = left_out,
					 .context = q->view};
	int r = new_file_open(&file, o->question.output, o->force, err);

	if (!r && o->with_binaries)
		r = pack_files_find(&files, q, err);
	settings.copy.fd = file.fd;
	settings.copy.name = o->question.output;
	settings.files = files.list;
	settings.file_count = files.count;
	if (!r)
		r = recording_bring_names(q->path, &settings, ret_result, err);
	return r ? r : new_file_keep(&file, err);
}

static int pack_run(struct command_call *call)
{
	const struct pack_options *o = call->options;
	const char *output = o->question.output;
	bool standard = output && !strcmp(output, "-");
	struct name_result result;
	struct err_text err = {0};
	struct question q;
	int r, status;

	if (!output)
		return command_usage_error(call->command,
					   "the file to write is missing: --output FILE");
	if (standard && isatty(STDOUT_FILENO))
		return command_usage_error(call->command, "a recording is nothing for a terminal");
	status = question_open(call, VALUE_ALLOCATED, &q);
	if (status)
		return status;
	r = pack(o, &q, &result, &err);
	question_close(&q);
	if (r < 0)
		return command_input_fault(call->command, r, &err);
	if (o->question.common.json)
		return output_answer(call->command, standard ? stderr : stdout, &pack_answer,
				     &result);
	pack_print_text(standard ? stderr : stdout, &result);
	return EXIT_DONE;
}

static const struct option pack_table[] = {
	OPTION_TEXT(struct pack_options, question.output, "output", "FILE",
		    "write the recording with its names here (-: standard output)"),
	OPTION_FLAG(struct pack_options, with_binaries, "with-binaries",
		    "put the binaries of its code into it, too, as they are found here"),
	OPTION_FLAG(struct pack_options, force, "force", "replace FILE if it is there"),
	SYMBOL_OPTIONS(struct pack_options, question.symbols),
	{0},
};

static const struct option_group groups[] = {
	{NULL, pack_table}, {"Common options", common_table}, {0}};

static const struct pack_options defaults = {.question.common.data = DEFAULT_DATA};

const struct command command_pack = {
	.name = "pack",
	.answers = {&pack_answer},
	.work = "packing",
	.summary = "a recording that brings its names along, for another machine",
	.usage = "-o FILE [OPTION...] [STREAM]",
	.about =
		"Writes the recording with the names, source files and lines of all places in it,\n"
		"inlined functions included. Whoever has this file needs neither the program nor\n"
		"its debug information to see where memory goes. What has no name here stays as\n"
		"it is; symbols that are found later can name it. Nothing else is changed, and\n"
		"the original recording stays as it is.\n"
		"\n"
		"With --with-binaries the ELF file of each module that has a place in a\n"
		"backtrace is in it, too: the one with its build id that tells most, a debug file\n"
		"before the stripped program; none of more than 512 MiB, and none that only a\n"
		"debuginfod server has. 'collector symbols add FILE' takes them out on another\n"
		"machine, and other recordings of the same programs have names there. What is\n"
		"left out is named on standard error. Whoever has FILE has those programs.\n",
	.examples = "  collector pack -o named.heapcast last\n"
		    "  collector pack --symbols ./debug -o whole.heapcast last\n"
		    "  collector pack --with-binaries -o all.heapcast last\n"
		    "  collector report named.heapcast\n",
	.groups = groups,
	.options_size = sizeof(struct pack_options),
	.defaults = &defaults,
	.arguments_max = 1,
	.run = pack_run,
};
