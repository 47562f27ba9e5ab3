/*
 * mmap and its relatives, as the program itself calls them.
 *
 * What an allocator maps for its blocks is not the program's: calls out of the allocator's module,
 * or of one in the program itself, are forwarded only. (libc and the loader do not call these by
 * name at all.) Results, errno and the kernel's refusals are as without us; what failed is not on
 * record.
 *
 *	mmap, sbrk up:		call, stamp, record
 *	munmap, sbrk down:	stamp, call, record with that stamp
 *	mremap:			stamp, call, record both: the old range's end and the new one's
 *				birth
 *
 * so the end of a range bears a stamp from before another thread could get its addresses. mprotect
 * is not hooked: it moves no bytes, collectors of garbage call it by the million, and the
 * permissions of the day are in /proc/PID/smaps, which the agent reads.
 */
#include "agent/preload/allocators/mappings.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/preload/allocators/allocators.h"
#include "agent/preload/system/apart.h"
#include "agent/preload/system/next.h"
#include "agent/preload/record/note.h"
#include "agent/preload/start/start.h"
#include "agent/preload/system/state.h"
#include "agent/preload/system/symbols.h"

#include "agent/preload/poison.h"

/* In musl it is mmap by another name, also in its headers. */
#undef mmap64
void *mmap64(void *at, size_t size, int protection, int flags, int fd, off64_t offset);

#define CALLER	   ((uintptr_t)__builtin_return_address(0))
#define SBRK_ERROR ((void *)-1)

/* mremap takes a fifth argument only with some flags; on all our processors it lies where a fixed
 * one would, and nobody looks at it without those. */
void *mappings_mremap(void *old, size_t old_size, size_t size, int flags,
		      void *to) __asm__("mremap");

/* The definitions behind ours. At first, functions that look for them, and then call the hook once
 * more: some programs map before anybody allocates. The loader is not asked: it may allocate, and
 * the allocator in the program may be the one who maps. */
struct real {
	void *(*mmap)(void *at, size_t size, int protection, int flags, int fd, off_t offset);
	void *(*mmap64)(void *at, size_t size, int protection, int flags, int fd, off64_t offset);
	int (*munmap)(void *p, size_t size);
	void *(*mremap)(void *old, size_t old_size, size_t size, int flags, void *to);
	void *(*sbrk)(intptr_t increment);
	int (*brk)(void *end);
};

static struct real real;

static void *missing(void)
{
	errno = ENOSYS;
	return (void *)-1;
}

#define FIND(name)                                                                                 \
	do {                                                                                       \
		uintptr_t found = symbols_find_next(#name, &real);                                 \
		real.name = (__typeof__(real.name))(found ? found : (uintptr_t)missing);           \
	} while (0)

void mappings_resolve(void)
{
	int saved = errno;

	FIND(mmap);
	FIND(mmap64);
	FIND(munmap);
	FIND(mremap);
	FIND(sbrk);
	FIND(brk);
	errno = saved;
}

/* The table is full before anything is recorded; while another thread begins, each fills it for
 * itself. */
static RECORDED void find(void)
{
	if (!start_early())
		start_resolved();
	mappings_resolve();
}

static void *first_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
	find();
	return mmap(at, size, protection, flags, fd, offset);
}

static void *first_mmap64(void *at, size_t size, int protection, int flags, int fd, off64_t offset)
{
	find();
	return mmap64(at, size, protection, flags, fd, offset);
}

static int first_munmap(void *p, size_t size)
{
	find();
	return munmap(p, size);
}

static void *first_mremap(void *old, size_t old_size, size_t size, int flags, void *to)
{
	find();
	return mappings_mremap(old, old_size, size, flags, to);
}

static void *first_sbrk(intptr_t increment)
{
	find();
	return sbrk(increment);
}

static int first_brk(void *end)
{
	find();
	return brk(end);
}

static struct real real = {
	.mmap = first_mmap,
	.mmap64 = first_mmap64,
	.munmap = first_munmap,
	.mremap = first_mremap,
	.sbrk = first_sbrk,
	.brk = first_brk,
};

/* What the program's own allocator maps is told by its call that is under way. */
static bool is_allocators(uintptr_t caller)
{
	return next_is_allocator(caller) || (allocators_patched && (tls.frame || tls.passing));
}

static RECORDED void note_birth(uintptr_t frame, unsigned kind, const void *p, size_t size)
{
	struct ring_header *ring = shim_hook(GATE_ALL);
	struct hook hook;

	if (!ring)
		return;
	rare_enter(&hook, ring, frame);
	apart_note(&hook, kind, (uintptr_t)p, size);
}

static RECORDED void *mmap_recorded(void *at, size_t size, int protection, int flags, int fd,
				    off_t offset)
{
	void *p = real.mmap(at, size, protection, flags, fd, offset);

	if (p != MAP_FAILED && !is_allocators(CALLER))
		note_birth(FRAME, KIND_MMAP, p, size);
	return p;
}

EXPORT void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
	return unlikely(shim_hook(GATE_ALL))
		       ? mmap_recorded(at, size, protection, flags, fd, offset)
		       : real.mmap(at, size, protection, flags, fd, offset);
}

