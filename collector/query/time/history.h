#pragma once
/*
 * Visits births and deaths of the rows that a filter selects, in the order of time, in a few passes
 * and bounded memory.
 *
 * Rows are (nearly) in the order of birth, so time is divided at the birth of every SEGMENT_ROWS-th
 * row, into *bins*. Nearly all births and most deaths of a bin belong to the rows of its own
 * segment and of the few segments before; these events are *near*. All other births and deaths are
 * *far*. A bin with many far events is divided further.
 *
 *	rows      | segment 0 | segment 1 | segment 2 | ...
 *	time      |   bin 0   |   bin 1   |2|2|2|2|2|2| ...
 *
 * The bins marked 2 were divided, because many blocks died there.
 *
 * The events of a bin are therefore the events of those rows and the far events, which one pass
 * over the rows gathers for many bins. All events of one nanosecond are in the same bin.
 */
#include "collector/columns/row_block.h"
#include "collector/query/match/matcher.h"

struct history_event {
	uint64_t time_ns;
	/* Units: blocks in HISTORY_UNIT-ths; above 0 for a birth, below 0 for a death. */
	int64_t bytes, units;
	uint32_t node;
};

#define HISTORY_UNIT 1048576

struct history_bins {
	uint64_t rows;			 /* number of rows when the bins were made */
	uint32_t segment_rows, segments; /* segment_rows: a power of two */
	uint32_t count;
	/* By bin, ascending; start[0] is 0, and UINT64_MAX follows the last bin. */
	uint64_t *start;
	uint32_t *segment; /* by bin */
	/* By segment: events of its rows from near_from to before near_to are near. */
	uint64_t *near_from, *near_to;
};

/* Fills near_from and near_to from the other members. Returns 0 or -ENOMEM. */
int history_bins_reach(struct history_bins *bins);
void history_bins_done(struct history_bins *bins);
uint32_t history_bins_find(const struct history_bins *bins, uint64_t time_ns);

/* Selects the events. */
struct history_of {
	const struct matcher *matcher;
	bool nodes; /* events carry their node, */
	/* or, if `label` is not NULL, what it returns for their row. The row has label_columns. */
	uint32_t (*label)(const void *context, const struct row_block *block, uint32_t i);
	const void *label_context;
	unsigned label_columns;
	/* Bins of other events of the same rows, which are copied if they fit; NULL: new ones are
	 * made. */
	const struct history_bins *like;
};

struct history_bin {
	uint32_t number;
	uint64_t start_ns;
	const struct history_event *events; /* all events, in order */
	size_t count;
	const struct history_event *far; /* the far events, in order */
	size_t far_count;
};

struct history_visitor {
	void *context;
	/* A part is a run of consecutive bins. The callbacks are as those of a sweep. */
	int (*part_new)(void *context, void **ret_part);
	int (*part_bin)(void *part, const struct history_bin *bin);
	int (*part_merge)(void *context, void *part);
	void (*part_free)(void *part);
};

/* Divides the time into bins, which the caller frees, and visits each bin, in order within a
 * part. */
int history_visit(const struct history_of *of, struct history_bins *ret_bins,
		  const struct history_visitor *visitor, struct err_text *err);

/* Reads single bins later: the near events are read from the rows again, and the caller supplies
 * the far events. For one thread. */
struct history_reader;
int history_reader_new(const struct history_of *of, const struct history_bins *bins,
		       struct history_reader **ret_reader);
void history_reader_free(struct history_reader *reader);
/* history_reader_far appends a far event. history_reader_bin adds the bin's near events, and sorts
 * all. The result is valid until the next call. */
int history_reader_far(struct history_reader *reader, const struct history_event *event);
int history_reader_bin(struct history_reader *reader, uint32_t bin, struct history_bin *ret_bin,
		       struct err_text *err);

/* For tests: rows of a segment (a power of two, at most ROWS_PER_BLOCK), and the maximum number of
 * far events held at a time; 0: the default. */
void history_set_sizes(uint32_t segment_rows, uint64_t far_room);
