/*
 * Hooks operator new and delete. operators.h tells which operators are recorded here, hooks.c how.
 *
 * Each form of an operator takes one word and at most two more (size, alignment, a reference to
 * nothrow). One function type therefore serves all forms. For arguments that a form lacks, the
 * hook passes on the contents of the registers, and the callee ignores them.
 */
#include "agent/preload/record/operators.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "agent/preload/record/often.h"
#include "agent/preload/system/bootstrap.h"
#include "agent/preload/modules/loader.h"
#include "agent/preload/system/next.h"
#include "agent/preload/record/note.h"
#include "agent/preload/record/sample.h"
#include "agent/preload/start/start.h"
#include "agent/preload/system/symbols.h"
#include "agent/preload/system/zero.h"
#include "agent/unwind/arch/arch.h"

#include "agent/preload/poison_io.h"

/* size_t as C++ mangles it. Itanium C++ ABI 5.1.5. */
#if __SIZEOF_SIZE_T__ == __SIZEOF_INT__
#define SIZE "j"
#else
#define SIZE "m"
#endif
#define NOTHROW "RKSt9nothrow_t"
#define ALIGN	"St11align_val_t"

/* X(form, symbol). Odd forms are for arrays. From ALIGNED to FORM_DELETE the second word is an
 * alignment. */
#define NEW_PLAIN    0 /* nearly all calls */
#define ALIGNED	     4
#define DELETE_PLAIN FORM_DELETE
#define DELETE_SIZED (FORM_DELETE + 2)
#define NEWS(X)                                                                                    \
	X(0, "_Znw" SIZE)                                                                          \
	X(1, "_Zna" SIZE)                                                                          \
	X(2, "_Znw" SIZE NOTHROW)                                                                  \
	X(3, "_Zna" SIZE NOTHROW)                                                                  \
	X(4, "_Znw" SIZE ALIGN)                                                                    \
	X(5, "_Zna" SIZE ALIGN)                                                                    \
	X(6, "_Znw" SIZE ALIGN NOTHROW)                                                            \
	X(7, "_Zna" SIZE ALIGN NOTHROW)

#define DELETES(X)                                                                                 \
	X(8, "_ZdlPv")                                                                             \
	X(9, "_ZdaPv")                                                                             \
	X(10, "_ZdlPv" SIZE)                                                                       \
	X(11, "_ZdaPv" SIZE)                                                                       \
	X(12, "_ZdlPv" NOTHROW)                                                                    \
	X(13, "_ZdaPv" NOTHROW)                                                                    \
	X(14, "_ZdlPv" ALIGN)                                                                      \
	X(15, "_ZdaPv" ALIGN)                                                                      \
	X(16, "_ZdlPv" ALIGN NOTHROW)                                                              \
	X(17, "_ZdaPv" ALIGN NOTHROW)                                                              \
	X(18, "_ZdlPv" SIZE ALIGN)                                                                 \
	X(19, "_ZdaPv" SIZE ALIGN)

/* The symbols in the order of the forms, each terminated by zero. */
#define NAME(n, symbol) symbol "\0"
static const char names[] = NEWS(NAME) DELETES(NAME);

struct cxx_operator operators[FORMS];

static const char *operators_name_of(unsigned form)
{
	const char *name = names;

	while (form--)
		name += strlen(name) + 1;
	return name;
}

/* Recorded operators. operator new is in throwing.c. */

/* Records a delete. The allocator may implement it by calling free by name, which repeats this
 * event. In a nested hook both would be put aside and could not be told apart; there this event is
 * put aside last. */
static RECORDED __attribute__((cold)) void delete_recorded(void *p, uintptr_t a, uintptr_t b,
							   unsigned form)
{
	struct ring_header *ring = shim_hook(GATE_OTHERS);
	struct event event;
	struct hook hook;
	uint32_t aside;

	if (unlikely(!ring) || sample_skips_free_sought(p)) {
		operators[form].next((uintptr_t)p, a, b);
		return;
	}
	often_enter(&hook, ring, FRAME);
	event = (struct event){
		.kind = KIND_DELETE + (form & 1), .address = (uintptr_t)p, .stamp = stamp_now()};
	aside = hook.thread ? hook.thread->aside_count : 0;
	if (hook.kind == HOOK_NESTED)
		note_seek(hook.thread, &event);
	else
		often_note(&hook, &event);
	operators[form].next((uintptr_t)p, a, b);
	if (hook.thread && hook.thread->aside_count > aside)
		thread_drop_inner(hook.thread, &event, aside);
	if (hook.kind == HOOK_NESTED)
		note_slow(hook.thread, hook.kind, hook_aside(&hook), &event);
	often_leave(&hook);
}

