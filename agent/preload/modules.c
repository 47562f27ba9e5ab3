/* Modules: lookup and announcements; see modules.h. */
#include "agent/preload/modules.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>

#include "agent/preload/clock.h"
#include "agent/preload/elf_image.h"
#include "agent/preload/imports.h"
#include "agent/preload/libc.h"
#include "agent/preload/patience.h"
#include "agent/preload/reach.h"
#include "agent/preload/slice.h"
#include "agent/preload/state.h"
#include "agent/preload/strict.h"
#include "agent/preload/sys.h"
#include "agent/preload/thread.h"
#include "proto/ring.h"

#include "agent/preload/poison.h"

#define CHUNK	      64 /* modules in a piece of memory */
#define CHUNKS	      64
#define SEGMENTS_MAX  16
#define SEGMENT_BYTES 32u
#define ROOM_PIECE_US 1000
#define ROOM_WAIT_NS  1200000000u
#define LOCK_SPINS    100
#define LOCK_TRIES    1100 /* a second */
#define LOCK_STARTING 1u   /* by the thread in which recording begins: it has no slice yet */
#define IDS_PER_IMAGE 65536u
#define HOLD_MS	      20
#define ADDS_UNKNOWN  UINT64_MAX /* musl counts from 0 on, and not what it loads at the start */

struct module {
	struct unwind_module unwind; /* first: what modules_find gives */
	uint64_t identity; /* elf_image's: another file may come to lie in the same place */
	uint32_t id;
	bool live;
	bool told;    /* announced in this ring */
	bool ending;  /* its end is being told; stays so if a jump leaves that unfinished */
	bool seen;    /* in the scan under way */
	bool imports; /* have been looked at */
};

/* An announcement as it is put together: head, segments, path. */
#define ANNOUNCEMENT_MAX (sizeof(struct ring_module) + SEGMENTS_MAX * SEGMENT_BYTES + PATH_MAX)

/* The loader's own; musl has it under no name. */
extern struct r_debug _r_debug __attribute__((weak));

/* Entries are added and never moved: the unwinder has pointers to them. `live` is stored last. One
 * that is dead lives again if the same file is back in the same place, which costs nothing however
 * often it happens; it is given to another module only when there is no more room. */
static struct {
	struct module *chunk[CHUNKS];
	uint32_t count;
	uint32_t next_id;
	uint32_t lock;
	unsigned long long
		adds; /* the loader's counts at the last scan; ADDS_UNKNOWN: there was none */
	unsigned long long subs;
	const int *loader_lock; /* its word: not 0 while somebody holds it; NULL: not found */
	uint32_t inside;	/* threads that are in the loader for us */
	uint32_t held;		/* a fork is near: no more of them */
	uint64_t announcement[ANNOUNCEMENT_MAX / 8 + 1]; /* the one being written */
	char path[PATH_MAX];
	char main_path[PATH_MAX]; /* of this image */
	size_t main_path_length;
} modules;

static struct module *module_at(uint32_t index)
{
	return &modules.chunk[index / CHUNK][index % CHUNK];
}

/* No reader may take the old range for the new module's: its number changes first. */
static struct module *module_reuse(void)
{
	for (uint32_t i = 0; i < modules.count; i++) {
		struct module *module = module_at(i);

		if (module->live)
			continue;
		__atomic_store_n(&module->id, 0, __ATOMIC_RELAXED);
		__atomic_thread_fence(__ATOMIC_RELEASE);
		return module;
	}
	return NULL;
}

static struct module *module_add(void)
{
	uint32_t index = modules.count;

