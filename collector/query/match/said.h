#pragma once
/*
 * What the program had said at a moment: the last number (heapcast_mark), and the label of a thread
 * (heapcast_label). The marks are sorted once; each query is a binary search.
 */
#include <stdint.h>

struct recording;

struct said {
	struct said_mark {
		uint64_t time_ns;
		uint32_t thread; /* the label's thread; 0 for a number */
		uint32_t mark;	 /* number of the mark in the recording */
	} * numbers, *labels;	 /* numbers by time; labels by thread, then time */
	uint64_t *values;	 /* values of the numbers */
	uint32_t number_count, label_count;
};

#define SAID_NOTHING UINT32_MAX

/* Returns 0 or -ENOMEM. */
int said_init(struct said *said, const struct recording *recording);
void said_done(struct said *said);
/* 0 until the program has said a number. */
uint64_t said_number(const struct said *said, uint64_t time_ns);
/* The mark (recording_mark) of the thread's label at that time, or SAID_NOTHING. */
uint32_t said_label(const struct said *said, uint32_t thread, uint64_t time_ns);
