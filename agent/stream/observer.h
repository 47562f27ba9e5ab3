#pragma once
/*
 * The observer: a thread that reads the recorded processes' files in /proc and hands the results to
 * their streams, which put them into the next batch. The kernel needs 100 ms to produce the smaps
 * of a large process. So the observer runs neither in the main loop, which serves the network, nor
 * in the drain thread, which empties rings, and it reads without a lock: it locks a stream only to
 * look up the process and to hand over results.
 *
 * Cost for the recorded process: the kernel holds its mmap lock, shared, for each page of smaps
 * text (about six regions). The observer limits this cost:
 *   maps       At their interval. After a reading that took more than MAPS_SLOW_NS of CPU time, not
 *              before a hundred times that time.
 *   pss        With the figures, but at most 1 % of one CPU: not before a hundred times what the
 *              last reading took.
 *   figures    At their interval; two small files. At first, and while the peak of a process grows,
 *              more often, up to 1 % of one CPU: a peak may last only for a moment, and can't be
 *              read after the process has ended.
 *   seccomp    Once a second, for about sixty threads; one small file each.
 *   mallinfo2  In the recorded process: once a second, and at most 1 % of a thread's time, because
 *              it walks all free chunks: 25 ms for 100,000.
 *
 * The agent may not read a process of another user, or a process that is not dumpable. The observer
 * logs that once, and the rest of the recording continues.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/watch/figures.h"
#include "agent/watch/maps.h"
#include "base/proc/maps.h"

#define MAPS_SLOW_NS	 10000000
#define OBSERVER_RATIO	 100 /* a reading takes at most 1 / OBSERVER_RATIO of the time */
#define ALLOCATOR_ASK_NS 1000000000
#define FILTERS_NS	 1000000000

struct stream;

/* The observer's state of the process in a slot. */
struct observed {
	uint64_t generation; /* stream.start_ns; 0: no process */
	pid_t pid;
	uint32_t image;
	struct observer_settings settings;   /* the stream's settings */
	int proc;			     /* descriptor of /proc/PID */
	bool no_figures, no_detail, no_maps; /* the agent can't read these */
	uint64_t figures_due, interval_due, detail_due, maps_due, allocator_due, filters_due;
	/* Time until the next look at figures, if that is shorter than their interval. */
	uint64_t sooner_ns;
	uint64_t filters_at; /* position for filters_read */
	struct figures last;
};

struct observer {
	struct observer_settings settings;
	struct stream *const *stream;
	uint32_t streams;
	struct observed *slot; /* array of `streams` entries */
	struct proc_maps reader;
	pthread_t thread;
	pthread_mutex_t lock; /* protects `wake`, `stop` and `kicked` */
	pthread_cond_t wake;
	bool stop, kicked;
	bool running;
};

/* Starts the thread. Returns 0 or a negative errno. */
int observer_start(struct observer *observer, const struct observer_settings *settings,
		   struct stream *const *streams, uint32_t count);
/* Wakes the observer up, because a new process has started. */
void observer_kick(struct observer *observer);
/* Stops the thread and waits until it has ended. */
void observer_stop(struct observer *observer);
