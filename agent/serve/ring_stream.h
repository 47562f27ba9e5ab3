#pragma once
/* Opens a stream whose source is a ring: for a program, or from an agent that is gone. The stream
 * knows nothing of rings, and the ring knows nothing of streams. These functions connect the two.
 * The caller holds the stream's lock. */
#include "agent/ring/ring_source.h"
#include "agent/stream/stream.h"

/* FREE to LIVE: creates the ring. The mode, the interval, and whether frees have stacks come from
 * `ring`; `settings` need not have them. Returns 0 or a negative errno. */
int ring_stream_open(struct stream *stream, struct ring_source *source,
		     const struct target_info *target, const struct stream_settings *settings,
		     const struct ring_settings *ring);
/* FREE to LIVE with the ring of an agent that is gone. Takes over `lock` as ring_source_adopt does.
 * Returns 0, -EXDEV if the ring has another `mark`, -ESRCH if it is not the ring of `target`,
 * -ENOSPC if the room has too little memory for it, or another negative errno. */
int ring_stream_take_up(struct stream *stream, struct ring_source *source,
			const struct target_info *target, int lock, const uint8_t *mark,
			const uint8_t *agent_id);
