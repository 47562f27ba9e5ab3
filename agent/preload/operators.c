/*
 * operator new and delete; see operators.h for what is recorded here, hooks.c for how.
 *
 * Whatever its form, an operator takes a word and at most two more (size, alignment, a reference to
 * nothrow). So there is one type for all: what a form does not have is passed on as it lies in the
 * registers, and nobody looks at it.
 */
#include "agent/preload/operators.h"

#include <malloc.h>
#include <stdlib.h>

#include "agent/preload/bootstrap.h"
#include "agent/preload/next.h"
#include "agent/preload/note.h"
#include "agent/preload/start.h"
#include "agent/preload/symbols.h"

#include "agent/preload/poison_io.h"

/* size_t as the names of C++ spell it. Itanium C++ ABI 5.1.5. */
#if __SIZEOF_SIZE_T__ == __SIZEOF_INT__
#define SIZE "j"
#else
#define SIZE "m"
#endif
#define NOTHROW "RKSt9nothrow_t"
#define ALIGN	"St11align_val_t"

/* X(index, suffix of KIND_, symbol). From ALIGNED on, the second word is an alignment. */
#define ALIGNED 4
#define NEWS(X)                                                                                    \
	X(0, NEW, "_Znw" SIZE)                                                                     \
	X(1, NEW_ARRAY, "_Zna" SIZE)                                                               \
	X(2, NEW, "_Znw" SIZE NOTHROW)                                                             \
	X(3, NEW_ARRAY, "_Zna" SIZE NOTHROW)                                                       \
	X(4, NEW, "_Znw" SIZE ALIGN)                                                               \
	X(5, NEW_ARRAY, "_Zna" SIZE ALIGN)                                                         \
	X(6, NEW, "_Znw" SIZE ALIGN NOTHROW)                                                       \
	X(7, NEW_ARRAY, "_Zna" SIZE ALIGN NOTHROW)

#define DELETES(X)                                                                                 \
	X(0, DELETE, "_ZdlPv")                                                                     \
	X(1, DELETE_ARRAY, "_ZdaPv")                                                               \
	X(2, DELETE, "_ZdlPv" SIZE)                                                                \
	X(3, DELETE_ARRAY, "_ZdaPv" SIZE)                                                          \
	X(4, DELETE, "_ZdlPv" NOTHROW)                                                             \
	X(5, DELETE_ARRAY, "_ZdaPv" NOTHROW)                                                       \
	X(6, DELETE, "_ZdlPv" ALIGN)                                                               \
	X(7, DELETE_ARRAY, "_ZdaPv" ALIGN)                                                         \
	X(8, DELETE, "_ZdlPv" ALIGN NOTHROW)                                                       \
	X(9, DELETE_ARRAY, "_ZdaPv" ALIGN NOTHROW)                                                 \
	X(10, DELETE, "_ZdlPv" SIZE ALIGN)                                                         \
	X(11, DELETE_ARRAY, "_ZdaPv" SIZE ALIGN)

typedef void *new_function(size_t size, uintptr_t a, uintptr_t b);
typedef void delete_function(void *p, uintptr_t a, uintptr_t b);

/* `entry` is where the exported function jumps to: the search at first, then either the next
 * definition or the hook in front of it. */
struct new
{
	new_function *entry;
	new_function *next;
	new_function *first;
	new_function *hook;
	const char *name;
	unsigned kind;
	bool private;
};

struct delete
{
	delete_function *entry;
	delete_function *next;
	delete_function *first;
	delete_function *hook;
	const char *name;
	unsigned kind;
	bool private;
};

static struct new news[];
static struct delete deletes[];

/* Recorded. */

/*
 * Called by the C++ runtime when an exception passes new_recorded, as the personality routine of
 * that function. (A cleanup in the language of the compiler would need libgcc_s.) The hook ends
 * here; what was put aside in it becomes records.
 */
enum { UNWIND_CLEANUP_PHASE = 2, UNWIND_CONTINUE = 8 };

int operators_unwound(int version, int actions, uint64_t class, void *exception, void *context)
	__attribute__((used));

int operators_unwound(int version, int actions, uint64_t class, void *exception, void *context)
{
	struct hook hook = {.thread = tls.thread,
			    .frame = tls.frame,
			    .kind = tls.thread ? HOOK_RECORD : HOOK_LOST};

	(void)version;
	(void)class;
	(void)exception;
	(void)context;
	if ((actions & UNWIND_CLEANUP_PHASE) && tls.frame && tls.frame == tls.throwing)
		hook_leave_slow(&hook);
	return UNWIND_CONTINUE;
}

static RECORDED void *new_recorded(size_t size, uintptr_t a, uintptr_t b, struct new *new)
{
	struct ring_header *ring = shim_ring();
	struct hook hook;
	void *p;

	ARCH_PERSONALITY("operators_unwound");
	if (unlikely(!ring)) /* since we looked */
		return new->next(size, a, b);
	hook_enter(&hook, ring, FRAME);
	if (hook.kind != HOOK_NESTED)
		tls.throwing = hook.frame;
	p = new->next(size, a, b);
	note_allocation(&hook, new->kind, p, size);
	return p;
}

/* The allocator may serve us by calling free by name: that is this event once more. In a nested
 * hook both would be put aside, and could not be told apart: there ours comes last. */
