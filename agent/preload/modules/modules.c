/* Looks up modules and scans for changes; see modules.h. */
#include "agent/preload/modules/modules.h"

#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>

#include "agent/preload/modules/announce.h"
#include "agent/preload/system/elf_image.h"
#include "agent/preload/modules/imports.h"
#include "agent/preload/modules/loader.h"
#include "agent/preload/record/reach.h"
#include "agent/preload/record/slice.h"
#include "agent/preload/system/state.h"
#include "agent/preload/record/strict.h"
#include "agent/preload/system/sys.h"
#include "agent/preload/record/thread.h"
#include "proto/ring.h"

#include "agent/preload/poison.h"

#define CHUNK	      64 /* modules per chunk of memory */
#define CHUNKS	      64
#define LOCK_SPINS    100
#define LOCK_TRIES    1100 /* attempts in about a second */
#define LOCK_STARTING 1u   /* held by the thread in which recording begins: it has no slice yet */
#define IDS_PER_IMAGE 65536u
/* Not 0: musl counts from 0, without the modules loaded at the start. */
#define ADDS_UNKNOWN UINT64_MAX

struct module {
	struct unwind_module unwind; /* first: modules_find returns a pointer to it */
	uint64_t identity; /* elf_image.identity: another file may be loaded at the same place */
	uint32_t id;
	bool live;
	bool told; /* announced in this ring */
	/* Its unload is being announced. A jump that interrupts this leaves `ending` set. */
	bool ending;
	bool seen;    /* in the current scan */
	bool imports; /* imports have been examined */
};

/* Entries never move, because the unwinder has pointers to them while it decodes. `live` is stored
 * last. The next module reuses a dead entry, so a program may load and unload modules without
 * limit. */
static struct {
	struct module *chunk[CHUNKS];
	uint32_t count;
	uint32_t next_id;
	uint32_t lock;
	uint32_t imports_due; /* imports of some module are due: the loader was busy */
	/* The loader's counts at the last scan; ADDS_UNKNOWN: no scan yet. */
	unsigned long long adds;
	unsigned long long subs;
} modules;

static struct module *module_at(uint32_t index)
{
	return &modules.chunk[index / CHUNK][index % CHUNK];
}

/* Reuses a dead entry. Changes the id first, so that no reader takes the old range for the new
 * module's. */
static struct module *module_reuse(void)
{
	for (uint32_t i = 0; i < modules.count; i++) {
		struct module *module = module_at(i);

		if (module->live || module->ending)
			continue;
		__atomic_store_n(&module->id, 0, __ATOMIC_RELAXED);
		__atomic_thread_fence(__ATOMIC_RELEASE);
		return module;
	}
	return NULL;
}

static struct module *module_add(void)
{
	struct module *dead = module_reuse();
	uint32_t index = modules.count;

	if (dead || index >= CHUNK * CHUNKS)
		return dead;
	if (!modules.chunk[index / CHUNK])
		modules.chunk[index / CHUNK] = sys_pages(CHUNK * sizeof(struct module));
	if (!modules.chunk[index / CHUNK])
		return NULL;
	__atomic_store_n(&modules.count, index + 1, __ATOMIC_RELEASE);
	return module_at(index);
}

static bool holds(const struct module *module, uint64_t pc)
{
	uint32_t id = __atomic_load_n(&module->id, __ATOMIC_ACQUIRE);
	bool inside = __atomic_load_n(&module->live, __ATOMIC_ACQUIRE) &&
		      pc >= module->unwind.start && pc < module->unwind.end;

	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return inside && __atomic_load_n(&module->id, __ATOMIC_RELAXED) == id;
}

static struct module *find_known(uint64_t pc)
{
	uint32_t count = __atomic_load_n(&modules.count, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < count; i++)
		if (holds(module_at(i), pc))
			return module_at(i);
	return NULL;
}

/* Returns true if the holder has abandoned the lock, which this thread may then take over. If this
 * thread itself is the holder, a jump out of a signal handler has left the lock held. A thread may
 * also be cancelled while it holds the lock. */
static bool abandoned(uint32_t holder, uint32_t self, unsigned tries)
{
	if (holder == LOCK_STARTING)
		return false;
	return holder == self || (tries > LOCK_SPINS && !slice_has_owner(holder));
}

/* Takes the lock, whose word is the holder's thread id. Threads hold it for microseconds, and wait
 * only for the agent meanwhile. */
