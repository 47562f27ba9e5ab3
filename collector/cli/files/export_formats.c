/* Writers of `collector export`, and what each format takes. See export_formats.h. */
#include "collector/cli/files/export_formats.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/parse.h"
#include "collector/cli/files/dot.h"
#include "collector/cli/output.h"
#include "collector/columns/row_block.h"
#include "collector/formats/write/export.h"
#include "collector/recording/recording.h"

#include "base/ban.h"

#define STEP_BYTES	      65536
#define CALLGRAPH_FUNCTIONS   80
#define CALLGRAPH_PERCENT_MIN 0.5
#define MUCH_BYTES	      (256u << 20) /* of which one is told */

DEFINE_CLEANUP(heaptrack_export_free, struct heaptrack_export *)
DEFINE_CLEANUP(replay_export_free, struct replay_export *)
DEFINE_CLEANUP(rows_export_free, struct rows_export *)

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

static int flush_all(struct export_call *c, struct buf *out, int error)
{
	if (!error)
		error = buf_error(out);
	return error ? error : flush_to_file(c->file, out);
}

static int take_tree(struct export_call *c, struct tree *ret_tree)
{
	struct question *q = c->question;

	return query_tree(q->view, &q->filter, q->value, q->at_ns, ret_tree, c->err);
}

/* ---- trees ---- */

static int write_collapsed(struct export_call *c)
{
	cleanup(tree_done) struct tree tree = {0};
	cleanup(buf_done) struct buf out = {0};
	int r = take_tree(c, &tree);

	if (!r)
		r = export_collapsed(&tree, c->weight, &out, c->err);
	return flush_all(c, &out, r);
}

static int write_speedscope(struct export_call *c)
{
	cleanup(tree_done) struct tree tree = {0};
	cleanup(buf_done) struct buf out = {0};
	int r = take_tree(c, &tree);

	if (!r)
		r = export_speedscope(&tree,
				      recording_process(c->question->recording)->command_line,
				      c->question->completeness.line, c->weight, &out, c->err);
	return flush_all(c, &out, r);
}

static int make_callgraph(struct export_call *c, struct buf *out)
{
	const struct question_options *o = c->options;
	struct callgraph_options options = {
		.title = o->title ? o->title
				  : recording_process(c->question->recording)->command_line,
		.incomplete = c->question->completeness.line,
		.weight = c->weight,
		.percent_min = CALLGRAPH_PERCENT_MIN,
		.count = CALLGRAPH_FUNCTIONS,
	};
	cleanup(tree_done) struct tree tree = {0};
	char *end = NULL;
	int r;

	if (o->percent_min)
		options.percent_min = strtod(o->percent_min, &end);
	if (end && (end == o->percent_min || *end ||
		    !(options.percent_min >= 0 && options.percent_min <= 100)))
		return err_set(c->err, -EINVAL,
			       "--percent-min takes a number from 0 to 100, not '%.60s'",
			       o->percent_min);
	if (o->count)
		options.count = o->count < UINT32_MAX ? (uint32_t)o->count : UINT32_MAX;
	r = take_tree(c, &tree);
	return r ? r : export_callgraph(&tree, &options, out, c->err);
}

static int write_callgraph(struct export_call *c)
{
	cleanup(buf_done) struct buf out = {0};

	return flush_all(c, &out, make_callgraph(c, &out));
}

static int draw_callgraph(struct export_call *c, const char *kind)
{
	cleanup(buf_done) struct buf out = {0};
	int r = make_callgraph(c, &out);

	return r ? r : dot_draw(&out, kind, c->file, c->err);
}

static int write_callgraph_svg(struct export_call *c)
{
	return draw_callgraph(c, "svg");
}

static int write_callgraph_pdf(struct export_call *c)
{
	return draw_callgraph(c, "pdf");
}

/* ---- heap profiles ---- */

static int write_pprof(struct export_call *c)
{
	struct question *q = c->question;
	cleanup(buf_done) struct buf out = {0};

	return flush_all(c, &out,
			 export_pprof(q->view, &q->filter, q->value, q->at_ns, &out, c->err));
}

static int write_heap(struct export_call *c, enum heap_dialect dialect)
{
	struct question *q = c->question;
	cleanup(buf_done) struct buf out = {0};

	return flush_all(c, &out,
			 export_heap_profile(q->view, &q->filter, q->value, q->at_ns, dialect, &out,
					     c->err));
}

static int write_jemalloc(struct export_call *c)
{
	return write_heap(c, HEAP_JEMALLOC);
}

static int write_gperftools(struct export_call *c)
{
	return write_heap(c, HEAP_GPERFTOOLS);
}

