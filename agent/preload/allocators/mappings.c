/*
 * Hooks mmap and related calls of the program itself.
 *
 * Mappings that an allocator makes for its blocks are not the program's: calls from the allocator's
 * module, or from an allocator in the program itself, are only forwarded. (libc and the loader do
 * not call these functions by name at all.) Results, errno and the kernel's refusals are the same
 * as without this library; failed calls are not recorded.
 *
 *	mmap, sbrk up:      call, stamp, record
 *	munmap, sbrk down:  stamp, call, record with that stamp
 *	mremap:             stamp, call, record both: the end of the old range and the birth
 *	                    of the new one
 *
 * The stamp of a range's end is therefore older than any new mapping at its addresses. mprotect is
 * not hooked: it moves no bytes, garbage collectors call it millions of times, and the agent reads
 * the current permissions in /proc/PID/smaps.
 */
#include "agent/preload/allocators/mappings.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/preload/allocators/allocators.h"
#include "agent/preload/record/apart.h"
#include "agent/preload/record/often.h"
#include "agent/preload/system/next.h"
#include "agent/preload/record/note.h"
#include "agent/preload/start/start.h"
#include "agent/preload/system/state.h"
#include "agent/preload/system/symbols.h"

#include "agent/preload/poison.h"

/* musl, and its headers, define mmap64 as another name of mmap. */
#undef mmap64
void *mmap64(void *at, size_t size, int protection, int flags, int fd, off64_t offset);

#define CALLER	   ((uintptr_t)__builtin_return_address(0))
#define SBRK_ERROR ((void *)-1)

/* mremap takes a fifth argument only with some flags. On all supported processors this argument
 * lies where a fixed one would, and without these flags nothing reads it. */
void *mappings_mremap(void *old, size_t old_size, size_t size, int flags,
		      void *to) __asm__("mremap");

/* The next definitions. Initially they point to functions that look up the definitions and call the
 * hook again, because some programs map before the first allocation. The lookup does not ask the
 * loader: the loader may allocate, and an allocator in the program may be the one that maps. */
struct real {
	void *(*mmap)(void *at, size_t size, int protection, int flags, int fd, off_t offset);
	void *(*mmap64)(void *at, size_t size, int protection, int flags, int fd, off64_t offset);
	int (*munmap)(void *p, size_t size);
	void *(*mremap)(void *old, size_t old_size, size_t size, int flags, void *to);
	void *(*sbrk)(intptr_t increment);
	int (*brk)(void *end);
};

static struct real real;

static void *mappings_missing(void)
{
	errno = ENOSYS;
	return (void *)-1;
}

#define FIND(name)                                                                                 \
	do {                                                                                       \
		uintptr_t found = symbols_find_next(#name, &real);                                 \
		real.name = (__typeof__(real.name))(found ? found : (uintptr_t)mappings_missing);  \
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

/* Fills the table, which is complete before any event is recorded. While another thread starts the
 * library, each thread fills the table for itself. */
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

/* Returns true if the caller is an allocator. An allocator in the program itself is recognised by
 * its call under way. */
static bool is_allocators(uintptr_t caller)
{
	return next_is_allocator(caller) || (allocators_own && (tls.frame || tls.passing));
}

static RECORDED void note_birth(uintptr_t frame, unsigned kind, const void *p, size_t size)
{
	struct ring_header *ring = shim_hook(GATE_OTHERS);
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
	return unlikely(shim_hook(GATE_OTHERS))
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
	return unlikely(shim_hook(GATE_OTHERS))
		       ? mmap64_recorded(at, size, protection, flags, fd, offset)
		       : real.mmap64(at, size, protection, flags, fd, offset);
}

/* Ends of ranges. The hook is under way during the call, because the event will have a stamp from
 * before it and the agent must wait for the event. */

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
	struct ring_header *ring = shim_hook(GATE_OTHERS);

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

	/* With an old size of 0, mremap makes another mapping of the same pages, and the old one
	 * stays. */
	if (old_size)
		apart_event(hook, &end);
	apart_event(hook, &birth);
}

static RECORDED void *mremap_recorded(void *old, size_t old_size, size_t size, int flags, void *to)
{
	struct ring_header *ring = shim_hook(GATE_OTHERS);
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
	return unlikely(shim_hook(GATE_OTHERS)) ? mremap_recorded(old, old_size, size, flags, to)
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
	struct ring_header *ring = shim_hook(GATE_OTHERS);

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
	after = real.sbrk(0); /* the call may have failed without an error */
	if (before != SBRK_ERROR && after != SBRK_ERROR)
		note_break(&hook, call_stamp, (uintptr_t)before, (uintptr_t)after);
	rare_leave(&hook);
	return result;
}

EXPORT int brk(void *end)
{
	struct ring_header *ring = shim_hook(GATE_OTHERS);

	return unlikely(ring) ? brk_recorded(end, ring) : real.brk(end);
}