static bool modules_lock(void)
{
	uint32_t self = tls.thread ? tls.thread->slice->owner_tid : LOCK_STARTING;

	for (unsigned tries = 0; tries < LOCK_TRIES; tries++) {
		uint32_t holder = __atomic_load_n(&modules.lock, __ATOMIC_RELAXED);

		if ((!holder || abandoned(holder, self, tries)) &&
		    __atomic_compare_exchange_n(&modules.lock, &holder, self, false,
						__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return true;
		if (tries > LOCK_SPINS)
			sys_futex_wait(&modules.lock, holder, 1000);
		else
			arch_pause();
	}
	return false;
}

static void unlock(void)
{
	__atomic_store_n(&modules.lock, 0, __ATOMIC_RELEASE);
	sys_futex_wake(&modules.lock);
}

/* Scans. */

struct scan {
	struct ring_header *ring;
	bool first;
	bool changed; /* the loader's counts have changed since the last scan */
	/* Not 0: all modules are announced again, to the agent of this incarnation. */
	uint32_t again;
};

static struct module *find_same(const struct elf_image *image)
{
	for (uint32_t i = 0; i < modules.count; i++) {
		struct module *module = module_at(i);

		if (module->live && module->identity == image->identity &&
		    !memcmp(&module->unwind, &image->module, sizeof(image->module)))
			return module;
	}
	return NULL;
}

static void raise_epoch(struct ring_header *ring)
{
	__atomic_store_n(&ring->epoch, shim.epoch + 1, __ATOMIC_RELEASE);
	__atomic_store_n(&shim.epoch, shim.epoch + 1, __ATOMIC_RELEASE);
	unwind_modules_changed();
}

/* Removes modules that the last scan did not see. Raises the epoch first, because an UNLOAD names
 * the first epoch in which the module is absent. */
static void bury(struct ring_header *ring)
{
	bool raised = false;

	for (uint32_t i = 0; i < modules.count; i++) {
		struct module *module = module_at(i);

		if (module->live ? module->seen : !module->ending)
			continue;
		if (!raised)
			raise_epoch(ring);
		raised = true;
		module->ending = true;
		__atomic_store_n(&module->live, false, __ATOMIC_RELEASE);
		if (module->told)
			announce_end(ring, module->id);
		module->ending = false;
	}
}

static void modules_tell(const struct scan *scan, const struct dl_phdr_info *info,
			 const struct elf_image *image, struct module *module, bool first)
{
	module->told = true;
	announce_load(scan->ring, info, image, module->id, first, scan->again);
}

static void add(const struct scan *scan, const struct dl_phdr_info *info,
		const struct elf_image *image, bool first)
{
	struct module *module = module_add();

	if (!module)
		return;
	module->unwind = image->module;
	module->identity = image->identity;
	module->seen = true;
	module->imports = false;
	module->id = modules.next_id++;
	modules_tell(scan, info, image, module, first);
	__atomic_store_n(&module->live, true, __ATOMIC_RELEASE);
}

static void modules_look(struct scan *scan, const struct dl_phdr_info *info, bool burying)
{
	struct elf_image image;
	struct module *module;
	bool first = scan->first;

	scan->first = false;
	if (elf_image_read(info, &image))
		return;
	module = find_same(&image);
	if (module)
		module->seen = true;
	if (burying || (module && module->told))
		return;
	if (!module) {
		add(scan, info, &image, first);
		return;
	}
	/* In a fork child the module is known from the parent, and gets a new id. If another agent
	 * knew it, it keeps its id. */
	if (!scan->again)
		module->id = modules.next_id++;
	modules_tell(scan, info, &image, module, first);
}

static int visit_counts(struct dl_phdr_info *info, size_t size, void *context)
{
	struct scan *scan = context;

	(void)size;
	scan->changed = info->dlpi_adds != modules.adds || info->dlpi_subs != modules.subs;
	return 1;
}

static int visit_seen(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)size;
	modules_look(context, info, true);
	return 0;
}

static int visit_new(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)size;
	modules_look(context, info, false);
	modules.adds = info->dlpi_adds;
	modules.subs = info->dlpi_subs;
	return 0;
}

/* Visits all modules. Runs under the loader's lock, which the first callback holds, and then takes
 * this file's lock. Removes the modules that are gone before it adds new ones. */
static int modules_visit_all(struct dl_phdr_info *info, size_t size, void *context)
{
	struct scan *scan = context;

	visit_counts(info, size, context);
	if ((!scan->changed && !scan->again) || !modules_lock())
		return 1;
	visit_counts(info, size, context);
	if (scan->again == shim.incarnation)
		scan->again = 0; /* another thread was faster */
	if (scan->changed || scan->again) {
		for (uint32_t i = 0; i < modules.count; i++) {
			module_at(i)->seen = false;
			module_at(i)->told &= !scan->again;
		}
		if (info->dlpi_subs != modules.subs) {
			dl_iterate_phdr(visit_seen, scan);
			bury(scan->ring);
		}
		scan->first = true;
		dl_iterate_phdr(visit_new, scan);
		if (scan->again)
			__atomic_store_n(&shim.incarnation, scan->again, __ATOMIC_RELEASE);
	}
	unlock();
	return 1;
}

