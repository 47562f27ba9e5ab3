#pragma once
/*
 * The functions of allocators that an ELF file has symbols of: which ones, and what is known by
 * name alone. In the order of their addresses, aliases under one name: that of malloc's family if
 * it has one.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/allocator_functions.h"
#include "agent/ebpf/sites.h"
#include "agent/core/elf_symbols.h"

#define FUNCTIONS_MAX 256

/* What may stand for what: a wrapper does the work of a function of its own sort. */
enum function_sort {
	SORT_ALLOCATES,
	SORT_MOVES,
	SORT_RESIZES,
	SORT_FREES,
	SORT_MAPS, /* nothing stands for another one here */
};

struct function {
	uint64_t address;
	uint64_t size;
	uint8_t number; /* for function_known */
	bool heap;
	bool common; /* of malloc's family, or an operator */
	bool late;   /* an IFUNC */
	bool thumb;
	bool throws;
	bool copied; /* a copy, or part, that gcc has made of it: others call that in its place */
	char name[SITE_NAME_MAX];
};

struct functions {
	unsigned count;
	bool overflow; /* there are more */
	bool stripped; /* there is no table of all symbols */
	bool malloc;   /* it has malloc itself */
	bool known;    /* it has functions under an allocator's own names */
	struct function function[FUNCTIONS_MAX];
};

/* One caller at a time. */
void functions_find(struct elf_symbols *file, struct functions *ret);

/* The number of the function that this name stands for where it is imported; negative: none. */
int function_of_name(const char *name, bool *ret_heap);

enum function_sort function_sort(unsigned number);

/* An allocator's, or one that maps (agent/mapping_functions.h). */
const struct allocator_function *function_known(unsigned number);
/* The number of what maps; negative: it is none. */
int mapping_function_find(const char *name);

bool function_is_operator(const char *name);

/* NULL: there is none at this address. */
struct function *functions_at(struct functions *functions, uint64_t address);