/* Skipped operators. The path through libstdc++ or libc++ to malloc or free comes back to this
 * library by name, twice for a sized delete: 3.8 % of the time of a C++ program. Blocks that
 * sampling skips avoid this path. All others take it, so that a recorded stack stays the same. */

static void *new_passing(uintptr_t size, uintptr_t a, uintptr_t b)
{
	void *p = sample_skips(size) ? next.malloc(size) : NULL;

	(void)a;
	(void)b;
	return likely(p) ? p : operators[NEW_PLAIN].next(size, 0, 0);
}

static ALWAYS_INLINE void delete_passing_form(void *p, uintptr_t a, uintptr_t b, unsigned form)
{
	if (sample_skips_free(p))
		next.free(p);
	else
		operators[form].next((uintptr_t)p, a, b);
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

static void *new_missing(uintptr_t size, uintptr_t a, uintptr_t b)
{
	(void)a;
	(void)b;
	return malloc(size ? size : 1);
}

static void *new_missing_aligned(uintptr_t size, uintptr_t a, uintptr_t b)
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

/* Returns true if a lookup of `name` by any module finds this library's function. */
static bool comes_to_us(const char *name)
{
	return symbols_together((uintptr_t)next_symbol(name), (uintptr_t)operators);
}

/* Returns true if new_passing and delete_passing may replace this operator: it only calls malloc or
 * free, and the shortcut is of use now. */
static bool is_runtimes(const struct cxx_operator *o, const void *function)
{
	const struct ring_header *ring = __atomic_load_n(&shim_page.ring, __ATOMIC_ACQUIRE);

	return ring && __atomic_load_n(&ring->mode, __ATOMIC_RELAXED) == RING_SAMPLE &&
	       !o->private && symbols_of_cxx((uintptr_t)function) && comes_to_us("malloc") &&
	       comes_to_us("free");
}

static void *direct(const struct cxx_operator *o, void *function)
{
	ptrdiff_t form = o - operators;

	if ((form != NEW_PLAIN && form != DELETE_PLAIN && form != DELETE_SIZED) ||
	    !is_runtimes(o, function))
		return function;
	if (form == NEW_PLAIN)
		return new_passing;
	if (!comes_to_us(operators_name_of(DELETE_PLAIN)))
		return function;
	return form == DELETE_PLAIN ? delete_passing : delete_passing_sized;
}

static void *operators_missing(unsigned form)
{
	if (form >= FORM_DELETE)
		return delete_missing;
	return form >= ALIGNED ? new_missing_aligned : new_missing;
}

static void operators_settle(struct cxx_operator *o, void *function, bool private)
{
	o->private = private;
	o->own = symbols_together((uintptr_t)function, (uintptr_t)zero_allocator());
	if (private || (!o->own && !symbols_of_cxx((uintptr_t)function)))
		__atomic_store_n(&shim.foreign, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&o->next, function, __ATOMIC_RELEASE);
	if (!o->own)
		__atomic_store_n(&o->direct, direct(o, function), __ATOMIC_RELEASE);
}

void operators_resolve(void)
{
	for (unsigned form = 0; form < FORMS; form++) {
		uintptr_t function = symbols_find_next(operators_name_of(form), &next);

		if (function)
			operators_settle(&operators[form], (void *)function, false);
		else if (form == NEW_PLAIN)
			return; /* not a C++ program */
	}
}

/* Finds an operator in a library that was loaded later. It may belong to a single plugin, whose
 * calls reach this library nevertheless. All callers get the same definition, so that a block is
 * freed by the operators that allocated it. */
static void *find_private(unsigned form)
{
	uintptr_t function = symbols_find_next(operators_name_of(form), &next);

	if (!function)
		function = symbols_find(operators_name_of(form), &next);
	return function ? (void *)function : operators_missing(form);
}

/* Resolves this form and returns NULL. This is not possible while the next allocator is being
 * looked up, because the module cannot tell whose operator it is, nor while the loader is busy. The
 * function then returns a definition for this call only, to which the call is just forwarded. (The
 * runtimes' operators are malloc and free, too.) */
static operator_function *operators_find(unsigned form)
{
	bool settled = start_resolved();
	void *function;

	if (!loader_enter())
		return operators_missing(form);
	function = find_private(form);
	if (settled)
		operators_settle(&operators[form], function, true);
	loader_leave();
	return settled ? NULL : function;
}

void operators_forget(void)
{
	for (unsigned i = 0; i < FORMS; i++)
		if (operators[i].private) {
			__atomic_store_n(&operators[i].direct, NULL, __ATOMIC_RELEASE);
			__atomic_store_n(&operators[i].next, NULL, __ATOMIC_RELEASE);
		}
}

/* In most programs the next definition is not the allocator's, and calls malloc or free by name. An
 * exported operator jumps to such a definition. Otherwise it only passes on its form, because 20
 * copies of the decision would take 2 KB. */

static RECORDED void *call_new(size_t size, uintptr_t a, uintptr_t b, unsigned form);
static RECORDED void call_delete(void *p, uintptr_t a, uintptr_t b, unsigned form);

static RECORDED void *new_resolve(size_t size, uintptr_t a, uintptr_t b, unsigned form)
{
	operator_function *once = operators_find(form);

	return once ? once(size, a, b) : call_new(size, a, b, form);
}

static RECORDED void delete_resolve(void *p, uintptr_t a, uintptr_t b, unsigned form)
{
	operator_function *once = operators_find(form);

	if (once)
		once((uintptr_t)p, a, b);
	else
		call_delete(p, a, b, form);
}

static void *call_new(size_t size, uintptr_t a, uintptr_t b, unsigned form)
{
	operator_function *next_new = __atomic_load_n(&operators[form].next, __ATOMIC_ACQUIRE);
	struct ring_header *ring;

	if (unlikely(!next_new))
		return new_resolve(size, a, b, form);
	if (!operators[form].own || sample_skips(size) ||
	    likely(!shim_watches(GATE_ALLOCATIONS, &ring)))
		return next_new(size, a, b);
	return new_recorded(size, a, b, form);
}

/* Calls the next definition, except for blocks of the bootstrap arena, which are never freed. */
static void call_delete(void *p, uintptr_t a, uintptr_t b, unsigned form)
{
	operator_function *next_delete = __atomic_load_n(&operators[form].next, __ATOMIC_ACQUIRE);
	struct ring_header *ring;

	if (unlikely(bootstrap_owns(p)))
		return;
	if (unlikely(!next_delete))
		delete_resolve(p, a, b, form);
	else if (!operators[form].own || !p || sample_skips_free(p) ||
		 likely(!shim_watches(GATE_OTHERS, &ring)))
		next_delete((uintptr_t)p, a, b);
	else
		delete_recorded(p, a, b, form);
}

static ARCH_HOT void *enter_new(size_t size, uintptr_t a, uintptr_t b, unsigned form)
{
	operator_function *direct_new = __atomic_load_n(&operators[form].direct, __ATOMIC_ACQUIRE);

	return likely(direct_new) ? direct_new(size, a, b) : call_new(size, a, b, form);
}

static ARCH_HOT void enter_delete(void *p, uintptr_t a, uintptr_t b, unsigned form)
{
	operator_function *direct_delete =
		__atomic_load_n(&operators[form].direct, __ATOMIC_ACQUIRE);

	if (likely(direct_delete))
		direct_delete((uintptr_t)p, a, b);
	else
		call_delete(p, a, b, form);
}

#define DEFINE_NEW(n, symbol)                                                                      \
	void *operator_new_##n(size_t size, uintptr_t a, uintptr_t b) __asm__(symbol);             \
	EXPORT void *operator_new_##n(size_t size, uintptr_t a, uintptr_t b)                       \
	{                                                                                          \
		return enter_new(size, a, b, n);                                                   \
	}

#define DEFINE_DELETE(n, symbol)                                                                   \
	void operator_delete_##n(void *p, uintptr_t a, uintptr_t b) __asm__(symbol);               \
	EXPORT void operator_delete_##n(void *p, uintptr_t a, uintptr_t b)                         \
	{                                                                                          \
		enter_delete(p, a, b, n);                                                          \
	}

NEWS(DEFINE_NEW)
DELETES(DEFINE_DELETE)
