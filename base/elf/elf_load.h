#pragma once
/* Where an ELF file lies in a process, by a line of /proc/PID/maps. */
#include <stdbool.h>
#include <stdint.h>

/* A segment of code (PT_LOAD with PF_X). */
struct elf_load {
	uint64_t address; /* as linked: p_vaddr */
	uint64_t offset;  /* in the file: p_offset */
	uint64_t size;	  /* in the file: p_filesz */
};

/*
 * What is added to the file's addresses where `offset` of it and what follows is mapped as code
 * from `start` to `end`: the segment is the one that fits best: of all that are in the mapping, the
 * one with which the fewest bytes are in one of the two alone. Kernels map whole pages, so a
 * mapping begins before its segment, by less than a page: 4 KiB, 16 or 64; with 64 a small file's
 * mappings all begin at its first byte. How large a page is does not matter here. False: nothing of
 * any segment is in it.
 */
bool elf_load_bias(const struct elf_load *load, unsigned count, uint64_t start, uint64_t end,
		   uint64_t offset, uint64_t *ret_bias);
