/*
 * Hooks for functions that are known only at run time. See allocators.h, and hooks.c for how a hook
 * is made.
 *
 * A function has a *shape*, which tells the argument that is the size and the one that is the
 * block. All functions take words and return a word, so one hook serves every shape. A redirected
 * call carries no number. Each function that is found therefore gets a thunk (thunks.h), which
 * passes the function's number to the hook.
 *
 *	program --> thunk 3 --> allocators_recorded(..., 3) --> bound[3].next, which is mi_malloc
 *
 * The hook itself is in throwing.c, because an allocator's function may throw. Functions of the
 * program's own (patch.h) enter through allocators_entered instead, with separate numbers.
 */
#include "agent/preload/allocators/allocators.h"

#include <string.h>

#include "agent/allocator_functions.h"
#include "agent/preload/allocators/allocators_call.h"
#include "agent/preload/record/often.h"
#include "agent/preload/modules/loader.h"
#include "agent/preload/system/next.h"
#include "agent/preload/record/note.h"
#include "agent/preload/record/sample.h"
#include "agent/preload/system/state.h"
#include "agent/preload/system/symbols.h"
#include "proto/ring.h"
#include "proto/ring_handshake.h"

#include "agent/preload/poison.h"

/* A function may begin with a landing mark (endbr64 on x86-64) of this many bytes. */
#define LANDING 4u

/* The hook. */

/* The program's own functions follow those with a thunk. */
struct bound allocators_bound[THUNKS + RING_ENTRIES_MAX];

static uintptr_t own[RING_ENTRIES_MAX]; /* their addresses */
unsigned allocators_own;

static bool forgetting; /* the loader was busy at a dlclose */

static uintptr_t product(uintptr_t count, uintptr_t size)
{
	uintptr_t bytes;

	return __builtin_mul_overflow(count, size, &bytes) ? UINTPTR_MAX : bytes;
}

/* Hooks a free. The allocator may implement it by calling itself by name, which repeats the event;
 * see delete_recorded in operators.c. */
static uintptr_t allocators_end(struct call *call)
{
	struct hook *hook = &call->hook;
	struct event event = {
		.kind = call->f->kind, .address = call->word[0], .stamp = stamp_now()};
	uint32_t aside = hook->thread ? hook->thread->aside_count : 0;
	uintptr_t result;

	if (hook->kind == HOOK_NESTED)
		note_seek(hook->thread, &event);
	else if (call->word[0])
		rare_note(hook, &event);
	result = call_next(call);
	if (hook->thread && hook->thread->aside_count > aside)
		thread_drop_inner(hook->thread, &event, aside);
	if (hook->kind == HOOK_NESTED && call->word[0])
		note_slow(hook->thread, hook->kind, hook_aside(hook), &event);
	rare_leave(hook);
	return result;
}

static uintptr_t move(struct call *call, uintptr_t old, uintptr_t size)
{
	uint64_t call_stamp = stamp_now();
	bool was_sampled = sample_take((void *)old);
	uintptr_t p = call_next(call);

	if (!p && call->f->shape == SHAPE_MOVE_OR_END)
		size = 0; /* recorded as a realloc that freed the block */
	note_reallocation(&call->hook, call->f->kind, (void *)p, (void *)old, size, call_stamp,
			  was_sampled);
	return p;
}

static uintptr_t resize(struct call *call)
{
	uint64_t call_stamp = stamp_now();
	uintptr_t result = call_next(call);
	void *p = (void *)call->word[0];

	if (result >= call->word[1])
		note_reallocation(&call->hook, call->f->kind, p, p, call->word[1], call_stamp,
				  sample_take(p));
	else
		rare_leave(&call->hook);
	return result;
}

uintptr_t allocators_size(const struct call *call, uintptr_t result, const uintptr_t *words,
			  uintptr_t *ret_p)
{
	*ret_p = result;
	switch (call->f->shape) {
	case SHAPE_SIZE_A:
		return words[0];
	case SHAPE_SIZE_B:
		return words[1];
	case SHAPE_COUNT_AB:
		return product(words[0], words[1]);
	case SHAPE_POSIX:
		*ret_p = (int)result ? 0 : *(uintptr_t *)words[0];
		return words[2];
	default:
		if (call->f->shape == SHAPE_TEXT_OWN && words[1])
			*ret_p = 0;
		return result ? strlen((const char *)result) + 1 : 0;
	}
}

