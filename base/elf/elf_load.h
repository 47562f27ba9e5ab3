#pragma once
/* Computes the load bias of an ELF file in a process from a line of /proc/PID/maps. */
#include <stdbool.h>
#include <stdint.h>

/* An executable segment: PT_LOAD with PF_X. */
struct elf_load {
	uint64_t address; /* link-time address: p_vaddr */
	uint64_t offset;  /* offset in the file: p_offset */
	uint64_t size;	  /* size in the file: p_filesz */
};

/*
 * Computes the bias, which is added to link-time addresses, of a file mapped as code from `start`
 * to `end`; the mapping begins at `offset` in the file. The function takes the segment that fits
 * best: of all segments that overlap the mapping, the one with the fewest bytes that lie in the
 * segment or in the mapping but not in both.
 *
 * The kernel maps whole pages, so a mapping begins up to a page (4, 16 or 64 KiB) before its
 * segment. With 64 KiB pages all mappings of a small file begin at its first byte. The function
 * does not need to know the page size.
 *
 * Returns false if the mapping contains no bytes of any segment.
 */
bool elf_load_bias(const struct elf_load *load, unsigned count, uint64_t start, uint64_t end,
		   uint64_t offset, uint64_t *ret_bias);
