/* Finds allocator functions by their symbols. See functions.h. */
#include "agent/ebpf/functions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/mapping_functions.h"
#include "base/elf/elf.h"
#include "base/ban.h"

/* The state while symbols are read. */
struct search {
	struct functions *found;
	uint16_t machine;
	bool shown; /* common names count in this table: other files see its symbols */
};

bool function_is_operator(const char *name)
{
	return !strncmp(name, "_Z", 2);
}

int function_of_name(const char *name, bool *ret_heap)
{
	int number = allocator_function_find(name, ret_heap);

	if (number >= 0)
		return number;
	*ret_heap = false;
	return allocator_function_find_common(name);
}

enum function_sort function_sort(unsigned number)
{
	if (number >= MAPPING_FUNCTIONS_FIRST)
		return SORT_MAPS;
	switch (function_known(number)->shape) {
	case SHAPE_END:
		return SORT_FREES;
	case SHAPE_MOVE_AB:
	case SHAPE_MOVE_ABC:
	case SHAPE_MOVE_OR_END:
		return SORT_MOVES;
	case SHAPE_RESIZE:
		return SORT_RESIZES;
	default:
		return SORT_ALLOCATES;
	}
}

/* Operators new and similar functions throw, except nothrow variants; so do mimalloc's functions of
 * this kind (mi_new_realloc). */
static bool is_throwing(unsigned number, const char *name)
{
	return !strncmp(function_known(number)->name, "new", 3) && !strstr(name, "nothrow");
}

/* Returns true if the name of `f` is better than that of `than`, for the same function. Malloc's
 * family comes last in the table of functions. Of two operators, the first one is not the array
 * operator. */
static bool is_better(const struct function *f, const struct function *than)
{
	bool operator_ = function_is_operator(f->name), other = function_is_operator(than->name);

	if (f->common != than->common)
		return f->common;
	if (operator_ != other)
		return other;
	return f->number < than->number ||
	       (f->number == than->number && strcmp(f->name, than->name) < 0);
}

static void add(struct functions *found, const struct function *f)
{
	for (unsigned i = 0; i < found->count; i++) {
		struct function *same = &found->function[i];

		if (same->address != f->address)
			continue;
		if (is_better(f, same))
			*same = *f;
		return;
	}
	if (found->count == FUNCTIONS_MAX)
		found->overflow = true;
	else
		found->function[found->count++] = *f;
}

/* Returns true for "malloc.constprop.0", but not for "malloc.cold", which only malloc itself
 * reaches. */
static bool functions_is_copy(const char *name, char base[SITE_NAME_MAX])
{
	const char *dot = strchr(name, '.');

	snprintf(base, SITE_NAME_MAX, "%.*s", dot ? (int)(dot - name) : SITE_NAME_MAX - 1, name);
	return dot && strncmp(dot, ".cold", 5) != 0;
}

static bool functions_is_wanted(const char *name)
{
	char base[SITE_NAME_MAX];
	bool heap;

	functions_is_copy(name, base);
	return mapping_function_find(base) >= 0 || function_of_name(base, &heap) >= 0;
}

static const struct elf_names wanted_names = {
	"mi_ mal mem tc_ je_ jem _rj _Zn _Zd rea ral xal dal sda cal cfr fre pos ali val pva mma "
	"mun "
	"mre sbr brk",
	functions_is_wanted,
};

static bool functions_take(void *context, const struct elf_symbol *symbol, const char *name)
{
	struct search *search = context;
	struct function f = {.address = symbol->value, .size = symbol->size};
	bool local = symbol->binding == STB_LOCAL;
	int number;

	if (strlen(name) >= sizeof(f.name))
		return false;
	f.copied = functions_is_copy(name, f.name);
	if (strchr(name, '.') && !f.copied)
		return false;
	number = mapping_function_find(f.name);
	f.common = number >= 0 || allocator_function_find_common(f.name) >= 0;
	if (number < 0)
		number = function_of_name(f.name, &f.heap);
	if (number < 0 || (f.common && !f.copied && (local || !search->shown)))
		return false;
	f.number = (uint8_t)number;
	f.late = symbol->type == STT_GNU_IFUNC;
	f.thumb = search->machine == EM_ARM && f.address & 1;
	f.throws = is_throwing(f.number, name);
	search->found->known |= !f.common;
	search->found->malloc |= !f.copied && !strcmp(f.name, "malloc");
	add(search->found, &f);
	return search->found->overflow;
}

static int functions_compare(const void *a, const void *b)
{
	const struct function *first = a, *second = b;

	return first->address < second->address ? -1 : first->address > second->address;
}

/* A program without dynamic symbols exports nothing: its own calls use its global symbols, so
 * common names count in .symtab. */
void functions_find(const struct elf_symbols *file, struct functions *ret)
{
	struct search search = {.found = ret, .machine = file->elf.machine};

	ret->count = 0;
	ret->overflow = ret->malloc = ret->known = false;
	ret->stripped = !elf_symbols_has(file, SHT_SYMTAB);
	search.shown = true;
	ret->overflow |=
		!elf_symbols_walk(file, SHT_DYNSYM, &wanted_names, functions_take, &search);
	search.shown = !elf_symbols_has(file, SHT_DYNSYM);
	ret->overflow |=
		!elf_symbols_walk(file, SHT_SYMTAB, &wanted_names, functions_take, &search);
	qsort(ret->function, ret->count, sizeof(ret->function[0]), functions_compare);
}

struct function *functions_at(struct functions *functions, uint64_t address)
{
	const struct function key = {.address = address};

	return bsearch(&key, functions->function, functions->count, sizeof(key), functions_compare);
}
