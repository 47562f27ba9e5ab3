/* collector export: files for other tools. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/cli/files/export_formats.h"
#include "collector/cli/ask/incomplete.h"
#include "collector/cli/output.h"

#include "base/ban.h"

static int write_format(struct question *q, const struct question_options *o,
			const struct export_format *format, enum export_weight weight)
{
	bool standard = !o->output || !strcmp(o->output, "-");
	cleanup(cleanup_fclose) FILE *opened = NULL;
	struct err_text err = {0};
	struct export_call call = {
		.question = q, .options = o, .weight = weight, .file = stdout, .err = &err};
	int r = 0;

	if (!format->remarks)
		incomplete_note(q->command, &q->completeness);
	if (!standard) {
		call.file = opened = fopen(o->output, "we");
		if (!opened)
			r = err_set(&err, -EIO, "writing %s: %s", o->output, strerror(errno));
	}
	if (!r)
		r = format->write(&call);
	if (!r && fflush(call.file) != 0) {
		output_failed(errno);
		r = -EIO;
	}
	if (r < 0 && !err.text[0])
		err_set(&err, r, "writing %s: %s", standard ? "to standard output" : o->output,
			strerror(-r));
	return r < 0 ? question_failed(q, r, &err) : EXIT_DONE;
}

/* "collapsed, json or csv" */
static const char *format_names(char *out, size_t size)
{
	size_t n = 0;

	for (const struct export_format *f = export_formats; f->name && n < size; f++)
		n += (size_t)snprintf(out + n, size - n, "%s%s",
				      f == export_formats ? ""
				      : f[1].name	  ? ", "
							  : " or ",
				      f->name);
	return out;
}

/* What a format has no use for was meant for another one. */
static int refuse_options(const struct command *command, const struct question_options *o,
			  const struct export_format *format)
{
	const struct {
		bool given;
		unsigned takes;
		const char *name, *formats;
	} options[] = {
		{o->weight, TAKES_WEIGHT, "weight", "collapsed, speedscope and callgraph"},
		{o->title, TAKES_TITLE, "title", "callgraph"},
		{o->percent_min, TAKES_TITLE, "percent-min", "callgraph"},
		{o->count, TAKES_COUNT, "count", "callgraph, json and csv"},
		{o->table, TAKES_TABLE, "table", "json and csv"},
		{o->with_stacks, TAKES_TABLE, "with-stacks", "json and csv"},
	};

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (options[i].given && !(format->takes & options[i].takes))
			return command_usage_error(command, "--%s goes with %s, not %s",
						   options[i].name, options[i].formats,
						   format->name);
	return EXIT_DONE;
}

static int run(struct command_call *call)
{
	const struct question_options *o = call->options;
	const struct export_format *format = export_format_lookup(o->format);
	enum export_weight weight;
	struct question q;
	char names[256];
	int status;

	if (o->anonymise.wanted)
		return anonymise_export(call, run);
	if (!format && !o->format)
		return command_usage_error(call->command, "which format? --format takes %s",
					   format_names(names, sizeof(names)));
	if (!format)
		return command_usage_error(call->command, "--format takes %s, not '%s'",
					   format_names(names, sizeof(names)), o->format);
	status = refuse_options(call->command, o, format);
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

static const struct option export_table[] = {
	OPTION_TEXT(struct question_options, format, "format", "FORMAT", "one of those above"),
	OPTION_TEXT(struct question_options, output, "output", "FILE",
		    "write it here (default: standard output)"),
	OPTION_TEXT(struct question_options, weight, "weight", "WHAT",
		    "collapsed, speedscope, callgraph: bytes (the default) or blocks"),
	OPTION_TEXT(struct question_options, title, "title", "TEXT",
		    "callgraph: what stands above it (default: the command)"),
	OPTION_NUMBER(struct question_options, count, "count", "N",
		      "callgraph: at most so many functions (80); json, csv: allocations (all)"),
	OPTION_TEXT(struct question_options, percent_min, "percent-min", "PERCENT",
		    "callgraph: leave out functions with less in all that they call (0.5)"),
	OPTION_TEXT(struct question_options, table, "table", "TABLE",
		    "json, csv: only allocations (csv: the default) or backtraces"),
	OPTION_FLAG(struct question_options, with_stacks, "with-stacks",
		    "json, csv: backtraces in each line of an allocation, not their numbers"),
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

static const struct question_options defaults = {.common.data = DEFAULT_DATA};

const struct command command_export = {
	.name = "export",
	.summary = "write a recording for other tools: pprof, speedscope, massif...",
	.usage = "--format FORMAT [OPTION...] [STREAM]",
	.about = "Writes what matches in a format that other tools read.\n"
		 "\n"
		 "  FORMAT         WHAT IT HOLDS                       READ BY\n"
		 "  collapsed      frame;frame;frame BYTES             flamegraph.pl, speedscope\n"
		 "  speedscope     stacks with bytes and blocks        speedscope\n"
		 "  pprof          allocated and in use, by thread     go tool pprof\n"
		 "  heaptrack      allocations and frees in order      heaptrack_print\n"
		 "  jemalloc       in use and allocated (heap_v2)      jeprof\n"
		 "  gperftools     in use and allocated                google-pprof\n"
		 "  massif         in use over time, and the peak      ms_print\n"
		 "  callgraph      who calls whom, as text             dot\n"
		 "  callgraph-svg  the same, drawn by dot              browsers\n"
		 "  callgraph-pdf  the same, drawn by dot              viewers of documents\n"
		 "  json           an allocation a line, as an object  jq\n"
		 "  csv            an allocation a line (RFC 4180)     spreadsheets\n"
		 "  replay         allocations and frees in order      to be done again\n"
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
	.groups = groups,
	.options_size = sizeof(struct question_options),
	.defaults = &defaults,
	.arguments_max = 1,
	.run = run,
};
