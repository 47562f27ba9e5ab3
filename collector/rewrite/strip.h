#pragma once
/* Copies a recording without its short-lived blocks. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/rewrite/rewrite.h"

struct err_text;

struct strip_result {
	uint64_t bytes_before, bytes_after; /* bytes of frames */
	uint64_t events_before, events_after;
	uint64_t blocks; /* blocks that were rows and are in sums now */
};

#define STRIP_ALL UINT64_MAX /* threshold: all blocks that have ended */

/* Writes a copy of the recording at `path` as if its agent had culled all blocks that lived for
 * less than `threshold_ns` (docs/short-lived.md). Of a growing recording it takes what exists now.
 * Returns 0, the same errors as recording_open, or -EMSGSIZE if a batch is too long for its
 * sums. */
int recording_strip(const char *path, uint64_t threshold_ns, const struct copy_settings *settings,
		    struct strip_result *ret_result, struct err_text *err);
