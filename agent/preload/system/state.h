#pragma once
/*
 * What the shim knows of this process and of its threads.
 *
 * Words used here: a *hook* is one call of an interposed function; a hook *under way* has been
 * entered and not left; a hook that begins while another of the same thread is under way (a
 * signal's handler, an allocator that calls itself through the loader's tables) is *nested*. A
 * thread is *quiet* while its events are only counted.
 *
 * shim_page.ring is NULL until an agent has answered, NULL again when it wants nothing more, and
 * NULL in a forked child, however that was made: the kernel wipes the page.
 *
 * The one word that every hook reads is its *gate*: the ring, or NULL while nothing that comes this
 * way is to be recorded. Recording off, that of plain allocations is shut; the other one, too, if
 * nothing was ever recorded whose end belongs on record. Who finds a gate shut looks whether the
 * orders have changed (shim_look), so that an order holds for the next event of whoever knows of
 * it.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/unwind/unwind.h"
#include "proto/ring.h"

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
/* For data declared here: it is addressed from the instruction, not through a table. */
#define HIDDEN __attribute__((visibility("hidden")))

enum gate {
	GATE_ALLOCATIONS, /* malloc, calloc and operator new */
	GATE_ALL,	  /* all other events */
	GATES,
};

#define SAMPLE_BUCKETS 4096

/* A processor's largest page: what is to be on pages of its own lies at a multiple of it. */
#if defined(__x86_64__) || defined(__i386__)
#define PAGE_MOST 4096
#else
#define PAGE_MOST 65536
#endif

/* On pages of its own, marked MADV_WIPEONFORK; empty in the beginning. Not behind a pointer: each
 * hook looks here. */
struct shim_page {
	struct ring_header *gate[GATES];
	struct ring_header *ring;
	struct ring_set_line *set; /* of sampled blocks; NULL: closed, see thin.h */
	uint64_t set_mask;
	uint32_t ours; /* 1 in the process that began to record; wiped: a fork child of it */
	/* What frees look at first, by the block's address: see sample.h. */
	uint8_t buckets[SAMPLE_BUCKETS] __attribute__((aligned(64)));
} __attribute__((aligned(PAGE_MOST)));

/* How events are stamped; see clock.h. */
enum stamps {
	STAMPS_SYSTEM,	/* by CLOCK_MONOTONIC: the counter is of no use here */
	STAMPS_SINGLE,	/* by the counter, in any order: only one thread was ever recorded */
	STAMPS_ORDERED, /* by the counter, in order */
	STAMPS_TICKS,	/* by ring_header.tick: the clock is forbidden, or may be (strict.h) */
};

/* What a program may have forbidden itself; see strict.h. */
enum calls {
	CALLS_WAIT = 1,	   /* to wait and to wake, and to ask whether memory can be read */
	CALLS_MEMORY = 2,  /* to map some */
	CALLS_NUMBERS = 4, /* of process and thread */
	CALLS_STACK = 8,   /* where signals are handled */
	CALLS_CLOCK = 16,
	CALLS_FILES = 32,
	CALLS_CODE = 64,   /* to change some */
	CALLS_REST = 128,  /* that nothing depends on */
	CALLS_START = 256, /* all else that is done as recording begins */
	CALLS_EVERY = 511,
};

