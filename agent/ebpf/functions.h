#pragma once
/*
 * Finds the allocator functions for which an ELF file has symbols, and the facts that follow from
 * the names alone. The list is sorted by address. Aliases appear under one name: that of malloc's
 * family if possible.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/allocator_functions.h"
#include "agent/ebpf/sites.h"
#include "agent/core/elf_symbols.h"

#define FUNCTIONS_MAX 256

/* Sorts of functions. A wrapper and the function that it calls have the same sort. */
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
	bool malloc;   /* the file defines malloc */
	bool known;    /* the file has functions with an allocator's own names */
	struct function function[FUNCTIONS_MAX];
};

/* Finds the functions of `file`. Only one caller at a time, because elf_symbols_walk uses static
 * buffers. */
void functions_find(const struct elf_symbols *file, struct functions *ret);

/* Returns the number of the function that an imported name stands for, or a negative value. */
int function_of_name(const char *name, bool *ret_heap);

enum function_sort function_sort(unsigned number);

/* Returns the description of an allocator's function, or of one that maps memory
 * (agent/mapping_functions.h). */
const struct allocator_function *function_known(unsigned number);
/* Returns the number of a function that maps memory, or a negative value for any other name. */
int mapping_function_find(const char *name);

bool function_is_operator(const char *name);

/* Returns the function at this address, or NULL. */
struct function *functions_at(struct functions *functions, uint64_t address);
