#pragma once
/*
 * What a recording does not hold of its program, found in one place: whoever answers begins with
 * the line that stands here, if there is one (terminal, JSON, REST, exports, the list). Something
 * new that may be missing is a number in this struct and a function in the table of completeness.c.
 *
 * Numbers from samples are no gap: they bear their errors. Nor is what somebody ordered not to be
 * recorded, nor the call that a thread was in when it was killed: the program never had anything of
 * it.
 */
#include <stdbool.h>
#include <stdint.h>

struct recording;

#define COMPLETENESS_LINE 640 /* bytes, with its NUL; one line of ASCII */

struct completeness {
	bool adds_up;  /* recording_adds_up */
	bool complete; /* none of what follows, down to damage */
	uint64_t lost_events, produced_events, lost_bytes; /* events that never came, of how many;
							      bytes: as far as they are known */
	uint64_t unfinished_events;   /* of what the ledger calls lost: calls that threads were in
					 when they were killed */
	uint64_t culled_missed;	      /* events culled by the agent whose sums never came */
	uint64_t start_missed_events; /* before the collector joined */
	uint64_t before_recording_events; /* before the agent answered */
	bool not_begun;			  /* it never did */
	uint64_t unrecorded; /* processes that descend from this one and are in no recording */
	bool tail_unknown;   /* nobody writes it any more, and it has no end: agent and program were
				gone together, say */
	uint64_t tail_events; /* that the agent had in hand when it last spoke */
	uint64_t damaged_bytes, damaged_places, cut_bytes, missing_batches;
	uint64_t missing_events; /* that came once, and are gone by damage */
	uint64_t namespaces; /* of the loader, with a malloc of their own that was not recorded */
	uint64_t rowless_allocations,
		rowless_bytes; /* that are counted, and have no rows: there are no more numbers */
	/* Nothing is missing of what was to be recorded, but it is not all of the program's
	 * life. */
	uint64_t ran_before_ns; /* how long it had run when it was joined; 0: it was there from its
				   start */
	char line[COMPLETENESS_LINE]; /* "Incomplete: ...": all of it in words. "": there is nothing
					 to say */
};

/* The line of a stream that broke off at `end_ns`, from the one (or NULL) that was written down
 * while it was growing, in `out`. False: it says so already. */
bool completeness_broken_off(const char *line, uint64_t end_ns, char out[COMPLETENESS_LINE]);
void recording_completeness(const struct recording *recording, struct completeness *ret);
