/* collector export: writes files for other tools. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/parse.h"
#include "collector/cli/ask/anonymise.h"
#include "collector/cli/ask/incomplete.h"
#include "collector/cli/ask/question.h"
#include "collector/cli/files/dot.h"
#include "collector/cli/new_file.h"
#include "collector/cli/output.h"
#include "collector/formats/formats.h"

#include "base/ban.h"

#define STEP_BYTES 65536
#define MUCH_BYTES (256u << 20) /* size from which a note is printed */

/* ---- the request ---- */

static int read_percent(const char *text, double *ret_percent, struct err_text *err)
{
	char *end;

	*ret_percent = strtod(text, &end);
	return end != text && !*end && *ret_percent >= 0 && *ret_percent <= 100
		       ? 0
		       : err_set(err, -EINVAL,
				 "--percent-min takes a number from 0 to 100, not '%.60s'", text);
}

static int read_writing(struct question *q, const struct question_options *o,
			enum export_weight weight, struct writing *ret_writing,
			struct err_text *err)
{
	struct writing w = {
		.view = q->view,
		.filter = &q->filter,
		.value = q->value,
		.value_given = o->value || q->at_ns != NO_TIME,
		.at_ns = q->at_ns,
		.weight = weight,
		.title = o->title,
		.incomplete = q->recorded.completeness.line,
		.percent_min = -1,
		.count = o->count ? o->count : UINT64_MAX,
		.with_stacks = o->with_stacks,
	};

	if (o->percent_min && read_percent(o->percent_min, &w.percent_min, err) < 0)
		return -EINVAL;
	if (o->table && rows_table(o->table, &w.tables) < 0)
		return err_set(err, -EINVAL, "--table takes allocations or backtraces, not '%.60s'",
			       o->table);
	*ret_writing = w;
	return 0;
}

/* ---- writing ---- */

static int flush_to_file(struct buf *out, FILE *file)
{
	if (buf_error(out))
		return buf_error(out);
	if (out->length && fwrite(out->data, 1, out->length, file) != out->length) {
		int error = errno;

		output_failed(error);
		return -error;
	}
	buf_clear(out);
	return 0;
}

/* Prints a note on the size, if it is large, for a person who is watching. */
static int tell_size(const struct command *command, struct format_output *output,
		     struct err_text *err)
{
	char text[32];
	uint64_t bytes;
	int r = format_estimate(output, &bytes, err);

	if (!r && bytes >= MUCH_BYTES)
		command_note(
			command, "about %s will be written; %s", format_size(text, (double)bytes),
			output->writing.with_stacks ? "without --with-stacks it is less, and so "
						      "with --count and filters"
						    : "with --count and filters it is less");
	return r;
}

static int export_write_all(const struct command *command, struct format_output *output, FILE *file,
			    struct err_text *err)
{
	const char *drawn_as = output->format->drawn_as;
	cleanup(buf_done) struct buf out = {0};
	int more = 1, r = 0;

	if (isatty(STDERR_FILENO))
		r = tell_size(command, output, err);
	while (!r && more) {
		more = format_some(output, drawn_as ? SIZE_MAX : STEP_BYTES, &out, err);
		r = more < 0 ? more : drawn_as ? 0 : flush_to_file(&out, file);
	}
	return r || !drawn_as ? r : dot_draw(&out, drawn_as, file, err);
}

static int write_format(struct question *q, const struct question_options *o,
			const struct format *format, enum export_weight weight)
{
	const char *path = o->output ? o->output : "-";
	bool standard = !strcmp(path, "-");
	cleanup(new_file_done) struct new_file to = NEW_FILE_NONE;
	cleanup(cleanup_fclose) FILE *opened = NULL;
	cleanup(format_output_done) struct format_output output = {.format = format};
	struct err_text err = {0};
	FILE *file = stdout;
	int r;

	if (!format->remarks)
		incomplete_note(q->command, &q->recorded.completeness);
	r = read_writing(q, o, weight, &output.writing, &err);
	if (!r && !standard) {
		r = new_file_open_result(&to, path, o->force, &err);
		file = opened = r ? NULL : fdopen(fcntl(to.fd, F_DUPFD_CLOEXEC, 0), "w");
		if (!r && !opened)
			r = -errno;
	}
	if (!r)
		r = export_write_all(q->command, &output, file, &err);
	if (!r && fflush(file) != 0) {
		r = -errno;
		output_failed(-r);
	}
	if (!r && !standard)
		r = new_file_keep(&to, &err);
	if (r < 0 && !err.text[0])
		err_set(&err, r, "writing %s: %s", standard ? "to standard output" : path,
			strerror(-r));
	return r < 0 ? question_failed(q, r, &err) : EXIT_DONE;
}

/* ---- the command ---- */

/* Refuses options that the format does not use: the user probably meant another format. */
static int refuse_options(const struct command *command, const struct question_options *o,
			  const struct format *format)
{
	const struct {
		bool given;
		unsigned takes;
		const char *name;
	} options[] = {
		{o->weight, TAKES_WEIGHT, "weight"},
		{o->title, TAKES_TITLE, "title"},
		{o->percent_min, TAKES_TITLE, "percent-min"},
		{o->count, TAKES_COUNT, "count"},
		{o->table, TAKES_TABLE, "table"},
		{o->with_stacks, TAKES_TABLE, "with-stacks"},
	};
	char names[FORMAT_NAMES_MAX];

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (options[i].given && !(format->takes & options[i].takes))
			return command_usage_error(
				command, "--%s goes with %s, not %s", options[i].name,
				format_names_written(names, options[i].takes, " and "),
				format->name);
	return EXIT_DONE;
}

