#pragma once
/*
 * The interface of a writer: it turns a request into bytes in a buffer, which the caller writes
 * out. A small file is written at once, a long one in steps. Each writer is declared at the end of
 * its file, and has a line in the table of collector/formats/formats.c.
 *
 * Formats with comments begin with a note on what the recording does not hold
 * (recording/completeness.h). For formats without comments the caller reports it elsewhere.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/answers/weight.h"
#include "collector/query/query.h"

struct buf;
struct err_text;
struct filter;
struct view;

/* The request. It must not change until the writer has ended. */
struct writing {
	struct view *view;
	struct filter *filter; /* writers of single allocations narrow it to what `value` counts */
	enum value value;
	bool value_given; /* the user chose the value or the moment */
	uint64_t at_ns;	  /* NO_TIME: the end */
	enum export_weight weight;
	const char *title;	/* NULL: the recorded command */
	const char *incomplete; /* what the recording does not hold; "" or NULL: nothing */
	double percent_min; /* functions with a smaller share of the whole are left out; < 0: not
			       given */
	uint64_t count;	    /* maximum number of functions or allocations; UINT64_MAX: not given */
	unsigned tables;    /* enum rows_table; 0: not given */
	bool with_stacks;
};

struct format_writer {
	/* Writes the whole file. NULL: it is written in steps. Returns 0 or a negative errno, as
	 * all functions here do except `some`. */
	int (*write)(const struct writing *writing, struct buf *out, struct err_text *err);
	int (*begin)(const struct writing *writing, void **ret_state, struct err_text *err);
	/* Appends until `out` holds about `bytes`. Returns 1 if there is more, 0 at the end. */
	int (*some)(void *state, size_t bytes, struct buf *out, struct err_text *err);
	void (*free)(void *state);
	/* Estimates how many bytes there will be; may read much. NULL: not known. */
	int (*estimate)(void *state, uint64_t *ret_bytes, struct err_text *err);
};

extern const struct format_writer callgraph_writer, collapsed_writer, csv_writer, gperftools_writer,
	heaptrack_writer, jemalloc_writer, json_writer, massif_writer, pprof_writer, replay_writer,
	speedscope_writer;

/* The kinds of lines in json and csv. */
enum rows_table { ROWS_ALLOCATIONS = 1, ROWS_BACKTRACES = 2 };
/* Parses "allocations" or "backtraces". Returns -EINVAL for anything else. */
int rows_table(const char *text, unsigned *ret_tables);
