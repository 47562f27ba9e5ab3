/* Has the names of functions that map memory. See mapping_functions.h. */
#include "agent/mapping_functions.h"

#include <string.h>

#include "agent/ebpf/functions.h"
#include "proto/event.h"
#include "base/ban.h"

enum kind {
#define X(number, suffix, class_, name) KIND_##suffix = (number),
	EVENT_KINDS(X)
#undef X
};

/* (For brk, the kind of event depends on the direction in which the break has moved.) */
static const struct allocator_function mapping_functions[MAPPING_FUNCTIONS] = {
	{"mmap", KIND_MMAP, SHAPE_MAP},	      {"munmap", KIND_MUNMAP, SHAPE_UNMAP},
	{"mremap", KIND_MREMAP, SHAPE_REMAP}, {"sbrk", KIND_SBRK, SHAPE_SBRK},
	{"brk", KIND_SBRK, SHAPE_BRK},
};

int mapping_function_find(const char *name)
{
	if (!strcmp(name, "mmap64"))
		return MAPPING_FUNCTIONS_FIRST;
	for (int i = 0; i < MAPPING_FUNCTIONS; i++)
		if (!strcmp(name, mapping_functions[i].name))
			return MAPPING_FUNCTIONS_FIRST + i;
	return -1;
}

const struct allocator_function *function_known(unsigned number)
{
	return number < MAPPING_FUNCTIONS_FIRST
		       ? &allocator_functions[number]
		       : &mapping_functions[number - MAPPING_FUNCTIONS_FIRST];
}
