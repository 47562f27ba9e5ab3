#pragma once
/*
 * Sums by node of all rows: what questions without a filter are answered from, and group filters
 * compare with. The view has them until view_refresh; of a stream that has ended they are kept
 * beside its rows (kept.h). Parts that not every question needs are worked out when one does. The
 * bytes (little endian; entries in the order in which the nodes' first rows came):
 *
 *	offset  bytes
 *	     0	    8  "HCNSUMS" and the version, 1
 *	     8	    8  XXH3 of all that follows
 *	    16     16  id of the stream
 *	    32	    8  rows of the recording
 *	    40	    8  `state` of the recording: another one makes them worthless
 *	    48	    4  parts (enum whole_part)
 *	    52	    4  number of nodes
 *	    56	    4  number of sampled ones
 *	    60	    4  0
 *	    64	    8  the peak's moment
 *	    72	    8  reallocations
 *	    80 160 x n  nodes: number, sampled (index + 1; 0: none), least and largest size, first
 *			and last birth; blocks and bytes
 *		       by end, and alive at the peak; the group's own peak
 *		    -  sampled ones, 392 bytes each: seven numbers (struct tally) by end, and alive
 *		       at the peak
 */
#include "collector/query/sums/node_sums.h"
#include "collector/query/match/view.h"

enum whole_part {
	WHOLE_PEAK = 1,		 /* the peak's moment, and what was alive then */
	WHOLE_REALLOCATIONS = 2, /* sums.reallocations */
	WHOLE_GROUP_PEAKS = 4,	 /* group_peaks */
};

struct whole_sums {
	struct node_sums sums; /* by end, what was culled included */
	unsigned parts;	       /* that are known */
	uint64_t peak_ns;
	uint64_t *group_peaks; /* by index in sums.list: the first moment at which most of its bytes
				  were in use */
};

/* With those parts at least. `filter`: whom the question is for, which may be withdrawn. Lent until
 * view_refresh. 0 or a negative errno. */
int view_whole_sums(struct view *view, const struct filter *filter, unsigned parts,
		    const struct whole_sums **ret_whole, struct err_text *err);
void whole_sums_free(struct whole_sums *whole);

/* whole_sums_file.c. Appends the bytes. 0 or -ENOMEM. */
int whole_sums_write(const struct whole_sums *whole, const struct recording *recording,
		     uint64_t state, struct buf *out);
/* -EBADMSG: damaged, of another version, of another recording or of another state of it.
 * -ENOMEM. */
int whole_sums_read(const uint8_t *data, size_t length, const struct recording *recording,
		    uint64_t state, struct whole_sums **ret_whole);
