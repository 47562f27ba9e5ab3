#pragma once
/* The head of every answer about a recording, for people and as JSON: who was recorded, how, and
 * what the recording lacks. */
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "collector/answers/account.h"
#include "collector/recording/completeness.h"
#include "collector/recording/info.h"

struct answer;
struct recording;

/* The recording owns texts and pointers. */
struct recorded {
	struct stream_id id;
	struct process_info process;
	uint64_t duration_ns;
	char end[ACCOUNT_END]; /* how the program ended, in words */
	bool watched_from_start, watched_to_end;
	bool whole;	     /* watched from the start to the end, or until now */
	const char *unfreed; /* "never freed", "not freed while watched" */
	bool live;	     /* its end was not seen: numbers hold up to the last batch */
	bool sampled;	     /* for at least a part of the time */
	uint64_t samples_refused;
	uint64_t
		most_interval; /* of samples that was ever in force, as far as marks say; 0: none */
	uint32_t changes;      /* number of orders that changed how it was recorded */
	struct culled_totals culled;
	bool flight;			  /* a flight recorder; its sums: what left the window */
	const struct mark_info *delivery; /* when it last sent its window; NULL: never */
	struct completeness completeness;
	struct err_text reason;	 /* why the account does not add up */
	uint64_t produced, lost; /* events; `lost` includes those that the collector missed */
	/* Figures are the kernel's counts for the process. The allocator reports its own. */
	bool has_figures, has_allocator;
	struct figures_info figures, figures_most;
	struct allocator_info allocator;
};

void recorded_of(const struct recording *recording, struct recorded *ret);

/* recorded_answer is the member "process" of an answer. recorded_figures_answer adds "figures",
 * "allocator" and the ledger's verdict to `collector report --json`. */
extern const struct answer recorded_answer, recorded_figures_answer;
