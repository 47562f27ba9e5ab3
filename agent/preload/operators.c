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
#include "agent/preload/sample.h"
#include "agent/preload/start.h"
#include "agent/preload/symbols.h"
#include "agent/preload/zero.h"

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
#define ALIGNED	     4
#define NEW_PLAIN    0 /* what nearly all calls are */
#define DELETE_PLAIN 0
#define DELETE_SIZED 2
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

#define FORMS_NEW    8
#define FORMS_DELETE 12
#define NAME_MAX_C   36

#define NAME(n, suffix, symbol) [n] = symbol,
#define KIND(n, suffix, symbol) [n] = KIND_##suffix,
static const char new_names[FORMS_NEW][NAME_MAX_C] = {NEWS(NAME)};
static const char delete_names[FORMS_DELETE][NAME_MAX_C] = {DELETES(NAME)};
static const uint8_t new_kinds[FORMS_NEW] = {NEWS(KIND)};
static const uint8_t delete_kinds[FORMS_DELETE] = {DELETES(KIND)};

/* `next` and `direct` are NULL until the first call, and are stored last. */
static struct new
{
	new_function *direct; /* the same, unless it is the allocator's: nothing to do here */
	new_function *next;
	bool own;     /* the allocator's: recorded here */
	bool private; /* found outside of the loader's search */
}
news[FORMS_NEW];

static struct delete
{
	delete_function *direct;
	delete_function *next;
	bool own;
	bool private;
}
deletes[FORMS_DELETE];

/* Recorded. */

/*
 * Called by the C++ runtime when an exception passes new_recorded, as the personality routine of
 * that function. (A cleanup in the language of the compiler would need libgcc_s.) The hook ends
 * here; what was put aside in it becomes records.
 */
enum { UNWIND_CLEANUP_PHASE = 2, UNWIND_CONTINUE = 8 };

__attribute__((used)) int operators_unwound(int version, int actions, uint64_t class,
					    void *exception, void *context)
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

static RECORDED void *new_recorded(size_t size, uintptr_t a, uintptr_t b, unsigned form)
{
	struct ring_header *ring = shim_hook(DOOR_ALLOCATIONS);
	struct hook hook;
	void *p;

	ARCH_PERSONALITY("operators_unwound");
	if (unlikely(!ring)) /* since we looked */
		return news[form].next(size, a, b);
	hook_enter(&hook, ring, FRAME);
	hook_may_throw(&hook);
	p = news[form].next(size, a, b);
	hook_has_not_thrown(&hook);
	note_allocation(&hook, new_kinds[form], p, size);
	return p;
}

/* The allocator may serve us by calling free by name: that is this event once more. In a nested
 * hook both would be put aside, and could not be told apart: there ours comes last. */
static RECORDED __attribute__((cold)) void delete_recorded(void *p, uintptr_t a, uintptr_t b,
							   unsigned form)
{
	struct ring_header *ring = shim_hook(DOOR_ALL);
	struct event event;
	struct hook hook;
	uint32_t aside;

	if (unlikely(!ring) || sample_passes_free_sought(p)) {
		deletes[form].next(p, a, b);
		return;
	}
	hook_enter(&hook, ring, FRAME);
	event = (struct event){
		.kind = delete_kinds[form], .address = (uintptr_t)p, .stamp = stamp_now()};
	aside = hook.thread ? hook.thread->aside_count : 0;
	if (hook.kind == HOOK_NESTED)
		note_seek(hook.thread, &event);
	else
		note(&hook, &event);
	deletes[form].next(p, a, b);
	if (hook.thread && hook.thread->aside_count > aside)
		thread_drop_inner(hook.thread, &event, aside);
	if (hook.kind == HOOK_NESTED)
		note_slow(hook.thread, hook.kind, &event);
	hook_leave(&hook);
}

/* Passed over. The way through libstdc++ or libc++ to malloc or free comes back here by name, twice for
 * a sized delete: 3.8 % of the time of a C++ program. What sampling passes over is spared it; all else
 * goes that way, so that a stack on record is the same. */

static void *new_passing(size_t size, uintptr_t a, uintptr_t b)
{
	void *p = sample_passes(size) ? next.malloc(size) : NULL;

	(void)a;
	(void)b;
	return likely(p) ? p : news[NEW_PLAIN].next(size, 0, 0);
}

static ALWAYS_INLINE void delete_passing_form(void *p, uintptr_t a, uintptr_t b, unsigned form)
{
	if (sample_passes_free(p))
		next.free(p);
	else
		deletes[form].next(p, a, b);
}

static void delete_passing(void *p, uintptr_t a, uintptr_t b)
{
	delete_passing_form(p, a, b, DELETE_PLAIN);
}

static void delete_passing_sized(void *p, uintptr_t a, uintptr_t b)
{
	delete_passing_form(p, a, b, DELETE_SIZED);
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
	return symbols_together((uintptr_t)function, (uintptr_t)zero_allocator());
}

/* Is `name`, asked for by whoever it is, ours? */
static bool comes_to_us(const char *name)
{
	return symbols_together((uintptr_t)next_symbol(name), (uintptr_t)&news);
}

/* Does this operator do what new_passing and delete_passing take for granted, ask malloc or free and
 * nothing else, and is that worth anything now? */
static bool is_runtimes(const void *function, bool private)
{
	const struct ring_header *ring = __atomic_load_n(&shim_page.ring, __ATOMIC_ACQUIRE);

	return ring && __atomic_load_n(&ring->mode, __ATOMIC_RELAXED) == RING_SAMPLE && !private &&
	       symbols_of_cxx((uintptr_t)function) && comes_to_us("malloc") && comes_to_us("free");
}

