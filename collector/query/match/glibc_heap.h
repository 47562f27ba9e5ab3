#pragma once
/*
 * Where glibc had a block from, worked out from its address: what the two low bits of the size
 * field in front of the block say in the process (IS_MMAPPED, NON_MAIN_ARENA in malloc/malloc.c) is
 * not recorded, but follows nearly always.
 *
 *   main arena      grows by brk behind the program: from the program's end up to halfway to the
 *                   libraries above it
 *   mapping         a chunk that glibc mapped for one block begins a page, so the block lies two
 *                   words behind it; it is of at least M_MMAP_THRESHOLD bytes (128 KiB, or the
 *                   lowest that the program has set)
 *   another arena   all else
 *
 * Wrong for a block of a secondary arena that is as large and lies two words behind a page's
 * beginning by chance (1 in 256 of those that are as large), for large aligned blocks, and where
 * brk failed. Known only for programs of glibc without another allocator's library.
 */
#include <stdbool.h>
#include <stdint.h>

struct recording;

enum heap_part { HEAP_PART_UNKNOWN, HEAP_PART_MAIN, HEAP_PART_OTHER, HEAP_PART_MAPPED };

struct glibc_heap {
	bool known;	  /* else all is HEAP_PART_UNKNOWN */
	bool is_jemalloc; /* libjemalloc is loaded: the blocks are its */
	bool other;	  /* another allocator's library is */
	uint64_t main_from, main_to;
	uint64_t page, word;
	uint64_t mapped_min; /* bytes of the smallest block that gets a mapping */
};

void glibc_heap_init(struct glibc_heap *heap, const struct recording *recording);
enum heap_part glibc_heap_part(const struct glibc_heap *heap, uint64_t address, uint64_t size);
