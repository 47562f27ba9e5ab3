#pragma once
/*
 * The formats of other tools, in one table: what `collector export` and /data/ID/export/ write, and
 * what `collector import` and POST /import read. The commands, their --help, the routes,
 * /openapi.json, the page's menu, the completion and the manual are made of it.
 *
 * A new format is a file in write/ or read/ (named in CMakeLists.txt there), its line in the table,
 * its `extern` in writer.h or reader.h, and its text in docs/formats.md.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/formats/write/writer.h"
#include "collector/query/query.h"

struct buf;
struct err_text;
struct format_reader;

/* Options that only some formats take. */
enum format_takes {
	TAKES_WEIGHT = 1,
	TAKES_COUNT = 2,
	TAKES_TITLE = 4, /* and --percent-min */
	TAKES_TABLE = 8, /* and --with-stacks */
	TAKES_OF_GRAPHS = TAKES_WEIGHT | TAKES_COUNT | TAKES_TITLE,
	TAKES_OF_ROWS = TAKES_COUNT | TAKES_TABLE,
};

struct format {
	const char *name; /* as --format takes it */
	/* Of what is written; `writer` is NULL for a format that is only read. */
	const char *holds, *read_by; /* what is in it, and who reads it: a few words each */
	enum value value;	     /* unless something else is asked for */
	unsigned takes;		     /* enum format_takes */
	bool remarks;		     /* can say in itself what the recording does not hold */
	bool binary;		     /* no text: nothing for a terminal */
	const char *drawn_as; /* "svg": `dot` draws it, for the command alone; NULL: it is not */
	const struct format_writer *writer;
	/* Of what is served. */
	const char *path;  /* behind /data/ID/export/; NULL: the name */
	const char *type;  /* of its content; NULL: it is not served */
	const char *about; /* for /openapi.json */
	const char *title; /* for the page's menu; NULL: it is not in it */
	const char *file;  /* what the page calls the file */
	/* Of what is read; NULL: it is not. */
	const char *reads; /* what is read of it, in a line */
	const struct format_reader *reader;
};

extern const struct format formats[]; /* ends with {0} */

/* NULL: no such format, or it is not written, or not read. */
const struct format *format_to_write(const char *name);
const struct format *format_to_read(const char *name);
/* Its name in /data/ID/export/PATH. */
const char *format_path(const struct format *format);

/* Names of formats as a list, `last` before the last one: "collapsed, json or csv". */
#define FORMAT_NAMES_MAX 256
/* Those that take these options, without those that `dot` draws; 0: all that are written. */
const char *format_names_written(char out[static FORMAT_NAMES_MAX], unsigned takes,
				 const char *last);
const char *format_names_read(char out[static FORMAT_NAMES_MAX], const char *last);

/* A file that is being written. */
struct format_output {
	const struct format *format;
	struct writing writing;
	void *state; /* NULL: not begun */
};

/* Appends until `out` holds about `bytes`. Returns 1 if there is more, 0 at the end, or a negative
 * errno. */
int format_some(struct format_output *output, size_t bytes, struct buf *out, struct err_text *err);
/* How many bytes there will be; 0: not known. */
int format_estimate(struct format_output *output, uint64_t *ret_bytes, struct err_text *err);
void format_output_done(struct format_output *output);
