/* Symbol lookup in the modules' own hash tables; see symbols.h. Formats: System V ABI chapter 5
 * (DT_HASH), and the GNU hash section as glibc's loader reads it (elf/dl-lookup.c). The tables
 * belong to loaded libraries, so they are trusted. */
#include "agent/preload/system/symbols.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "agent/preload/poison.h"

#define VERSION_HIDDEN 0x8000u

struct tables {
	const ElfW(Sym) * symbols;
	const char *strings;
	const uint32_t *gnu_hash;
	const uint32_t *hash;
	const uint16_t *versions;
	bool old; /* also match versions that new programs no longer link with */
};

struct search {
	const char *name;
	uintptr_t self;
	uintptr_t found;
	bool next;
	bool old;
};

/* On most processors the loader has relocated d_ptr. Elsewhere the value is an offset into the
 * module. */
static uintptr_t absolute(uintptr_t bias, uintptr_t value)
{
	return value < bias ? bias + value : value;
}

static struct tables tables_of(uintptr_t bias, const ElfW(Dyn) * dynamic)
{
	struct tables t = {0};

	for (; dynamic->d_tag != DT_NULL; dynamic++) {
		uintptr_t at = absolute(bias, dynamic->d_un.d_ptr);

		switch (dynamic->d_tag) {
		case DT_SYMTAB:
			t.symbols = (const ElfW(Sym) *)at;
			break;
		case DT_STRTAB:
			t.strings = (const char *)at;
			break;
		case DT_GNU_HASH:
			t.gnu_hash = (const uint32_t *)at;
			break;
		case DT_HASH:
			t.hash = (const uint32_t *)at;
			break;
		case DT_VERSYM:
			t.versions = (const uint16_t *)at;
			break;
		}
	}
	return t;
}

static uintptr_t match(const struct tables *t, uint32_t index, const char *name, uintptr_t bias)
{
	const ElfW(Sym) *symbol = &t->symbols[index];
	unsigned type = symbol->st_info & 0xf, binding = symbol->st_info >> 4;

	if (symbol->st_shndx == SHN_UNDEF || binding == STB_LOCAL ||
	    (type != STT_FUNC && type != STT_OBJECT))
		return 0;
	if (!t->old && t->versions && (t->versions[index] & VERSION_HIDDEN))
		return 0;
	return strcmp(t->strings + symbol->st_name, name) ? 0 : bias + symbol->st_value;
}

static uintptr_t find_gnu(const struct tables *t, const char *name, uintptr_t bias)
{
	uint32_t buckets = t->gnu_hash[0], first = t->gnu_hash[1], bloom_words = t->gnu_hash[2];
	const ElfW(Addr) *bloom = (const ElfW(Addr) *)(t->gnu_hash + 4);
	const uint32_t *bucket = (const uint32_t *)(bloom + bloom_words);
	const uint32_t *chain = bucket + buckets;
	uint32_t hash = 5381, index;

	for (const unsigned char *c = (const unsigned char *)name; *c; c++)
		hash = hash * 33 + *c;
	index = buckets ? bucket[hash % buckets] : 0;
	if (index < first)
		return 0;
	for (;; index++) {
		uintptr_t found =
			((chain[index - first] ^ hash) >> 1) ? 0 : match(t, index, name, bias);

		if (found)
			return found;
		if (chain[index - first] & 1)
			return 0;
	}
}

static uintptr_t find_sysv(const struct tables *t, const char *name, uintptr_t bias)
{
	for (uint32_t index = 1; index < t->hash[1]; index++) {
		uintptr_t found = match(t, index, name, bias);

		if (found)
			return found;
	}
	return 0;
}

static bool holds(const struct dl_phdr_info *info, uintptr_t address)
{
	for (unsigned i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD &&
		    address - (info->dlpi_addr + info->dlpi_phdr[i].p_vaddr) <
			    info->dlpi_phdr[i].p_memsz)
			return true;
	return false;
}

static int visit(struct dl_phdr_info *info, size_t size, void *context)
{
	struct search *search = context;
	struct tables t;

	(void)size;
	if (holds(info, search->self)) {
		search->next = false;
		return 0;
	}
	if (search->next)
		return 0;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type != PT_DYNAMIC)
			continue;
		t = tables_of(info->dlpi_addr,
			      (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr));
		if (!t.symbols || !t.strings)
			continue;
		t.old = search->old;
		if (t.gnu_hash)
			search->found = find_gnu(&t, search->name, info->dlpi_addr);
		else if (t.hash)
			search->found = find_sysv(&t, search->name, info->dlpi_addr);
	}
	return search->found != 0;
}

uintptr_t symbols_find(const char *name, const void *self)
{
	struct search search = {.name = name, .self = (uintptr_t)self};

	dl_iterate_phdr(visit, &search);
	return search.found;
}

uintptr_t symbols_find_old(const char *name, const void *self)
{
	struct search search = {.name = name, .self = (uintptr_t)self, .old = true};
	uintptr_t found = symbols_find(name, self);

	if (!found)
		dl_iterate_phdr(visit, &search);
	return found ? found : search.found;
}

uintptr_t symbols_find_next(const char *name, const void *self)
{
	struct search search = {.name = name, .self = (uintptr_t)self, .next = true};

	dl_iterate_phdr(visit, &search);
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
	return holds(info, pair->a) && holds(info, pair->b);
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
	return holds(info, *(const uintptr_t *)context) &&
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
	if (!holds(info, extent->address))
		return 0;
	extent->start = UINTPTR_MAX;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + p->p_vaddr;

		if (p->p_type != PT_LOAD)
			continue;
		if (at < extent->start)
			extent->start = at;
		if (at + p->p_memsz > extent->end)
			extent->end = at + p->p_memsz;
	}
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
