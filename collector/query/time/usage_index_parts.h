#pragma once
/* The index itself, shared by the files of usage_index.h. */
#include "collector/query/sweep/spill.h"
#include "collector/query/time/usage_index.h"

struct bin {
	uint64_t far; /* offset */
	uint32_t far_count;
	struct usage_sum start, least, most, births, deaths;
};

struct usage_index {
	struct history_bins bins;
	struct bin *list; /* by bin */
	struct spill own; /* far events of an index that was made in this process */
	const uint8_t *far;
	size_t far_length;
};
