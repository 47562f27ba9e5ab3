#pragma once
/* A recording written anew: what strip.h, bring_names.h and anonymise.h have in common. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/recording/info.h"

/* How a recording is written anew: to a descriptor, from its place on; nothing is closed.
 * `progress` as of recording_open. */
struct copy_settings {
	int fd;
	const char *name; /* of what is written, for sentences; may be NULL */
	int (*progress)(void *context, uint64_t done, uint64_t of);
	void *context;
};

/* Frame `index` of a node's place, innermost first (numbers as recording_node has them); strings
 * live until the next call. False: that was all. */
typedef bool frame_of_function(void *context, uint32_t node, uint32_t index,
			       struct named_frame *ret_frame);
