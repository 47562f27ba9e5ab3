#pragma once
/*
 * What the kernel and the allocator said of a process, over time (messages Figures and Allocator):
 * read from the recording's frames when asked, since a question about them is rare and they are
 * small beside the events.
 */
#include <stdbool.h>

#include "base/cancel.h"
#include "collector/recording/info.h"

/* Readings kept of each kind; of more, every second one is left out, then every fourth and so
 * on. */
#define FIGURES_KEPT_MAX (1u << 18)

struct figures_history {
	struct figures_info *figures; /* in the order of time; bytes. `detailed_ns`: of pss, dirty
					 and clean, which hold on */
	size_t figures_count;
	struct allocator_info *allocator;
	size_t allocator_count;
};

/* All readings of the recording at `path`. Damaged frames are passed over. 0; -ENOENT; -ENOMEM;
 * -ECANCELED, -ETIME: `cancel` (may be NULL). */
int figures_over_time(const char *path, const struct cancel *cancel,
		      struct figures_history *ret_history, struct err_text *err);
void figures_history_done(struct figures_history *history);
