/*
 * Hooks for functions that are only known at run time; see allocators.h, and hooks.c for how a hook
 * is made.
 *
 * A function has a *shape*: which argument is the size, which one the block. All take words and
 * give a word, so one hook serves every shape. A call that is redirected carries no number, so
 * there are THUNKS of them: each function that is found takes one, and the thunk tells the
 * hook which it is.
 *
 *	program --> thunk 3 --> call_recorded(..., 3) --> bound[3].next, which is mi_malloc
 */
#include "agent/preload/allocators.h"

#include <string.h>

#include "agent/preload/apart.h"
#include "agent/preload/next.h"
#include "agent/preload/note.h"
#include "agent/preload/operators.h"
#include "agent/preload/sample.h"
#include "agent/preload/state.h"
#include "agent/preload/symbols.h"

#include "agent/preload/poison.h"

/* Arguments are a, b, c..., behind a heap if there is one. */
enum shape {
	SIZE_A,
	SIZE_B,
	COUNT_AB,    /* a * b bytes */
	POSIX,	     /* *a becomes a block of c bytes, unless the result is an error */
	MOVE_AB,     /* realloc: block a, b bytes */
	MOVE_ABC,    /* block a, b * c bytes */
	MOVE_OR_END, /* as MOVE_AB; but a block that can not be moved is freed */
	RESIZE,	     /* block a is in place made b bytes, if the result is no less */
	TEXT,	     /* the result is a string */
	TEXT_OWN,    /* likewise, unless b is where to put it */
	END,	     /* frees a */
};

struct function {
	char name[18];
	uint8_t kind;
	uint8_t shape;
};

/* Names without what prefixes[] and suffixes[] have. */
static const struct function functions[] = {
	{"mallocx", KIND_MALLOC, SIZE_A}, /* these five need no prefix */
	{"rallocx", KIND_REALLOC, MOVE_AB},
	{"xallocx", KIND_REALLOC, RESIZE},
	{"dallocx", KIND_FREE, END},
	{"sdallocx", KIND_FREE_SIZED, END},
	{"new", KIND_NEW, SIZE_A},
	{"new_n", KIND_NEW, COUNT_AB},
	{"new_realloc", KIND_REALLOC, MOVE_AB},
	{"new_reallocn", KIND_REALLOCARRAY, MOVE_ABC},
	{"newarray", KIND_NEW_ARRAY, SIZE_A},
	{"delete", KIND_DELETE, END},
	{"deletearray", KIND_DELETE_ARRAY, END},
	{"malloc", KIND_MALLOC, SIZE_A}, /* from here on: also mimalloc's mi_heap_ */
	{"calloc", KIND_CALLOC, COUNT_AB},
	{"realloc", KIND_REALLOC, MOVE_AB},
	{"free", KIND_FREE, END},
	{"cfree", KIND_FREE, END},
	{"free_size", KIND_FREE_SIZED, END},
	{"posix_memalign", KIND_POSIX_MEMALIGN, POSIX},
	{"aligned_alloc", KIND_ALIGNED_ALLOC, SIZE_B},
	{"memalign", KIND_MEMALIGN, SIZE_B},
	{"valloc", KIND_VALLOC, SIZE_A},
	{"pvalloc", KIND_PVALLOC, SIZE_A},
	{"zalloc", KIND_CALLOC, SIZE_A},
	{"mallocn", KIND_MALLOC, COUNT_AB},
	{"reallocn", KIND_REALLOCARRAY, MOVE_ABC},
	{"reallocarray", KIND_REALLOCARRAY, MOVE_ABC},
	{"reallocf", KIND_REALLOC, MOVE_OR_END},
	{"rezalloc", KIND_REALLOC, MOVE_AB},
	{"recalloc", KIND_REALLOCARRAY, MOVE_ABC},
	{"aligned_recalloc", KIND_REALLOCARRAY, MOVE_ABC},
	{"strdup", KIND_MALLOC, TEXT},
	{"strndup", KIND_MALLOC, TEXT},
	{"realpath", KIND_MALLOC, TEXT_OWN},
};

#define FUNCTIONS	(sizeof(functions) / sizeof(functions[0]))
#define FIRST_OPERATOR	5  /* new */
#define FIRST_OF_MALLOC 12 /* malloc */