static int export_run(struct command_call *call)
{
	const struct anonymise_options *a = call->options;
	const struct question_options *o = &a->question;
	const struct format *format = format_to_write(o->format);
	char names[FORMAT_NAMES_MAX];
	enum export_weight weight;
	struct question q;
	int status;

	if (a->wanted)
		return anonymise_export(call, export_run);
	if (!format && !o->format)
		return command_usage_error(call->command, "which format? --format takes %s",
					   format_names_written(names, 0, " or "));
	if (!format)
		return command_usage_error(call->command, "--format takes %s, not '%s'",
					   format_names_written(names, 0, " or "), o->format);
	status = refuse_options(call->command, o, format);
	if (!status && format->binary && (!o->output || !strcmp(o->output, "-")) &&
	    isatty(STDOUT_FILENO))
		return command_usage_error(
			call->command, "%s is nothing for a terminal: --output FILE", format->name);
	if (!status)
		status = output_weight(call->command, o->weight, &weight);
	if (!status)
		status = question_open(call, format->value, &q);
	if (status)
		return status;
	status = write_format(&q, o, format, weight);
	question_close(&q);
	return status;
}

static void put_table(struct buf *out)
{
	buf_printf(out, "  %-13s  %-34s  %s\n", "FORMAT", "WHAT IT HOLDS", "READ BY");
	for (const struct format *f = formats; f->name; f++)
		if (f->writer)
			buf_printf(out, "  %-13s  %-34s  %s\n", f->name, f->holds, f->read_by);
}

static void export_fill(const char *word, struct buf *out)
{
	unsigned takes = !strcmp(word, "weighed")  ? TAKES_WEIGHT
			 : !strcmp(word, "graphs") ? TAKES_TITLE
						   : TAKES_TABLE;
	char names[FORMAT_NAMES_MAX];

	if (!strcmp(word, "formats"))
		put_table(out);
	else
		buf_string(out, format_names_written(names, takes, ", "));
}

static const struct option export_table[] = {
	OPTION_TEXT(struct question_options, format, "format", "FORMAT", "one of those above"),
	OPTION_TEXT(struct question_options, output, "output", "FILE",
		    "write it here (default: standard output)"),
	OPTION_FORCE,
	OPTION_TEXT(struct question_options, weight, "weight", "WHAT",
		    "{weighed}: bytes (the default) or blocks"),
	OPTION_TEXT(struct question_options, title, "title", "TEXT",
		    "{graphs}: what stands above it (default: the command)"),
	OPTION_NUMBER(struct question_options, count, "count", "N",
		      "{graphs}: at most so many functions (80); {rows}: allocations (all)"),
	OPTION_TEXT(struct question_options, percent_min, "percent-min", "PERCENT",
		    "{graphs}: leave out functions with less in all that they call (0.5)"),
	OPTION_TEXT(struct question_options, table, "table", "TABLE",
		    "{rows}: only allocations (csv: the default) or backtraces"),
	OPTION_FLAG(struct question_options, with_stacks, "with-stacks",
		    "{rows}: backtraces in each line of an allocation, not their numbers"),
	{0},
};

static const struct option_group groups[] = {
	{NULL, export_table},
	{"Under other names", anonymise_table},
	{"What to look at", value_table},
	{"Also", question_table},
	{"Filters: only allocations that fit are written", filter_table},
	{"Common options", common_table},
	{0},
};

static const struct anonymise_options defaults = {.question.common.data = DEFAULT_DATA};

const struct command command_export = {
	.name = "export",
	.is_file = true,
	.summary = "write a recording for other tools: pprof, speedscope, massif...",
	.usage = "--format FORMAT [OPTION...] [STREAM]",
	.about = "Writes what matches in a format that other tools read.\n"
		 "\n"
		 "{formats}"
		 "\n"
		 "pprof, jemalloc and gperftools have what was allocated, and beside it what was\n"
		 "in use at the end, or what --value and --at say. massif has what was in use\n"
		 "over time, or with --value or --at only that. All others: what was allocated,\n"
		 "unless --value says something else; formats of single allocations leave out\n"
		 "the rest. A flame graph is drawn by `collector flamegraph`.\n"
		 "\n"
		 "json and csv write each backtrace once: json in a line before the first that\n"
		 "has its number, csv in a table of its own (--table backtraces).\n",
	.examples =
		"  collector export --format pprof --output heap.pb.gz last\n"
		"  go tool pprof -top -sample_index=alloc_space heap.pb.gz\n"
		"  collector export --format collapsed --value leaked last |\n"
		"    flamegraph.pl > leaked.svg\n"
		"  collector export --format massif last > massif.out && ms_print massif.out\n"
		"  collector export --format callgraph-svg --value peak --output peak.svg last\n"
		"  collector export --format csv --size-min 1M last\n"
		"  collector export --format csv --table backtraces --size-min 1M last\n"
		"  collector export --anonymise --output shared.heapcast last\n",
	.fill = export_fill,
	.groups = groups,
	.options_size = sizeof(struct anonymise_options),
	.defaults = &defaults,
	.arguments_max = 1,
	.run = export_run,
};
