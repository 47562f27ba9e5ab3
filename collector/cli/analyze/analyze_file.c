/* collector analyze FILE: reads collapsed stacks. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/cli/analyze/analyze.h"
#include "collector/cli/output.h"
#include "collector/cli/progress.h"
#include "collector/formats/read/collapsed_read.h"
#include "collector/formats/read/source.h"
#include "collector/recording/file.h"

#include "base/ban.h"

DEFINE_CLEANUP(source_close, struct source *)

static size_t read_head(const char *path, unsigned char head[RECORDING_FILE_HEAD])
{
	cleanup(cleanup_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n = fd < 0 ? 0 : read(fd, head, RECORDING_FILE_HEAD);

	return n < 0 ? 0 : (size_t)n;
}

bool analyze_is_file(const char *path)
{
	unsigned char head[RECORDING_FILE_HEAD];
	size_t n;
	struct stat st;

	if (!strcmp(path, "-"))
		return true;
	if (stat(path, &st) < 0)
		return analyze_is_collapsed_name(
			path); /* the code that opens it reports that it is missing */
	if (S_ISDIR(st.st_mode))
		return false;
	if (!S_ISREG(st.st_mode))
		return true; /* a pipe can be read only once, so its beginning is not checked */
	n = read_head(path, head);
	return n < 4 || !recording_file_is(head, n);
}

/* Refuses options that need a recording. */
static int refuse_questions(const struct analyze *a)
{
	const struct question_options *q = &a->options->question;
	const char *option = q->value		? "value"
			     : q->at		? "at"
			     : q->filters.count ? q->filters.list[0].name
						: NULL;

	if (!option)
		return EXIT_DONE;
	return command_usage_error(
		a->command,
		"--%s asks about single allocations: %s is a file of collapsed stacks, which has "
		"sums only",
		option, a->source);
}

static int analyze_file_open_file(const struct analyze *a, struct source **ret_source)
{
	struct err_text err = {0};
	int r = output_apart(a->options->html, a->source, &err);

	if (!r)
		r = strcmp(a->source, "-")
			    ? source_open(a->source, ret_source, &err)
			    : source_open_fd(dup(STDIN_FILENO), "standard input", ret_source, &err);
	return r < 0 ? command_input_fault(a->command, r, &err) : EXIT_DONE;
}

static int analyze_file_add_line(void *context, const struct collapsed_line *line)
{
	struct analyze *a = context;

	return analysis_add(a->analysis, &(struct analysis_stack){.frames = line->frames,
								  .count = line->count,
								  .kept = line->kept,
								  .value = line->value});
}

static int analyze_file_show_progress(void *context, uint64_t done, uint64_t of)
{
	static char reading[] = "reading the stacks";

	(void)context;
	return of ? progress_show(reading, done < of ? done : of, of) : 0;
}

static int analyze_file_read_file(struct analyze *a, struct source *source)
{
	const struct collapsed_to to = {analyze_file_add_line, analyze_file_show_progress, a};
	struct collapsed_counts counts;
	struct err_text err = {0};
	int r = collapsed_read(source, analysis_frames(a->analysis), &to, &counts, &err);

	if (r < 0)
		return command_input_fault(a->command, r, &err);
	if (!counts.stacks) {
		err_set(&err, -EINVAL,
			"%s has no collapsed stacks, lines `frame;frame;frame BYTES`: none of its "
			"%llu lines is "
			"one",
			a->source, (unsigned long long)counts.lines);
		return command_input_fault(a->command, -EINVAL, &err);
	}
	collapsed_left_out_text(&counts, a->note, sizeof(a->note));
	return EXIT_DONE;
}

int analyze_file(struct command_call *call)
{
	struct analyze a = {
		.command = call->command, .options = call->options, .source = call->arguments[0]};
	cleanup(cleanup_source_close) struct source *source = NULL;
	enum export_weight weight;
	int status = refuse_questions(&a);

	if (!status)
		status = output_weight(call->command, a.options->question.weight, &weight);
	if (!status)
		status = analyze_begin(&a, false);
	if (!status)
		status = analyze_file_open_file(&a, &source);
	if (!status)
		status = analyze_file_read_file(&a, source);
	if (!status) {
		a.report.counts = weight == EXPORT_BLOCKS;
		a.report.options = a.report.counts ? "--weight blocks" : NULL;
		a.report.counted =
			a.report.counts ? "Counted: the numbers of the file, as blocks"
					: "Counted: the numbers of the file, as bytes: in use or "
					  "allocated, whichever its profiler wrote";
		a.report.title =
			!strcmp(a.source, "-") ? "standard input" : module_basename(a.source);
		a.report.note = *a.note ? a.note : NULL;
		status = analyze_show(&a, NULL);
	}
	analyze_done(&a);
	return status;
}
