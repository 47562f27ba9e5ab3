#pragma once
/*
 * Stacks of other processes, from a copy: what the walk in the kernel (bpf/walk.h) leaves to the
 * agent. The engine is that of agent/unwind, compiled to read through this folder instead of its
 * own memory: the stack out of the copy, tables and code out of the modules' files, all else out of
 * the process while it lives. Everything read is taken for hostile.
 *
 * The rows that a walk has used go into the kernel's map, so that the same stack does not come here
 * again.
 *
 * `struct remotes` is what processes share: modules by build id, with the rows that were ever
 * decoded for them (a new process starts with those), and the kernel's map. `struct remote` is one
 * process between two execs.
 *
 *   remotes_new              after the object of bpf/ was loaded
 *   remote_new               a process was found, has forked off or has called exec: its space
 *                            number goes to where the kernel's programs look it up (walk_begin)
 *   remote_unwind            for each record of a miss
 *   remote_changed           told of dlopen or dlclose; needless for correctness: an unknown
 *                            program counter and a closed space make it look by itself
 *   remote_free              the process is gone, or has called exec
 *
 * One thread at a time.
 */
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/unwind/unwind.h"
#include "base/error.h"

struct remotes;
struct remote;

struct remotes_options {
	int rows_fd; /* of the maps walk_rows and walk_spaces; -1: no kernel, rows stay here (tests)
		      */
	int spaces_fd;
	uint32_t lines; /* entries of walk_rows, a multiple of 1 << WALK_BITS_MIN: the budget of all
			   processes */
	uint32_t spaces;    /* entries of walk_spaces */
	size_t image_bytes; /* of modules' files that are kept in memory at most, all processes
			       together; 0: 64 MiB */
};

/* Maps the kernel's rows. The fds stay the caller's and may be closed. 0 or a negative errno. */
int remotes_new(const struct remotes_options *options, struct remotes **ret,
		struct err_text *error);
void remotes_free(struct remotes *remotes); /* after the last remote; NULL is fine */

/* The process `pid` as it is now. -ESRCH: it has ended. -EACCES: rights to read it are missing.
 * Without a space left (remote_space gives WALK_SPACE_NONE) all of its stacks come to the agent. */
int remote_new(struct remotes *remotes, pid_t pid, struct remote **ret, struct err_text *error);
void remote_free(struct remote *remote);
uint32_t remote_space(const struct remote *remote);

/* Look at /proc/PID/maps again at the next stack. */
void remote_changed(struct remote *remote);
/* Look at them now, if there is `news`, or code of it has gone: what is known by then the kernel
 * walks at once. */
void remote_look(struct remote *remote, bool news);

/* What a record of a miss has. */
struct remote_stack {
	struct unwind_regs
		regs;	  /* the caller's frame, and arch_saved_registers() with has_saved true */
	uint64_t address; /* of the copy */
	const void *copy;
	size_t size;
	uint32_t miss; /* enum walk_miss */
};

/* The whole stack: at most UNWIND_MAX_DEPTH program counters, innermost first, the outer ones if
 * there are more; at least one. `ret_flags`: enum unwind_flags. Always succeeds; at worst the stack
 * is the one frame that it began with, truncated. */
void remote_unwind(struct remote *remote, const struct remote_stack *stack, uint64_t *ret_pcs,
		   uint32_t *ret_count, uint32_t *ret_flags);

struct remotes_counters {
	uint64_t stacks; /* remote_unwind */
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
