/* Finds the load bias of an ELF file. elf_load.h describes the interface. */
#include "base/elf/elf_load.h"

static uint64_t sum(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* Returns how many bytes of [from, to) in the file belong to the segment. */
static uint64_t overlap(const struct elf_load *load, uint64_t from, uint64_t to)
{
	uint64_t end = sum(load->offset, load->size);

	from = load->offset > from ? load->offset : from;
	to = end < to ? end : to;
	return to > from ? to - from : 0;
}

bool elf_load_bias(const struct elf_load *load, unsigned count, uint64_t start, uint64_t end,
		   uint64_t offset, uint64_t *ret_bias)
{
	uint64_t least = 0;
	bool found = false;

	for (unsigned i = 0; start < end && i < count; i++) {
		uint64_t bytes = overlap(&load[i], offset, sum(offset, end - start));
		uint64_t alone = sum(load[i].size - bytes, end - start - bytes);

		if (!bytes || (found && alone >= least))
			continue;
		found = true;
		least = alone;
		*ret_bias = start - offset + load[i].offset - load[i].address;
	}
	return found;
}