struct shim {
	enum ring_clock clock;
	enum stamps stamps;
	uint32_t refused;     /* enum calls: to all threads, */
	uint32_t refused_new; /* and to those whose first event is still to come. 0: to nobody */
	uint32_t filters;     /* seccomp filters that are known of */
	uint32_t owner_word_offset;
	uint32_t control;  /* added to ring_header.control: raised by what the process orders itself
			    */
	uint32_t stopped;  /* heapcast_stop was called */
	uint32_t recorded; /* allocations have been recorded: their frees are, whatever the mode */
	uint32_t sampled;  /* so have samples */
	uint32_t foreign;  /* there are allocators beside malloc's, of whose blocks nobody tells the
			      size */
	uint32_t nests;	 /* the allocator calls itself by name: nothing is passed over unguarded */
	uint32_t follow; /* fork children of this process are to be recorded, too */
	uint32_t attention;   /* where there is no ring, or a gate is shut: that may change */
	uint32_t shut;	      /* thread_control() of orders that are known to be: off */
	uint32_t gone;	      /* the agent's heart stands still */
	uint32_t gone_beat;   /* the heartbeat then */
	uint32_t heard_beat;  /* the heartbeat as those saw it who were about to wait, */
	uint64_t heard_ns;    /* and since when it is that: see patience.c */
	uint32_t epoch;	      /* ring_header.epoch, in memory that nobody else writes */
	uint32_t incarnation; /* of the agent that has been told of the modules */
	/* The agent was silent: see wait.h. */
	uint32_t waits;		/* the process that asks it again; 0: none does */
	uint32_t wait_ms;	/* until it does */
	uint64_t ask_ns;	/* when, by the coarse clock */
	uint64_t before;	/* events begun meanwhile */
	uint32_t slices;	/* of the ring, that may be looked at; see reach.h */
	struct thread *threads; /* every state that was ever made; pushed by compare-and-swap */
};

extern struct shim shim HIDDEN;
extern struct shim_page shim_page HIDDEN;

/* One event, before it is a record. */
struct event {
	uint32_t kind;
	bool was_sampled; /* the block that ends here was; it has been taken from the set */
	bool was_sought;  /* else: it was not in the set when it ended */
	uint64_t address;
	uint64_t size;
	uint64_t stamp;
	uint64_t old_address; /* reallocations */
	uint64_t call_stamp;
	uint64_t interval; /* that it was sampled with; 0: it stands for itself */
};

/* Nested events wait in the thread's state, without a stack, until the hook that they interrupted
 * is done. */
#define ASIDE_MAX 64

/*
 * A thread's state. Its memory outlives the thread and is taken over by a later one; `place` says
 * whose it is: 0: nobody's; PLACE_TAKEN: being set up; else the slice it writes, as (generation <<
 * 32 | index + 1). A state is free again as soon as that slice has lost its owner: no destructor is
 * needed.
 */
struct thread {
	/* What an event touches: two lines. */
	struct ring_slice *slice;
	uint64_t *data;
	uint64_t mask;	/* words - 1 */
	uint64_t head;	/* what slice->head is about to be */
	uint64_t limit; /* `head` may go so far without a look at `tail`: see slice.c */
	uint64_t check; /* from here on: look how full the slice is */
	/* While `head` is below this an event takes the short way (record.c), which looks at
	 * nothing else: 0 whenever anything is unusual. Set anew by each event that takes the long
	 * one. */
	uint64_t short_until;
	uint64_t last_stamp;
	struct unwind_thread *unwind;
	/* What the ring's header ordered when `control` was read. */
	uint32_t control;
	uint32_t depth_limit;
	bool allocations; /* events that are recorded */
	bool frees;
	bool free_stacks;
	bool verify; /* walk the changed part only */
	/* How it stands with the record. */
	bool quiet;
	bool moved;	       /* it has gone on in another slice, where nothing is written yet */
	bool may_wait_outside; /* see put_any in record.c */
	bool waited;	       /* it did, and the event is stamped anew */
	uint8_t pressure;      /* how often the slice was found half full */
	uint32_t depth; /* frames that a stack may have: depth_limit, and what the slice has room
			   for */
	uint32_t epoch;
	uint32_t pseudo; /* outer pseudo frames of the last stack on record: 0 or 1 */
	bool cut;	 /* that stack was deeper than the limit */
	uint32_t aside_count;
	struct ring_losses pending; /* lost since the last record */

	uint32_t policy;
	uint32_t incarnation; /* of the agent that its slice is for; see RING_CUT */

