#pragma once
/*
 * A source of events, as the stream sees it: the ring that libheapcast.so writes, or the kernel's
 * probes. The stream asks the source for runs (run.h), interns their stacks, batches, compresses
 * and spools. A source never calls the stream.
 *
 *   source --runs--> stream --> batch --> spool --> file, links
 *
 * Unless a comment says otherwise, the drain thread calls these functions and holds the stream's
 * lock. None of them allocates memory.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/core/run.h"
#include "proto/ring.h"

/* Counts of the events that the stream has taken so far, for an agent that takes over after this
 * one. */
struct capture_account {
	uint64_t watermark_ns;
	uint64_t stacks_cut;
	uint64_t allocations, frees, bytes; /* delivered */
	struct run_losses lost;
	uint32_t image;
};

/* How the program is to record. */
struct capture_orders {
	uint32_t mode, resume; /* enum ring_mode: now, and after a stop */
	uint64_t sample_interval;
};

/* Totals of the whole program. In an honest program they only grow. */
struct capture_totals {
	/* allocations that were not sampled because the set of sampled blocks was full */
	uint64_t samples_refused;
	/* stacks that end because the loader could not be asked */
	uint32_t stacks_unknown;
	/* namespaces of the loader whose malloc is not recorded */
	uint32_t namespaces;
	/* events that the program began before it could be recorded */
	uint64_t before;
	/* The image has not begun to be recorded. */
	bool unready;
};

/* How much the counts of a lane have grown. */
struct capture_counts {
	uint64_t produced, not_sampled;
};

/* Says if the source has enough lanes for all threads. */
enum capture_need {
	CAPTURE_ENOUGH,
	CAPTURE_WISHES, /* more would help */
	CAPTURE_MUST,	/* a thread gets no lane without more */
};

/* How a program wakes the drain thread. */
struct capture_bell {
	uint32_t *word; /* a shared futex: the program changes it, then wakes */
	uint32_t value; /* of `word` before the program changes it */
	bool polled;	/* the program can't wake it: look at the source each millisecond */
};

/* The figures of the program's allocator: the members of struct mallinfo2, in order. */
struct capture_allocator {
	uint64_t time_ns, took_ns;
	uint64_t figure[RING_ALLOCATOR_FIGURES];
};

struct capture_ops;
struct filters;
struct target_info;

struct capture_source {
	const struct capture_ops *ops;
	/* The stream's threads, which the source may read. `thread` has the thread of each lane
	 * (NULL: none), `threads` has all threads. The stream sets both before the first call. */
	struct thread *const *thread;
	struct threads *threads;
};

struct capture_ops {
	int kind; /* enum Capture of heapcast.proto */
	/* Fills the run, which is empty. `final`: the process (or its image) is gone, so what is
	 * left is complete. */
	void (*fill)(struct capture_source *source, bool final, struct run *run);
	/* Returns by how much a lane's counts have grown since they were last returned, here or as
	 * RUN_COUNTS. */
	struct capture_counts (*count)(struct capture_source *source, uint32_t lane);
	struct capture_totals (*totals)(const struct capture_source *source);
	/* Returns true if the waiting data should be taken at once, because a buffer is filling
	 * up. */
	bool (*filling)(const struct capture_source *source);
	/* Called at the beginning of each turn of the drain thread. `away`: the last turn was so
	 * long ago that programs may have given up on the agent. */
	void (*turn)(struct capture_source *source, bool away);
	/* Called before a batch is closed, after `count`. */
	void (*seal)(struct capture_source *source, const struct capture_account *account);
	/* The process has called exec and now runs its `image`th program. The stream has taken
	 * everything that the previous program left. */
	void (*begin_image)(struct capture_source *source, uint32_t image,
			    const struct target_info *target);
	void (*obey)(struct capture_source *source, const struct capture_orders *orders);
	/* Lets the program continue unrecorded. What it has recorded is still taken. */
	void (*detach)(struct capture_source *source);
	/* Returns the number of events that the program has begun and `count` has not reported
	 * yet. */
	uint64_t (*uncounted)(const struct capture_source *source);
	/* The stream is about to end: does the part of the cleanup that takes time. Runs in the
	 * main loop without the lock. The drain thread does not wait for it and may call the other
	 * functions meanwhile. */
	void (*retire)(struct capture_source *source);
	/* Closes the source. The stream has ended and does not call the source again. */
	void (*close)(struct capture_source *source);

	/* A source that lacks one of the following features leaves its functions NULL. */

	/* Lanes that grow; a source has all three functions or none. `need` returns whether the
	 * source needs more lanes. `grow` makes the lanes of a level (budget.h) ready and returns 0
	 * or a negative errno. `grown` tells the source whether its last `need` was refused. */
	enum capture_need (*need)(struct capture_source *source);
	int (*grow)(struct capture_source *source, uint32_t level);
	void (*grown)(struct capture_source *source, bool refused);
	/* Tells the source how many frames the numbered stacks of all lanes together may have
	 * (RUN_SAVE). The number may grow. */
	void (*allow_saved)(struct capture_source *source, uint32_t frames);
	/* Called before the drain thread sleeps (`sleep`) and after it has woken up (`wake`). A
	 * source has both functions or none. */
	struct capture_bell (*sleep)(struct capture_source *source);
	void (*wake)(struct capture_source *source);
	/* The observer's thread calls the next two functions and holds the lock. Asks the program's
	 * allocator for its figures. */
	void (*ask)(struct capture_source *source);
	/* Tells the program about seccomp filters that it has not reported. */
	void (*filtered)(struct capture_source *source, const struct filters *seen);
	/* Gets the allocator's last answer and returns its number. Returns 0 if there is no answer
	 * after number `after`, or if the answer is not complete yet. */
	uint32_t (*answer)(const struct capture_source *source, uint32_t after,
			   struct capture_allocator *ret);
};
