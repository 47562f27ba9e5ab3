#pragma once
/*
 * What the program had said at a moment: the number that it said last (heapcast_mark), and the text
 * that a thread bore (heapcast_label). The marks are put in order once; each question is a binary
 * search.
 */
#include <stdint.h>

struct recording;

struct said {
	struct said_mark {
		uint64_t time_ns;
		uint32_t thread; /* of a label; 0 of a number */
		uint32_t mark;	 /* of the recording */
	} * numbers, *labels;	 /* by time; by thread, then time */
	uint64_t *values;	 /* of the numbers */
	uint32_t number_count, label_count;
};

#define SAID_NOTHING UINT32_MAX

/* 0 or -ENOMEM. */
int said_init(struct said *said, const struct recording *recording);
void said_done(struct said *said);
/* Before the program has said one it is 0. */
uint64_t said_number(const struct said *said, uint64_t time_ns);
/* The mark (recording_mark) that the thread bore, or SAID_NOTHING. */
uint32_t said_label(const struct said *said, uint32_t thread, uint64_t time_ns);
