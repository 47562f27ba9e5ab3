#pragma once
/* Declarations that strip.h, bring_names.h and anonymise.h share: each rewrites a recording. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/recording/info.h"

/* The output of a rewrite. It goes to `fd` from its current position on; `fd` stays open.
 * `progress` is called as in recording_open. */
struct copy_settings {
	int fd;
	const char *name; /* of the output, for messages; may be NULL */
	int (*progress)(void *context, uint64_t done, uint64_t of);
	void *context;
};

/* Returns frame `index` of a node's place, innermost first; nodes are numbered as in
 * recording_node. Strings are valid until the next call. Returns false if there is no such
 * frame. */
typedef bool frame_of_function(void *context, uint32_t node, uint32_t index,
			       struct named_frame *ret_frame);
