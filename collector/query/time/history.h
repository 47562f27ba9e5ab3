#pragma once
/*
 * Births and deaths of the rows that a filter lets through, in the order of their times, in a few
 * passes and bounded memory.
 *
 * Rows lie in the order of birth (nearly), so time is cut where every SEGMENT_ROWS-th row was born:
 * into *bins*. Nearly all births and most deaths of a bin are those of the rows of its own segment
 * and of the few before; these events are *near*. The others, births and deaths of rows from
 * elsewhere, are *far*. Where many far ones fall into one bin it is cut further.
 *
 *	rows      | segment 0 | segment 1 | segment 2 | ...
 *	time      |   bin 0   |   bin 1   |2|2|2|2|2|2| ...
 *
 * Bins 2 were cut: many blocks died there.
 *
 * So the events of a bin are those rows' and the far ones, which are gathered for many bins in one
 * pass over the rows. What happens in the same nanosecond is in the same bin.
 */
#include "collector/columns/row_block.h"
#include "collector/query/match/matcher.h"

struct history_event {
	uint64_t time_ns;
	int64_t bytes,
		units; /* units: blocks in HISTORY_UNIT-ths; more than 0: a birth, less: a death */
	uint32_t node;
};

#define HISTORY_UNIT 1048576

struct history_bins {
	uint64_t rows;			 /* of the recording when they were cut */
	uint32_t segment_rows, segments; /* segment_rows: a power of two */
	uint32_t count;
	uint64_t *start; /* by bin, and behind the last UINT64_MAX: start[0] is 0, and they rise */
	uint32_t *segment; /* by bin */
	/* By segment: events of its rows from near_from to before near_to are near. */
	uint64_t *near_from, *near_to;
};

/* Fills near_from and near_to of what is known otherwise. 0 or -ENOMEM. */
int history_bins_reach(struct history_bins *bins);
void history_bins_done(struct history_bins *bins);
uint32_t history_bins_find(const struct history_bins *bins, uint64_t time_ns);

/* Whose events. */
struct history_of {
	const struct matcher *matcher;
	bool leaked_only; /* only blocks that were not freed */
	bool nodes;	  /* events have their node, */
	/* or what this says of their row, which has these columns, if it is not NULL. */
	uint32_t (*label)(const void *context, const struct row_block *block, uint32_t i);
	const void *label_context;
	unsigned label_columns;
};

struct history_bin {
	uint32_t number;
	uint64_t start_ns;
	const struct history_event *events; /* all, in order */
	size_t count;
	const struct history_event *far; /* those that are not near, in order */
	size_t far_count;
};

struct history_visitor {
	void *context;
	/* Parts are bins that follow each other; as those of a sweep. */
	int (*part_new)(void *context, void **ret_part);
	int (*part_bin)(void *part, const struct history_bin *bin);
	int (*part_merge)(void *context, void *part);
	void (*part_free)(void *part);
};

/* Cuts the time into bins, which the caller frees, and shows the visitor each, in order within a
 * part. */
int history_visit(const struct history_of *of, struct history_bins *ret_bins,
		  const struct history_visitor *visitor, struct err_text *err);

/* Single bins, later: the near events are read again from the rows, the far ones are the caller's.
 * For one thread. */
struct history_reader;
int history_reader_new(const struct history_of *of, const struct history_bins *bins,
		       struct history_reader **ret_reader);
void history_reader_free(struct history_reader *reader);
/* Puts the bin's near events, in no order, behind those that history_reader_far appended; sorts
 * all. Valid until the next call. */
int history_reader_far(struct history_reader *reader, const struct history_event *event);
int history_reader_bin(struct history_reader *reader, uint32_t bin, struct history_bin *ret_bin,
		       struct err_text *err);

/* For tests: rows of a segment (a power of two, at most ROWS_PER_BLOCK), and how many far events
 * are held at a time; 0: as usual. */
void history_set_sizes(uint32_t segment_rows, uint64_t far_room);
