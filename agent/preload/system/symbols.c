/* Symbol lookup in the modules' own hash tables; see symbols.h. Formats: System V ABI chapter 5
 * (DT_HASH), and the GNU hash section as glibc's loader reads it (elf/dl-lookup.c). */
#include "agent/preload/system/symbols.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "agent/preload/system/elf_image.h"

#include "agent/preload/poison.h"

#define VERSION_HIDDEN 0x8000u

struct search {
	const char *name;
	uintptr_t self;
	uintptr_t bias; /* of the module that is searched */
	uintptr_t found;
	bool next;
	bool old; /* also match versions that new programs no longer link with */
};

static uintptr_t match(const struct elf_tables *t, uint32_t index, const struct search *search)
{
	const ElfW(Sym) *symbol = &t->symbols[index];
	unsigned type = symbol->st_info & 0xf, binding = symbol->st_info >> 4;

	if (symbol->st_shndx == SHN_UNDEF || binding == STB_LOCAL ||
	    (type != STT_FUNC && type != STT_OBJECT))
		return 0;
	if (!search->old && t->versions && (t->versions[index] & VERSION_HIDDEN))
		return 0;
	return strcmp(t->strings + symbol->st_name, search->name) ? 0
								  : search->bias + symbol->st_value;
}

static uintptr_t find_gnu(const struct elf_tables *t, const struct search *search)
{
	uint32_t buckets = t->gnu_hash[0], first = t->gnu_hash[1], bloom_words = t->gnu_hash[2];
	const ElfW(Addr) *bloom = (const ElfW(Addr) *)(t->gnu_hash + 4);
	const uint32_t *bucket = (const uint32_t *)(bloom + bloom_words);
	const uint32_t *chain = bucket + buckets;
	uint32_t hash = 5381, index;

	for (const unsigned char *c = (const unsigned char *)search->name; *c; c++)
		hash = hash * 33 + *c;
	index = buckets ? bucket[hash % buckets] : 0;
	if (index < first)
		return 0;
	for (;; index++) {
		uintptr_t found =
			((chain[index - first] ^ hash) >> 1) ? 0 : match(t, index, search);

		if (found)
			return found;
		if (chain[index - first] & 1)
			return 0;
	}
}

static uintptr_t find_sysv(const struct elf_tables *t, const struct search *search)
{
	for (uint32_t index = 1; index < t->hash[1]; index++) {
		uintptr_t found = match(t, index, search);

		if (found)
			return found;
	}
	return 0;
}

static int symbols_visit(struct dl_phdr_info *info, size_t size, void *context)
{
	struct search *search = context;
	struct elf_tables t;

	(void)size;
	if (elf_image_holds(info, search->self)) {
		search->next = false;
		return 0;
	}
	if (search->next || !elf_image_tables(info, &t))
		return 0;
	search->bias = info->dlpi_addr;
	if (t.gnu_hash)
		search->found = find_gnu(&t, search);
	else if (t.hash)
		search->found = find_sysv(&t, search);
	return search->found != 0;
}

uintptr_t symbols_find(const char *name, const void *self)
{
	struct search search = {.name = name, .self = (uintptr_t)self};

	dl_iterate_phdr(symbols_visit, &search);
	return search.found;
}

uintptr_t symbols_find_old(const char *name, const void *self)
{
	struct search search = {.name = name, .self = (uintptr_t)self, .old = true};
	uintptr_t found = symbols_find(name, self);

	if (!found)
		dl_iterate_phdr(symbols_visit, &search);
	return found ? found : search.found;
}

uintptr_t symbols_find_next(const char *name, const void *self)
{
	struct search search = {.name = name, .self = (uintptr_t)self, .next = true};

	dl_iterate_phdr(symbols_visit, &search);
	return search.found;
}

struct pair {
	uintptr_t a;
	uintptr_t b;
};

static int visit_pair(struct dl_phdr_info *info, size_t size, void *context)
{
	const struct pair *pair = context;

	(void)size;
	return elf_image_holds(info, pair->a) && elf_image_holds(info, pair->b);
}

bool symbols_together(uintptr_t a, uintptr_t b)
{
	struct pair pair = {.a = a, .b = b};

	return dl_iterate_phdr(visit_pair, &pair);
}

static int visit_cxx(struct dl_phdr_info *info, size_t size, void *context)
{
	const char *slash = strrchr(info->dlpi_name, '/'), *name = slash ? slash + 1 : "";

	(void)size;
	return elf_image_holds(info, *(const uintptr_t *)context) &&
	       (!strncmp(name, "libstdc++.so", 12) || !strncmp(name, "libc++", 6));
}

bool symbols_of_cxx(uintptr_t address)
{
	return dl_iterate_phdr(visit_cxx, &address);
}

struct extent {
	uintptr_t address;
	uintptr_t start;
	uintptr_t end;
};

static int visit_extent(struct dl_phdr_info *info, size_t size, void *context)
{
	struct extent *extent = context;

	(void)size;
	if (!elf_image_holds(info, extent->address))
		return 0;
	elf_image_extent(info, &extent->start, &extent->end);
	return 1;
}

bool symbols_module(uintptr_t address, uintptr_t *ret_start, uintptr_t *ret_end)
{
	struct extent extent = {.address = address};

	if (!dl_iterate_phdr(visit_extent, &extent))
		return false;
	*ret_start = extent.start;
	*ret_end = extent.end;
	return true;
}
