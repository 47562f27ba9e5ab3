#pragma once
/*
 * The shim's state about this process and its threads.
 *
 * Terms: a *hook* is one call of an interposed function. A hook is *under way* from its entry until
 * it is left. A hook that begins while another hook of the same thread is under way is *nested*: a
 * signal handler allocates, or an allocator calls itself through the loader's tables. A thread is
 * *quiet* while its events are only counted.
 *
 * shim_page.ring is NULL until an agent has answered, and NULL again after the agent has detached.
 * It is NULL in a fork child, however the child was created, because the kernel wipes the page.
 *
 * The one word that every hook reads is its *gate* (`gate`): the ring, or NULL while no event of
 * this kind is to be recorded. When recording is off, the gate of plain allocations is shut. The
 * other gate is shut, too, unless blocks are on record whose frees must be recorded. A hook that
 * finds its gate shut checks whether the orders have changed (shim_look). An order therefore takes
 * effect at the next event of every thread that knows of it.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/unwind/unwind.h"
#include "proto/ring.h"

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
/* For data declared here. The compiler addresses hidden data relative to the instruction, not
 * through a table. */
#define HIDDEN __attribute__((visibility("hidden")))

enum gate {
	GATE_ALLOCATIONS, /* malloc, calloc and operator new */
	GATE_OTHERS,	  /* all other events */
	GATES,
};

#define SAMPLE_BUCKETS 4096

/* The largest page size of the processor. Data that needs its own pages is aligned to it. */
#if defined(__x86_64__) || defined(__i386__)
#define PAGE_MOST 4096
#else
#define PAGE_MOST 65536
#endif

/* This struct has its own pages, marked MADV_WIPEONFORK, and starts zeroed. It is not behind a
 * pointer because each hook reads it. */
struct shim_page {
	struct ring_header *gate[GATES];
	struct ring_header *ring;
	struct ring_set_line *set; /* of sampled blocks; NULL: closed, see thin.h */
	uint64_t set_mask;
	/* 1 in the process that began to record. The kernel wipes it in fork children of that
	 * process. */
	uint32_t ours;
	/* Frees look here first, by the block's address; see sample.h. */
	uint8_t buckets[SAMPLE_BUCKETS] __attribute__((aligned(64)));
} __attribute__((aligned(PAGE_MOST)));

/* Source of the stamps; see clock.h. */
enum stamps {
	STAMPS_SYSTEM,	/* CLOCK_MONOTONIC: the counter is unusable here */
	STAMPS_SINGLE,	/* the counter, unordered: only one thread was ever recorded */
	STAMPS_ORDERED, /* the counter, ordered */
	STAMPS_TICKS,	/* ring_header.tick: the clock is forbidden, or may be (strict.h) */
};

/* Classes of system calls that a program may have forbidden itself; see strict.h. */
enum calls {
	CALLS_WAIT = 1,	   /* wait and wake; probe whether memory is readable */
	CALLS_MEMORY = 2,  /* map memory */
	CALLS_NUMBERS = 4, /* ids of process and thread */
	CALLS_STACK = 8,   /* signal stack */
	CALLS_CLOCK = 16,
	CALLS_FILES = 32,
	CALLS_CODE = 64,   /* change code */
	CALLS_REST = 128,  /* calls that nothing depends on */
	CALLS_START = 256, /* all other calls, made when recording begins */
	CALLS_EVERY = 511,
};

