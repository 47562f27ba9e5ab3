#pragma once
/*
 * The threads that questions share: one for each processor, at most PARALLEL_MOST, started when
 * they are first needed and kept. Work is cut into parts, whose number depends on the work alone.
 * Several threads take parts, in order; each part's result is merged into the whole in the order of
 * the parts, on one thread at a time. So the answer is the same bit for bit with any number of
 * threads.
 */
#define PARALLEL_MOST 8

struct parallel_work {
	unsigned parts;
	void *context;
	/* 0 or a negative errno, which ends the work: parts that are not begun are left out, and so
	 * is merging. */
	int (*run)(void *context, unsigned part);
	int (*merge)(void *context, unsigned part); /* may be NULL */
};

/* Works on this thread, and on those that are free. The first error. No part runs any more when it
 * returns. */
int parallel_run(const struct parallel_work *work);
/* For tests: so many threads from now on, at most PARALLEL_MOST; 0: as many as there are
 * processors. */
void parallel_limit(unsigned threads);
