#pragma once
/*
 * A thread's memory: its last stack, its row cache, and the scratch space of a capture. Only the
 * first pages of each array become resident unless stacks are deep or much code is seen.
 *
 * The last stack ("trace") is stored outermost frame first, so that changes are at its end:
 *
 *   frames   [root] [..] [..] [innermost]     state (pc, sp, fp) and row of each frame
 *   checks   s c c | c | c | c c | c          (slot, value): what the walk outwards has read
 *
 * The steps from frame i to the root have read checks[1 .. frames[i].checks). The first check, s,
 * is a sentinel that never holds; it ends the loop that re-reads the checks.
 */
#include <string.h>

#include "agent/unwind/row.h"
#include "agent/unwind/unwind.h"

#define TRACK_MAX   4096 /* frames of a remembered stack; deeper ones are walked in full */
#define CHECK_MAX   6144
#define PCS_MAX	    2048 /* above UNWIND_MAX_DEPTH, so that inner frames are dropped in batches */
#define DEPTH_HARD  8192 /* frames that a walk follows at most */
#define L1_BITS_MIN KEY_LOW_BITS
#define L1_BITS_MAX 14

enum frame_flags {
	FRAME_INTERRUPTED = 1, /* the frame made no call; pc is one past the address that will be
				* executed next */
	FRAME_NEEDS_FP = 2,    /* the walk from here outwards depends on fp */
};

struct frame {
	uint64_t pc; /* pc - 1 lies in the instruction; pc is emitted */
	uint64_t sp;
	uint64_t fp;
	uint32_t row;
	uint16_t checks; /* at least 1, because of the sentinel */
	uint16_t flags;
	uint64_t link[ARCH_LINK]; /* the link register, if interrupted */
};

/* A stack, as far as it is known. */
struct region {
	uint64_t low;
	uint64_t high;	/* end of the stack; if !known, end of the part that is known or believed
			 * to be readable */
	uint64_t until; /* the region is valid for sp in [low, until] */
	bool known;
};

#define SAVED_CHECKS 256 /* of a numbered stack: one page */
#define SAVED_CHAINS 64
#define SEEN_STACKS  64

/* A numbered stack: the state of its innermost frame. Its checks are in unwind_thread. */
struct saved {
	uint64_t pc;
	uint64_t sp;
	uint64_t fp;
	uint16_t checks; /* the sentinel included */
	uint16_t depth;
	uint8_t next; /* of the chain: 1 + number; 0: none */
	bool needs_fp;
	bool used; /* since the last search for one to replace */
};

struct unwind_thread {
	/* Members that every capture touches: two cache lines. */
	uint64_t state; /* of the caches at the last check, see rows.h */
	uint64_t l1_mask;
	uint32_t count;	  /* frames of the trace; 0: none */
	uint32_t emitted; /* outer frames of the trace that the consumer has */
	uint32_t flags;	  /* UNWIND_TRUNCATED of the trace */
	uint16_t region_next;
	uint8_t vain; /* how much the last captures changed, up to VAIN_MAX; see quick.c */
	bool no_join; /* unwind_quick has found no join for the stack that is captured next */
	struct region regions[2];
	struct unwind_counters counters;

	uint64_t l1_misses;
	bool unknown; /* this walk ended at an address whose module was unknown */
	bool seeks;   /* used by unwind_seek: rows decoded here are not shared, and rows outside of
		       * known modules are not kept */
	/* Numbered stacks, see recall.c. */
	uint32_t saved_count;
	uint32_t saved_frames; /* of all of them */
	uint32_t saved_next;   /* the number to look at first when one is to be replaced */
	int32_t saved_credit;
	uint8_t saved_chain[SAVED_CHAINS]; /* 1 + number; 0: none */
	uint32_t seen[SEEN_STACKS];	   /* hashes of stacks that were captured; 0: none */
	uint32_t seen_random;
	struct saved saved[UNWIND_SAVED_MAX];
	uint64_t pcs[PCS_MAX];
	struct check checks[CHECK_MAX];
	struct frame frames[TRACK_MAX];
	struct frame pending[TRACK_MAX]; /* of this capture, innermost first, until the walk joins
					  * the trace */
	struct check saved_checks[UNWIND_SAVED_MAX][SAVED_CHECKS] __attribute__((aligned(4096)));
	uint64_t l1[1u << L1_BITS_MAX] __attribute__((aligned(4096))); /* the smallest one takes two
									* pages */
};

/* Takes the numbers of all stacks back. */
static inline void saved_drop(struct unwind_thread *thread)
{
	if (!thread->saved_count)
		return;
	memset(thread->saved_chain, 0, sizeof(thread->saved_chain));
	thread->saved_count = thread->saved_frames = 0;
}

_Static_assert(sizeof(struct unwind_thread) <= UNWIND_THREAD_SIZE, "a thread's memory");
_Static_assert(CHECK_MAX <= UINT16_MAX && TRACK_MAX <= CHECK_MAX, "frame.checks");
