#pragma once
/* Who was recorded, how, and what the recording lacks: the head of every answer about a recording,
 * for readers and as JSON. */
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "collector/answers/account.h"
#include "collector/recording/completeness.h"
#include "collector/recording/info.h"

struct answer;
struct recording;

/* Texts and pointers are those of the recording. */
struct recorded {
	struct stream_id id;
	struct process_info process;
	uint64_t duration_ns;
	char end[ACCOUNT_END]; /* how the program ended, in words */
	bool watched_from_start, watched_to_end;
	bool whole;	     /* both, or so far */
	const char *unfreed; /* "never freed", "not freed while watched" */
	bool live;	     /* its end has not been seen: numbers hold up to the last batch */
	bool sampled;	     /* at least for a part of the time */
	uint64_t samples_refused;
	uint64_t
		most_interval; /* of samples that was ever in force, as far as marks say; 0: none */
	uint32_t changes;      /* orders that changed how it was recorded */
	struct culled_totals culled;
	bool flight;			  /* a flight recorder: sums are of what its window left */
	const struct mark_info *delivery; /* the last time that it sent its window; NULL: never */
	struct completeness completeness;
	struct err_text reason;	 /* why its account does not add up */
	uint64_t produced, lost; /* events; lost: or missed by the collector */
	/* The process as the kernel counted it, and what its allocator said of itself. */
	bool has_figures, has_allocator;
	struct figures_info figures, figures_most;
	struct allocator_info allocator;
};

void recorded_of(const struct recording *recording, struct recorded *ret);

/* The member "process" of an answer; "figures", "allocator" and the ledger's verdict in `collector
 * report --json`. */
extern const struct answer recorded_answer, recorded_figures_answer;