struct shim {
	enum ring_clock clock;
	enum stamps stamps;
	uint32_t refused; /* enum calls refused to all threads */
	/* enum calls refused to each thread whose first event is still to come; 0: nothing is
	 * refused to any thread. */
	uint32_t refused_new;
	uint32_t filters; /* known seccomp filters */
	uint32_t owner_word_offset;
	/* Added to ring_header.control; raised by each order that the process gives itself. */
	uint32_t control;
	uint32_t stopped; /* heapcast_stop was called */
	/* Allocations have been recorded in full mode, so their frees are recorded in every
	 * mode. */
	uint32_t recorded;
	uint32_t sampled; /* allocations have been sampled */
	/* Allocators other than malloc's exist, and no function reports the sizes of their
	 * blocks. */
	uint32_t foreign;
	/* The allocator calls itself by name, so no event is skipped without the guard. */
	uint32_t nests;
	uint32_t follow;    /* fork children of this process are recorded, too */
	uint32_t attention; /* a missing ring or a shut gate may change */
	/* thread_control() of the last orders that were found to be off. */
	uint32_t shut;
	uint32_t gone;	    /* the agent's heartbeat has stopped */
	uint32_t gone_beat; /* the heartbeat at that time */
	/* The last heartbeat that threads about to wait have seen, and the time since when it has
	 * had this value; see patience.c. */
	uint32_t heard_beat;
	uint64_t heard_ns;
	uint32_t epoch;	      /* ring_header.epoch, in memory that only this process writes */
	uint32_t incarnation; /* of the agent that has received the modules */
	/* Used after the agent was silent; see ask_again.h. */
	uint32_t waits;		/* pid of the process that asks the agent again; 0: none */
	uint32_t wait_ms;	/* delay before the next attempt */
	uint64_t ask_ns;	/* time of the next attempt, by the coarse clock */
	uint64_t before;	/* events that began while there was no ring */
	uint32_t slices;	/* slices of the ring that may be touched; see reach.h */
	struct thread *threads; /* all states ever created; pushed by compare-and-swap */
};

extern struct shim shim HIDDEN;
extern struct shim_page shim_page HIDDEN;

/* One event, before it becomes a record. */
struct event {
	uint32_t kind;
	/* The block that this event frees was sampled, and has been removed from the set. */
	bool was_sampled;
	bool was_sought; /* the set was already searched for the block, without a hit */
	uint64_t address;
	uint64_t size;
	uint64_t stamp;
	uint64_t old_address; /* for reallocations */
	uint64_t call_stamp;
	uint64_t interval; /* sample interval of the block; 0: not weighted */
};

/* Nested events wait in the thread's state, without a stack, until the interrupted hook ends. */
#define ASIDE_MAX 64

/*
 * A thread's state. Its memory outlives the thread; a later thread takes it over. `place` says who
 * owns the state: 0 means free, PLACE_TAKEN means that a thread is setting it up; any other value
 * is the slice that the owner writes, as (generation << 32 | index + 1). A state is free again as
 * soon as this slice has lost its owner, so no destructor is needed.
 */
struct thread {
	/* Two cache lines that each event touches. */
	struct ring_slice *slice;
	uint64_t *data;
	uint64_t mask;	/* words - 1 */
	uint64_t head;	/* the next value of slice->head */
	uint64_t limit; /* `head` may go up to here without a look at `tail`; see slice.c */
	uint64_t check; /* from here on, check how full the slice is */
	/* While `head` is below this position, an event takes the short path (record.c), which
	 * checks only what differs from event to event. It is 0 whenever any condition is unusual.
	 * Each event on the long path sets it anew. */
	uint64_t short_until;
	uint64_t last_stamp;
	struct unwind_thread *unwind;
	/* The orders in the ring's header when `control` was read. */
	uint32_t control;
	uint32_t depth_limit;
	/* Whether these events are recorded. */
	bool allocations;
	bool frees;
	bool free_stacks;
	bool verify; /* walk only the part of the stack that changed */
	/* State of the recording. */
	bool quiet;
	bool moved;	       /* the thread continues in another slice, which is still empty */
	bool may_wait_outside; /* see put_any in record.c */
	bool waited;	       /* the thread waited, so the event is stamped anew */
	uint8_t pressure;      /* how often the slice was found half full */
	/* Maximum number of frames of a stack: depth_limit, or less if the slice is small. */
	uint32_t depth;
	uint32_t epoch;
	uint32_t pseudo; /* outer pseudo frames of the last recorded stack: 0 or 1 */
	bool cut;	 /* the last recorded stack was deeper than the limit */
	uint32_t aside_count;
	struct ring_losses pending; /* lost since the last record */

	uint32_t policy;
	uint32_t incarnation; /* of the agent that its slice is for; see RING_RESTART */

