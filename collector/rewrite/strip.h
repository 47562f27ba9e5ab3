#pragma once
/* A recording without blocks that lived shortly. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/rewrite/rewrite.h"

struct err_text;

struct strip_result {
	uint64_t bytes_before, bytes_after; /* of frames */
	uint64_t events_before, events_after;
	uint64_t blocks; /* that are in sums now, and were rows */
};

#define STRIP_ALL UINT64_MAX /* whatever has ended */

/* The recording at `path` as if its agent had culled what lives less than `threshold_ns`
 * (docs/short-lived.md). As far as it goes: one that grows is taken up to where it ends now. 0; as
 * recording_open; -EMSGSIZE: a batch is too long for its sums. */
int recording_strip(const char *path, uint64_t threshold_ns, const struct copy_settings *settings,
		    struct strip_result *ret_result, struct err_text *err);
