/* Takes the loader's lock, or looks objects up without it; see loader.h. */
#include "agent/preload/modules/loader.h"

#include <stddef.h>
#include <sys/auxv.h>

#include "agent/preload/system/elf_image.h"
#include "agent/preload/system/find_object.h"
#include "agent/preload/system/libc.h"
#include "agent/preload/system/state.h"
#include "agent/preload/record/strict.h"
#include "agent/preload/system/sys.h"
#include "arch.h"

#include "agent/preload/poison.h"

#define HOLD_MS	 20
#define SPINS	 100
#define WAITS_MS 20

/* The loader's own symbol. musl does not export it. */
extern struct r_debug _r_debug __attribute__((weak));

static struct {
	void *lock; /* NULL: not found */
	find_object_function *find;
	uint32_t inside; /* threads of the process that are in the loader for this library */
	uint32_t held;	 /* a fork is imminent: no further threads may enter */
	/* A wait for the lock timed out, and no thread of this library has taken it since. */
	uint32_t busy;
} loader;

static int visit_first(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)info;
	(void)size;
	(void)context;
	if (!loader.lock)
		loader.lock = libc_loader_lock();
	return 1;
}

void loader_init(void)
{
	loader.find = find_object();
	dl_iterate_phdr(visit_first, NULL);
}

/* Counts this thread as inside. Waits for an imminent fork at most as long as the fork waits for
 * threads in here. */
static void count_in(void)
{
	__atomic_fetch_add(&loader.inside, 1, __ATOMIC_SEQ_CST);
	if (likely(!__atomic_load_n(&loader.held, __ATOMIC_SEQ_CST)))
		return;
	__atomic_fetch_sub(&loader.inside, 1, __ATOMIC_SEQ_CST);
	for (unsigned i = 0; i < HOLD_MS && __atomic_load_n(&loader.held, __ATOMIC_SEQ_CST); i++)
		sys_sleep_ms(1);
	__atomic_fetch_add(&loader.inside, 1, __ATOMIC_SEQ_CST);
}

static void count_out(void)
{
	__atomic_fetch_sub(&loader.inside, 1, __ATOMIC_SEQ_CST);
}

/* Tries to take the lock, which other threads usually hold for microseconds. Waits only if no other
 * lookup is possible, and not again after a timeout. */
static bool try(void)
{
	for (unsigned tries = 0; tries < SPINS + WAITS_MS; tries++) {
		if (libc_loader_try(loader.lock)) {
			if (unlikely(__atomic_load_n(&loader.busy, __ATOMIC_RELAXED)))
				__atomic_store_n(&loader.busy, 0, __ATOMIC_RELAXED);
			return true;
		}
		if (loader.find)
			return false;
		if (tries < SPINS)
			arch_pause();
		else if (__atomic_load_n(&loader.busy, __ATOMIC_RELAXED))
			return false;
		else
			sys_sleep_ms(1);
	}
	__atomic_store_n(&loader.busy, 1, __ATOMIC_RELAXED);
	return false;
}

/* Returns true if this thread may enter the loader. Under a filter, it may be unable to wake a
 * thread that waits for the lock; it then enters only if it is the only thread. */
static bool may_enter(void)
{
	const struct thread *threads = __atomic_load_n(&shim.threads, __ATOMIC_ACQUIRE);

	return likely(!strict_refuses(CALLS_WAIT)) || !threads || !threads->next;
}

bool loader_enter(void)
{
	if (unlikely(!loader.lock && loader.find))
		return false; /* there is no known lock to try */
	if (unlikely(!may_enter()))
		return false;
	count_in();
	if (!loader.lock || try())
		return true;
	count_out();
	return false;
}

void loader_leave(void)
{
	if (loader.lock)
		libc_loader_open(loader.lock);
	else /* glibc takes no lock while the process has one thread: look for it again */
		dl_iterate_phdr(visit_first, NULL);
	count_out();
}

/* Finds the program headers of an object. The kernel tells where the program's own headers are. In
 * other objects they follow the ELF header, at the beginning of the first segment. */
static bool find_headers(uintptr_t start, uintptr_t end, struct loader_object *object)
{
	const uintptr_t program = getauxval(AT_PHDR);

	object->first = program >= start && program < end;
	if (object->first) {
		object->info.dlpi_phdr = (const ElfW(Phdr) *)program;
		object->info.dlpi_phnum = (ElfW(Half))getauxval(AT_PHNUM);
		return true;
	}
	return sys_readable(start + 4, start + 8) > start + 4 &&
	       elf_image_headers(start, end, &object->info);
}

enum loader_answer loader_object(uint64_t address, struct loader_object *ret_object)
{
	struct found_object found;

	if (!loader.find)
		return LOADER_BUSY;
	if (loader.find((void *)(uintptr_t)address, &found))
		return LOADER_NONE;
	*ret_object = (struct loader_object){
		.info = {.dlpi_addr = found.link->l_addr, .dlpi_name = found.link->l_name}};
	return find_headers((uintptr_t)found.start, (uintptr_t)found.end, ret_object) ? LOADER_FOUND
										      : LOADER_BUSY;
}

/* Returns true if no thread is in the loader for this library, the lock is free, and no thread is
 * changing the loader's list. In a fork child the word of the lock decides, because a call would
 * wait for the lock. The other conditions are needed because the kernel may have copied the other
 * data earlier or later than this word, or because the lock was not found. */
static bool is_free(void)
{
	return !__atomic_load_n(&loader.inside, __ATOMIC_SEQ_CST) &&
	       (!loader.lock || !libc_loader_held(loader.lock)) &&
	       (!&_r_debug ||
		__atomic_load_n(&_r_debug.r_state, __ATOMIC_RELAXED) == RT_CONSISTENT);
}

void loader_hold(void)
{
	__atomic_fetch_add(&loader.held, 1, __ATOMIC_SEQ_CST);
	for (unsigned i = 0; i < HOLD_MS && !is_free(); i++)
		sys_sleep_ms(1);
}

void loader_release(void)
{
	__atomic_fetch_sub(&loader.held, 1, __ATOMIC_SEQ_CST);
}

bool loader_forked(void)
{
	bool was_free = is_free();

	loader.inside = loader.held = loader.busy = 0;
	return was_free;
}