/* How names begin, and the functions that may follow, [first, end). mi_heap_new is no operator. */
static const struct prefix {
	char text[10];
	uint8_t first;
	uint8_t end;
	bool heap; /* the first argument is a heap: the others come one later */
} prefixes[] = {
	{"mi_heap_", FIRST_OF_MALLOC, FUNCTIONS, true},
	{"mi_", FIRST_OPERATOR, FUNCTIONS, false},
	{"tc_", FIRST_OPERATOR, FUNCTIONS, false},
	{"je_", 0, FUNCTIONS, false},
	{"_rjem_", 0, FUNCTIONS, false},
	{"jemalloc_", 0, FUNCTIONS, false},
	{"", 0, FIRST_OPERATOR, false},
};

/* What may follow, several in a row: variants whose further arguments we do not look at. Not
 * "_size": tc_malloc_size asks for one. */
static const char suffixes[][18] = {"_at",    "_nothrow", "_aligned",
				    "_sized", "_small",	  "_skip_new_handler"};

static size_t without_suffix(const char *name, size_t length)
{
	for (unsigned i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		size_t part = strlen(suffixes[i]);

		if (length > part && !memcmp(name + length - part, suffixes[i], part))
			return without_suffix(name, length - part);
	}
	return length;
}

static const struct function *find_in(const struct prefix *prefix, const char *name)
{
	size_t length = without_suffix(name, strlen(name));

	for (unsigned i = prefix->first; i < prefix->end; i++)
		if (length < sizeof(functions[i].name) && !functions[i].name[length] &&
		    !memcmp(name, functions[i].name, length))
			return &functions[i];
	return NULL;
}

static const struct function *find(const char *name, bool *ret_heap)
{
	for (unsigned i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		const struct prefix *p = &prefixes[i];
		size_t length = strlen(p->text);
		const struct function *found =
			strncmp(name, p->text, length) ? NULL : find_in(p, name + length);

		*ret_heap = p->heap;
		if (found)
			return found;
	}
	return NULL;
}

bool allocators_knows(const char *name)
{
	bool heap;

	return find(name, &heap) != NULL;
}

/* The hook. */

#define THUNKS	  32
#define WORDS	  uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e
#define ARGUMENTS a, b, c, d, e

static struct bound {
	uintptr_t (*next)(WORDS); /* NULL: free to take */
	uint8_t kind;
	uint8_t shape;
	bool heap;
} bound[THUNKS];

static uintptr_t product(uintptr_t count, uintptr_t size)
{
	uintptr_t bytes;

	return __builtin_mul_overflow(count, size, &bytes) ? UINTPTR_MAX : bytes;
}

/* The allocator may serve us by calling itself by name: that is this event once more; see
 * delete_recorded in operators.c. */
static uintptr_t end(struct hook *hook, const struct bound *f, WORDS)
{
	struct event event = {.kind = f->kind, .address = a, .stamp = stamp_now()};
	uint32_t aside = hook->thread ? hook->thread->aside_count : 0;
	uintptr_t result;

	if (hook->kind == HOOK_NESTED)
		note_seek(hook->thread, &event);
	else if (a)
		note(hook, &event);
	result = f->next(ARGUMENTS);
	if (hook->thread && hook->thread->aside_count > aside)
		thread_drop_inner(hook->thread, &event, aside);
	if (hook->kind == HOOK_NESTED && a)
		note_slow(hook->thread, hook->kind, &event);
	rare_leave(hook);
	return result;
}

static uintptr_t move(struct hook *hook, const struct bound *f, uintptr_t size, WORDS)
{
	uintptr_t old = f->heap ? b : a;
	uint64_t call_stamp = stamp_now();
	bool was_sampled = sample_take((void *)old);
	uintptr_t p = f->next(ARGUMENTS);

	if (!p && f->shape == MOVE_OR_END)
		size = 0; /* on record as what it is: a realloc that freed */
	note_reallocation(hook, f->kind, (void *)p, (void *)old, size, call_stamp, was_sampled);
	return p;
}

