/* The words through which modules call functions; see imports.h. Formats: System V ABI chapter 5
 * and its processor supplements. The tables belong to loaded libraries, so they are trusted. */
#include "agent/preload/modules/imports.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/allocator_functions.h"
#include "agent/preload/allocators/allocators.h"
#include "agent/preload/modules/jit.h"
#include "agent/preload/modules/loader.h"
#include "agent/preload/record/operators.h"
#include "agent/preload/start/start.h"
#include "agent/preload/system/state.h"
#include "agent/preload/system/symbols.h"
#include "agent/preload/system/sys.h"
#include "agent/preload/record/thread.h"

#include "agent/preload/poison.h"

#if __SIZEOF_POINTER__ == 8
#define SYMBOL_OF(info) ELF64_R_SYM(info)
#define TYPE_OF(info)	ELF64_R_TYPE(info)
#else
#define SYMBOL_OF(info) ELF32_R_SYM(info)
#define TYPE_OF(info)	ELF32_R_TYPE(info)
#endif

/* A module's imports. */
struct imports {
	uintptr_t bias;
	uintptr_t start, end;		  /* of the module */
	uintptr_t relro_start, relro_end; /* whole pages that the loader has made read-only */
	const ElfW(Sym) * symbols;
	const char *strings;
	const uint8_t *table[2]; /* DT_REL or DT_RELA, DT_JMPREL */
	size_t size[2];		 /* in bytes */
	/* Size of an element of both tables. An element with an addend starts like one without. */
	size_t step;
#ifdef ARCH_GOT_OF_SYMBOLS
	/* Words of the symbols from first_symbol on; they follow the module's own words. */
	uintptr_t *got;
	size_t own_words, first_symbol, symbol_count;
#endif
};

static void read_dynamic(struct imports *m, const ElfW(Dyn) * d)
{
	for (; d->d_tag != DT_NULL; d++) {
		uintptr_t value = d->d_un.d_ptr, at = value < m->bias ? m->bias + value : value;

		switch (d->d_tag) {
		case DT_SYMTAB:
			m->symbols = (const ElfW(Sym) *)at;
			break;
		case DT_STRTAB:
			m->strings = (const char *)at;
			break;
		case ARCH_RELOCATIONS:
			m->table[0] = (const uint8_t *)at;
			break;
		case ARCH_RELOCATIONS + 1: /* size in bytes: DT_RELASZ, DT_RELSZ */
			m->size[0] = value;
			break;
		case DT_JMPREL:
			m->table[1] = (const uint8_t *)at;
			break;
		case DT_PLTRELSZ:
			m->size[1] = value;
			break;
#ifdef ARCH_GOT_OF_SYMBOLS
		case DT_PLTGOT:
			m->got = (uintptr_t *)at;
			break;
		case DT_MIPS_LOCAL_GOTNO:
			m->own_words = value;
			break;
		case DT_MIPS_GOTSYM:
			m->first_symbol = value;
			break;
		case DT_MIPS_SYMTABNO:
			m->symbol_count = value;
			break;
#endif
		}
	}
}

static bool read_module(const struct dl_phdr_info *info, struct imports *m)
{
	uintptr_t page = (uintptr_t)getpagesize();

	*m = (struct imports){
		.bias = info->dlpi_addr,
		.start = UINTPTR_MAX,
		.step = ARCH_RELOCATIONS == DT_RELA ? sizeof(ElfW(Rela)) : sizeof(ElfW(Rel)),
	};
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t at = m->bias + p->p_vaddr, past = at + p->p_memsz;

		switch (p->p_type) {
		case PT_LOAD:
			m->start = at < m->start ? at : m->start;
			m->end = past > m->end ? past : m->end;
			break;
		case PT_DYNAMIC:
			read_dynamic(m, (const ElfW(Dyn) *)at);
			break;
		case PT_GNU_RELRO:
			m->relro_start = at & ~(page - 1);
			m->relro_end = past & ~(page - 1);
			break;
		}
	}
	return m->symbols && m->strings;
}

