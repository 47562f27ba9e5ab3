#pragma once
/*
 * Stack capture inside a foreign program: which return addresses lie on this thread's stack,
 * without frame pointers, on every malloc and free. It only reads; it never changes a return
 * address.
 *
 * Two ideas carry it (the method, its proof and measurements are in docs/unwinding.md):
 *
 *  - A *row* per program counter says how to step from a frame to its caller: where the canonical
 *    frame address is, where the return address and the saved frame pointer lie. Rows are decoded
 *    on first use from the module's tables (.eh_frame here), or by reading its code where it has
 *    none, and cached: per thread, then for the whole process.
 *  - The *verified prefix*: a thread remembers its last stack as (slot, return address) pairs. At
 *    the next event it re-reads the slots in order and walks only what has changed. A step is a
 *    pure function of the state and of the slots it reads, so this gives what a walk of the whole
 *    stack would give.
 *
 * Rules for this code: it runs inside malloc of a program that we do not know. No allocation, no
 * stdio, no lock that is held while waiting for another, no call into the loader except through
 * `struct unwind_host`. Memory is read only where a walk of valid tables leads, after checks of
 * alignment and of the stack's bounds; a stack that makes no sense ends the walk with
 * UNWIND_TRUNCATED.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where a walk begins: the state of the function that called the hook, as it will be when the hook
 * returns. `pc` is the hook's return address, `sp` the stack pointer after the return. */
struct unwind_regs {
	uint64_t pc;
	uint64_t sp;
	uint64_t fp;	   /* rbp, x29, r7/r11, s8 */
	uint64_t saved[6]; /* what else a row may use as base; x86-64: rbx, r12, r13, r14, r15,
			      unused. Valid if has_saved */
	bool has_saved;
};

/* A module as the unwinder needs it. The host owns it; it stays readable as long as the program
 * runs. */
struct unwind_module {
	uint64_t start; /* executable range, absolute */
	uint64_t end;
	uint64_t bias;
	uint64_t eh_frame_hdr; /* absolute address; 0: none */
	uint64_t eh_frame_hdr_size;
	uint64_t exidx; /* .ARM.exidx; 0: none */
	uint64_t exidx_size;
	uint64_t load_end; /* one past the highest mapped address of the module: tables lie below it
			    */
	uint64_t load_start; /* lowest mapped address */
	uint64_t entry;	     /* the table is this one entry (FDE), at this address; 0: it is not */
	uint64_t unreadable; /* enum unwind_unreadable: may be executed, or nothing at all (PF_R);
				it is never read */
};

enum unwind_unreadable {
	UNWIND_CODE_UNREADABLE = 1, /* some of its code */
	UNWIND_HEAD_UNREADABLE = 2, /* what begins at load_start */
};

/* In place of a module: there is no telling now. The stack ends there, and nothing of it is
 * kept. */
extern const struct unwind_module unwind_module_unknown;

/* What the unwinder asks of who uses it. */
struct unwind_host {
	/* The module that holds this executable address; NULL: none (code made at run time); or
	 * unwind_module_unknown. Called on a miss of the caches only; waits for no lock of the
	 * loader's. The host announces the module to the agent before it returns it, so no program
	 * counter of an unannounced module is ever handed out. */
	const struct unwind_module *(*find_module)(void *context, uint64_t pc);
	/* Bounds of the stack that holds `sp`. Returns 1 if they are known, 0 if not (then
	 * `readable` is asked). Asked once for each stack that a thread is found on, from within a
	 * hook: it may not take a lock that the hook's caller may hold (pthread_getattr_np does,
	 * and allocates). May be NULL. */
	int (*stack_bounds)(void *context, uint64_t sp, uint64_t *ret_low, uint64_t *ret_high);
	/* How far memory can be read from `from` on, at most up to `to`: the first page that can't
	 * be, or not less than `to`. Asked once for each page of a stack whose bounds are not
	 * known. The answer may be out of date where a walk has gone wrong, as another thread
	 * unmaps. */
	uint64_t (*readable)(uint64_t from, uint64_t to);
	/* `size` bytes of zeroed memory for the process-wide row cache, page-aligned, never given
	 * back; NULL: none. */
	void *(*pages)(void *context, size_t size);
	/* Each word is checked when it is read (of another process): `readable` need not be
	 * right. */
	bool reads_checked;
	void *context;
};

/* Once in the process, before the first capture; `host` stays valid. 0 or a negative errno. */
int unwind_init(const struct unwind_host *host);

/* A thread's last stack and row cache. The memory is the caller's: UNWIND_THREAD_SIZE zeroed bytes,
 * page-aligned; only pages that are used become resident. */
struct unwind_thread;
#define UNWIND_THREAD_SIZE (576u << 10)
struct unwind_thread *unwind_thread_init(void *memory);

