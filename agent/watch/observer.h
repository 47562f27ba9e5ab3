#pragma once
/*
 * The observer: a thread that looks at recorded processes from outside, through /proc, and leaves
 * what it has seen with their streams, to go into the next batch. A reading of smaps of a big
 * process takes 100 ms, in which the kernel works: so this happens neither in the main loop, which
 * has a network to serve, nor in the drain thread, which has a ring to empty, nor under a lock of
 * ours: a stream is locked to learn whom to look at, and to hand over.
 *
 * What reading costs the target: smaps is read under its mmap lock, shared, a page of text (some
 * six regions) at a time. So:
 *   maps     at their interval; after a reading that cost more than MAPS_SLOW_NS of CPU, not before
 *            a hundred times that
 *   pss      with the figures, but at most 1 % of one CPU: the next not before a hundred times what
 *            the last one cost
 *   figures  at their interval: two small files. At first, and while the peak of a process grows,
 *            sooner, 1 % of one CPU at most: what it had at most must be seen before it is gone,
 *            and may be there for a moment only
 *   seccomp  once a second, of some sixty threads: a small file each
 *   mallinfo2, in the target: once a second, and at most 1 % of a thread's time (it walks all free
 *   chunks: 25 ms for 100,000)
 *
 * It fails for a process of another user, or one that may not be dumped: said once, and the rest
 * goes on.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/core/budget.h"
#include "agent/watch/figures.h"
#include "agent/watch/maps.h"
#include "agent/watch/smaps.h"

#define MAPS_SLOW_NS	 10000000
#define OBSERVER_RATIO	 100 /* a reading costs at most one part in so many of the time */
#define ALLOCATOR_ASK_NS 1000000000
#define FILTERS_NS	 1000000000

struct stream;

/* Whom a slot has, as far as the observer knows. */
struct observed {
	uint64_t generation; /* stream.start_ns; 0: nobody */
	pid_t pid;
	uint32_t image;
	struct observer_settings settings;   /* that hold for it */
	int proc;			     /* of /proc/PID */
	bool no_figures, no_detail, no_maps; /* may not be read */
	uint64_t figures_due, interval_due, detail_due, maps_due, allocator_due, filters_due;
	uint64_t
		sooner_ns; /* until the next look at figures, if that comes before their interval */
	uint64_t filters_at; /* filters_read */
	struct figures last;
};

struct observer {
	struct observer_settings settings;
	struct stream *const *stream;
	uint32_t streams;
	struct observed *slot; /* `streams` of them */
	struct smaps reader;
	pthread_t thread;
	pthread_mutex_t lock; /* of the two below */
	pthread_cond_t wake;
	bool stop, kicked;
	bool running;
};

/* Starts the thread. 0 or a negative errno. */
int observer_start(struct observer *observer, const struct observer_settings *settings,
		   struct stream *const *streams, uint32_t count);
/* There is somebody new to look at. */
void observer_kick(struct observer *observer);
void observer_stop(struct observer *observer);
