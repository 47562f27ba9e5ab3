/* collector export: files for other tools. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "collector/cli/output.h"
#include "collector/cli/question.h"
#include "collector/export/export.h"

#include "base/ban.h"

#define FORMATS "collapsed, json, heaptrack or replay"

DEFINE_CLEANUP(heaptrack_export_free, struct heaptrack_export *)
DEFINE_CLEANUP(replay_export_free, struct replay_export *)

static int flush_to_file(void *context, struct buf *out)
{
	if (out->length && fwrite(out->data, 1, out->length, context) != out->length) {
		int error = errno;

		output_failed(error);
		return -error;
	}
	buf_clear(out);
	return 0;
}

static int export_as_collapsed(struct question *q, const struct question_options *o, FILE *file,
			       struct err_text *err)
{
	cleanup(tree_done) struct tree tree = {0};
	cleanup(buf_done) struct buf out = {0};
	enum export_weight weight =
		o->weight && !strcmp(o->weight, "blocks") ? EXPORT_BLOCKS : EXPORT_BYTES;
	int r = query_tree(q->view, &q->filter, q->value, q->at_ns, &tree, err);

	if (!r)
		r = export_collapsed(&tree, weight, &out, err);
	if (!r)
		r = buf_error(&out);
	return r ? r : flush_to_file(file, &out);
}

static int export_as_json(struct question *q, const struct question_options *o, FILE *file,
			  struct err_text *err)
{
	cleanup(buf_done) struct buf out = {0};
	int r;

	(void)o;
	r = export_json(q->view, &q->filter, &out, flush_to_file, file, err);
	if (!r)
		r = flush_to_file(file, &out);
	return r;
}

#define STEP_BYTES 65536

static int export_as_heaptrack(struct question *q, const struct question_options *o, FILE *file,
			       struct err_text *err)
{
	cleanup(cleanup_heaptrack_export_free) struct heaptrack_export *export = NULL;
	cleanup(buf_done) struct buf out = {0};
	int r = heaptrack_export_new(q->view, &q->filter, &export, err), more = 1;

	(void)o;
	while (!r && more) {
		more = heaptrack_export_some(export, STEP_BYTES, &out, err);
		r = more < 0 ? more : flush_to_file(file, &out);
	}
	return r;
}

static int export_as_replay(struct question *q, const struct question_options *o, FILE *file,
			    struct err_text *err)
{
	cleanup(cleanup_replay_export_free) struct replay_export *export = NULL;
	cleanup(buf_done) struct buf out = {0};
	int r = replay_export_new(q->view, &q->filter, &export, err), more = 1;

	(void)o;
	while (!r && more) {
		more = replay_export_some(export, STEP_BYTES, &out, err);
		r = more < 0 ? more : flush_to_file(file, &out);
	}
	return r;
}

static const struct format {
	const char *name;
	int (*write)(struct question *q, const struct question_options *o, FILE *file,
		     struct err_text *err);
} formats[] = {
	{"collapsed", export_as_collapsed},
	{"json", export_as_json},
	{"heaptrack", export_as_heaptrack},
	{"replay", export_as_replay},
};

static const struct format *format_lookup(const char *name)
{
	for (size_t i = 0; name && i < sizeof(formats) / sizeof(formats[0]); i++)
		if (!strcmp(name, formats[i].name))
			return &formats[i];
	return NULL;
}

static int write_format(struct question *q, const struct question_options *o,
			const struct format *format)
{
	bool standard = !o->output || !strcmp(o->output, "-");
	cleanup(cleanup_fclose) FILE *file = NULL;
	struct err_text err = {0};
	int r = 0;

	if (!standard) {
		file = fopen(o->output, "we");
		if (!file)
			r = err_set(&err, -EIO, "writing %s: %s", o->output, strerror(errno));
	}
	if (!r)
		r = format->write(q, o, standard ? stdout : file, &err);
	if (!r && fflush(standard ? stdout : file) != 0) {
		output_failed(errno);
		r = -EIO;
	}
	if (r < 0 && !err.text[0])
		err_set(&err, r, "writing %s: %s", standard ? "to standard output" : o->output,
			strerror(-r));
	return r < 0 ? question_failed(q, r, &err) : EXIT_DONE;
}

static int run(struct command_call *call)
{
	const struct question_options *o = call->options;
	const struct format *format = format_lookup(o->format);
	enum export_weight weight;
	struct question q;
	int status;

	if (!format && !o->format)
		return command_usage_error(call->command,
					   "which format? --format takes " FORMATS);
	if (!format)
		return command_usage_error(call->command,
					   "--format takes " FORMATS ", not '%s'", o->format);
	status = output_weight(call->command, o->weight, &weight);
	if (!status)
		status = question_open(call, VALUE_ALLOCATED, &q);
	if (status)
		return status;
	status = write_format(&q, o, format);
	question_close(&q);
	return status;
}

static const struct option export_table[] = {
	OPTION_TEXT(struct question_options, format, "format", "FORMAT",
		    "collapsed: lines `frame;frame;frame BYTES` for flame graph tools; json: an "
		    "allocation a line; heaptrack: what heaptrack_print and heaptrack's window read; replay: "
		    "allocations and frees in order, to be done again"),
	OPTION_TEXT(struct question_options, output, "output", "FILE",
		    "write it here (default: standard output)"),
	OPTION_TEXT(struct question_options, weight, "weight", "WHAT",
		    "collapsed: bytes (the default) or blocks"),
	{0},
};

static const struct option_group groups[] = {
	{NULL, export_table},
	{"What to look at (collapsed)", value_table},
	{"Also", question_table},
	{"Filters: only allocations that fit are written", filter_table},
	{"Common options", common_table},
	{0},
};

static const struct question_options defaults = {.common.data = DEFAULT_DATA};

const struct command command_export = {
	.name = "export",
	.summary = "write a recording for other tools: collapsed, json, heaptrack, replay",
	.usage = "--format FORMAT [OPTION...] [STREAM]",
	.about = "Writes what matches in a format that other tools read.\n",
	.examples = "  collector export --format collapsed last --value leaked | flamegraph.pl > "
		    "leaked.svg\n"
		    "  collector export --format json last --size-min 1M\n"
		    "  collector export --format heaptrack --output heaptrack.app last && heaptrack_print heaptrack.app\n",
	.groups = groups,
	.options_size = sizeof(struct question_options),
	.defaults = &defaults,
	.arguments_max = 1,
	.run = run,
};
