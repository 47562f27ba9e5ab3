#pragma once
/*
 * Where uprobes go: the functions of allocators in an ELF file, and the place in each that costs
 * least and shows the arguments.
 *
 * In a file. Taken are functions by the names of agent/allocator_functions.h, those of malloc's
 * family where everybody sees them (a function that a file has for itself may be called "free",
 * too), aliases once. A file that only imports malloc has none; nor has one whose operators, or
 * copies of malloc's family, do nothing but hand on to other functions of the list: what they lead
 * to is the record. So:
 *
 *	operator delete (libstdc++)  -- jmp --> free (import)		wrapper, left to who gives
 *free tc_free, operator delete (tcmalloc)  -- own code -->		probed cfree -- jmp --> free
 *(the same file)				wrapper
 *
 * Operators of a file without a malloc of its own count as wrappers as soon as any way leads from
 * them to an imported one: as with libheapcast.so, malloc's event is the record. What they hand out
 * of a pool that malloc has filled is not seen.
 *
 * In a process. A program that uses jemalloc by interposition has libc's malloc mapped still. Both
 * are probed: a library may have been linked to libc's by version or by RTLD_NEXT, and libc's inner
 * calls are real; who calls by name comes to the first only. Wrappers of an import are dropped if
 * any module of the process has a site for that function, else kept: better an operator than
 * nothing. What can't be told from code is an interposer that hands on through a pointer of its own
 * (dlsym): its call and the inner one are both seen. Their entries nest (bpf/site.h, frame):
 * whoever records takes the outer one, for its result is what the program has. So the frees of such
 * a file are followed to their ends (SITE_FOLLOWED), which costs a return more; none of its
 * functions counts as a leaf. Which files those are: all that show a free, but libc, the allocators
 * that are known by names of their own, and static programs. libheapcast.so is left out here by its
 * name.
 *
 * The place. A probe traps, and then the instruction under it has to be carried out: the kernel
 * emulates some (x86: push, nop, jumps, calls) and steps through others, which costs a second trap.
 * So a probe goes to the first emulated instruction that all calls pass, with the arguments in
 * known registers and fp still the caller's (agent/unwind/place.h). A free may be probed behind its
 * test for NULL, and behind its pushes at a branch, which is emulated for less than a push.
 *
 * The result. A uretprobe puts another return address in the slot that sp points to at the probe:
 * right only where the stack is as at the entry (SITE_RETURN_OK), and deadly to exceptions, which
 * find no caller: functions that throw have sites at their return instructions instead (SITE_EXIT),
 * or if not all can be found, their results stay unknown. So have the functions of a file that Go's
 * linker has made: its runtime walks and moves the stacks of its own code, so that nothing in such
 * a file may have a uretprobe. C code in other files runs on stacks of threads, which Go neither
 * moves nor walks: as in any program.
 *
 * Whoever records must know that functions of an allocator call each other (realloc: malloc and
 * free), so entries nest; that an exit is passed by other calls, too: it belongs to the entry with
 * the same frame; that functions may share an exit, which then is a site for each of them, at the
 * same offset; and that in place of the frame of a call that ended otherwise a later one may stand,
 * so the return address counts as well.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "bpf/site.h"

#define SITE_NAME_MAX 64

enum site_kind {
	SITE_ENTRY,
	SITE_EXIT, /* a return instruction of the function: SITE_EXIT_PROBE is in its word */
};

struct site {
	uint64_t offset; /* in the file, of the instruction that is probed */
	uint64_t word;	 /* bpf/site.h */
	/* Of a free: where its return can be probed as well, and the word there, with
	 * SITE_FOLLOWED. 0: nowhere. */
	uint64_t followed_offset, followed_word;
	uint64_t function; /* offset of the function's entry: its sites have it in common */
	uint32_t size;	   /* of the function */
	enum site_kind kind;
	bool emulated;	/* no single step: cheap */
	bool return_ok; /* as SITE_RETURN_OK */
	bool common;	/* malloc's family and the operators: found by everybody's calls */
	char name[SITE_NAME_MAX];
	char leads_to[SITE_NAME_MAX]; /* it only hands on to this import; "": it does not */
};

/* A function that is not probed, and why: for people. */
struct site_skip {
	char name[SITE_NAME_MAX];
	const char *reason;
};

struct sites {
	struct site *site; /* in the order of offsets, then of functions */
	size_t count;
	struct site_skip *
		skip; /* wrappers of functions in the same file are not among them: they are seen */
	size_t skip_count;
	uint16_t machine; /* e_machine */
	bool go;	  /* made by Go's linker: no returns */
	bool stripped;	  /* has no .symtab: functions inside of it can't be found */
	bool hands_on;	  /* its functions may lead to another file's by pointers, for all that is
			     known, if this is not libc */
};

struct sites_options {
	bool no_exits; /* no sites at return instructions */
};

/*
 * Of the file at `fd`, which stays the caller's. It may hold anything: work and memory are bounded.
 * 0, also if there is nothing to probe; -ENOEXEC: not an ELF file of this machine's class and byte
 * order (a 32-bit program on a 64-bit kernel); -ENOMEM, -EIO. One caller at a time.
 */
int sites_find(int fd, const struct sites_options *options, struct sites *ret,
	       struct err_text *err);
void sites_done(struct sites *sites);

/* A mapped file of a process. */
struct sites_module {
	const struct sites *sites; /* NULL: could not be read */
	const char *path;	   /* as in /proc/PID/maps */
};

struct sites_choice {
	uint32_t module; /* its number in the list */
	const struct site *site;
	uint64_t offset, word; /* the site's, or where and how it is followed */
};

/* Which sites of a process' modules to probe, in the order of the list. The array is the caller's
 * (free()), and points into `module`. Call it again with the whole list when modules come or go:
 * only the result for wrappers of imports can differ. */
int sites_choose(const struct sites_module *module, size_t count, struct sites_choice **ret,
		 size_t *ret_count);
