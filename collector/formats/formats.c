/* The table of formats. See formats.h. */
#include "collector/formats/formats.h"

#include <stdio.h>
#include <string.h>

#include "collector/formats/read/reader.h"

#include "base/ban.h"

#define BYTES "application/octet-stream"
#define JSON  "application/json"
#define TEXT  "text/plain; charset=utf-8"

/* The content decides which format is read. The last format in the table is tried first, because
 * nearly any text can be `collapsed`. */
const struct format formats[] = {
	{
		.name = "collapsed",
		.holds = "frame;frame;frame BYTES",
		.read_by = "flamegraph.pl, speedscope",
		.value = VALUE_ALLOCATED,
		.takes = TAKES_WEIGHT,
		.writer = &collapsed_writer,
		.path = "flamegraph.pl",
		.type = TEXT,
		.about = "collapsed stacks, as flamegraph.pl reads them",
		.title = "Collapsed stacks",
		.file = "stacks.txt",
		.reads = "lines `frame;frame;frame NUMBER`",
		.reader = &collapsed_reader,
	},
	{
		.name = "speedscope",
		.holds = "stacks with bytes and blocks",
		.read_by = "speedscope",
		.value = VALUE_ALLOCATED,
		.takes = TAKES_WEIGHT,
		.remarks = true,
		.writer = &speedscope_writer,
		.type = JSON,
		.about = "stacks for speedscope",
		.title = "speedscope",
		.file = "heap.speedscope.json",
	},
	{
		.name = "pprof",
		.holds = "allocated and in use, by thread",
		.read_by = "go tool pprof",
		.value = VALUE_IN_USE,
		.remarks = true,
		.binary = true,
		.writer = &pprof_writer,
		.type = BYTES,
		.about = "a heap profile, as `go tool pprof` reads it",
		.title = "pprof: go tool pprof",
		.file = "heap.pb.gz",
		.reads = "sums a backtrace",
		.reader = &pprof_reader,
	},
	{
		.name = "heaptrack",
		.holds = "allocations and frees in order",
		.read_by = "heaptrack_print",
		.value = VALUE_ALLOCATED,
		.remarks = true,
		.writer = &heaptrack_writer,
		.type = TEXT,
		.about = "what heaptrack's programs read",
		.title = "heaptrack",
		.file = "heap.heaptrack",
		.reads = "every allocation, with times (text of versions 1 to 3)",
		.reader = &heaptrack_reader,
	},
	{
		.name = "jemalloc",
		.holds = "in use and allocated (heap_v2)",
		.read_by = "jeprof",
		.value = VALUE_IN_USE,
		.remarks = true,
		.writer = &jemalloc_writer,
		.type = TEXT,
		.about = "a heap profile, as jeprof reads it",
		.title = "jemalloc: jeprof",
		.file = "heap.jeprof",
		.reads = "heap_v2: sums a backtrace and thread, scaled up as jeprof does",
		.reader = &jemalloc_reader,
	},
	{
		.name = "gperftools",
		.holds = "in use and allocated",
		.read_by = "google-pprof",
		.value = VALUE_IN_USE,
		.remarks = true,
		.writer = &gperftools_writer,
		.type = TEXT,
		.about = "a heap profile, as google-pprof reads it",
		.title = "gperftools: google-pprof",
		.file = "heap.gperf",
		.reads = "heap profile: sums a backtrace, scaled up as google-pprof does",
		.reader = &gperftools_reader,
	},
	{
		.name = "massif",
		.holds = "in use over time, and the peak",
		.read_by = "ms_print",
		.value = VALUE_IN_USE,
		.remarks = true,
		.writer = &massif_writer,
		.type = TEXT,
		.about = "what was in use over time, as ms_print reads it",
		.title = "massif: ms_print",
		.file = "massif.out",
	},
	{
		.name = "callgraph",
		.holds = "who calls whom, as text",
		.read_by = "dot",
		.value = VALUE_ALLOCATED,
		.takes = TAKES_OF_GRAPHS,
		.remarks = true,
		.writer = &callgraph_writer,
		.type = TEXT,
		.about = "who calls whom, as Graphviz's dot reads it",
		.title = "Call graph: dot",
		.file = "calls.dot",
	},
	{
		.name = "callgraph-svg",
		.holds = "the same, drawn by dot",
		.read_by = "browsers",
		.value = VALUE_ALLOCATED,
		.takes = TAKES_OF_GRAPHS,
		.remarks = true,
		.drawn_as = "svg",
		.writer = &callgraph_writer,
	},
	{
		.name = "callgraph-pdf",
		.holds = "the same, drawn by dot",
		.read_by = "viewers of documents",
		.value = VALUE_ALLOCATED,
		.takes = TAKES_OF_GRAPHS,
		.remarks = true,
		.binary = true,
		.drawn_as = "pdf",
		.writer = &callgraph_writer,
	},
	{
		.name = "json",
		.holds = "an allocation a line, as an object",
		.read_by = "jq",
		.value = VALUE_ALLOCATED,
		.takes = TAKES_OF_ROWS,
		.writer = &json_writer,
		.type = "application/x-ndjson",
		.about = "matched allocations and their backtraces, an object a line",
		.title = "Allocations (JSON lines)",
		.file = "allocations.jsonl",
	},
	{
		.name = "csv",
		.holds = "an allocation a line (RFC 4180)",
		.read_by = "spreadsheets",
		.value = VALUE_ALLOCATED,
		.takes = TAKES_OF_ROWS,
		.remarks = true,
		.writer = &csv_writer,
		.type = "text/csv; charset=utf-8",
		.about = "matched allocations, or their backtraces, as comma-separated values",
		.title = "Allocations (CSV)",
		.file = "allocations.csv",
	},
	{
		.name = "replay",
		.holds = "allocations and frees in order",
		.read_by = "to be done again",
		.value = VALUE_ALLOCATED,
		.binary = true,
		.writer = &replay_writer,
		.type = BYTES,
		.about = "allocations and frees, to be done again",
	},
	{0},
};

