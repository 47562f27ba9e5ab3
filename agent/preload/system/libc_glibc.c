/* The functions of libc.h for glibc. */
#include "agent/preload/system/libc.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/auxv.h>

#include "agent/preload/system/elf_image.h"
#include "agent/preload/system/next.h"
#include "agent/preload/system/symbols.h"
#include "agent/preload/system/sys.h"
#include "arch.h"

#include "agent/preload/poison.h"

/* dlsym, linked by its oldest version. Since glibc 2.34 the function is in libc, before that in
 * libdl, which the program may not have. */
extern __typeof__(dlsym) base_dlsym __attribute__((weak));
__asm__(".symver base_dlsym, dlsym@" ARCH_LIBC_BASE);
/* Likewise; before glibc 2.34 it is in libpthread. */
extern __typeof__(pthread_mutex_trylock) base_trylock __attribute__((weak));
__asm__(".symver base_trylock, pthread_mutex_trylock@" ARCH_LIBC_BASE);

void *libc_symbol(void *handle, const char *name)
{
	if (base_dlsym)
		return base_dlsym(handle, name);
	return (void *)symbols_find(name, &next);
}

bool libc_locks_quietly(void)
{
	return true;
}

uint32_t libc_own_id(void)
{
	pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

	uint32_t id;

	if (!base_trylock || base_trylock(&mutex))
		return (uint32_t)sys_call(SYS_gettid);
	id = (uint32_t)mutex.__data.__owner;
	pthread_mutex_unlock(&mutex);
	return id;
}

/* Searches the loader's writable data for a recursive mutex that this thread holds. Takes the last
 * match: another lock, which the thread may hold in the middle of a dlopen, lies before it. */
void *libc_loader_lock(void)
{
	const uintptr_t base = getauxval(AT_BASE);
	struct dl_phdr_info ld;
	int tid = (int)libc_own_id();
	void *found = NULL;

	if (!base || !elf_image_headers(base, UINTPTR_MAX, &ld))
		return NULL;
	for (const ElfW(Phdr) *part = ld.dlpi_phdr; part < ld.dlpi_phdr + ld.dlpi_phnum; part++) {
		uintptr_t at = base + (part->p_vaddr & ~(sizeof(long) - 1));
		const uintptr_t end = base + part->p_vaddr + part->p_memsz;

		if (part->p_type != PT_LOAD || !(part->p_flags & PF_W))
			continue;
		for (; at + sizeof(pthread_mutex_t) <= end; at += sizeof(long)) {
			const struct __pthread_mutex_s *m = &((const pthread_mutex_t *)at)->__data;

			if (m->__owner == tid && m->__kind == PTHREAD_MUTEX_RECURSIVE_NP &&
			    m->__nusers)
				found = (void *)at;
		}
	}
	return found;
}

bool libc_loader_held(const void *lock)
{
	return __atomic_load_n(&((const pthread_mutex_t *)lock)->__data.__lock, __ATOMIC_RELAXED);
}

/* Without the function the program has a single thread, so the lock is free. */
bool libc_loader_try(void *lock)
{
	return !base_trylock || !base_trylock(lock);
}

void libc_loader_open(void *lock)
{
	if (base_trylock)
		pthread_mutex_unlock(lock);
}
