#pragma once
/*
 * Walks a thread's stack in the kernel from a probe: a small version of the engine of agent/unwind
 * (docs/unwinding.md).
 *
 *   number < the size of walk_slots; a slot is the permanent memory of one thread:
 *   struct walk_slot *slot = walk_slot_of(number);
 *   once, when the slot is given to a thread; and again after exec:
 *   walk_begin(slot, space);
 *
 *   The caller's frame (pc 0: it lies below sp, on x86; that saves a helper call):
 *   struct walk_start start = {.pc = return address, .sp = sp after the return, .fp = fp};
 *   struct walk_result result;
 *   if (walk(number, slot, &start, &result) == WALK_DONE)
 *           the stack is the outer result.keep frames of this thread's last one, and, inside of
 *           them, the result.count program counters slot->pcs[0 ...], innermost first. It is
 *           complete: neither truncated nor cut.
 *   else
 *           send the agent a record with `start`, arch_saved_registers() and a copy of the stack
 *           (walk_copy), and call walk_forget(slot).
 *
 * In doubt the walk returns a miss: a stack from here never ends before its outermost frame. Call
 * walk_forget also if a record is lost after the walk: the next walk then returns the whole stack
 * (keep 0).
 *
 * After the miss WALK_NO_SPACE, check again whether the process has a space by now (slot->space).
 *
 * No two programs may use a slot at the same time. A probe's program runs to its end before its
 * thread continues, so a thread's own slot is safe. Per-CPU memory would not be safe, because
 * another thread's program may run in between.
 *
 * Mapping changes: the loader calls _dl_debug_state (the address in r_debug.r_brk) before it maps
 * or unmaps, and again afterwards. A probe there calls walk_close; the next stack then makes the
 * agent read the process's maps. walk_unmapped handles changes without the loader. It is called at
 * the tracepoints syscalls/sys_enter_munmap, sys_enter_mmap (MAP_FIXED) and sys_enter_mremap, if
 * the kernel has them, and closes the space only if the range contained code.
 */
#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stdint.h>

#include <bpf/bpf_helpers.h>

#include "agent/unwind/row.h"
#include "bpf/arch.h"
#include "bpf/walk_shared.h"

#define WALK_FRAMES 512		/* of a stack; the agent walks deeper ones */
#define WALK_WINDOW 8192	/* bytes of the stack that are read at once */
#define WALK_STRIDE (64u << 20) /* the largest frame */
#define WALK_RECORD (64u << 10) /* as UNKNOWN_RECORD of agent/unwind/special.c */
#define WALK_NEAR   (1u << 20)	/* as NEAR_STACK there */

struct walk_start {
	uint64_t pc;
	uint64_t sp;
	uint64_t fp;
};

struct walk_result {
	uint64_t pc; /* the return address; for a miss 0 if it was not given and could not be
		      * read */
	uint32_t keep;
	uint32_t count;
};

enum walk_frame_flags {
	WALK_NEEDS_FP = 1, /* the walk from here outwards depends on fp */
};

struct walk_frame {
	uint64_t pc;
	uint64_t sp;
	uint64_t fp;
	uint32_t row;
};

/* A frame of the last stack. The members that every walk reads of all frames are stored densely
 * elsewhere. */
struct walk_kept {
	uint64_t sp;
	uint64_t fp;
	uint32_t row;
	uint32_t flags;
};

/*
 * A thread's memory. The last stack is stored outermost frame first. A walk stores new frames from
 * the array's end downwards, innermost first. In the end they only have to be moved behind the kept
 * frames.
 */
struct walk_slot {
	uint32_t space;
	uint32_t count;	  /* frames of the last stack; 0: none */
	uint64_t word;	  /* of the space, at the last walk */
	uint64_t end;	  /* one past the highest address read here: the next walk reads up to it */
	uint64_t miss_pc; /* WALK_NO_ROW: pc without a row; WALK_ROW: the frame's pc */
	/* The current walk. */
	uint64_t pc;
	uint64_t sp;
	uint64_t fp;
	uint64_t from;	 /* page of the innermost frame's sp: windows are counted from here */
	uint64_t base;	 /* address of the window in `bytes` */
	uint64_t have;	 /* bytes of it that can be used without a further check */
	uint32_t bad;	 /* bit set of its pages that can't be read */
	uint32_t valid;	 /* outer frames of the last stack that are unchanged */
	uint32_t joined; /* those that the walk may still join; at the end: the ones it has
			  * joined */
	uint32_t fresh;	 /* new frames */
	uint32_t moved;
	uint32_t miss;	      /* enum walk_miss */
	struct walk_frame at; /* start and end of a step that is not plain */
	uint64_t pcs[WALK_FRAMES];
	struct walk_kept kept[WALK_FRAMES];
	uint64_t kept_pcs[WALK_FRAMES];
	uint64_t returns[WALK_FRAMES]; /* slot of the return address if the step from here depends
					* on no other slot; otherwise 0 */
	uint64_t bytes[WALK_WINDOW / 8];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1 << WALK_BITS_MIN);
	__type(key, uint32_t);
	__type(value, struct walk_line);
} walk_rows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct walk_space);
} walk_spaces SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct walk_slot);
} walk_slots SEC(".maps");

#include "bpf/walk_memory.h"
#include "bpf/walk_step.h"
#include "bpf/walk_run.h"
