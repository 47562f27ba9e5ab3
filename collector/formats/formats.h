#pragma once
/*
 * The table of other tools' formats. It lists what `collector export` and /data/ID/export/ write,
 * and what `collector import` and POST /import read. The commands, their --help, the routes,
 * /openapi.json, the page's menu, the completion and the manual are made from it.
 *
 * A new format needs a file in write/ or read/ (named in the CMakeLists.txt there), a line in the
 * table, an `extern` in writer.h or reader.h, and a text in docs/formats.md.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/formats/write/writer.h"
#include "collector/query/query.h"

struct buf;
struct err_text;
struct format_reader;

/* Options that only some formats accept. */
enum format_takes {
	TAKES_WEIGHT = 1,
	TAKES_COUNT = 2,
	TAKES_TITLE = 4, /* and --percent-min */
	TAKES_TABLE = 8, /* and --with-stacks */
	TAKES_OF_GRAPHS = TAKES_WEIGHT | TAKES_COUNT | TAKES_TITLE,
	TAKES_OF_ROWS = TAKES_COUNT | TAKES_TABLE,
};

struct format {
	const char *name; /* for --format */
	/* For writing. `writer` is NULL if the format is only read. */
	const char *holds, *read_by; /* what it holds, and who reads it: a few words each */
	enum value value;	     /* counted unless the user asks for another */
	unsigned takes;		     /* enum format_takes */
	bool remarks;		     /* the file itself says what the recording does not hold */
	bool binary;		     /* not text: refused on a terminal */
	const char *drawn_as; /* "svg": `collector export` has `dot` draw it; NULL: not drawn */
	const struct format_writer *writer;
	/* For the server. */
	const char *path;  /* below /data/ID/export/; NULL: `name` */
	const char *type;  /* media type; NULL: not served */
	const char *about; /* for /openapi.json */
	const char *title; /* in the page's menu; NULL: not in the menu */
	const char *file;  /* file name that the page suggests */
	/* For reading. Both are NULL if the format is not read. */
	const char *reads; /* what of the format is read: one line for --help */
	const struct format_reader *reader;
};

extern const struct format formats[]; /* ends with {0} */

/* Return the format of that name, or NULL if there is none, or if it is not written or not read. */
const struct format *format_to_write(const char *name);
const struct format *format_to_read(const char *name);
/* Returns the format's PATH in /data/ID/export/PATH. */
const char *format_path(const struct format *format);

/* Room for a list of format names such as "collapsed, json or csv". `last` is the word before the
 * last name. */
#define FORMAT_NAMES_MAX 256
/* Write such a list, and return `out`. The first lists the formats that accept all of the options
 * `takes`, without those that `dot` draws; with 0 it lists all that are written. */
const char *format_names_written(char out[static FORMAT_NAMES_MAX], unsigned takes,
				 const char *last);
const char *format_names_read(char out[static FORMAT_NAMES_MAX], const char *last);

/* A file that is being written. The caller fills in `format` and `writing`. */
struct format_output {
	const struct format *format;
	struct writing writing;
	void *state; /* NULL: not started */
};

/* Appends until `out` holds about `bytes`. Returns 1 if there is more, 0 at the end, or a negative
 * errno. */
int format_some(struct format_output *output, size_t bytes, struct buf *out, struct err_text *err);
/* Estimates the size of the file. Sets *ret_bytes to 0 if it is not known. Returns 0 or a negative
 * errno. */
int format_estimate(struct format_output *output, uint64_t *ret_bytes, struct err_text *err);
void format_output_done(struct format_output *output);
