#pragma once
/*
 * A thread pool shared by all queries: one thread per processor, at most PARALLEL_MOST, started on
 * demand and kept. Work is divided into parts; their number depends on the work alone. Threads take
 * the parts in order. Results are merged in the order of the parts, by one thread at a time. So the
 * answer is the same bit for bit with any number of threads.
 */
#define PARALLEL_MOST 8

struct parallel_work {
	unsigned parts;
	void *context;
	/* Returns 0, or a negative errno, which ends the work: parts that have not begun are not
	 * run, and nothing more is merged. */
	int (*run)(void *context, unsigned part);
	int (*merge)(void *context, unsigned part); /* may be NULL */
};

/* Runs the work on the calling thread and on idle threads. Returns the first error. When it
 * returns, no part is running any more. */
int parallel_run(const struct parallel_work *work);
/* For tests: the number of threads from now on, at most PARALLEL_MOST; 0: one per processor. */
void parallel_limit(unsigned threads);
