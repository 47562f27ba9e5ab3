/* glibc; see libc.h. */
#include "agent/preload/libc.h"

#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <sys/auxv.h>

#include "agent/preload/next.h"
#include "agent/preload/symbols.h"
#include "agent/preload/sys.h"
#include "arch.h"

#include "agent/preload/poison.h"

/* By its oldest version: since glibc 2.34 it is in libc, before in libdl, which the program may not
 * have. */
extern __typeof__(dlsym) base_dlsym __attribute__((weak));
__asm__(".symver base_dlsym, dlsym@" ARCH_LIBC_BASE);

void *libc_symbol(void *handle, const char *name)
{
	if (base_dlsym)
		return base_dlsym(handle, name);
	return (void *)symbols_find(name, &next);
}

/* A mutex of glibc, as bits/struct_mutex.h has it. */
struct mutex {
	int lock; /* 0: free */
	unsigned count;
	int owner;
	unsigned users;
	int kind; /* 1: recursive */
};

/* The recursive mutex among the loader's data that this thread holds; the last, for another one that it may hold in the middle of a
 * dlopen lies before. */
const int *libc_loader_lock(void)
{
	const uintptr_t base = getauxval(AT_BASE);
	const ElfW(Ehdr) *head = (const ElfW(Ehdr) *)base;
	const ElfW(Phdr) * part;
	int tid = (int)sys_call(SYS_gettid);
	const int *found = NULL;

	if (!base)
		return NULL;
	part = (const ElfW(Phdr) *)(base + head->e_phoff);
	for (unsigned i = head->e_phnum; i--; part++) {
		const struct mutex *m =
			(const struct mutex *)(base + (part->p_vaddr & ~(uintptr_t)7));
		const char *end = (const char *)(base + part->p_vaddr + part->p_memsz);

		if (part->p_type != PT_LOAD || !(part->p_flags & PF_W))
			continue;
		for (; (const char *)(m + 1) <= end;
		     m = (const struct mutex *)((const char *)m + 8))
			if (m->owner == tid && m->kind == 1 && m->users)
				found = &m->lock;
	}
	return found;
}