static bool refresh(uint32_t again)
{
	struct scan scan = {.ring = shim_ring(), .first = true, .again = again};
	int saved = errno;

	if (!scan.ring)
		return false;
	if (reach_counts_only(scan.ring))
		return true;
	if (!loader_enter())
		return false;
	dl_iterate_phdr(modules_visit_all, &scan);
	loader_leave();
	errno = saved;
	return true;
}

bool modules_refresh(void)
{
	return refresh(0);
}

bool modules_tell_again(uint32_t incarnation)
{
	if (__atomic_load_n(&shim.incarnation, __ATOMIC_ACQUIRE) != incarnation)
		refresh(incarnation);
	return __atomic_load_n(&shim.incarnation, __ATOMIC_ACQUIRE) == incarnation;
}

bool modules_forked(void)
{
	modules.lock = 0;
	modules.adds = modules.subs = 0;
	for (uint32_t i = 0; i < modules.count; i++)
		module_at(i)->told = false;
	return loader_forked();
}

/* Lookups while the loader's lock is not available. */

static bool overlaps(const struct unwind_module *a, const struct unwind_module *b)
{
	return a->load_start < b->load_end && b->load_start < a->load_end;
}

/* Adds a loaded object as a module. The caller holds this file's lock. The object is loaded, so no
 * other module overlaps its range any more. The next scan finds all other changes. */
static void meet(struct ring_header *ring, const struct loader_object *object)
{
	struct scan scan = {.ring = ring, .first = object->first};
	const struct module *same;
	struct elf_image image;

	if (elf_image_read(&object->info, &image))
		return;
	same = find_same(&image);
	for (uint32_t i = 0; i < modules.count; i++)
		module_at(i)->seen =
			module_at(i) == same || !overlaps(&module_at(i)->unwind, &image.module);
	bury(ring);
	modules_look(&scan, &object->info, false);
}

static const struct unwind_module *modules_ask(uint64_t pc)
{
	struct ring_header *ring = shim_ring();
	struct loader_object object;
	enum loader_answer answer = loader_object(pc, &object);
	struct module *module;

	if (answer == LOADER_NONE || !ring)
		return NULL;
	/* If calls are refused, this thread must not enter the loader even if it is free. */
	if (answer == LOADER_BUSY && strict_refuses(CALLS_WAIT)) {
		module = find_known(pc);
		if (module)
			return &module->unwind;
	}
	if (answer == LOADER_BUSY || !modules_lock()) {
		__atomic_fetch_add(&ring->stacks_unknown, 1, __ATOMIC_RELAXED);
		return &unwind_module_unknown;
	}
	meet(ring, &object);
	unlock();
	module = find_known(pc);
	return module ? &module->unwind : NULL;
}

/* Redirects calls to the functions that this module imports. If the loader is busy, this is done
 * when the next new address is looked up. */
static void take_imports(struct module *module)
{
	if (__atomic_exchange_n(&module->imports, true, __ATOMIC_RELAXED) ||
	    imports_take(module->unwind.start))
		return;
	__atomic_store_n(&module->imports, false, __ATOMIC_RELAXED);
	__atomic_store_n(&modules.imports_due, 1, __ATOMIC_RELAXED);
}

static void take_due_imports(void)
{
	uint32_t count = __atomic_load_n(&modules.count, __ATOMIC_ACQUIRE);

	if (!__atomic_exchange_n(&modules.imports_due, 0, __ATOMIC_RELAXED))
		return;
	for (uint32_t i = 0; i < count; i++)
		if (__atomic_load_n(&module_at(i)->live, __ATOMIC_ACQUIRE))
			take_imports(module_at(i));
}

const struct unwind_module *modules_find(void *context, uint64_t pc)
{
	struct module *module;

	(void)context;
	if (unlikely(thread_seeks())) {
		module = find_known(pc);
		return module ? &module->unwind : NULL;
	}
	if (unlikely(!modules_refresh()))
		return modules_ask(pc);
	module = find_known(pc);
	if (module)
		take_imports(module);
	if (unlikely(modules.imports_due))
		take_due_imports();
	return module ? &module->unwind : NULL;
}

void modules_init(uint32_t image)
{
	modules.next_id = image * IDS_PER_IMAGE + 1;
	modules.adds = ADDS_UNKNOWN;
}