static uintptr_t resize(struct hook *hook, const struct bound *f, WORDS)
{
	uint64_t call_stamp = stamp_now();
	uintptr_t result = f->next(ARGUMENTS);

	if (result >= b)
		note_reallocation(hook, f->kind, (void *)a, (void *)a, b, call_stamp,
				  sample_take((void *)a));
	else
		rare_leave(hook);
	return result;
}

static uintptr_t birth(struct hook *hook, const struct bound *f, WORDS)
{
	uintptr_t result = f->next(ARGUMENTS);

	if (f->heap) {
		a = b;
		b = c;
	}
	switch (f->shape) {
	case SIZE_A:
		rare_allocation(hook, f->kind, (void *)result, a);
		break;
	case SIZE_B:
		rare_allocation(hook, f->kind, (void *)result, b);
		break;
	case COUNT_AB:
		rare_allocation(hook, f->kind, (void *)result, product(a, b));
		break;
	case POSIX:
		rare_allocation(hook, f->kind, (int)result ? NULL : *(void **)a, c);
		break;
	default:
		rare_allocation(hook, f->kind, f->shape == TEXT_OWN && b ? NULL : (void *)result,
				result ? strlen((const char *)result) + 1 : 0);
		break;
	}
	return result;
}

static RECORDED uintptr_t call_recorded(WORDS, unsigned number)
{
	struct ring_header *ring = shim_hook(DOOR_ALL);
	const struct bound *f = &bound[number];
	struct hook hook;

	ARCH_PERSONALITY("operators_unwound"); /* tc_new and mi_new throw */
	if (unlikely(!ring))
		return f->next(ARGUMENTS);
	rare_enter(&hook, ring, FRAME);
	if (hook.kind != HOOK_NESTED)
		tls.throwing = tls.frame;
	switch (f->shape) {
	case MOVE_AB:
	case MOVE_OR_END:
		return move(&hook, f, f->heap ? c : b, ARGUMENTS);
	case MOVE_ABC:
		return move(&hook, f, f->heap ? product(c, d) : product(b, c), ARGUMENTS);
	case RESIZE:
		return resize(&hook, f, ARGUMENTS);
	case END:
		return end(&hook, f, ARGUMENTS);
	default:
		return birth(&hook, f, ARGUMENTS);
	}
}

/* Thunks. */

#define ONES(X, t) X(t##0) X(t##1) X(t##2) X(t##3) X(t##4) X(t##5) X(t##6) X(t##7) X(t##8) X(t##9)
#define ALL(X)	   ONES(X, ) ONES(X, 1) ONES(X, 2) X(30) X(31)

static RECORDED uintptr_t call(WORDS, unsigned number)
{
	return unlikely(shim_hook(DOOR_ALL)) ? call_recorded(ARGUMENTS, number)
				     : bound[number].next(ARGUMENTS);
}

#define DEFINE(n)                                                                                  \
	static uintptr_t thunk_##n(WORDS)                                                          \
	{                                                                                          \
		return call(ARGUMENTS, n);                                                         \
	}
#define NAME(n) thunk_##n,

ALL(DEFINE)

static uintptr_t (*const thunks[THUNKS])(WORDS) = {ALL(NAME)};

/* Called by one thread at a time (imports.c). */
uintptr_t allocators_hook(const char *name, uintptr_t definition)
{
	bool heap;
	const struct function *function = find(name, &heap);
	unsigned i = 0;

	while (i < THUNKS && bound[i].next && (uintptr_t)bound[i].next != definition)
		i++;
	if (i == THUNKS || !function)
		return 0;
	if (!bound[i].next) {
		bound[i].kind = function->kind;
		bound[i].shape = function->shape;
		bound[i].heap = heap;
		next_add_allocator(definition);
		__atomic_store_n(&bound[i].next, (uintptr_t(*)(WORDS))definition, __ATOMIC_RELEASE);
	}
	return (uintptr_t)thunks[i];
}

/* Their importers are gone with them: the loader unloads what nobody needs. */
void allocators_forget(void)
{
	for (unsigned i = 0; i < THUNKS; i++)
		if (bound[i].next &&
		    !symbols_together((uintptr_t)bound[i].next, (uintptr_t)bound[i].next))
			__atomic_store_n(&bound[i].next, NULL, __ATOMIC_RELEASE);
}
