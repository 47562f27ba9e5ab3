#pragma once
/*
 * Finds the marks that were in effect at a moment: the last number (heapcast_mark), and the label
 * of a thread (heapcast_label). The marks are sorted once; each query is a binary search.
 */
#include <stdint.h>

struct recording;

struct mark_index {
	struct mark_index_entry {
		uint64_t time_ns;
		uint32_t thread; /* the label's thread; 0 for a number */
		uint32_t mark;	 /* number of the mark in the recording */
	} * numbers, *labels;	 /* numbers by time; labels by thread, then time */
	uint64_t *values;	 /* values of the numbers */
	uint32_t number_count, label_count;
};

#define MARK_NONE UINT32_MAX

/* Returns 0 or -ENOMEM. */
int mark_index_init(struct mark_index *marks, const struct recording *recording);
void mark_index_done(struct mark_index *marks);
/* Returns the last number that the program marked, or 0 if it had marked none. */
uint64_t mark_index_number(const struct mark_index *marks, uint64_t time_ns);
/* Returns the mark (recording_mark) of the thread's label at that time, or MARK_NONE. */
uint32_t mark_index_label(const struct mark_index *marks, uint32_t thread, uint64_t time_ns);
