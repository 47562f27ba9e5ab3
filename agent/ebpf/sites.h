#pragma once
/*
 * Finds sites: the places for uprobes. For each allocator function of an ELF file, that is the
 * cheapest place that shows the arguments.
 *
 * In a file. Functions are selected by the names of agent/allocator_functions.h. Those of malloc's
 * family must be visible to other files (a static function may be called "free", too). Aliases
 * count once. A file that only imports malloc has no sites. Nor has a file whose operators, or
 * copies of malloc's family, only call other functions of the list, because the event of the inner
 * function is recorded. So:
 *
 *	operator delete (libstdc++)  -- jmp --> free (import)            wrapper: the provider of
 *	                                                                 free is probed
 *	tc_free, operator delete (tcmalloc)  -- own code -->             probed
 *	cfree  -- jmp --> free (the same file)                           wrapper
 *
 * Operators of a file without its own malloc count as wrappers if any path leads from them to an
 * imported one: as with libheapcast.so, the event of malloc is recorded. Blocks that such operators
 * take from a pool inside a malloc block are not seen.
 *
 * In a process. A program that interposes jemalloc still has libc's malloc mapped. Both are probed:
 * a library may be linked to libc's functions by symbol version or by RTLD_NEXT, and libc's
 * internal calls are real; calls by name reach only the first. Wrappers of an import are dropped if
 * a module of the process has a site for that function, and kept otherwise: an operator is better
 * than nothing. Code does not reveal an interposer that forwards through a pointer of its own
 * (dlsym): both its call and the inner one are seen. Their entries nest (bpf/site.h, frame), and
 * the recorder takes the outer one, whose result the program gets. So the frees of such a file are
 * followed to their returns (SITE_FOLLOWED), at the cost of a return probe, and none of its
 * functions counts as a leaf. This concerns all files with their own malloc, except libc,
 * allocators known by their own names, and files without imports (static programs). libheapcast.so
 * is excluded by its name.
 *
 * The place. A probe traps, and then the kernel must execute the probed instruction. It emulates
 * some instructions (x86: push, nop, jumps, calls). It single-steps the others, which costs a
 * second trap. So a probe is set at the first emulated instruction that all calls pass, with the
 * arguments in known registers and fp still the caller's (agent/unwind/place.h). A free may be
 * probed after its test for NULL. It may also be probed after its pushes, at a branch, because
 * emulating a branch is cheaper than emulating a push.
 *
 * The result. A uretprobe replaces the return address in the slot that sp points to at the probe.
 * That is correct only where the stack is as at the entry (SITE_RETURN_OK), and it breaks
 * exceptions, which then find no caller. Functions that throw have sites at their return
 * instructions instead (SITE_EXIT); if not all of these can be found, their results stay unknown.
 * The same holds for functions of a file made by Go's linker: Go's runtime unwinds and moves the
 * stacks of its own code, so no function in such a file may have a uretprobe. C code in other files
 * runs on thread stacks, which Go neither moves nor unwinds, so it is probed as in any program.
 *
 * The recorder must know the following. Functions of an allocator call each other (realloc calls
 * malloc and free), so entries nest. Other calls may pass an exit, too; it belongs to the entry
 * with the same frame. Functions may share an exit, which then is a site for each of them, at the
 * same offset. A later call may have the same frame as a call that ended in another way, so the
 * return address is compared as well.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "bpf/site.h"

#define SITE_NAME_MAX 64

enum site_kind {
	SITE_ENTRY,
	SITE_EXIT, /* a return instruction of the function; its word has SITE_EXIT_PROBE */
};

struct site {
	uint64_t offset; /* in the file, of the probed instruction */
	uint64_t word;	 /* bpf/site.h */
	/* Only of a free: an offset at which its return can be probed, too, and the word for it,
	 * with SITE_FOLLOWED. 0: none. */
	uint64_t followed_offset, followed_word;
	uint64_t function; /* offset of the function's entry; all its sites share it */
	uint32_t size;	   /* of the function */
	enum site_kind kind;
	bool emulated;	/* no single step: cheap */
	bool return_ok; /* as SITE_RETURN_OK */
	bool common;	/* malloc's family and the operators: calls from any module reach it */
	char name[SITE_NAME_MAX];
	char leads_to[SITE_NAME_MAX]; /* the import that a wrapper calls; "": it is no wrapper */
};

/* A function that is not probed, with the reason, for people. */
struct site_skip {
	char name[SITE_NAME_MAX];
	const char *reason;
};

struct sites {
	struct site *site; /* sorted by offset, then by function */
	size_t count;
	struct site_skip *skip; /* wrappers of functions in the same file are not listed: their
				 * calls are seen */
	size_t skip_count;
	uint16_t machine; /* e_machine */
	bool go;	  /* made by Go's linker: no return probes */
	bool stripped;	  /* no .symtab: local functions can't be found */
	bool hands_on;	  /* its functions may call another file's functions through pointers,
			   * unless this is libc */
};

struct sites_options {
	bool no_exits; /* no sites at return instructions */
};

/*
 * Finds the sites of the file at `fd`; the caller keeps `fd`. The file may hold anything: work and
 * memory are bounded. Returns 0, also if there is nothing to probe; -ENOEXEC if this is no ELF file
 * of this machine's class and byte order (for example a 32-bit program on a 64-bit kernel); -ENOMEM
 * or -EIO. Only one caller at a time.
 */
int sites_find(int fd, const struct sites_options *options, struct sites *ret,
	       struct err_text *err);
void sites_done(struct sites *sites);

/* A mapped file of a process. */
struct sites_module {
	const struct sites *sites; /* NULL: the file could not be read */
	const char *path;	   /* as in /proc/PID/maps */
};

struct sites_choice {
	uint32_t module; /* index in the list */
	const struct site *site;
	uint64_t offset, word; /* those of the site, or those that follow it */
};

/* Chooses the sites of a process's modules to probe, in the order of the list. The caller frees the
 * array, which points into `module`. Call this again with the whole list when modules come or go.
 * Only the result for wrappers of imports can change. */
int sites_choose(const struct sites_module *module, size_t count, struct sites_choice **ret,
		 size_t *ret_count);
