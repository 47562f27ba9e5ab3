/* Redirects the words through which modules call functions; see imports.h. */
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
#include "agent/preload/system/elf_image.h"
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
	struct elf_tables tables;
	uintptr_t bias;
	uintptr_t start, end;		  /* of the module */
	uintptr_t relro_start, relro_end; /* whole pages that the loader has made read-only */
	/* Size of an element of both tables. An element with an addend starts like one without. */
	size_t step;
};

static bool read_module(const struct dl_phdr_info *info, struct imports *m)
{
	uintptr_t page = (uintptr_t)getpagesize();

	*m = (struct imports){
		.bias = info->dlpi_addr,
		.step = ARCH_RELOCATIONS == DT_RELA ? sizeof(ElfW(Rela)) : sizeof(ElfW(Rel)),
	};
	elf_image_extent(info, &m->start, &m->end);
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type != PT_GNU_RELRO)
			continue;
		m->relro_start = (m->bias + p->p_vaddr) & ~(page - 1);
		m->relro_end = (m->bias + p->p_vaddr + p->p_memsz) & ~(page - 1);
	}
	return elf_image_tables(info, &m->tables);
}

/* Returns the name of the known function that this symbol imports, or NULL. */
static const char *imports_known(const struct imports *m, size_t number)
{
	const ElfW(Sym) *symbol = &m->tables.symbols[number];
	const char *name = m->tables.strings + symbol->st_name;
	bool heap;

	return symbol->st_shndx == SHN_UNDEF && allocator_function_imported(name, &heap) >= 0
		       ? name
		       : NULL;
}

static void imports_store(const struct imports *m, uintptr_t *word, uintptr_t value)
{
	uintptr_t page = (uintptr_t)getpagesize(), at = (uintptr_t)word & ~(page - 1);
	bool read_only = at >= m->relro_start && at < m->relro_end;

	if (read_only && sys_call(SYS_mprotect, at, page, PROT_READ | PROT_WRITE) < 0)
		return;
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
	if (read_only)
		sys_call(SYS_mprotect, at, page, PROT_READ);
}

/* Redirects a word to the hook of its function. `lazy` is set if an unresolved word points into the
 * module's own procedure linkage table. */
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
		imports_store(m, word, hook);
}

/* Returns true if this word imports a known function. If `change` is set, redirects it. */
static bool visit_word(const struct imports *m, size_t symbol, uintptr_t *word, bool lazy,
		       bool change)
{
	const char *name = imports_known(m, symbol);

	if (name && change)
		redirect(m, word, lazy, name);
	return name != NULL;
}

static bool visit_words(const struct imports *m, bool change)
{
	const struct elf_tables *of = &m->tables;
	bool any = false;

	for (unsigned t = 0; t < 2; t++)
		for (size_t at = 0; of->relocations[t] && at + m->step <= of->relocations_size[t];
		     at += m->step) {
			const ElfW(Rel) *r = (const ElfW(Rel) *)(of->relocations[t] + at);
			unsigned type = TYPE_OF(r->r_info);

			if (type == ARCH_JUMP_SLOT || type == ARCH_GLOB_DAT)
				any |= visit_word(m, SYMBOL_OF(r->r_info),
						  (uintptr_t *)(m->bias + r->r_offset),
						  type == ARCH_JUMP_SLOT, change);
		}
#ifdef ARCH_GOT_OF_SYMBOLS
	for (size_t i = of->first_symbol; of->got && i < of->symbol_count; i++)
		any |= visit_word(m, i, &of->got[of->own_words + i - of->first_symbol], true,
				  change);
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

/* Runs under the loader's lock, so in one thread at a time. */
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