	/* Sampling. */
	uint64_t interval; /* in force; 0: not sampled */
	uint64_t distance; /* bytes from the end of tls.left to the next sample point */
	/* The next event of any kind obeys the orders; until then no bytes are counted down. */
	bool looks_next;
	uint64_t random;
	uint32_t thinned;      /* policy thin: how many times the interval was doubled */
	uint32_t thinned_told; /* the value of `thinned` that the data already shows */
	/* While sampled: the agent's heartbeat at its last look; see thin.c. */
	uint32_t looked_beat;
	uint64_t spare; /* words of the slice that are kept free; see record.c */
	/* The thread is thinned one more step when only this many of the spare words are left. */
	uint64_t spare_step;
	uint32_t unsampled_events; /* events of an unsampled thread while the set is open */
	uint64_t thinned_ns;	   /* CLOCK_MONOTONIC of the last change of `thinned` */

	/* Room; see slice.c. */
	uint64_t end;	    /* end of the slice, without the words that are kept free */
	uint64_t step;	    /* policy thin: `head` may go up to here in spite of the limit */
	uint64_t under_way; /* stamp of the record about to be written */
	uint32_t looks;	    /* events since the thread became quiet or thinned */

	/* Nested events, and the sum of those that found the queue full. aside_count counts both.
	 * Each change of the count is one atomic step, because a signal handler may interrupt
	 * another one. */
	struct event aside[ASIDE_MAX]; /* kind 0: taken back, or already recorded */
	struct ring_losses aside_lost;

	uint64_t place;
	struct thread *next;
	struct unwind_thread *seeker; /* searches the stack for a hook; NULL: never needed */
};

#define PLACE_TAKEN UINT64_MAX

/* The thread-local data that a hook needs, in one cache line. */
struct tls {
	size_t left;	       /* bytes that may be skipped without further checks; see sample.h */
	uint64_t *skipped;     /* counter of skipped events; NULL: not sampled */
	struct thread *thread; /* NULL: none yet */
	uintptr_t frame;       /* of the hook under way; 0: none */
	uint64_t return_address; /* return address of that hook; 0: not set yet */
	uintptr_t throwing;  /* the frame of the hook under way while an exception may leave it */
	uintptr_t stack_low; /* the thread's stack extends from here to this struct; 0: unknown */
	/* An allocator in the program is working on an unrecorded request. After a jump out of it,
	 * this stays set until the next such call. */
	bool passing;
	uint16_t refused; /* enum calls refused to this thread: strict_refused() */
};

extern __thread struct tls tls __attribute__((tls_model("initial-exec"), aligned(64))) HIDDEN;

/* Called when there is no ring. Returns NULL or, in a fork child that is to be followed, the
 * child's own ring, from its first hook on (start.c). */
struct ring_header *start_again(void) __attribute__((noinline, cold));
/* Called when a gate is shut. Returns NULL, or the ring if the gate must be open now (gate.h). */
struct ring_header *shim_look(enum gate gate);

/* Returns the content of the gate. If it is NULL while `attention` is set, the caller must ask
 * shim_look. */
static inline struct ring_header *shim_gate(enum gate gate)
{
	return __atomic_load_n(&shim_page.gate[gate], __ATOMIC_ACQUIRE);
}

static inline __attribute__((always_inline)) bool shim_attention(void)
{
	return __atomic_load_n(&shim.attention, __ATOMIC_RELAXED);
}

/* Returns the ring, whether or not anything is recorded, or NULL if there is no ring. */
static inline struct ring_header *shim_ring(void)
{
	struct ring_header *ring = __atomic_load_n(&shim_page.ring, __ATOMIC_ACQUIRE);

	return likely(ring || !shim_attention()) ? ring : start_again();
}

/* Returns the ring for a hook, or NULL if no event of this gate is recorded. */
static inline struct ring_header *shim_hook(enum gate gate)
{
	struct ring_header *ring = shim_gate(gate);

	return likely(ring || !shim_attention()) ? ring : shim_look(gate);
}

/* Does the same for hooks that only call the allocator while nothing is recorded. Returns false if
 * nothing is recorded. Otherwise sets *ret_ring to the ring, or to NULL if the hook must call
 * shim_hook. */
static inline __attribute__((always_inline)) bool shim_watches(enum gate gate,
							       struct ring_header **ret_ring)
{
	*ret_ring = shim_gate(gate);
	return *ret_ring || shim_attention();
}

/* Keeps the compiler from reordering stores, as a signal handler of this thread sees them. It emits
 * no instruction. It is always inlined, because gcc would call it where it compiles for size. */
static inline __attribute__((always_inline)) void barrier(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}
