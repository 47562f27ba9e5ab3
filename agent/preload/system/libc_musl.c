/* The functions of libc.h for musl. */
#include "agent/preload/system/libc.h"

#include <dlfcn.h>

#include "agent/preload/system/next.h"
#include "agent/preload/system/state.h"
#include "agent/preload/system/symbols.h"
#include "agent/preload/system/sys.h"

#include "agent/preload/poison.h"

/* musl keeps the error of a failed dlsym in the thread until dlerror is called. dlsym is therefore
 * called only for symbols that exist: with RTLD_DEFAULT the caller asks for functions of libc and
 * of this library. */
void *libc_symbol(void *handle, const char *name)
{
	if (handle == RTLD_NEXT)
		return (void *)symbols_find_next(name, &next);
	return dlsym(handle, name);
}

/* musl tells the kernel about its list of robust mutexes when the thread locks the first one. */
bool libc_locks_quietly(void)
{
	return tls.thread != NULL;
}

uint32_t libc_own_id(void)
{
	return (uint32_t)sys_call(SYS_gettid);
}

/* musl's fork takes the loader's lock and unlocks it in the child. dl_iterate_phdr does not hold
 * the lock while it calls back. */
void *libc_loader_lock(void)
{
	return NULL;
}

bool libc_loader_held(const void *lock)
{
	return lock;
}

bool libc_loader_try(void *lock)
{
	return !lock;
}

void libc_loader_open(void *lock)
{
	(void)lock;
}
