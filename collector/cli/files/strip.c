/* collector strip: writes a smaller recording, which keeps only sums of short-lived blocks. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/parse.h"
#include "collector/cli/commands.h"
#include "collector/cli/new_file.h"
#include "collector/cli/output.h"
#include "collector/cli/progress.h"
#include "collector/answers/answer.h"
#include "collector/rewrite/rewrite.h"
#include "collector/rewrite/strip.h"
#include "base/ban.h"

struct strip_options {
	struct common_options common;
	const char *output, *threshold;
	bool force;
};

#define THRESHOLD_NS ((uint64_t)10000000000)

/* Parses the threshold of short-lived blocks. Returns 0 or -EINVAL. */
static int threshold_of(const char *text, uint64_t *ret_ns)
{
	*ret_ns = THRESHOLD_NS;
	if (!text || !strcmp(text, "default"))
		return 0;
	if (!strcmp(text, "all")) {
		*ret_ns = STRIP_ALL;
		return 0;
	}
	return parse_duration(text, ret_ns) < 0 || !*ret_ns ? -EINVAL : 0;
}

struct told_strip {
	struct strip_result r;
	double ratio;
};

#define ANSWER_OF struct told_strip
static const struct answer_field strip_fields[] = {
	ROW("blocks", r.blocks, "blocks", "blocks that became sums"),
	ROW("events_before", r.events_before, "events", ""),
	ROW("events_after", r.events_after, "events", ""),
	ROW("bytes_before", r.bytes_before, "bytes", ""),
	ROW("bytes_after", r.bytes_after, "bytes", ""),
	ROW("ratio", ratio, NULL, "bytes_before divided by bytes_after"),
	{0},
};
#undef ANSWER_OF
static const struct answer strip_answer = {"stripped", strip_fields};

static void strip_print_text(FILE *out, const struct told_strip *t)
{
	char blocks[32], left[32], all[32], before[32], after[32];

	fprintf(out, "%s blocks became sums; %s of %s events are left.\n%s became %s",
		format_count(blocks, t->r.blocks), format_count(left, t->r.events_after),
		format_count(all, t->r.events_before),
		format_size(before, (double)t->r.bytes_before),
		format_size(after, (double)t->r.bytes_after));
	if (t->ratio >= 1.05)
		fprintf(out, ": %.1f times smaller.\n", t->ratio);
	else
		fprintf(out, ": there was little to leave out (--threshold).\n");
}

static int strip(const struct strip_options *o, const char *path, uint64_t threshold_ns,
		 struct strip_result *ret_result, struct err_text *err)
{
	cleanup(new_file_done) struct new_file file = NEW_FILE_NONE;
	static char doing[] = "stripping";
	struct copy_settings settings = {.progress = progress_show, .context = doing};
	int r = new_file_open(&file, o->output, o->force, err);

	settings.fd = file.fd;
	settings.name = o->output;
	if (!r)
		r = recording_strip(path, threshold_ns, &settings, ret_result, err);
	return r ? r : new_file_keep(&file, err);
}

static int strip_run(struct command_call *call)
{
	const struct strip_options *o = call->options;
	cleanup(cleanup_free) char *path = NULL;
	bool standard = o->output && !strcmp(o->output, "-");
	struct told_strip told = {.ratio = 0};
	struct err_text err = {0};
	uint64_t threshold_ns;
	int r;

	if (!o->output)
		return command_usage_error(call->command,
					   "the file to write is missing: --output FILE");
	if (standard && isatty(STDOUT_FILENO))
		return command_usage_error(call->command, "a recording is nothing for a terminal");
	if (threshold_of(o->threshold, &threshold_ns) < 0)
		return command_usage_error(call->command,
					   "--threshold takes a time such as 10s, or all, not '%s'",
					   o->threshold);
	r = command_find_stream(&o->common, call->argument_count ? call->arguments[0] : "last",
				&path, &err);
	if (!r)
		r = strip(o, path, threshold_ns, &told.r, &err);
	if (r < 0)
		return command_input_fault(call->command, r, &err);
	if (told.r.bytes_after)
		told.ratio = (double)told.r.bytes_before / (double)told.r.bytes_after;
	if (o->common.json)
		return output_answer(call->command, standard ? stderr : stdout, &strip_answer,
				     &told);
	strip_print_text(standard ? stderr : stdout, &told);
	return EXIT_DONE;
}

static const struct option strip_table[] = {
	OPTION_TEXT(struct strip_options, output, "output", "FILE",
		    "write the smaller recording here (-: standard output)"),
	OPTION_TEXT(
		struct strip_options, threshold, "threshold", "TIME",
		"blocks that lived shorter are replaced by sums (10s); all: whatever was freed"),
	OPTION_FLAG(struct strip_options, force, "force", "replace FILE if it is there"),
	{0},
};

static const struct option_group groups[] = {
	{NULL, strip_table}, {"Common options", common_table}, {0}};

static const struct strip_options defaults = {.common.data = DEFAULT_DATA};

const struct command command_strip = {
	.name = "strip",
	.answers = {&strip_answer},
	.work = "writing the recording",
	.summary = "a smaller recording: short-lived blocks replaced by their sums",
	.usage = "-o FILE [OPTION...] [STREAM]",
	.about = "Writes a recording as `agent run --short-lived` would have made it: blocks\n"
		 "that lived shorter than the threshold become sums by call stack, thread,\n"
		 "lifetime and size. What was allocated, freed and leaked stays the same, in\n"
		 "total and for each call stack, and the account balances. The timeline and the\n"
		 "peak leave those blocks out. The original recording is not changed.\n",
	.examples = "  collector strip -o small.heapcast last\n"
		    "  collector strip --threshold all -o leaks.heapcast last\n",
	.groups = groups,
	.options_size = sizeof(struct strip_options),
	.defaults = &defaults,
	.arguments_max = 1,
	.run = strip_run,
};
