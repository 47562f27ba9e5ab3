#pragma once
/*
 * Determines from a block's address which part of glibc's heap the block came from. The recording
 * does not hold the two low bits of the size field in front of the block (IS_MMAPPED,
 * NON_MAIN_ARENA in malloc/malloc.c), but the address nearly always implies them.
 *
 *   main arena      grows by brk above the program: from the program's end up to halfway to the
 *                   libraries above it
 *   mapping         a chunk that glibc mapped for one block begins at a page boundary, so the block
 *                   lies two words behind it; the chunk has at least M_MMAP_THRESHOLD bytes (128
 * KiB, or the lowest value that the program has set) another arena   everything else
 *
 * The result is wrong for a block of a secondary arena that is as large as that and lies two words
 * behind a page boundary by chance (1 in 256 of these blocks), for large aligned blocks, and where
 * brk failed. The result is known only for programs that use glibc and no other allocator library.
 */
#include <stdbool.h>
#include <stdint.h>

struct recording;

enum heap_part { HEAP_PART_UNKNOWN, HEAP_PART_MAIN, HEAP_PART_OTHER, HEAP_PART_MAPPED };

struct glibc_heap {
	bool known;	  /* if false, the result is always HEAP_PART_UNKNOWN */
	bool is_jemalloc; /* libjemalloc is loaded, and the blocks come from it */
	bool other;	  /* another allocator library is loaded */
	uint64_t main_from, main_to;
	uint64_t page, word;
	uint64_t mapped_min; /* bytes of the smallest chunk that gets a mapping */
};

void glibc_heap_init(struct glibc_heap *heap, const struct recording *recording);
enum heap_part glibc_heap_part(const struct glibc_heap *heap, uint64_t address, uint64_t size);