	/* Sampling. */
	uint64_t interval; /* in force; 0: not sampled */
	uint64_t distance; /* bytes to the next point, behind tls.left */
	bool looks_next; /* its next event obeys, whatever it is; until then nothing is counted down
			  */
	uint64_t random;
	uint32_t thinned;      /* policy thin: how often the interval is doubled */
	uint32_t thinned_told; /* the same, as it is in the data */
	uint32_t looked_beat;  /* the agent's heartbeat when it looked last, sampled; see thin.c */
	uint64_t spare;	       /* words of the slice that are kept free; see record.c */
	uint64_t spare_step;   /* of them, so many are left when it is thinned one step more */
	uint32_t passed_by;    /* not sampled, while the set is open: events */
	uint64_t thinned_ns;   /* CLOCK_MONOTONIC: when it was changed last */

	/* Room; see slice.c. */
	uint64_t end;	    /* the slice's, with what is kept free left out */
	uint64_t step;	    /* policy thin: up to there in spite of the limit */
	uint64_t under_way; /* stamp of what is about to be written */
	uint32_t looks;	    /* events since the thread is quiet, or thinned */

	/* Nested events, and the sum of those that found the queue full; aside_count counts both.
	 * Each change of the count is one atomic step: a handler may interrupt a handler. */
	struct event aside[ASIDE_MAX]; /* kind 0: taken back, or on record */
	struct ring_losses aside_lost;

	uint64_t place;
	struct thread *next;
	struct unwind_thread *seeker; /* to look for a hook on the stack; NULL: never needed */
};

#define PLACE_TAKEN UINT64_MAX

/* What a hook looks for in its thread's own memory: one line. */
struct tls {
	size_t left;		 /* bytes that may be passed over at once; see sample.h */
	uint64_t *passed;	 /* where that is counted; NULL: not sampled */
	struct thread *thread;	 /* NULL: none yet */
	uintptr_t frame;	 /* of the hook under way; 0: none */
	uint64_t return_address; /* where that hook returns to; 0: not said yet */
	uintptr_t throwing;  /* the frame of the hook under way, while an exception may leave it */
	uintptr_t stack_low; /* from here up to this struct lies the thread's stack; 0: not known */
	bool passing; /* an allocator in the program is at work on what is not recorded; until its
			 next such call, if it was left by a jump */
	uint16_t refused; /* enum calls, to this thread: strict_refused() */
};

extern __thread struct tls tls __attribute__((tls_model("initial-exec"), aligned(64))) HIDDEN;

/* Where there is no ring: NULL; or, in a fork child that is to be followed, the ring of its own,
 * from its first hook on (start.c). */
struct ring_header *start_again(void) __attribute__((noinline, cold));
/* Where a gate is shut: NULL; or the ring, if it is to be open now (gate.h). */
struct ring_header *shim_look(enum gate gate);

/* What stands in the gate; NULL: with attention, shim_look knows more. */
static inline struct ring_header *shim_gate(enum gate gate)
{
	return __atomic_load_n(&shim_page.gate[gate], __ATOMIC_ACQUIRE);
}

static inline __attribute__((always_inline)) bool shim_attention(void)
{
	return __atomic_load_n(&shim.attention, __ATOMIC_RELAXED);
}

/* The ring, whether something is recorded or not; NULL: there is none. */
static inline struct ring_header *shim_ring(void)
{
	struct ring_header *ring = __atomic_load_n(&shim_page.ring, __ATOMIC_ACQUIRE);

	return likely(ring || !shim_attention()) ? ring : start_again();
}

/* The ring for a hook; NULL: nothing that comes through this gate is recorded. */
static inline struct ring_header *shim_hook(enum gate gate)
{
	struct ring_header *ring = shim_gate(gate);

	return likely(ring || !shim_attention()) ? ring : shim_look(gate);
}

/* The same for hooks that call nothing but the allocator where nothing is recorded: false: nothing
 * is; else *ret_ring is the ring, or NULL where shim_hook has to be asked. */
static inline __attribute__((always_inline)) bool shim_watches(enum gate gate,
							       struct ring_header **ret_ring)
{
	*ret_ring = shim_gate(gate);
	return *ret_ring || shim_attention();
}

/* Orders of the compiler's stores as a signal handler of this thread sees them. It is no
 * instruction; where gcc compiles for size it would be called. */
static inline __attribute__((always_inline)) void barrier(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}
