/* The words through which modules call; see imports.h. The formats: System V ABI chapter 5 and its
 * processor supplements. The tables are those of loaded libraries: trusted. */
#include "agent/preload/imports.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/allocator_functions.h"
#include "agent/preload/allocators.h"
#include "agent/preload/start.h"
#include "agent/preload/state.h"
#include "agent/preload/symbols.h"
#include "agent/preload/sys.h"
#include "agent/preload/thread.h"

#include "agent/preload/poison.h"

#if __SIZEOF_POINTER__ == 8
#define SYMBOL_OF(info) ELF64_R_SYM(info)
#define TYPE_OF(info)	ELF64_R_TYPE(info)
#else
#define SYMBOL_OF(info) ELF32_R_SYM(info)
#define TYPE_OF(info)	ELF32_R_TYPE(info)
#endif

/* A module's imports. Processors whose relocations have no addend (DT_REL) are not served. */
struct imports {
	uintptr_t bias;
	uintptr_t start, end;		  /* of the module */
	uintptr_t relro_start, relro_end; /* whole pages that are read-only by now */
	const ElfW(Sym) * symbols;
	const char *strings;
	const ElfW(Rela) * table[2]; /* DT_RELA, DT_JMPREL */
	size_t count[2];
};

static void read_dynamic(struct imports *m, const ElfW(Dyn) * d)
{
	uint64_t kind = DT_RELA;

	for (; d->d_tag != DT_NULL; d++) {
		uintptr_t value = d->d_un.d_ptr, at = value < m->bias ? m->bias + value : value;

		switch (d->d_tag) {
		case DT_SYMTAB:
			m->symbols = (const ElfW(Sym) *)at;
			break;
		case DT_STRTAB:
			m->strings = (const char *)at;
			break;
		case DT_RELA:
			m->table[0] = (const ElfW(Rela) *)at;
			break;
		case DT_RELASZ:
			m->count[0] = value / sizeof(ElfW(Rela));
			break;
		case DT_JMPREL:
			m->table[1] = (const ElfW(Rela) *)at;
			break;
		case DT_PLTRELSZ:
			m->count[1] = value / sizeof(ElfW(Rela));
			break;
		case DT_PLTREL:
			kind = value;
			break;
		}
	}
	if (kind != DT_RELA)
		m->count[1] = 0;
}

static bool read_module(const struct dl_phdr_info *info, struct imports *m)
{
	uintptr_t page = (uintptr_t)getpagesize();

	*m = (struct imports){.bias = info->dlpi_addr, .start = UINTPTR_MAX};
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
	return m->symbols && m->strings && (m->table[0] || m->table[1]);
}

/* The known function that this relocation imports; NULL: none. */
static const char *known(const struct imports *m, const ElfW(Rela) * r)
{
	unsigned type = TYPE_OF(r->r_info);
	const ElfW(Sym) * symbol;
	const char *name;
	bool heap;

	if (type != ARCH_JUMP_SLOT && type != ARCH_GLOB_DAT)
		return NULL;
	symbol = &m->symbols[SYMBOL_OF(r->r_info)];
	name = m->strings + symbol->st_name;
	if (symbol->st_shndx != SHN_UNDEF || allocator_function_find(name, &heap) < 0)
		return NULL;
	return name;
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

/* Not yet resolved, a word leads into the module's own table of calls. */
static void redirect(const struct imports *m, const ElfW(Rela) * r, const char *name)
{
	uintptr_t *word = (uintptr_t *)(m->bias + r->r_offset);
	uintptr_t is = __atomic_load_n(word, __ATOMIC_RELAXED), hook;
	uintptr_t definition = symbols_find(name, &shim);
	bool later = TYPE_OF(r->r_info) == ARCH_JUMP_SLOT && is >= m->start && is < m->end;

	if (!definition || (is != definition && !later))
		return;
	if (definition >= m->start && definition < m->end)
		return; /* the allocator itself */
	hook = allocators_hook(name, definition);
	if (hook)
		store(m, word, hook);
}

/* Is there anything to redirect? If `change`, does it. */
static bool visit_relocations(const struct imports *m, bool change)
{
	bool any = false;

	for (unsigned t = 0; t < 2; t++)
		for (size_t i = 0; i < m->count[t] && m->table[t]; i++) {
			const char *name = known(m, &m->table[t][i]);

			if (name && change)
				redirect(m, &m->table[t][i], name);
			any |= name != NULL;
		}
	return any;
}

static int visit_wanted(struct dl_phdr_info *info, size_t size, void *context)
{
	struct imports m;

	(void)size;
	(void)context;
	return read_module(info, &m) && visit_relocations(&m, false);
}

static int visit_every(struct dl_phdr_info *info, size_t size, void *context)
{
	struct imports m;

	(void)size;
	(void)context;
	if (read_module(info, &m))
		visit_relocations(&m, true);
	return 0;
}

static int visit_one(struct dl_phdr_info *info, size_t size, void *context)
{
	uintptr_t pc = *(uintptr_t *)context;
	struct imports m;

	(void)size;
	if (!read_module(info, &m) || pc < m.start || pc >= m.end)
		return 0;
	visit_relocations(&m, true);
	return 1;
}

/* dl_iterate_phdr holds a lock of the loader meanwhile: one thread at a time. */
void imports_take(uint64_t pc)
{
	uintptr_t at = (uintptr_t)pc;

	dl_iterate_phdr(visit_one, &at);
}

/* Before the constructors of the program, and of most libraries. */
static __attribute__((constructor)) void take_first(void)
{
	start_resolved();
	start_constructed();
	if (!shim_ring() || !dl_iterate_phdr(visit_wanted, NULL))
		return;
	guard_set(ARCH_FRAME);
	dl_iterate_phdr(visit_every, NULL);
	guard_clear();
}