	if (index >= CHUNK * CHUNKS)
		return module_reuse();
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

/* Nobody comes here twice without a jump out of a signal's handler in between, and a thread may be
 * cancelled in here: what they left locked is taken over. */
static bool abandoned(uint32_t holder, uint32_t self, unsigned tries)
{
	if (holder == LOCK_STARTING)
		return false;
	return holder == self || (tries > LOCK_SPINS && !slice_has_owner(holder));
}

/* Held for microseconds by threads that wait for nothing but the agent. The word is the holder's
 * thread id. */
static bool lock(void)
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

/* The channel. */

static bool has_room(const struct ring_header *ring, uint64_t bytes)
{
	return ring->modules_head + bytes - __atomic_load_n(&ring->modules_tail, __ATOMIC_ACQUIRE) <=
	       ring->modules_size;
}

static bool channel_room(struct ring_header *ring, uint64_t bytes)
{
	uint32_t policy = __atomic_load_n(&ring->policy, __ATOMIC_RELAXED);
	struct patience patience;

	/* Not even with the policy count a library's name is given up at once. */
	patience_begin(&patience, ring, policy == RING_THIN ? RING_THIN : RING_BLOCK);
	while (!has_room(ring, bytes)) {
		unsigned most = bytes <= ring->modules_size ? patience_piece(&patience) : 0;

		if (!most || patience.now - patience.start > ROOM_WAIT_NS)
			break;
		slice_doorbell();
		sys_sleep_us(most < ROOM_PIECE_US ? most : ROOM_PIECE_US);
	}
	patience_end(&patience);
	return has_room(ring, bytes);
}

/* Too short a rest at the end of the channel is skipped by a PAD; the reader also skips a rest that
 * can hold no head. */
static bool channel_put(struct ring_header *ring, const struct ring_module *announcement)
{
	uint8_t *channel = (uint8_t *)ring + ring->modules_offset;
	uint64_t at = ring->modules_head & (ring->modules_size - 1), left = ring->modules_size - at;
	uint64_t length = announcement->length, skipped = length <= left ? 0 : left;

	if (!channel_room(ring, length + skipped)) {
		__atomic_fetch_add(&ring->modules_lost, 1, __ATOMIC_RELAXED);
		return false;
	}
	if (skipped) {
		const struct {
			uint32_t length;
			uint16_t kind;
			uint16_t zero;
		} pad = {.length = (uint32_t)left, .kind = RING_MODULE_PAD};

		memcpy(channel + at, &pad, sizeof(pad));
		at = 0;
	}
	memcpy(channel + at, modules.announcement, length);
	__atomic_store_n(&ring->modules_head, ring->modules_head + skipped + length,
			 __ATOMIC_RELEASE);
	return true;
}

/* The announcement of one module. */

/* Asked for once: later the program may live without that right. */
static size_t path_main(char *path)
{
	long length;

	if (!modules.main_path_length) {
		length = sys_call(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", modules.main_path,
				  PATH_MAX - 1);
		modules.main_path_length = length > 0 ? (size_t)length : 0;
	}
	memcpy(path, modules.main_path, modules.main_path_length);
	return modules.main_path_length;
}

static size_t path_relative(char *path, const char *name, size_t name_length)
{
	long length = sys_call(SYS_getcwd, path, PATH_MAX); /* with its NUL */

	if (length <= 1 || path[0] != '/' || (size_t)length + name_length >= PATH_MAX)
		length = 0;
	else
		path[length - 1] = '/';
	memcpy(path + length, name, name_length);
	return (size_t)length + name_length;
}

/* The program's own name is empty (glibc), or what its parent has called it (musl). `again`: from here on nothing may be asked of the
 * system any more. */
static size_t path_of(const struct dl_phdr_info *info, bool first, bool again, char *path)
{
	const char *name = info->dlpi_name ? info->dlpi_name : "";
	size_t length = first ? path_main(path) : 0;

	if (length)
		return length;
	length = strnlen(name, PATH_MAX - 1);
	if (!strncmp(name, "linux-vdso", 10) || !strncmp(name, "linux-gate", 10)) {
		memcpy(path, "[vdso]", 6);
		return 6;
	}
	if (strchr(name, '/') && name[0] != '/' && !again)
		return path_relative(path, name, length);
	memcpy(path, name, length);
	return length;
}

static unsigned put_segments(const struct dl_phdr_info *info, uint8_t *to)
{
	unsigned count = 0;

	for (unsigned i = 0; i < info->dlpi_phnum && count < SEGMENTS_MAX; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t segment[4] = {p->p_vaddr, p->p_memsz, p->p_offset, p->p_flags};

		if (p->p_type == PT_LOAD)
			memcpy(to + count++ * sizeof(segment), segment, sizeof(segment));
	}
	return count;
}

static struct ring_module *begin_announcement(enum ring_module_kind kind,
					      const struct module *module)
{
	struct ring_module *out = (struct ring_module *)modules.announcement;

	memset(out, 0, sizeof(*out));
	out->length = sizeof(*out);
	out->kind = kind;
	out->id = module->id;
	out->epoch = shim.epoch;
	out->stamp = stamp_now();
	return out;
}

static void announce(struct ring_header *ring, const struct dl_phdr_info *info,
		     const struct elf_image *image, const struct module *module, bool first,
		     bool again)
{
	struct ring_module *out = begin_announcement(RING_MODULE_LOAD, module);
	uint8_t *tail = (uint8_t *)(out + 1);
	size_t path = path_of(info, first, again, modules.path), segments;

	out->segment_count = (uint8_t)put_segments(info, tail);
	segments = out->segment_count * SEGMENT_BYTES;
	memcpy(tail + segments, modules.path, path);
	memset(tail + segments + path, 0, 7);
	out->length = (uint32_t)((sizeof(*out) + segments + path + 7) & ~(size_t)7);
	out->path_length = (uint16_t)path;
	out->bias = image->module.bias;
	out->start = image->module.load_start;
	out->end = image->module.load_end;
	out->build_id_length = image->build_id_length;
	memcpy(out->build_id, image->build_id, image->build_id_length);
	channel_put(ring, out);
}

static void announce_end(struct ring_header *ring, const struct module *module)
{
	channel_put(ring, begin_announcement(RING_MODULE_UNLOAD, module));
}

/* Scans. */

struct scan {
	struct ring_header *ring;
	bool first;
	bool changed;	/* the loader's counts, since the last scan */
	uint32_t again; /* not 0: all are announced again, to the agent of this incarnation */
};

static struct module *find_same(const struct elf_image *image, bool live)
{
	for (uint32_t i = 0; i < modules.count; i++) {
		struct module *module = module_at(i);

		if (module->live == live && module->identity == image->identity &&
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

/* What the last scan did not see is gone. The epoch is raised first: an UNLOAD names the first in
 * which it is not there. */
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
			announce_end(ring, module);
		module->ending = false;
	}
}

static void tell(const struct scan *scan, const struct dl_phdr_info *info,
		 const struct elf_image *image, struct module *module, bool first)
{
	module->told = true;
	announce(scan->ring, info, image, module, first, scan->again);
}

static void look(struct scan *scan, const struct dl_phdr_info *info, bool burying)
{
	struct elf_image image;
	struct module *module;
	bool first = scan->first;

	scan->first = false;
	if (elf_image_read(info, &image))
		return;
	module = find_same(&image, true);
	if (module)
		module->seen = true;
	if (burying || (module && module->told))
		return;
	if (module) { /* of the parent, in a fork child; or known to another agent */
		if (!scan->again)
			module->id = modules.next_id++;
		tell(scan, info, &image, module, first);
		return;
	}
	module = find_same(&image, false);
	if (!module)
		module = module_add();
	if (!module)
		return;
	module->unwind = image.module;
	module->identity = image.identity;
	module->seen = true;
	module->imports = false;
	module->id = modules.next_id++;
	tell(scan, info, &image, module, first);
	__atomic_store_n(&module->live, true, __ATOMIC_RELEASE);
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
	look(context, info, true);
	return 0;
}

static int visit_new(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)size;
	look(context, info, false);
	modules.adds = info->dlpi_adds;
	modules.subs = info->dlpi_subs;
	return 0;
}

/* Inside the loader's lock (the first callback holds it) and then ours: first what is gone, then
 * what has come. */
static int visit_all(struct dl_phdr_info *info, size_t size, void *context)
{
	struct scan *scan = context;

	if (!modules.loader_lock)
		modules.loader_lock = libc_loader_lock();
	visit_counts(info, size, context);
	if ((!scan->changed && !scan->again) || !lock())
		return 1;
	visit_counts(info, size, context);
	if (scan->again == shim.incarnation)
		scan->again = 0; /* another thread was quicker */
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

/* A fork is waited for as long as it waits itself; afterwards each goes its way. */
static void enter_loader(void)
{
	__atomic_fetch_add(&modules.inside, 1, __ATOMIC_SEQ_CST);
	if (likely(!__atomic_load_n(&modules.held, __ATOMIC_SEQ_CST)))
		return;
	__atomic_fetch_sub(&modules.inside, 1, __ATOMIC_SEQ_CST);
	for (unsigned i = 0; i < HOLD_MS && __atomic_load_n(&modules.held, __ATOMIC_SEQ_CST); i++)
		sys_sleep_ms(1);
	__atomic_fetch_add(&modules.inside, 1, __ATOMIC_SEQ_CST);
}

static void refresh(uint32_t again)
{
	struct scan scan = {.ring = shim_ring(), .first = true, .again = again};
	int saved = errno;

	if (!scan.ring || reach_counts_only(scan.ring))
		return;
	enter_loader();
	dl_iterate_phdr(visit_all, &scan);
	__atomic_fetch_sub(&modules.inside, 1, __ATOMIC_SEQ_CST);
	errno = saved;
}

void modules_refresh(void)
{
	refresh(0);
}

/* Some can't wait for the loader's lock, nor wake who waits for it (but dlclose does so itself). */
static bool may_enter_loader(void)
{
	const struct thread *threads = __atomic_load_n(&shim.threads, __ATOMIC_ACQUIRE);

	return likely(!strict_refuses(CALLS_WAIT)) || !threads || !threads->next;
}

bool modules_tell_again(uint32_t incarnation)
{
	if (__atomic_load_n(&shim.incarnation, __ATOMIC_ACQUIRE) != incarnation &&
	    may_enter_loader())
		refresh(incarnation);
	return __atomic_load_n(&shim.incarnation, __ATOMIC_ACQUIRE) == incarnation;
}

/* No thread of ours is in it, and nobody else has its lock, or is about to change its list. In a child the word of the lock decides,
 * for that is what a call would wait for; the rest may have been copied earlier or later than it, or the lock was not found. */
static bool loader_free(void)
{
	return !__atomic_load_n(&modules.inside, __ATOMIC_SEQ_CST) &&
	       (!modules.loader_lock || !__atomic_load_n(modules.loader_lock, __ATOMIC_RELAXED)) &&
	       (!&_r_debug ||
		__atomic_load_n(&_r_debug.r_state, __ATOMIC_RELAXED) == RT_CONSISTENT);
}

void modules_hold(void)
{
	__atomic_fetch_add(&modules.held, 1, __ATOMIC_SEQ_CST);
	for (unsigned i = 0; i < HOLD_MS && !loader_free(); i++)
		sys_sleep_ms(1);
}

void modules_release(void)
{
	__atomic_fetch_sub(&modules.held, 1, __ATOMIC_SEQ_CST);
}

bool modules_forked(void)
{
	bool is_free = loader_free();

	modules.inside = modules.held = modules.lock = 0;
	modules.adds = modules.subs = 0;
	for (uint32_t i = 0; i < modules.count; i++)
		module_at(i)->told = false;
	return is_free;
}

const struct unwind_module *modules_find(void *context, uint64_t pc)
{
	struct module *module;

	(void)context;
	if (unlikely(thread_seeks())) {
		module = find_known(pc);
		return module ? &module->unwind : NULL;
	}
	if (may_enter_loader())
		modules_refresh();
	module = find_known(pc);
	if (module && may_enter_loader() &&
	    !__atomic_exchange_n(&module->imports, true, __ATOMIC_RELAXED))
		imports_take(pc);
	return module ? &module->unwind : NULL;
}

void modules_init(uint32_t image)
{
	modules.next_id = image * IDS_PER_IMAGE + 1;
	modules.adds = ADDS_UNKNOWN;
}
