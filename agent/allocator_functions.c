/* Has the table of allocator functions. See allocator_functions.h. This file is part of
 * libheapcast.so, so it depends on nothing but libc. */
#include "agent/allocator_functions.h"

#include <string.h>

#include "proto/event.h"

enum kind {
#define X(number, suffix, class_, name) KIND_##suffix = (number),
	EVENT_KINDS(X)
#undef X
};

/* Names without the affixes in prefixes[] and suffixes[]. */
const struct allocator_function allocator_functions[ALLOCATOR_FUNCTIONS] = {
	{"mallocx", KIND_MALLOC, SHAPE_SIZE_A}, /* the first five need no prefix */
	{"rallocx", KIND_REALLOC, SHAPE_MOVE_AB},
	{"xallocx", KIND_REALLOC, SHAPE_RESIZE},
	{"dallocx", KIND_FREE, SHAPE_END},
	{"sdallocx", KIND_FREE_SIZED, SHAPE_END},
	{"new", KIND_NEW, SHAPE_SIZE_A},
	{"new_n", KIND_NEW, SHAPE_COUNT_AB},
	{"new_realloc", KIND_REALLOC, SHAPE_MOVE_AB},
	{"new_reallocn", KIND_REALLOCARRAY, SHAPE_MOVE_ABC},
	{"newarray", KIND_NEW_ARRAY, SHAPE_SIZE_A},
	{"delete", KIND_DELETE, SHAPE_END},
	{"deletearray", KIND_DELETE_ARRAY, SHAPE_END},
	{"malloc", KIND_MALLOC, SHAPE_SIZE_A}, /* from here on: also with mimalloc's mi_heap_ */
	{"calloc", KIND_CALLOC, SHAPE_COUNT_AB},
	{"realloc", KIND_REALLOC, SHAPE_MOVE_AB},
	{"free", KIND_FREE, SHAPE_END},
	{"cfree", KIND_FREE, SHAPE_END},
	{"free_size", KIND_FREE_SIZED, SHAPE_END},
	{"posix_memalign", KIND_POSIX_MEMALIGN, SHAPE_POSIX},
	{"aligned_alloc", KIND_ALIGNED_ALLOC, SHAPE_SIZE_B},
	{"memalign", KIND_MEMALIGN, SHAPE_SIZE_B},
	{"valloc", KIND_VALLOC, SHAPE_SIZE_A},
	{"pvalloc", KIND_PVALLOC, SHAPE_SIZE_A},
	{"zalloc", KIND_CALLOC, SHAPE_SIZE_A},
	{"mallocn", KIND_MALLOC, SHAPE_COUNT_AB},
	{"reallocn", KIND_REALLOCARRAY, SHAPE_MOVE_ABC},
	{"reallocarray", KIND_REALLOCARRAY, SHAPE_MOVE_ABC},
	{"reallocf", KIND_REALLOC, SHAPE_MOVE_OR_END},
	{"rezalloc", KIND_REALLOC, SHAPE_MOVE_AB},
	{"recalloc", KIND_REALLOCARRAY, SHAPE_MOVE_ABC},
	{"aligned_recalloc", KIND_REALLOCARRAY, SHAPE_MOVE_ABC},
	{"strdup", KIND_MALLOC, SHAPE_TEXT},
	{"strndup", KIND_MALLOC, SHAPE_TEXT},
	{"realpath", KIND_MALLOC, SHAPE_TEXT_OWN},
	{"free_aligned_size", KIND_FREE_ALIGNED_SIZED,
	 /* Only allocator_function_imported looks up this name. */
	 SHAPE_END},
};

#define FIRST_OPERATOR	5  /* new */
#define FIRST_OF_MALLOC 12 /* malloc */

/* Prefixes of names, and the functions that may follow, [first, end). mi_heap_new is not an
 * operator. */
static const struct prefix {
	char text[10];
	uint8_t first;
	uint8_t end;
	bool heap; /* the first argument is a heap, so the others shift by one */
} prefixes[] = {
	{"mi_heap_", FIRST_OF_MALLOC, ALLOCATOR_FUNCTIONS, true},
	{"mi_", FIRST_OPERATOR, ALLOCATOR_FUNCTIONS, false},
	{"tc_", FIRST_OPERATOR, ALLOCATOR_FUNCTIONS, false},
	{"je_", 0, ALLOCATOR_FUNCTIONS, false},
	{"_rjem_", 0, ALLOCATOR_FUNCTIONS, false},
	{"jemalloc_", 0, ALLOCATOR_FUNCTIONS, false},
	{"", 0, FIRST_OPERATOR, false},
};

