#pragma once
/*
 * What the kernel and the allocator reported about a process over time (messages Figures and
 * Allocator). The readings are extracted from the frames on demand, because such queries are rare
 * and the readings are few compared with events.
 */
#include <stdbool.h>

#include "base/cancel.h"
#include "collector/recording/info.h"

/*
 * Most readings kept per kind. If there are more, only every second one is kept, then every fourth,
 * and so on.
 */
#define FIGURES_KEPT_MAX (1u << 18)

struct figures_history {
	struct figures_info *figures; /* ordered by time; sizes in bytes; `detailed_ns` is the time
				       * of pss, dirty and clean, which persist */
	size_t figures_count;
	struct allocator_info *allocator;
	size_t allocator_count;
};

/*
 * Reads all readings of the recording at `path` and skips damaged frames. `cancel` may be NULL.
 * Returns 0, -ENOENT, -ENOMEM, -ECANCELED, -ETIME or another negative errno.
 */
int figures_over_time(const char *path, const struct cancel *cancel,
		      struct figures_history *ret_history, struct err_text *err);
void figures_history_done(struct figures_history *history);
