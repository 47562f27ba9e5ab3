#pragma once
/*
 * The file that libcounting.so keeps: what a process asked of its allocator, counted by code that shares nothing with the
 * recorder, so that a recording can be held against it.
 *
 * A call counts once, under the function that the program called, whatever that function calls in turn:
 *
 *   calls     calls that gave a block: a result that is not NULL (posix_memalign: 0)
 *   bytes     the bytes asked for in these calls: the product for calloc and reallocarray, the new size for realloc
 *   failed    calls that gave none
 *
 *   free(NULL)           free_null, nothing else
 *   realloc(NULL, n)     a call of realloc with n bytes
 *   realloc(p, n)        one call of realloc with n bytes, in place or not, and one `reallocated`
 *   realloc(p, 0)        NULL as result: realloc_free (the block is gone); a block: a call of realloc with 0 bytes
 *   realloc(p, n)        NULL as result and n not 0: failed, the old block lives
 */
#include <assert.h>
#include <stdint.h>

#define COUNTING_MAGIC 0x544e4f43u

#define COUNTING_FUNCTIONS(X)                                                                                          \
	X(malloc)                                                                                                      \
	X(calloc)                                                                                                      \
	X(realloc)                                                                                                     \
	X(reallocarray)                                                                                                \
	X(posix_memalign)                                                                                              \
	X(aligned_alloc)                                                                                               \
	X(memalign)                                                                                                    \
	X(valloc)                                                                                                      \
	X(pvalloc)

enum counting_function {
#define X(name) COUNTING_##name,
	COUNTING_FUNCTIONS(X)
#undef X
	COUNTING_FUNCTION_COUNT
};

struct counting_row {
	uint64_t calls;
	uint64_t bytes;
	uint64_t failed;
};

struct counting_file {
	uint32_t magic;
	uint32_t pid;
	struct counting_row row[COUNTING_FUNCTION_COUNT];
	uint64_t free_;
	uint64_t free_null;
	uint64_t realloc_free;
	uint64_t reallocated;
	char executable[256]; /* as /proc/self/exe has it, NUL at the end */
};
static_assert(sizeof(struct counting_file) <= 4096, "one page");