enum unwind_flags {
	UNWIND_TRUNCATED =
		1, /* the walk could not reach the outermost frame: outer frames are missing */
	UNWIND_DEPTH_LIMIT = 2, /* more frames than the limit: inner frames were left out */
};

/* A stack, as what has changed since this thread's last one. */
struct unwind_delta {
	uint32_t keep; /* outer frames of the last stack that are still there; 0: the whole stack
			  follows */
	uint32_t count;
	const uint64_t *pcs; /* `count` program counters, innermost first, raw (PAC bits stripped);
				pc - 1 lies in the calling or interrupted instruction. In the
				thread's memory, until its next capture */
	uint32_t depth;	     /* keep + count */
	uint32_t flags;	     /* enum unwind_flags, of the whole stack */
};

/*
 * Captures the stack. Always succeeds; at worst it is the one frame `regs->pc`, truncated.
 * `depth_limit` 1 to UNWIND_MAX_DEPTH: how many frames are kept, the outer ones.
 * The delta is relative to the last capture of this thread that was not followed by unwind_forget.
 */
#define UNWIND_MAX_DEPTH 1000
void unwind_capture(struct unwind_thread *thread, const struct unwind_regs *regs,
		    uint32_t depth_limit, struct unwind_delta *ret_delta);

/*
 * The common case of unwind_capture, for who writes its output at once: a few frames are new, the
 * walk joined the last stack, nothing is truncated or cut, and the consumer has all that is kept.
 * `ret_pcs` has room for UNWIND_QUICK_MAX. keep 0: not of this kind; nothing has changed but what
 * `ret_pcs` points to, and unwind_capture does it. Not counted.
 */
#define UNWIND_QUICK_MAX 12
struct unwind_quick {
	uint32_t keep;
	uint32_t count;
};
struct unwind_quick unwind_quick(struct unwind_thread *thread, uint64_t pc, uint64_t sp,
				 uint64_t fp, uint32_t depth_limit, uint64_t *ret_pcs);

/* The next capture of this thread gives the whole stack: after a record was lost, first in a slice,
 * in a fork child. */
void unwind_forget(struct unwind_thread *thread);

/* The same, and nothing is taken from the last stack: a capture was left in the middle, by a jump
 * out of a signal's handler. */
void unwind_abandon(struct unwind_thread *thread);

/* Modules have come to lie where others were, or are about to go (dlclose): no cached row is
 * trusted from here on. Rows are decoded again; stacks are given whole. Any thread may call it; the
 * new generation is seen by every later capture. */
void unwind_modules_changed(void);

/* Between these two, rows are decoded anew at each use and not cached: a dlclose is under way in
 * some thread. They nest. */
void unwind_suspend_cache(void);
void unwind_resume_cache(void);

/*
 * Code made at run time has a table, as __register_frame tells libgcc and libunwind: an array of
 * entries (CIE, FDE) ended by a length of 0, or, `single`, one FDE. It stays readable until it is
 * deregistered. 0; -ENOSPC: there is no more room for functions (4096; those beyond are counted,
 * and walked by frame records); -ENOMEM; -EINVAL. Any thread may call these, but not from within a
 * hook. Both begin a new generation.
 */
int unwind_register_frame(const void *begin, bool single);
void unwind_deregister_frame(const void *begin);
uint64_t unwind_frames_turned_away(void);

/* Walks every stack in full and keeps nothing from the last (USE_SHADOW_STACK=0, and to compare
 * with). To compare with unwind_capture use a second struct unwind_thread: this forgets the stack
 * that the first would verify. */
void unwind_capture_full(struct unwind_thread *thread, const struct unwind_regs *regs,
			 uint32_t depth_limit, struct unwind_delta *ret_delta);

/*
 * Is the frame whose caller goes on at `sought` (its pc and sp) on the stack that begins at `from`?
 * For one who has been interrupted, perhaps in a capture of this thread: `seeker` is memory of its
 * own (unwind_thread_init) that captures nothing, and what is learned here goes into no other
 * cache. The host's find_module must not wait for what the interrupted code may hold.
 */
enum unwind_sought {
	UNWIND_THERE,
	UNWIND_ABSENT, /* the walk came to the outermost frame without it */
	UNWIND_UNSURE, /* it could not get there, or had to guess */
};
enum unwind_sought unwind_seek(struct unwind_thread *seeker, const struct unwind_regs *from,
			       const struct unwind_regs *sought);

/* Counters for tests and the benchmark; of one thread. */
struct unwind_counters {
	uint64_t captures;
	uint64_t frames_walked;
	uint64_t rows_missed;  /* not in the thread's cache */
	uint64_t rows_decoded; /* in neither cache */
	uint64_t truncated;
	uint64_t whole; /* captures with keep = 0 */
};
void unwind_counters(const struct unwind_thread *thread, struct unwind_counters *ret_counters);
