#pragma once
/*
 * What a recording lacks of its program, in one place. Every output (terminal, JSON, REST, exports,
 * the list) begins with the line computed here, if it is not empty. A new kind of loss is a member
 * of this struct and a function in the table of completeness.c.
 *
 * Estimates from samples are no loss, because they state their errors. Events that the user
 * excluded from recording are none either, nor is the call in which a thread was killed, because
 * the program never got its result.
 */
#include <stdbool.h>
#include <stdint.h>

struct recording;

#define COMPLETENESS_LINE 640 /* bytes, with the NUL; one line of ASCII */

struct completeness {
	bool adds_up;  /* recording_adds_up */
	bool complete; /* no function in the table of completeness.c has found a loss */
	uint64_t lost_events, produced_events, lost_bytes; /* events that never arrived, out of
							    * how many; bytes as far as they are
							    * known */
	uint64_t unfinished_events;   /* part of what the ledger calls lost: calls in which threads
				       * were killed */
	uint64_t culled_missed;	      /* events culled by the agent whose sums never arrived */
	uint64_t start_missed_events; /* before the collector joined */
	uint64_t elsewhere_events;    /* part of these and of what was missed later: another
				       * collector has them */
	uint64_t before_recording_events; /* before the agent answered */
	bool not_begun;			  /* the agent never answered */
	uint64_t unrecorded;		  /* descendants of this process that are in no recording */
	bool tail_unknown;    /* the recording has no end and no writer: for example, the agent and
			       * the program died together */
	uint64_t tail_events; /* events that the agent held when it last reported */
	uint64_t damaged_bytes, damaged_places, cut_bytes, missing_batches;
	uint64_t missing_events; /* events that arrived, but were lost by damage */
	uint64_t namespaces;	 /* loader namespaces with a malloc of their own, which was not
				  * recorded */
	uint64_t rowless_allocations,
		rowless_bytes; /* counted, but without rows, because row numbers ran out */
	/* No loss, but the recording does not cover the program's whole life: */
	uint64_t ran_before_ns; /* run time of the program before it was joined; 0: recorded from
				 * its start */
	char line[COMPLETENESS_LINE]; /* "Incomplete: ...": all of this in words; "" if there is
				       * nothing to report */
};

/*
 * Writes the line of a stream that broke off at `end_ns` to `out`. `line` is the line (or NULL)
 * recorded while the stream was growing. Returns false if that line already says so.
 */
bool completeness_broken_off(const char *line, uint64_t end_ns, char out[COMPLETENESS_LINE]);
void recording_completeness(const struct recording *recording, struct completeness *ret);