/* Suffixes, of which a name may have several: variants with additional arguments that the hooks
 * ignore. "_size" is not one of them: tc_malloc_size queries a size. */
static const char suffixes[][18] = {"_at",    "_nothrow", "_aligned",
				    "_sized", "_small",	  "_skip_new_handler"};

static size_t without_suffix(const char *name, size_t length)
{
	for (unsigned i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		size_t part = strlen(suffixes[i]);

		if (length > part && !memcmp(name + length - part, suffixes[i], part))
			return without_suffix(name, length - part);
	}
	return length;
}

/* This function has six arguments, but the hooks pass on only five. */
static const char too_many[] = "recalloc_aligned_at";

static int find_in(const struct prefix *prefix, const char *name)
{
	size_t length = without_suffix(name, strlen(name));

	if (prefix->heap && !strcmp(name, too_many))
		return -1;
	for (unsigned i = prefix->first; i < prefix->end; i++)
		if (length < sizeof(allocator_functions[i].name) &&
		    !allocator_functions[i].name[length] &&
		    !memcmp(name, allocator_functions[i].name, length))
			return (int)i;
	return -1;
}

int allocator_function_find(const char *name, bool *ret_heap)
{
	for (unsigned i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		const struct prefix *p = &prefixes[i];
		size_t length = strlen(p->text);
		int found = strncmp(name, p->text, length) ? -1 : find_in(p, name + length);

		*ret_heap = p->heap;
		if (found >= 0)
			return found;
	}
	return -1;
}

/* Functions that some versions of libc or replacement allocators have, with their rows in the
 * table. Programs test whether these functions exist, so libheapcast.so does not export them. */
static const struct {
	char name[19];
	char row[18];
} standard[] = {{"free_sized", "free_size"},
		{"free_aligned_sized", "free_aligned_size"},
		{"cfree", "cfree"}};

int allocator_function_imported(const char *name, bool *ret_heap)
{
	static const struct prefix all = {.first = 0, .end = ALLOCATOR_FUNCTIONS};

	for (unsigned i = 0; i < sizeof(standard) / sizeof(standard[0]); i++)
		if (!strcmp(name, standard[i].name)) {
			*ret_heap = false;
			return find_in(&all, standard[i].row);
		}
	return allocator_function_find(name, ret_heap);
}

/* The names that replace malloc. The table's other names can mean something else in other
 * programs. */
static const char common[][20] = {
	"malloc",	"calloc",	  "realloc",	       "free",	 "cfree",
	"memalign",	"posix_memalign", "aligned_alloc",     "valloc", "pvalloc",
	"reallocarray", "free_sized",	  "free_aligned_sized"};

/* Names of operators (Itanium C++ ABI 5.1.5): one of these symbols, a size if the operator takes
 * one, and one of operator_ends. Placement operators are left out: they allocate nothing. */
static const struct {
	char symbol[8];
	char name[12];
} operators[] = {
	{"_Znw", "new"}, {"_Zna", "newarray"}, {"_ZdlPv", "delete"}, {"_ZdaPv", "deletearray"}};

static const char operator_ends[][32] = {"", "RKSt9nothrow_t", "St11align_val_t",
					 "St11align_val_tRKSt9nothrow_t"};

static const char *find_operator(const char *name)
{
	for (unsigned i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
		size_t length = strlen(operators[i].symbol);

		if (strncmp(name, operators[i].symbol, length))
			continue;
		length += name[length] == 'm' || name[length] == 'j';
		for (unsigned k = 0; k < sizeof(operator_ends) / sizeof(operator_ends[0]); k++)
			if (!strcmp(name + length, operator_ends[k]))
				return operators[i].name;
	}
	return NULL;
}

int allocator_function_find_common(const char *name)
{
	static const struct prefix all = {.first = 0, .end = ALLOCATOR_FUNCTIONS};
	const char *plain = find_operator(name);

	for (unsigned i = 0; i < sizeof(common) / sizeof(common[0]); i++)
		if (!strcmp(name, common[i]))
			return find_in(&all, name);
	return plain ? find_in(&all, plain) : -1;
}