/* With a value or a moment: that alone. */
static int write_massif(struct export_call *c)
{
	struct question *q = c->question;
	bool over_time = !c->options->value && q->at_ns == NO_TIME;
	cleanup(buf_done) struct buf out = {0};

	return flush_all(
		c, &out,
		export_massif(q->view, &q->filter, over_time, q->value, q->at_ns, &out, c->err));
}

/* ---- rows and events: the value chooses among them ---- */

static int narrow(struct export_call *c)
{
	struct question *q = c->question;

	return filter_narrow(&q->filter, q->view, q->value, q->at_ns, c->err);
}

/* Of a `name`_export in steps. */
#define DEFINE_STEPS(name)                                                                         \
	static int write_##name(struct export_call *c)                                             \
	{                                                                                          \
		struct question *q = c->question;                                                  \
		cleanup(cleanup_##name##_export_free) struct name##_export *export = NULL;         \
		cleanup(buf_done) struct buf out = {0};                                            \
		int more = 1, r = narrow(c);                                                       \
                                                                                                   \
		if (!r)                                                                            \
			r = name##_export_new(q->view, &q->filter, &export, c->err);               \
		while (!r && more) {                                                               \
			more = name##_export_some(export, STEP_BYTES, &out, c->err);               \
			r = flush_all(c, &out, more < 0 ? more : 0);                               \
		}                                                                                  \
		return r;                                                                          \
	}

DEFINE_STEPS(heaptrack)
DEFINE_STEPS(replay)

/* ---- lines of allocations and backtraces ---- */

static int make_rows(struct export_call *c, enum rows_format format,
		     struct rows_export **ret_export)
{
	const struct question_options *o = c->options;
	struct rows_options options = {
		.format = format,
		.with_stacks = o->with_stacks,
		.count = o->count ? o->count : UINT64_MAX,
	};
	struct question *q = c->question;
	int r = narrow(c);

	if (!r && o->table && rows_table(o->table, &options.tables) < 0)
		r = err_set(c->err, -EINVAL, "--table takes allocations or backtraces, not '%.60s'",
			    o->table);
	return r ? r : rows_export_new(q->view, &q->filter, &options, ret_export, c->err);
}

/* To who looks on: whether it will be much. */
static int tell_size(struct export_call *c, struct rows_export *export)
{
	char text[32];
	uint64_t bytes;
	int r = rows_export_estimate(export, &bytes, c->err);

	if (!r && bytes >= MUCH_BYTES)
		command_note(c->question->command, "about %s will be written; %s",
			     format_size(text, (double)bytes),
			     c->options->with_stacks ? "without --with-stacks it is less, and so "
						       "with --count and filters"
						     : "with --count and filters it is less");
	return r;
}

static int write_rows(struct export_call *c, enum rows_format format)
{
	cleanup(cleanup_rows_export_free) struct rows_export *export = NULL;
	cleanup(buf_done) struct buf out = {0};
	int more = 1, r = make_rows(c, format, &export);

	if (!r && isatty(STDERR_FILENO))
		r = tell_size(c, export);
	while (!r && more) {
		more = rows_export_some(export, STEP_BYTES, &out, c->err);
		r = flush_all(c, &out, more < 0 ? more : 0);
	}
	return r;
}

static int write_json(struct export_call *c)
{
	return write_rows(c, ROWS_AS_JSON);
}

static int write_csv(struct export_call *c)
{
	return write_rows(c, ROWS_AS_CSV);
}

const struct export_format export_formats[] = {
	{"collapsed", VALUE_ALLOCATED, TAKES_WEIGHT, false, write_collapsed},
	{"speedscope", VALUE_ALLOCATED, TAKES_WEIGHT, true, write_speedscope},
	{"pprof", VALUE_IN_USE, 0, true, write_pprof},
	{"heaptrack", VALUE_ALLOCATED, 0, true, write_heaptrack},
	{"jemalloc", VALUE_IN_USE, 0, true, write_jemalloc},
	{"gperftools", VALUE_IN_USE, 0, true, write_gperftools},
	{"massif", VALUE_IN_USE, 0, true, write_massif},
	{"callgraph", VALUE_ALLOCATED, TAKES_OF_GRAPHS, true, write_callgraph},
	{"callgraph-svg", VALUE_ALLOCATED, TAKES_OF_GRAPHS, true, write_callgraph_svg},
	{"callgraph-pdf", VALUE_ALLOCATED, TAKES_OF_GRAPHS, true, write_callgraph_pdf},
	{"json", VALUE_ALLOCATED, TAKES_OF_ROWS, false, write_json},
	{"csv", VALUE_ALLOCATED, TAKES_OF_ROWS, true, write_csv},
	{"replay", VALUE_ALLOCATED, 0, false, write_replay},
	{0},
};

const struct export_format *export_format_lookup(const char *name)
{
	for (const struct export_format *f = export_formats; f->name; f++)
		if (name && !strcmp(name, f->name))
			return f;
	return NULL;
}
