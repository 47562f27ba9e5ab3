#pragma once
/*
 * An index of what was in use over time, which answers questions about any part of it without a
 * pass over the rows. For each bin of a history (history.h) it holds what was in use at the bin's
 * start, the least and most within the bin, its births and deaths, and its far events. If a
 * question covers a part of a bin, the bin is read again from the rows near it. 100 million rows
 * make some 100,000 bins.
 *
 * The index is made in three passes over the rows (more if the far events do not fit into memory),
 * and can be written to a file and read back. The bytes (little endian):
 *
 *	offset  bytes
 *	     0	    8  "HCUSAGE" and the version, '2'
 *	     8	    8  XXH3 of all that follows
 *	    16     16  id of the stream
 *	    32	    8  rows of the recording
 *	    40	    8  `state` of the recording, as its owner counts it: the index is valid for
 *		       this state only
 *	    48	    4  rows of a segment
 *	    52	    4  number of bins
 *	    56	    8  length of the far events
 *	    64 104 x n  bins: start_ns, segment, number and offset of far events; bytes and units at
 *			the start, least, most, births, deaths
 *		    -  far events
 *
 * The far events of a bin are, for each time with any of them, varints: the time since the previous
 * one (or since the bin's start), flags, and as the flags say bytes and units of the births and
 * bytes and units of the deaths.
 */
#include "base/buf.h"
#include "collector/query/time/history.h"
#include "collector/query/sweep/result_file.h"

struct usage_index;

/* Makes the index of the rows that `of` selects. Returns 0, -ENOMEM, -ECANCELED, -ETIME, or an
 * error of reading. */
int usage_index_new(const struct history_of *of, struct usage_index **ret_index,
		    struct err_text *err);
void usage_index_free(struct usage_index *index);
const struct history_bins *usage_index_bins(const struct usage_index *index);

/* Here and below, `of` must be as it was for usage_index_new; its matcher may be another one of the
 * same filter. */

/* Finds the first moment at which most bytes were in use; 0 if none ever were. */
int usage_index_peak(const struct usage_index *index, const struct history_of *of, uint64_t *ret_ns,
		     struct err_text *err);

/* Changes from one moment to before another. Blocks are in units. */
struct usage_span {
	uint64_t from_ns, to_ns; /* from_ns < to_ns */
	struct usage_sum {
		int64_t bytes, units;
	} start, end, least, most, births, deaths;
};

/* Fills spans, which must be ascending and must not overlap. */
int usage_index_spans(const struct usage_index *index, const struct history_of *of,
		      struct usage_span *spans, uint32_t count, struct err_text *err);

/* Finds in each of these spans the first moment at which most bytes, or blocks, were in use. */
int usage_index_peaks(const struct usage_index *index, const struct history_of *of,
		      const struct usage_span *spans, uint32_t count, bool blocks,
		      uint64_t *ret_moments, struct err_text *err);

/* Serializes the index. Head and bins go to `out` (empty before); the far events follow them in the
 * file, and *ret_far points to them in the index. */
int usage_index_write(const struct usage_index *index, const struct recording *recording,
		      uint64_t state, struct buf *out, const uint8_t **ret_far,
		      size_t *ret_far_length);
/* `data` is used as long as the index lives; it may be a mapped file. Returns -EBADMSG with an
 * error text if it is damaged, or of another version, another recording or another state of it; the
 * caller then makes the index anew. */
int usage_index_read(const uint8_t *data, size_t length, const struct recording *recording,
		     uint64_t state, struct usage_index **ret_index, struct err_text *err);
/* usage_index_kept.c. Reads the index of all rows, or of those that were not freed, that is kept
 * beside the recording. `kept` backs the index; the caller closes it in any case. Returns 0, or a
 * negative errno if there is no valid index. */
int usage_index_load(const struct recording *recording, bool leaked, struct result_file *kept,
		     struct usage_index **ret_index);
/* Keeps the index beside the recording, if possible. */
void usage_index_save(const struct usage_index *index, const struct recording *recording,
		      bool leaked);
/* Writes the correct checksum into the bytes of an index. */
void usage_index_vouch(uint8_t *data, size_t length);
