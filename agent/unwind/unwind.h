#pragma once
/*
 * Stack capture inside a foreign program: collects the return addresses on this thread's stack on
 * every malloc and free, without frame pointers. It only reads; it never changes a return address.
 *
 * It rests on two ideas (docs/unwinding.md has the method, its proof and measurements):
 *
 *  - A *row* per program counter tells how to step from a frame to its caller: where the canonical
 *    frame address is, and where the return address and the saved frame pointer lie. A row is
 *    decoded on first use from the module's tables (.eh_frame here), or from its code if it has no
 *    table. Rows are cached per thread, and for the whole process.
 *  - The *verified prefix*: a thread remembers its last stack as (slot, return address) pairs. At
 *    the next event it re-reads the slots in order and walks only what has changed. A step is a
 *    pure function of the state and of the slots it reads, so the result is that of a walk of the
 *    whole stack.
 *
 * Rules for this code: it runs inside the malloc of an unknown program. It does not allocate, uses
 * no stdio, holds no lock while it waits for another one, and calls the loader only through `struct
 * unwind_host`. It reads memory only where a walk of valid tables leads, after checks of alignment
 * and of the stack's bounds. A malformed stack ends the walk with UNWIND_TRUNCATED.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The start of a walk: the state of the function that called the hook, as it will be when the hook
 * returns. `pc` is the hook's return address, `sp` the stack pointer after the return. */
struct unwind_regs {
	uint64_t pc;
	uint64_t sp;
	uint64_t fp;	   /* rbp, x29, r7/r11, s8 */
	uint64_t saved[6]; /* further registers that a row may use as base; x86-64: rbx, r12, r13,
			    * r14, r15, unused. Valid if has_saved */
	bool has_saved;
};

/* The unwinder's view of a module. The host owns it and keeps it readable as long as the program
 * runs. */
struct unwind_module {
	uint64_t start; /* executable range, absolute */
	uint64_t end;
	uint64_t bias;
	uint64_t eh_frame_hdr; /* absolute address; 0: none */
	uint64_t eh_frame_hdr_size;
	uint64_t exidx; /* .ARM.exidx; 0: none */
	uint64_t exidx_size;
	uint64_t load_end;   /* one past the highest mapped address of the module: tables lie below
			      * it */
	uint64_t load_start; /* lowest mapped address */
	uint64_t entry;	     /* address of the only entry (FDE) of the table; 0: use eh_frame_hdr */
	uint64_t unreadable; /* enum unwind_unreadable: memory without PF_R, which may only be
			      * executed or not be accessed at all; it is never read */
};

enum unwind_unreadable {
	UNWIND_CODE_UNREADABLE = 1, /* some of the module's code */
	UNWIND_HEAD_UNREADABLE = 2, /* the memory at load_start */
};

/* Stands for a module that cannot be determined now. The stack ends there, and none of its rows are
 * cached. */
extern const struct unwind_module unwind_module_unknown;

/* The functions that the unwinder needs from its user. */
struct unwind_host {
	/* Returns the module that contains this executable address; NULL for code generated at run
	 * time; or unwind_module_unknown. Called only on a cache miss; must not wait for a lock of
	 * the loader. The host announces the module to the agent before it returns it, so the
	 * unwinder never emits a program counter of an unannounced module. */
	const struct unwind_module *(*find_module)(void *context, uint64_t pc);
	/* Returns 1 with the bounds of the stack that contains `sp`, or 0 if they are not known
	 * (then `readable` is called). Called once for each stack on which a thread is found, from
	 * within a hook: it must not take a lock that the hook's caller may hold
	 * (pthread_getattr_np does, and allocates). May be NULL. */
	int (*stack_bounds)(void *context, uint64_t sp, uint64_t *ret_low, uint64_t *ret_high);
	/* Returns the end of the readable memory from `from` on: the first unreadable page, or an
	 * address not below `to`. Called once for each page of a stack with unknown bounds. If a
	 * walk has gone wrong, the answer may become stale, because another thread may unmap the
	 * memory. */
	uint64_t (*readable)(uint64_t from, uint64_t to);
	/* Returns `size` bytes of zeroed, page-aligned memory for the process-wide row cache, which
	 * is never freed; NULL: none. */
	void *(*pages)(void *context, size_t size);
	/* True if each word is checked when it is read, as for another process. `readable` then
	 * need not be exact. */
	bool reads_checked;
	void *context;
};

/* Initializes the unwinder, once per process, before the first capture. `host` must stay valid.
 * Returns 0 or a negative errno. */
int unwind_init(const struct unwind_host *host);

/* A thread's last stack and row cache. The caller provides the memory: UNWIND_THREAD_SIZE zeroed
 * bytes, page-aligned; only used pages become resident. */
struct unwind_thread;
#define UNWIND_THREAD_SIZE (720u << 10)
struct unwind_thread *unwind_thread_init(void *memory);

enum unwind_flags {
	/* The walk did not reach the outermost frame: outer frames are missing. */
	UNWIND_TRUNCATED = 1,
	UNWIND_DEPTH_LIMIT = 2, /* more frames than the limit: inner frames were left out */
};

