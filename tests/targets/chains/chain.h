#pragma once
/*
 * What the targets of tests/e2e/hostile.sh share: each makes allocations whose number, bytes and call chain are known in
 * advance, and prints the truth, a line for each call site:
 *
 *   site NAME COUNT BYTES CHAIN     blocks that were allocated there
 *   gone NAME COUNT BYTES CHAIN     blocks that were freed there
 *
 * CHAIN names functions, outermost first, joined by semicolons; a star stands for one frame or more of libraries that are not
 * the program's. BYTES is a dash where a library chooses them. A chain that ends in a function of the program is
 * complete: whatever is on record there without being in the truth is an error.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A function that is a frame under its own name, whatever the compiler knows of it. */
#if defined(__clang__)
#define FRAME __attribute__((noinline))
#else
#define FRAME __attribute__((noipa))
#endif

/* Stands at the end of such a function: what it has called was not its last act. */
#define STAY __asm__ volatile("" : : : "memory")

#define START	  "_start;*;" /* what calls main, */
#define THREAD	  "*;"	      /* the first function of a thread, */
#define COROUTINE "*;"	      /* that of a coroutine */

/* Prints without allocating. */
static inline void tell(const char *line, int length)
{
	if (length <= 0 || write(1, line, (size_t)length) != length)
		_exit(99);
}

static inline void truth(const char *kind, const char *name, unsigned long count,
			 unsigned long bytes, const char *chain)
{
	char line[512];

	tell(line,
	     snprintf(line, sizeof(line), "%s %s %lu %lu %s\n", kind, name, count, bytes, chain));
}

/* The same for blocks whose size a library chooses. */
static inline void truth_sizeless(const char *kind, const char *name, unsigned long count,
				  const char *chain)
{
	char line[512];

	tell(line, snprintf(line, sizeof(line), "%s %s %lu - %s\n", kind, name, count, chain));
}

/* Keeps a block from being optimised away. */
static inline void *keep(void *p)
{
	__asm__ volatile("" : "+r"(p) : : "memory");
	return p;
}
