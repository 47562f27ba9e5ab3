#pragma once
/* What is to be sent of a stream, after what this collector and others have sent. */
#include <stdbool.h>
#include <stdint.h>

#include "collector/catalogue/store.h"
#include "collector/share/marks.h"

/* Returns whether something of the stream, or of its row, is to be sent. */
bool stream_is_due(const struct stream_summary *stream, const struct mark *mark,
		   const struct marks *marks, uint64_t collector, uint32_t kept);
/* Of a lane that is in doubt (lane.h): whether no sums of the stream can be there that its mark
 * does not know of. */
bool stream_is_settled(const struct stream_summary *stream, const struct mark *mark,
		       const struct marks *marks, uint64_t collector, uint32_t kept);
/* Returns whether another collector has all of the stream, and this one has sent nothing of it: its
 * folder is a copy of ours, or ours of its. */
bool stream_is_copy(const struct stream_summary *stream, const struct mark *mark,
		    const struct marks *marks);
/* Returns whether sums are to be sent, and not only its row. */
bool stream_sums_are_due(const struct stream_summary *stream, const struct mark *mark,
			 const struct marks *marks, uint64_t collector);
uint32_t stream_first_minute(const struct stream_summary *stream);
/* Returns whether other collectors have a part of the stream. */
bool stream_has_others(const struct stream_summary *stream, const struct marks *marks);
/* Returns the batch before which the sums end, because others have all that follows; incarnation 0:
 * there is none. */
struct stream_position stream_bound(const struct stream_summary *stream, const struct mark *mark,
				    const struct marks *marks, uint64_t collector);
