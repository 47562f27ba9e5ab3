#pragma once
/*
 * Where comparisons read from: the recordings of a folder (recordings.c), or a data base that many
 * collectors share (collector/share). A source lists streams, and adds what their functions had in
 * use at the moments that fleet_compare has chosen.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/fleet/fleet.h"
#include "collector/fleet/matrix.h"

struct fleet_top_loading;
struct store;
struct stream_summary;
struct symbols;

/* One comparison under way. */
struct fleet_loading {
	const struct fleet_question *question;
	struct stream_summary *streams; /* in the order of their ids */
	size_t count;
	struct fleet_matrix *matrix;
	struct fleet_report *report;
	uint64_t reach_ns; /* no moment is before it */
};

struct fleet_source {
	void *context;
	/* Returns the earliest moment, in ns since the epoch, at which it knows what was in use;
	 * NULL: all of them. */
	int (*reach)(void *context, uint64_t *ret_from_ns, struct err_text *err);
	/* Returns the time, in ns since the epoch, by which it is judged whether boards' clocks are
	 * ahead; NULL: that of this machine. */
	int (*now)(void *context, uint64_t *ret_ns, struct err_text *err);
	bool minutes_only; /* it knows what was in use at whole minutes of the clock */
	/* Lists the streams that a selector chooses (NULL: all). The caller frees the list with
	 * store_list_free. `ret_left_out`: how many streams could not be listed. */
	int (*list)(void *context, const char *select, struct stream_summary **ret_list,
		    size_t *ret_count, size_t *ret_left_out, struct err_text *err);
	/* Counts the streams that a selector chooses, and that are not listed because nothing of
	 * them has arrived yet; NULL: there are none. */
	int (*waiting)(void *context, const char *select, size_t *ret_count, struct err_text *err);
	/* Adds all streams to the matrix. Returns 0, -ENOMEM, -ECANCELED, or the error for which
	 * nothing can be told. */
	int (*load)(void *context, struct fleet_loading *loading, struct err_text *err);
	/* Adds what backtraces had in use at a minute (top_load.h). Returns the same. */
	int (*top)(void *context, struct fleet_top_loading *loading, struct err_text *err);
};

/* The recordings of a store, named by symbols. Both must live as long as the source. */
struct fleet_recordings {
	struct store *store;
	struct symbols *symbols;
};
struct fleet_source fleet_source_recordings(struct fleet_recordings *recordings);

/* ---- for sources ---- */

/* Finds the moments at which a stream has data, in nanoseconds since it began. Returns their
 * number; the first is moment `*ret_first` of the matrix. */
uint32_t fleet_stream_moments(const struct fleet_loading *loading,
			      const struct stream_summary *stream, uint32_t *ret_first,
			      uint64_t moments[FLEET_MOMENTS_MAX]);
/* Adds a stream that has data at these moments. Returns the number of its unit, or -ENOMEM. */
int64_t fleet_stream_add(struct fleet_loading *loading, const struct stream_summary *stream,
			 uint32_t first, uint32_t count);
/* Counts a stream that could not be read, and keeps the first reason. */
void fleet_stream_unread(struct fleet_loading *loading, const char *why);
/* Reports progress. Returns 0, or -ECANCELED if the question was withdrawn. */
int fleet_loading_progress(const struct fleet_loading *loading, uint64_t done);

/* ---- for questions ---- */

#define FLEET_LEFT_OUT "it is no recording, or this user may not read it"
/* Lists the streams of a question, without snapshots, in the order of their ids. Returns -ENODATA
 * with a sentence if there are none. The caller frees the list with store_list_free, in either
 * case. */
int fleet_source_streams(const struct fleet_source *source, const char *select,
			 struct stream_summary **ret_list, size_t *ret_count, size_t *ret_left_out,
			 struct err_text *err);
/* Reads the time of the source, in ns since the epoch. */
int fleet_source_now(const struct fleet_source *source, uint64_t *ret_ns, struct err_text *err);