/* Returns the name of the known function that this symbol imports, or NULL. */
static const char *known(const struct imports *m, size_t number)
{
	const ElfW(Sym) *symbol = &m->symbols[number];
	const char *name = m->strings + symbol->st_name;
	bool heap;

	return symbol->st_shndx == SHN_UNDEF && allocator_function_imported(name, &heap) >= 0
		       ? name
		       : NULL;
}

static void store(const struct imports *m, uintptr_t *word, uintptr_t value)
{
	uintptr_t page = (uintptr_t)getpagesize(), at = (uintptr_t)word & ~(page - 1);
	bool read_only = at >= m->relro_start && at < m->relro_end;

	if (read_only && sys_call(SYS_mprotect, at, page, PROT_READ | PROT_WRITE) < 0)
		return;
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
	if (read_only)
		sys_call(SYS_mprotect, at, page, PROT_READ);
}

/* `lazy` is set if an unresolved word points into the module's own procedure linkage table. */
static void redirect(const struct imports *m, uintptr_t *word, bool lazy, const char *name)
{
	uintptr_t is = __atomic_load_n(word, __ATOMIC_RELAXED), hook;
	uintptr_t definition = symbols_find_old(name, &shim);
	bool later = lazy && is >= m->start && is < m->end;

	if (!definition || (is != definition && !later))
		return;
	if (definition >= m->start && definition < m->end)
		return; /* the allocator itself */
	hook = allocators_hook(name, definition);
	if (hook)
		store(m, word, hook);
}

/* Does this word import a known function? If `change` is set, redirects it. */
static bool visit_word(const struct imports *m, size_t symbol, uintptr_t *word, bool lazy,
		       bool change)
{
	const char *name = known(m, symbol);

	if (name && change)
		redirect(m, word, lazy, name);
	return name != NULL;
}

static bool visit_words(const struct imports *m, bool change)
{
	bool any = false;

	for (unsigned t = 0; t < 2; t++)
		for (size_t at = 0; m->table[t] && at + m->step <= m->size[t]; at += m->step) {
			const ElfW(Rel) *r = (const ElfW(Rel) *)(m->table[t] + at);
			unsigned type = TYPE_OF(r->r_info);

			if (type == ARCH_JUMP_SLOT || type == ARCH_GLOB_DAT)
				any |= visit_word(m, SYMBOL_OF(r->r_info),
						  (uintptr_t *)(m->bias + r->r_offset),
						  type == ARCH_JUMP_SLOT, change);
		}
#ifdef ARCH_GOT_OF_SYMBOLS
	for (size_t i = m->first_symbol; m->got && i < m->symbol_count; i++)
		any |= visit_word(m, i, &m->got[m->own_words + i - m->first_symbol], true, change);
#endif
	return any;
}

static int visit_wanted(struct dl_phdr_info *info, size_t size, void *context)
{
	struct imports m;

	(void)size;
	(void)context;
	return read_module(info, &m) && visit_words(&m, false);
}

static int visit_every(struct dl_phdr_info *info, size_t size, void *context)
{
	struct imports m;

	(void)size;
	(void)context;
	if (read_module(info, &m))
		visit_words(&m, true);
	return 0;
}

static int visit_one(struct dl_phdr_info *info, size_t size, void *context)
{
	uintptr_t pc = *(uintptr_t *)context;
	struct imports m;

	(void)size;
	if (!read_module(info, &m) || pc < m.start || pc >= m.end)
		return 0;
	visit_words(&m, true);
	return 1;
}

/* Runs under the loader's lock: one thread at a time. */
bool imports_take(uint64_t pc)
{
	uintptr_t at = (uintptr_t)pc;

	if (!loader_enter())
		return false;
	dl_iterate_phdr(visit_one, &at);
	loader_leave();
	return true;
}

/* Runs before the constructors of the program, and of most libraries. */
static __attribute__((constructor)) void take_first(void)
{
	start_resolved();
	start_constructed();
	operators_resolve();
	jit_resolve();
	if (!shim_ring() || !dl_iterate_phdr(visit_wanted, NULL))
		return;
	guard_set(ARCH_FRAME);
	dl_iterate_phdr(visit_every, NULL);
	guard_clear();
}
