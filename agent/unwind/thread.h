#pragma once
/*
 * A thread's memory: its last stack, its row cache, and the scratch space of a capture. Of each
 * array only the first pages become resident unless stacks are deep or much code is met.
 *
 * The last stack ("trace") is kept outermost frame first, so that what changes is at the end:
 *
 *   frames   [root] [..] [..] [innermost]     state (pc, sp, fp) and row of each frame
 *   checks   s c c | c | c | c c | c          (slot, value): what the walk outwards has read
 *
 * What the steps from frame i to the root have read is checks[1 .. frames[i].checks). The first, s,
 * never holds: it ends the loop that re-reads them.
 */
#include "agent/unwind/row.h"
#include "agent/unwind/unwind.h"

#define TRACK_MAX   4096 /* frames of a remembered stack; deeper ones are walked in full */
#define CHECK_MAX   6144
#define PCS_MAX	    2048 /* above UNWIND_MAX_DEPTH, so that inner ones are dropped in batches */
#define DEPTH_HARD  8192 /* frames that a walk follows at most */
#define L1_BITS_MIN KEY_LOW_BITS
#define L1_BITS_MAX 14

enum frame_flags {
	FRAME_INTERRUPTED = 1, /* the frame did not call; pc is one past the address that will be
				  executed next */
	FRAME_NEEDS_FP = 2,    /* the walk from here outwards depends on fp */
};

struct frame {
	uint64_t pc; /* pc - 1 lies in the instruction; what is emitted */
	uint64_t sp;
	uint64_t fp;
	uint32_t row;
	uint16_t checks; /* at least 1, for the one that never holds */
	uint16_t flags;
	uint64_t link[ARCH_LINK]; /* the link register, if interrupted */
};

/* A stack, as far as we know it. */
struct region {
	uint64_t low;
	uint64_t high;	/* one past; if !known as far as it is known to be readable, or is believed
			   to be */
	uint64_t until; /* the answer holds for sp in [low, until] */
	bool known;
};

struct unwind_thread {
	/* What every capture touches: two lines. */
	uint64_t state; /* of the caches, see rows.h; when it was last looked at */
	uint64_t l1_mask;
	uint32_t count;	  /* frames of the trace; 0: none */
	uint32_t emitted; /* how many outer frames of it the consumer has */
	uint32_t flags;	  /* UNWIND_TRUNCATED of the trace */
	uint32_t region_next;
	struct region regions[2];
	struct unwind_counters counters;

	uint64_t l1_misses;
	bool unknown; /* this walk ends where nobody knew what holds an address */
	bool seeks; /* for unwind_seek: what it decodes is for nobody else, and not to be kept where
		       no module is known */
	uint64_t pcs[PCS_MAX];
	struct check checks[CHECK_MAX];
	struct frame frames[TRACK_MAX];
	struct frame pending[TRACK_MAX]; /* of this capture, innermost first, until it is known
					    where they join */
	uint64_t l1[1u << L1_BITS_MAX] __attribute__((aligned(4096))); /* a small one: two pages */
};
_Static_assert(sizeof(struct unwind_thread) <= UNWIND_THREAD_SIZE, "a thread's memory");
_Static_assert(CHECK_MAX <= UINT16_MAX && TRACK_MAX <= CHECK_MAX, "frame.checks");