static const struct format *formats_lookup(const char *name)
{
	for (const struct format *f = formats; f->name; f++)
		if (name && !strcmp(name, f->name))
			return f;
	return NULL;
}

const struct format *format_to_write(const char *name)
{
	const struct format *format = formats_lookup(name);

	return format && format->writer ? format : NULL;
}

const struct format *format_to_read(const char *name)
{
	const struct format *format = formats_lookup(name);

	return format && format->reader ? format : NULL;
}

const char *format_path(const struct format *format)
{
	return format->path ? format->path : format->name;
}

/* ---- lists of names ---- */

static bool is_listed(const struct format *format, bool read, unsigned takes)
{
	if (read || !format->writer)
		return read && format->reader;
	return !takes || (format->takes & takes && !format->drawn_as);
}

static const char *list_names(char *out, bool read, unsigned takes, const char *last)
{
	size_t left = 0, length = 0, begun;

	for (const struct format *f = formats; f->name; f++)
		left += is_listed(f, read, takes);
	begun = left;
	out[0] = '\0';
	for (const struct format *f = formats; f->name && length < FORMAT_NAMES_MAX; f++) {
		if (!is_listed(f, read, takes))
			continue;
		length += (size_t)snprintf(out + length, FORMAT_NAMES_MAX - length, "%s%s",
					   left == begun ? ""
					   : left == 1	 ? last
							 : ", ",
					   f->name);
		left--;
	}
	return out;
}

const char *format_names_written(char out[static FORMAT_NAMES_MAX], unsigned takes,
				 const char *last)
{
	return list_names(out, false, takes, last);
}

const char *format_names_read(char out[static FORMAT_NAMES_MAX], const char *last)
{
	return list_names(out, true, 0, last);
}

/* ---- writing ---- */

static int formats_begin(struct format_output *o, struct err_text *err)
{
	return o->state ? 0 : o->format->writer->begin(&o->writing, &o->state, err);
}

int format_some(struct format_output *o, size_t bytes, struct buf *out, struct err_text *err)
{
	const struct format_writer *writer = o->format->writer;
	int r;

	if (writer->write)
		return writer->write(&o->writing, out, err);
	r = formats_begin(o, err);
	return r ? r : writer->some(o->state, bytes, out, err);
}

int format_estimate(struct format_output *o, uint64_t *ret_bytes, struct err_text *err)
{
	const struct format_writer *writer = o->format->writer;
	int r;

	*ret_bytes = 0;
	if (!writer->estimate)
		return 0;
	r = formats_begin(o, err);
	return r ? r : writer->estimate(o->state, ret_bytes, err);
}

void format_output_done(struct format_output *o)
{
	if (o->state)
		o->format->writer->free(o->state);
	o->state = NULL;
}
