#pragma once
/*
 * What was in use over time, so kept that any part of it is known without a pass over the rows: for
 * each bin of a history (history.h) what was in use when it began, the least and most within it,
 * its births and deaths; and its far events. A bin that is asked for in part is read again from the
 * rows near it. 100 million rows make some 100,000 bins.
 *
 * It is made in three passes over the rows (more where far events do not fit memory), and can be
 * written down and read back. The bytes (little endian):
 *
 *	offset  bytes
 *	     0	    8  "HCUSAGE" and the version, 1
 *	     8	    8  XXH3 of all that follows
 *	    16     16  id of the stream
 *	    32	    8  rows of the recording
 *	    40	    8 `state` of the recording, as its owner counts it: another state makes the
 *		    index worthless
 *	    48	    4  rows of a segment
 *	    52	    4  number of bins
 *	    56	    8  length of the far events
 *	    64 104 x n  bins: start_ns, segment, number and offset of far events; bytes and units at
 *			the start, least, most, births, deaths
 *		    -  far events
 *
 * A bin's far events: for each time at which there were some, varints: what has passed since the
 * one before (since the bin's start), flags, and as the flags say bytes and units of what was born
 * and bytes and units of what died.
 */
#include "base/buf.h"
#include "collector/query/time/history.h"
#include "collector/query/sweep/kept.h"

struct usage_index;

/* Of the rows that `of` lets through. 0, -ENOMEM, -ECANCELED or what reading failed with. */
int usage_index_new(const struct history_of *of, struct usage_index **ret_index,
		    struct err_text *err);
void usage_index_free(struct usage_index *index);

/* Here and below `of` is as it was for usage_index_new; its matcher may be another of the same
 * filter. */

/* The first moment at which most bytes were in use; 0 if there were never any. */
int usage_index_peak(const struct usage_index *index, const struct history_of *of, uint64_t *ret_ns,
		     struct err_text *err);

/* What happened from one moment to before another. Blocks are in units. */
struct usage_span {
	uint64_t from_ns, to_ns; /* from_ns < to_ns */
	struct usage_sum {
		int64_t bytes, units;
	} start, end, least, most, births, deaths;
};

/* Fills spans that rise and do not overlap. */
int usage_index_spans(const struct usage_index *index, const struct history_of *of,
		      struct usage_span *spans, uint32_t count, struct err_text *err);

/* The first moment of each of such spans at which most bytes, or blocks, were in use. */
int usage_index_peaks(const struct usage_index *index, const struct history_of *of,
		      const struct usage_span *spans, uint32_t count, bool blocks,
		      uint64_t *ret_moments, struct err_text *err);

/* The bytes: of head and bins, which go to `out` (empty before), and behind them the far events,
 * which are the index's. */
int usage_index_write(const struct usage_index *index, const struct recording *recording,
		      uint64_t state, struct buf *out, const uint8_t **ret_far,
		      size_t *ret_far_length);
/* `data` is lent for as long as the index lives; it may be a mapped file. -EBADMSG: it is damaged,
 * of another version, of another recording or of another state of it, says the sentence: make it
 * anew. */
int usage_index_read(const uint8_t *data, size_t length, const struct recording *recording,
		     uint64_t state, struct usage_index **ret_index, struct err_text *err);
/* usage_index_kept.c. Reads the one of all rows, or of those that were not freed, that is kept
 * beside the recording; `kept` belongs to it, and is the caller's to close in any case. 0, or a
 * negative errno: there is none that fits. */
int usage_index_load(const struct recording *recording, bool leaked, struct kept *kept,
		     struct usage_index **ret_index);
/* Keeps it there, if that can be done. */
void usage_index_save(const struct usage_index *index, const struct recording *recording,
		      bool leaked);
/* Makes the checksum of such bytes right. */
void usage_index_vouch(uint8_t *data, size_t length);