static new_function *direct_new(new_function *function, unsigned form)
{
	bool passes = form == NEW_PLAIN && is_runtimes(function, news[form].private);

	return passes ? new_passing : function;
}

static delete_function *direct_delete(delete_function *function, unsigned form)
{
	bool passes = (form == DELETE_PLAIN || form == DELETE_SIZED) &&
		      is_runtimes(function, deletes[form].private) &&
		      comes_to_us(delete_names[DELETE_PLAIN]);

	if (!passes)
		return function;
	return form == DELETE_PLAIN ? delete_passing : delete_passing_sized;
}

/* While the allocator is being looked for, nobody can tell whose this is: forwarded only. */
static RECORDED void *new_resolve(size_t size, uintptr_t a, uintptr_t b, unsigned form)
{
	struct new *new = &news[form];
	bool settled = start_resolved(), private;
	new_function *function = next_definition(new_names[form], &private);

	if (!function)
		function = form >= ALIGNED ? new_missing_aligned : new_missing;
	if (!settled)
		return function(size, a, b);
	new->private = private;
	new->own = is_allocators_own(function);
	__atomic_store_n(&new->next, function, __ATOMIC_RELEASE);
	if (!new->own)
		__atomic_store_n(&new->direct, direct_new(function, form), __ATOMIC_RELEASE);
	return new->own &&shim_hook(DOOR_ALLOCATIONS) ? new_recorded(size, a, b, form)
						      : function(size, a, b);
}

static RECORDED void delete_resolve(void *p, uintptr_t a, uintptr_t b, unsigned form)
{
	struct delete *delete = &deletes[form];
	bool settled = start_resolved(), private;
	delete_function *function = next_definition(delete_names[form], &private);

	if (!function)
		function = delete_missing;
	if (settled) {
		delete->private = private;
		delete->own = is_allocators_own(function);
		__atomic_store_n(&delete->next, function, __ATOMIC_RELEASE);
		if (!delete->own)
			__atomic_store_n(&delete->direct, direct_delete(function, form),
					 __ATOMIC_RELEASE);
	}
	if (settled && delete->own && p && shim_hook(DOOR_ALL))
		delete_recorded(p, a, b, form);
	else
		function(p, a, b);
}

void operators_forget(void)
{
	for (unsigned i = 0; i < FORMS_NEW; i++)
		if (news[i].private) {
			__atomic_store_n(&news[i].direct, NULL, __ATOMIC_RELEASE);
			__atomic_store_n(&news[i].next, NULL, __ATOMIC_RELEASE);
		}
	for (unsigned i = 0; i < FORMS_DELETE; i++)
		if (deletes[i].private) {
			__atomic_store_n(&deletes[i].direct, NULL, __ATOMIC_RELEASE);
			__atomic_store_n(&deletes[i].next, NULL, __ATOMIC_RELEASE);
		}
}

/* What is exported goes on to the operator behind it where that is not the allocator's, which is
 * most programs' case: it calls malloc and free by name. Else it only says which it is: 20 copies of
 * the decision would be 2 KB. */

static RECORDED void *call_new(size_t size, uintptr_t a, uintptr_t b, unsigned form)
{
	new_function *next_new = __atomic_load_n(&news[form].next, __ATOMIC_ACQUIRE);
	struct ring_header *ring;

	if (unlikely(!next_new))
		return new_resolve(size, a, b, form);
	if (!news[form].own || sample_passes(size) ||
	    likely(!shim_watches(DOOR_ALLOCATIONS, &ring)))
		return next_new(size, a, b);
	return new_recorded(size, a, b, form);
}

/* What is of the bootstrap arena is for nobody. */
static RECORDED void call_delete(void *p, uintptr_t a, uintptr_t b, unsigned form)
{
	delete_function *next_delete = __atomic_load_n(&deletes[form].next, __ATOMIC_ACQUIRE);
	struct ring_header *ring;

	if (unlikely(bootstrap_owns(p)))
		return;
	if (unlikely(!next_delete))
		delete_resolve(p, a, b, form);
	else if (!deletes[form].own || !p || sample_passes_free(p) ||
		 likely(!shim_watches(DOOR_ALL, &ring)))
		next_delete(p, a, b);
	else
		delete_recorded(p, a, b, form);
}

#define DEFINE_NEW(n, suffix, symbol)                                                              \
	void *operator_new_##n(size_t size, uintptr_t a, uintptr_t b) __asm__(symbol);             \
	EXPORT void *operator_new_##n(size_t size, uintptr_t a, uintptr_t b)                       \
	{                                                                                          \
		new_function *direct = __atomic_load_n(&news[n].direct, __ATOMIC_ACQUIRE);         \
                                                                                                   \
		return likely(direct) ? direct(size, a, b) : call_new(size, a, b, n);              \
	}

#define DEFINE_DELETE(n, suffix, symbol)                                                           \
	void operator_delete_##n(void *p, uintptr_t a, uintptr_t b) __asm__(symbol);               \
	EXPORT void operator_delete_##n(void *p, uintptr_t a, uintptr_t b)                         \
	{                                                                                          \
		delete_function *direct = __atomic_load_n(&deletes[n].direct, __ATOMIC_ACQUIRE);   \
                                                                                                   \
		if (likely(direct))                                                                \
			direct(p, a, b);                                                           \
		else                                                                               \
			call_delete(p, a, b, n);                                                   \
	}

NEWS(DEFINE_NEW)
DELETES(DEFINE_DELETE)