static RECORDED void *mmap64_recorded(void *at, size_t size, int protection, int flags, int fd,
				      off64_t offset)
{
	void *p = real.mmap64(at, size, protection, flags, fd, offset);

	if (p != MAP_FAILED && !is_allocators(CALLER))
		note_birth(FRAME, KIND_MMAP, p, size);
	return p;
}

EXPORT void *mmap64(void *at, size_t size, int protection, int flags, int fd, off64_t offset)
{
	return unlikely(shim_hook(GATE_ALL))
		       ? mmap64_recorded(at, size, protection, flags, fd, offset)
		       : real.mmap64(at, size, protection, flags, fd, offset);
}

/* Ends. The hook is under way during the call: the agent must not think that nothing older will
 * come. */

static RECORDED int munmap_recorded(void *p, size_t size, struct ring_header *ring)
{
	struct event event = {.kind = KIND_MUNMAP, .address = (uintptr_t)p, .size = size};
	struct hook hook;
	int result;

	if (is_allocators(CALLER))
		return real.munmap(p, size);
	rare_enter(&hook, ring, FRAME);
	event.stamp = stamp_now();
	result = real.munmap(p, size);
	if (!result)
		apart_event(&hook, &event);
	rare_leave(&hook);
	return result;
}

EXPORT int munmap(void *p, size_t size)
{
	struct ring_header *ring = shim_hook(GATE_ALL);

	return unlikely(ring) ? munmap_recorded(p, size, ring) : real.munmap(p, size);
}

static void note_remap(struct hook *hook, uint64_t call_stamp, const void *old, size_t old_size,
		       const void *p, size_t size)
{
	struct event end = {.kind = KIND_MUNMAP,
			    .address = (uintptr_t)old,
			    .size = old_size,
			    .stamp = call_stamp};
	struct event birth = {.kind = KIND_MREMAP,
			      .address = (uintptr_t)p,
			      .size = size,
			      .old_address = (uintptr_t)old,
			      .call_stamp = call_stamp,
			      .stamp = stamp_now()};

	if (old_size) /* else it makes another mapping of the same pages, and the old one stays */
		apart_event(hook, &end);
	apart_event(hook, &birth);
}

static RECORDED void *mremap_recorded(void *old, size_t old_size, size_t size, int flags, void *to)
{
	struct ring_header *ring = shim_hook(GATE_ALL);
	struct hook hook;
	uint64_t call_stamp;
	void *p;

	if (!ring || is_allocators(CALLER))
		return real.mremap(old, old_size, size, flags, to);
	rare_enter(&hook, ring, FRAME);
	call_stamp = stamp_now();
	p = real.mremap(old, old_size, size, flags, to);
	if (p != MAP_FAILED)
		note_remap(&hook, call_stamp, old, old_size, p, size);
	rare_leave(&hook);
	return p;
}

EXPORT void *mappings_mremap(void *old, size_t old_size, size_t size, int flags, void *to)
{
	return unlikely(shim_hook(GATE_ALL)) ? mremap_recorded(old, old_size, size, flags, to)
					     : real.mremap(old, old_size, size, flags, to);
}

/* The break. */

static void note_break(struct hook *hook, uint64_t call_stamp, uintptr_t before, uintptr_t after)
{
	struct event event = {
		.kind = KIND_SBRK, .address = before, .size = after - before, .stamp = call_stamp};

	if (after < before) {
		event.kind = KIND_SBRK_BACK;
		event.address = after;
		event.size = before - after;
	} else {
		event.stamp = stamp_now();
	}
	if (after != before)
		apart_event(hook, &event);
}

static RECORDED void *sbrk_recorded(intptr_t increment, struct ring_header *ring)
{
	struct hook hook;
	uint64_t call_stamp;
	void *before;

	if (!increment || is_allocators(CALLER))
		return real.sbrk(increment);
	rare_enter(&hook, ring, FRAME);
	call_stamp = stamp_now();
	before = real.sbrk(increment);
	if (before != SBRK_ERROR)
		note_break(&hook, call_stamp, (uintptr_t)before,
			   (uintptr_t)before + (uintptr_t)increment);
	rare_leave(&hook);
	return before;
}

EXPORT void *sbrk(intptr_t increment)
{
	struct ring_header *ring = shim_hook(GATE_ALL);

	return unlikely(ring) ? sbrk_recorded(increment, ring) : real.sbrk(increment);
}

static RECORDED int brk_recorded(void *end, struct ring_header *ring)
{
	struct hook hook;
	uint64_t call_stamp;
	void *before, *after;
	int result;

	if (is_allocators(CALLER))
		return real.brk(end);
	rare_enter(&hook, ring, FRAME);
	call_stamp = stamp_now();
	before = real.sbrk(0);
	result = real.brk(end);
	after = real.sbrk(0); /* it may have refused, and said nothing */
	if (before != SBRK_ERROR && after != SBRK_ERROR)
		note_break(&hook, call_stamp, (uintptr_t)before, (uintptr_t)after);
	rare_leave(&hook);
	return result;
}

EXPORT int brk(void *end)
{
	struct ring_header *ring = shim_hook(GATE_ALL);

	return unlikely(ring) ? brk_recorded(end, ring) : real.brk(end);
}
