#pragma once
/*
 * The allocator behind us: the definitions that the program would have got without the shim, found
 * in the order of the loader's search after our own library (RTLD_NEXT), whichever allocator that
 * is.
 *
 * Until next_resolve has run, the table holds functions that begin (start.h), and then call the
 * hook once more. Allocations made while it runs come from the bootstrap arena.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* musl's headers have none of these. */
void *pvalloc(size_t size);
int mallopt(int parameter, int value);
int malloc_trim(size_t keep);

/* struct mallinfo2 of glibc 2.33 and later: ten figures. */
struct next_mallinfo {
	size_t figure[10];
};

struct next {
	void *(*malloc)(size_t size);
	void *(*calloc)(size_t count, size_t size);
	void *(*realloc)(void *p, size_t size);
	void (*free)(void *p);
	int (*posix_memalign)(void **ret_p, size_t alignment, size_t size);
	void *(*aligned_alloc)(size_t alignment, size_t size);
	void *(*memalign)(size_t alignment, size_t size);
	size_t (*malloc_usable_size)(void *p);
	/* These three may be missing in an allocator, and are then made of the others; NULL: never.
	 * So is reallocarray where it is libc's, which would only call our realloc. */
	void *(*reallocarray)(void *p, size_t count, size_t size);
	void *(*valloc)(size_t size);
	void *(*pvalloc)(size_t size);
	int (*mallopt)(int parameter, int value); /* NULL: it has no settings */
	int (*malloc_trim)(size_t keep);	  /* NULL: it keeps what it has */
	struct next_mallinfo (*mallinfo2)(void);  /* NULL: it does not say */
	void *(*dlmopen)(long space, const char *path,
			 int mode);   /* NULL: likewise, or a libc without */
	int (*dlclose)(void *handle); /* NULL: the program has no libdl (glibc before 2.34), so it
					 can't call it */
};

extern struct next next __attribute__((visibility("hidden")));

/* Fills the table. Called once, by start.c. */
void next_resolve(void);

/* Does this program counter lie in the module that has the next malloc? Other modules with
 * allocators may be added; the first few are known. */
bool next_is_allocator(uintptr_t pc);
void next_add_allocator(uintptr_t pc);

/* A symbol in the order of the loader's search, ours left out; NULL: nobody has it. For optional
 * parts of libc. */
void *next_symbol(const char *name);

/* free and realloc of blocks from the bootstrap arena: the former does nothing, the latter copies
 * to the allocator. */
void *next_realloc_bootstrap(void *p, size_t size);