static RECORDED void delete_recorded(void *p, uintptr_t a, uintptr_t b, struct delete *delete)
{
	struct ring_header *ring = shim_ring();
	struct event event;
	struct hook hook;
	uint32_t aside;

	if (unlikely(!ring)) {
		delete->next(p, a, b);
		return;
	}
	hook_enter(&hook, ring, FRAME);
	event = (struct event){.kind = delete->kind, .address = (uintptr_t)p, .stamp = stamp_now()};
	aside = hook.thread ? hook.thread->aside_count : 0;
	if (hook.kind != HOOK_NESTED)
		note(&hook, &event);
	delete->next(p, a, b);
	if (hook.thread && hook.thread->aside_count > aside)
		thread_drop_inner(hook.thread, &event, aside);
	if (hook.kind == HOOK_NESTED)
		note(&hook, &event);
	hook_leave(&hook);
}

/* Resolved at the first call. */

static void *new_missing(size_t size, uintptr_t a, uintptr_t b)
{
	(void)a;
	(void)b;
	return malloc(size ? size : 1);
}

static void *new_missing_aligned(size_t size, uintptr_t a, uintptr_t b)
{
	(void)b;
	return memalign(a, size ? size : 1);
}

static void delete_missing(void *p, uintptr_t a, uintptr_t b)
{
	(void)a;
	(void)b;
	free(p);
}

static bool is_allocators_own(const void *function)
{
	return symbols_together((uintptr_t)function, (uintptr_t)next.malloc);
}

/* While the allocator is being looked for, nobody can tell whose this is: forwarded only. */
static void *new_resolve(size_t size, uintptr_t a, uintptr_t b, struct new *new)
{
	bool settled = start_resolved();
	new_function *function = next_definition(new->name, &new->private);

	if (!function)
		function = new >= news + ALIGNED ? new_missing_aligned : new_missing;
	if (!settled)
		return function(size, a, b);
	__atomic_store_n(&new->next, function, __ATOMIC_RELAXED);
	__atomic_store_n(&new->entry, is_allocators_own(function) ? new->hook : function,
			 __ATOMIC_RELEASE);
	return new->entry(size, a, b);
}

static void delete_resolve(void *p, uintptr_t a, uintptr_t b, struct delete *delete)
{
	bool settled = start_resolved();
	delete_function *function = next_definition(delete->name, &delete->private);

	if (!function)
		function = delete_missing;
	if (!settled) {
		function(p, a, b);
		return;
	}
	__atomic_store_n(&delete->next, function, __ATOMIC_RELAXED);
	__atomic_store_n(&delete->entry, is_allocators_own(function) ? delete->hook : function,
			 __ATOMIC_RELEASE);
	delete->entry(p, a, b);
}

void operators_forget(void)
{
	for (struct new *new = news; new->name; new ++)
		if (new->private)
			__atomic_store_n(&new->entry, new->first, __ATOMIC_RELEASE);
	for (struct delete *delete = deletes; delete->name; delete ++)
		if (delete->private)
			__atomic_store_n(&delete->entry, delete->first, __ATOMIC_RELEASE);
}

/* Exported. */

#define DEFINE_NEW(n, suffix, symbol)                                                              \
	void *operator_new_##n(size_t size, uintptr_t a, uintptr_t b) __asm__(symbol);             \
	static void *new_first_##n(size_t size, uintptr_t a, uintptr_t b)                          \
	{                                                                                          \
		return new_resolve(size, a, b, &news[n]);                                          \
	}                                                                                          \
	static void *new_hook_##n(size_t size, uintptr_t a, uintptr_t b)                           \
	{                                                                                          \
		return unlikely(shim_ring()) ? new_recorded(size, a, b, &news[n])                  \
					     : news[n].next(size, a, b);                           \
	}                                                                                          \
	EXPORT void *operator_new_##n(size_t size, uintptr_t a, uintptr_t b)                       \
	{                                                                                          \
		return __atomic_load_n(&news[n].entry, __ATOMIC_ACQUIRE)(size, a, b);              \
	}

#define DEFINE_DELETE(n, suffix, symbol)                                                           \
	void operator_delete_##n(void *p, uintptr_t a, uintptr_t b) __asm__(symbol);               \
	static void delete_first_##n(void *p, uintptr_t a, uintptr_t b)                            \
	{                                                                                          \
		delete_resolve(p, a, b, &deletes[n]);                                              \
	}                                                                                          \
	static void delete_hook_##n(void *p, uintptr_t a, uintptr_t b)                             \
	{                                                                                          \
		if (unlikely(bootstrap_owns(p)))                                                   \
			return;                                                                    \
		if (unlikely(shim_ring()) && p)                                                    \
			delete_recorded(p, a, b, &deletes[n]);                                     \
		else                                                                               \
			deletes[n].next(p, a, b);                                                  \
	}                                                                                          \
	EXPORT void operator_delete_##n(void *p, uintptr_t a, uintptr_t b)                         \
	{                                                                                          \
		__atomic_load_n(&deletes[n].entry, __ATOMIC_ACQUIRE)(p, a, b);                     \
	}

#define ROW_NEW(n, suffix, symbol)                                                                 \
	[n] = {.entry = new_first_##n,                                                             \
	       .first = new_first_##n,                                                             \
	       .hook = new_hook_##n,                                                               \
	       .name = symbol,                                                                     \
	       .kind = KIND_##suffix},

#define ROW_DELETE(n, suffix, symbol)                                                              \
	[n] = {.entry = delete_first_##n,                                                          \
	       .first = delete_first_##n,                                                          \
	       .hook = delete_hook_##n,                                                            \
	       .name = symbol,                                                                     \
	       .kind = KIND_##suffix},

NEWS(DEFINE_NEW)
DELETES(DEFINE_DELETE)

static struct new news[] = {NEWS(ROW_NEW){0}};
static struct delete deletes[] = {DELETES(ROW_DELETE){0}};