uintptr_t allocators_other(struct call *call, const uintptr_t *words)
{
	switch (call->f->shape) {
	case SHAPE_MOVE_AB:
	case SHAPE_MOVE_OR_END:
		return move(call, words[0], words[1]);
	case SHAPE_MOVE_ABC:
		return move(call, words[0], product(words[1], words[2]));
	case SHAPE_RESIZE:
		return resize(call);
	default:
		return allocators_end(call);
	}
}

/* Returns true if sampling skips this call. Only frequently called functions are skipped
 * (sample.h). */
static bool allocators_skips(const struct bound *f, uintptr_t a)
{
	if (f->heap)
		return false;
	return f->shape == SHAPE_SIZE_A
		       ? sample_skips(a)
		       : f->shape == SHAPE_END && a && sample_skips_free((void *)a);
}

uintptr_t allocators_entered(WORDS, unsigned number)
{
	struct call call = {&allocators_bound[number], {ARGUMENTS}, {0}};
	/* The frame of the code that the function jumps to (patch_entry.c). */
	const uintptr_t *frame = *(const uintptr_t **)FRAME;
	struct ring_header *ring = shim_hook(GATE_OTHERS);
	uintptr_t result;

	if (ring && !allocators_skips(call.f, a)) {
		result = allocators_serve(&call, ring, (uintptr_t)frame);
	} else {
		tls.passing = true;
		result = call_next(&call);
		tls.passing = false;
	}
	/* A free has no result: keep the register's value. */
	return call.f->shape == SHAPE_END ? frame[-1] : result;
}

uintptr_t allocators_call(WORDS, unsigned number FRAME_GIVEN)
{
	return unlikely(shim_hook(GATE_OTHERS)) ? allocators_recorded(ARGUMENTS, number GIVE_FRAME)
						: allocators_bound[number].next(ARGUMENTS);
}

static void bind(unsigned number, unsigned function, bool heap, uintptr_t definition)
{
	struct bound *f = &allocators_bound[number];

	f->kind = allocator_functions[function].kind;
	f->shape = allocator_functions[function].shape;
	f->heap = heap;
	__atomic_store_n(&shim.foreign, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&f->next, (uintptr_t(*)(WORDS))definition, __ATOMIC_RELEASE);
}

/* Returns true if calls of the function reach its hook without a redirection. */
static bool is_own(uintptr_t definition)
{
	for (unsigned i = 0; i < allocators_own; i++)
		if (own[i] - definition <= LANDING)
			return true;
	return false;
}

/* Frees the thunks of unloaded definitions. The modules that import these definitions are gone,
 * too: the loader unloads only modules that no other module needs. */
void allocators_forget(void)
{
	forgetting = !loader_enter();
	if (forgetting)
		return; /* allocators_hook retries before it binds another definition */
	for (unsigned i = 0; i < THUNKS; i++)
		if (allocators_bound[i].next &&
		    !symbols_together((uintptr_t)allocators_bound[i].next,
				      (uintptr_t)allocators_bound[i].next))
			__atomic_store_n(&allocators_bound[i].next, NULL, __ATOMIC_RELEASE);
	loader_leave();
}

/* imports.c calls this in one thread at a time. */
uintptr_t allocators_hook(const char *name, uintptr_t definition)
{
	bool heap;
	int function = allocator_function_imported(name, &heap);
	unsigned i = 0;

	if (forgetting)
		allocators_forget();
	while (i < THUNKS && allocators_bound[i].next &&
	       (uintptr_t)allocators_bound[i].next != definition)
		i++;
	if (i == THUNKS || function < 0 || is_own(definition))
		return 0;
	if (!allocators_bound[i].next) {
		next_add_allocator(definition);
		bind(i, (unsigned)function, heap, definition);
	}
	return thunk(i);
}

unsigned allocators_add_own(unsigned function, bool heap, uintptr_t at, uintptr_t original)
{
	unsigned number = THUNKS + allocators_own;

	own[allocators_own++] = at;
	bind(number, function, heap, original);
	return number;
}
