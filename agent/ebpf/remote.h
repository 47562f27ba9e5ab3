#pragma once
/*
 * Unwinds stacks of other processes from a copy: those that the walk in the kernel (bpf/walk.h)
 * leaves to the agent. The engine is that of agent/unwind. Here it is compiled to read through this
 * folder instead of its own memory. It reads the stack from the copy, tables and code from the
 * modules' files, and all else from the process while it lives. All input is treated as hostile.
 *
 * Rows that a walk has used are inserted into the kernel's map, so that the same stack does not
 * reach the agent again.
 *
 * `struct remotes` is what processes share: modules by file, with all rows that were ever
 * decoded for them (a new process starts with these), and the kernel's map. `struct remote` is one
 * process between two execs.
 *
 *   remotes_new              after the object of bpf/ was loaded
 *   remote_new               a process was found, has forked or has called exec: its space number
 *                            is stored where the kernel's programs look it up (walk_begin)
 *   remote_unwind            for each record of a miss
 *   remote_changed           at dlopen or dlclose; not needed for correctness: an unknown program
 *                            counter or a closed space triggers a new look at the maps
 *   remote_free              the process has ended or has called exec
 *
 * Only one thread at a time may use this.
 */
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/unwind/unwind.h"
#include "base/error.h"

struct remotes;
struct remote;

struct remotes_options {
	int rows_fd; /* of the maps walk_rows and walk_spaces; -1: no kernel, rows stay in the agent
		      * (tests) */
	int spaces_fd;
	uint32_t lines; /* entries of walk_rows, a multiple of 1 << WALK_BITS_MIN: the budget of all
			 * processes */
	uint32_t spaces;    /* entries of walk_spaces */
	size_t image_bytes; /* limit for modules' files in memory, all processes together; 0: 64
			     * MiB */
};

/* Maps the kernel's rows. The caller keeps the descriptors and may close them. Returns 0 or a
 * negative errno. */
int remotes_new(const struct remotes_options *options, struct remotes **ret,
		struct err_text *error);
void remotes_free(struct remotes *remotes); /* after the last remote; NULL is fine */

/* Opens the process `pid` in its current state. Returns 0; -ESRCH if it has ended; -EACCES if it
 * may not be read; or another negative errno. If no space is left, remote_space returns
 * WALK_SPACE_NONE and all stacks of the process are left to the agent. */
int remote_new(struct remotes *remotes, pid_t pid, struct remote **ret, struct err_text *error);
void remote_free(struct remote *remote);
uint32_t remote_space(const struct remote *remote);

/* Reads /proc/PID/maps again at the next stack. */
void remote_changed(struct remote *remote);
/* Reads the maps now if `news` is set or code of the process was unmapped, so that the kernel can
 * walk with the known rows at once. */
void remote_look(struct remote *remote, bool news);

/* The contents of a record of a miss. */
struct remote_stack {
	/* the caller's frame, and arch_saved_registers() with has_saved true */
	struct unwind_regs regs;
	uint64_t address; /* of the copy */
	const void *copy;
	size_t size;
	uint32_t miss; /* enum walk_miss */
};

/* Unwinds the whole stack: returns between 1 and UNWIND_MAX_DEPTH program counters, innermost
 * first. If the stack is deeper, the outer frames are dropped, and `ret_flags` (enum unwind_flags)
 * says so. Always succeeds; in the worst case the stack is its first frame, truncated. */
void remote_unwind(struct remote *remote, const struct remote_stack *stack, uint64_t *ret_pcs,
		   uint32_t *ret_count, uint32_t *ret_flags);

struct remotes_counters {
	uint64_t stacks; /* calls of remote_unwind */
	uint64_t truncated;
	uint64_t decoded;     /* rows, from tables or code */
	uint64_t inserted;    /* into the kernel's map */
	uint64_t turned_away; /* rows for which the kernel's map had no room */
	uint64_t looks;	      /* at /proc/PID/maps */
	uint64_t image_bytes; /* in memory now */
	uint32_t spaces;      /* in use */
	uint32_t lines;	      /* in use */
};
void remotes_counters(const struct remotes *remotes, struct remotes_counters *ret);
