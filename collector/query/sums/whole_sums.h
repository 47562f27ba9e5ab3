#pragma once
/*
 * Sums by node of all rows. Queries without a filter are answered from them, and group filters
 * compare with them. The view owns them until view_refresh. For a stream that has ended they are
 * kept beside its rows (result_file.h). Parts that few queries need are computed on demand. The
 *bytes (little endian; entries in the order of the nodes' first rows):
 *
 *	offset  bytes
 *	     0	    8  "HCNSUMS" and the version, '2'
 *	     8	    8  XXH3 of all that follows
 *	    16     16  id of the stream
 *	    32	    8  rows of the recording
 *	    40	    8  `state` of the recording: the file is valid for this state only
 *	    48	    4  parts (enum whole_part)
 *	    52	    4  number of nodes
 *	    56	    4  number of sampled entries
 *	    60	    4  0
 *	    64	    8  the peak's moment
 *	    72	    8  reallocations
 *	    80 160 x n  nodes: number, sampled (index + 1; 0: none), least and largest size, first
 *			and last birth; blocks and bytes
 *		       by end, and alive at the peak; the group's own peak
 *		    -  sampled entries, 392 bytes each: seven numbers (struct tally) by end, and
 *		       alive at the peak
 */
#include "collector/query/sums/node_sums.h"
#include "collector/query/match/view.h"

enum whole_part {
	WHOLE_PEAK = 1,		 /* the peak's moment, and what was alive then */
	WHOLE_REALLOCATIONS = 2, /* sums.reallocations */
	WHOLE_GROUP_PEAKS = 4,	 /* group_peaks */
};

struct whole_sums {
	struct node_sums sums; /* by end, including culled blocks */
	unsigned parts;	       /* parts that are known */
	uint64_t peak_ns;
	/* By index in sums.list: the first moment at which the group had most bytes in use. */
	uint64_t *group_peaks;
};

/* Returns the sums with at least those parts. They belong to the view until view_refresh. `filter`
 * only says whether the question was withdrawn. Returns 0 or a negative errno. */
int view_whole_sums(struct view *view, const struct filter *filter, unsigned parts,
		    const struct whole_sums **ret_whole, struct err_text *err);
void whole_sums_free(struct whole_sums *whole);

/* whole_sums_file.c. Appends the bytes. Returns 0 or -ENOMEM. */
int whole_sums_write(const struct whole_sums *whole, const struct recording *recording,
		     uint64_t state, struct buf *out);
/* Returns 0, -ENOMEM, or -EBADMSG if the bytes are damaged, or of another version, another
 * recording or another state of it. */
int whole_sums_read(const uint8_t *data, size_t length, const struct recording *recording,
		    uint64_t state, struct whole_sums **ret_whole);