/* A stack, as the difference from this thread's last one. */
struct unwind_delta {
	uint32_t keep; /* outer frames of the last stack that are unchanged; 0: the whole stack
			* follows */
	uint32_t count;
	/* `count` program counters, innermost first, raw (PAC bits stripped). pc - 1 lies in the
	 * calling or interrupted instruction. The array is in the thread's memory and valid until
	 * its next capture. */
	const uint64_t *pcs;
	uint32_t depth; /* of the whole stack: keep + count, if it is not numbered */
	uint32_t flags; /* enum unwind_flags, of the whole stack */
	/* 1 + the stack's number (unwind_save); keep and count are 0 then. 0: it has none */
	uint32_t number;
	/* The same stack was captured not long ago and has no number: see unwind_save. */
	bool recurs;
};

/*
 * Captures the stack. Always succeeds; in the worst case the stack is the single frame `regs->pc`,
 * truncated. `depth_limit`, 1 to UNWIND_MAX_DEPTH, is the number of outer frames to keep. The delta
 * is relative to the thread's last capture that was not followed by unwind_forget.
 */
#define UNWIND_MAX_DEPTH 1000
void unwind_capture(struct unwind_thread *thread, const struct unwind_regs *regs,
		    uint32_t depth_limit, struct unwind_delta *ret_delta);

/*
 * The common case of unwind_capture, for a caller that consumes its output at once: a few frames
 * are new, the walk joined the last stack, nothing is truncated or cut, and the consumer has all
 * frames that are kept. `ret_pcs` has room for UNWIND_QUICK_MAX. A result with keep 0 means that
 * this is another case: only the memory at `ret_pcs` has changed, and the caller uses
 * unwind_capture. This function does not update the counters.
 */
#define UNWIND_QUICK_MAX 12
struct unwind_quick {
	uint32_t keep;
	uint32_t count;
};
struct unwind_quick unwind_quick(struct unwind_thread *thread, uint64_t pc, uint64_t sp,
				 uint64_t fp, uint32_t depth_limit, uint64_t *ret_pcs);

/*
 * Gives the stack of the last capture, if that said `recurs`, a number. From now on a
 * capture of this very stack may return the number instead (recall.c). The consumer must be told,
 * and must know the stack by this number until unwind_forget or unwind_abandon, or until another
 * stack gets the number. `frames_max` is how many frames all numbered stacks of this thread may
 * have. Returns 1 + the number, or 0 if the stack gets none.
 */
#define UNWIND_SAVED_MAX 32
uint32_t unwind_save(struct unwind_thread *thread, uint32_t frames_max);
/* Returns how many frames the numbered stacks of this thread have. */
uint32_t unwind_saved_frames(const struct unwind_thread *thread);

/* Makes the next capture of this thread return the whole stack, and takes all numbers back. Used
 * after a lost record, at the start of a slice, and in a fork child. */
void unwind_forget(struct unwind_thread *thread);

/* Does the same and drops the last stack. Used after a jump out of a signal handler, which may have
 * left a capture unfinished. */
void unwind_abandon(struct unwind_thread *thread);

/* Invalidates all cached rows. Used when modules are mapped where others were, or are about to be
 * unmapped (dlclose). Rows are decoded again, and the next stacks are whole. Any thread may call
 * it; every later capture sees the new generation. */
void unwind_modules_changed(void);

/* Between these two calls, rows are decoded at each use and not cached, because some thread is in a
 * dlclose. The calls nest. */
void unwind_suspend_cache(void);
void unwind_resume_cache(void);

/*
 * Registers the table of code generated at run time, as __register_frame of libgcc and libunwind
 * does. The table is an array of entries (CIE, FDE) that ends with a length of 0, or a single FDE
 * if `single`. It must stay readable until it is deregistered. Returns 0, -ENOMEM, -EINVAL, or
 * -ENOSPC if there is no room for more than 4096 functions; further ones are counted, and walked by
 * frame records. Any thread may call the two functions, but not from within a hook. Both start a
 * new generation.
 */
int unwind_register_frame(const void *begin, bool single);
void unwind_deregister_frame(const void *begin);
uint64_t unwind_frames_turned_away(void);

/* Walks the whole stack and uses nothing from the last one. Used with the setting
 * HEAPCAST_FULL_WALK, and for comparisons. A comparison with unwind_capture needs a second struct
 * unwind_thread, because this function drops the stack that unwind_capture would verify. */
void unwind_capture_full(struct unwind_thread *thread, const struct unwind_regs *regs,
			 uint32_t depth_limit, struct unwind_delta *ret_delta);

/*
 * Tests whether the frame whose caller continues at `sought` (its pc and sp) is on the stack that
 * begins at `from`. The caller may have interrupted the thread, perhaps in a capture. `seeker` is
 * therefore separate memory (unwind_thread_init) that is not used for captures, and nothing learned
 * here goes into another cache. The host's find_module must not wait for a lock that the
 * interrupted code may hold.
 */
enum unwind_sought {
	UNWIND_THERE,
	UNWIND_ABSENT, /* the walk reached the outermost frame without meeting it */
	UNWIND_UNSURE, /* the walk did not reach the outermost frame, or had to guess */
};
enum unwind_sought unwind_seek(struct unwind_thread *seeker, const struct unwind_regs *from,
			       const struct unwind_regs *sought);

/* Counters of one thread, for tests and the benchmark. */
struct unwind_counters {
	uint64_t captures;
	uint64_t frames_walked;
	uint64_t rows_missed;  /* not in the thread's cache */
	uint64_t rows_decoded; /* in neither cache */
	uint64_t truncated;
	uint64_t whole; /* captures with keep = 0 */
};
void unwind_counters(const struct unwind_thread *thread, struct unwind_counters *ret_counters);
