#pragma once
/*
 * The allocator functions for which an ELF file has symbols, and the facts that follow from the
 * name alone. Sorted by address. Aliases are listed under one name: that of malloc's family if
 * possible.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/allocator_functions.h"
#include "agent/ebpf/sites.h"
#include "agent/core/elf_symbols.h"

#define FUNCTIONS_MAX 256

/* A wrapper does the work of a function of its own sort. */
enum function_sort {
	SORT_ALLOCATES,
	SORT_MOVES,
	SORT_RESIZES,
	SORT_FREES,
	SORT_MAPS, /* a function of this sort is never a wrapper */
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
	bool copied; /* a copy or part that gcc made of the function: other functions call it
		      * instead */
	char name[SITE_NAME_MAX];
};

struct functions {
	unsigned count;
	bool overflow; /* further functions were dropped */
	bool stripped; /* the file has no full symbol table */
	bool malloc;   /* the file has its own malloc */
	bool known;    /* the file has functions with an allocator's own names */
	struct function function[FUNCTIONS_MAX];
};

/* One caller at a time. */
void functions_find(const struct elf_symbols *file, struct functions *ret);

/* Returns the number of the function that an imported name stands for, or a negative value. */
int function_of_name(const char *name, bool *ret_heap);

enum function_sort function_sort(unsigned number);

/* An allocator's function, or one that maps memory (agent/mapping_functions.h). */
const struct allocator_function *function_known(unsigned number);
/* Returns the number of a function that maps memory, or a negative value for any other name. */
int mapping_function_find(const char *name);

bool function_is_operator(const char *name);

/* Returns NULL if no function is at this address. */
struct function *functions_at(struct functions *functions, uint64_t address);
