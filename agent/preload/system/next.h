#pragma once
/*
 * The next allocator: the definitions that the program would use without the shim. They are those
 * that follow this library in the loader's search order (RTLD_NEXT), whichever allocator provides
 * them.
 *
 * Until next_resolve has run, the table holds functions that start the library (start.h) and then
 * call the hook again. Allocations made during next_resolve come from the bootstrap arena.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* musl's headers lack these. */
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
	/* An allocator may lack these three, but they are never NULL: reallocarray is then made of
	 * realloc, and valloc and pvalloc fail with ENOMEM. reallocarray is also made of realloc if
	 * it is libc's, which would only call the hook of realloc. */
	void *(*reallocarray)(void *p, size_t count, size_t size);
	void *(*valloc)(size_t size);
	void *(*pvalloc)(size_t size);
	int (*mallopt)(int parameter, int value); /* NULL: the allocator has no settings */
	int (*malloc_trim)(size_t keep);	  /* NULL: the allocator cannot trim */
	struct next_mallinfo (*mallinfo2)(void);  /* NULL: the allocator reports no figures */
	/* NULL: libc lacks it. */
	void *(*dlmopen)(long space, const char *path, int mode);
	/* NULL: the program has no libdl (glibc before 2.34), so it cannot call dlclose. */
	int (*dlclose)(void *handle);
};

extern struct next next __attribute__((visibility("hidden")));

/* Fills the table. start.c calls it once. */
void next_resolve(void);

/* Returns true if this program counter lies in a module of an allocator. The module of the next
 * malloc is one; next_add_allocator adds the module that holds `pc`. Only the first few are kept.
 */
bool next_is_allocator(uintptr_t pc);
void next_add_allocator(uintptr_t pc);

/* Looks up a symbol in the loader's search order. Returns NULL if no module defines it. For
 * optional parts of libc. */
void *next_symbol(const char *name);

/* Reallocates a block from the bootstrap arena: copies it into a block of the next allocator. (A
 * free of such a block does nothing.) */
void *next_realloc_bootstrap(void *p, size_t size);
