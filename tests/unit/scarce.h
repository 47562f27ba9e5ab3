#pragma once
/*
 * Memory that runs out: scarce_each does a thing again and again, and each time another one of its
 * allocations fails; with scarce_lasting, all that follow fail, too. A program whose name begins
 * with "scarce" is linked so that what it is made of allocates here (tests/unit/CMakeLists.txt).
 */
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SCARCE_MOST 100000 /* allocations of one thing */

/* For scarce_some, where a thing takes long. Sanitizers take many times as long: some of its
 * allocations are left to the optimised build. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SCARCE_STEP 61
#else
#define SCARCE_STEP 1
#endif

/* How many allocations until one fails; above SCARCE_MOST: none does. */
static atomic_long scarce_left = 2 * SCARCE_MOST;
static atomic_bool scarce_lasts; /* those that follow fail, too */

static inline bool scarce_fails(void)
{
	long left;

	if (atomic_load(&scarce_left) > SCARCE_MOST)
		return false;
	left = atomic_fetch_sub(&scarce_left, 1);
	if (left > 1 || (left < 1 && !atomic_load(&scarce_lasts)))
		return false;
	errno = ENOMEM;
	return true;
}

#define SCARCE(type, name, parameters, arguments)                                                  \
	type __real_##name parameters;                                                             \
	type __wrap_##name parameters;                                                             \
	type __wrap_##name parameters                                                              \
	{                                                                                          \
		return scarce_fails() ? NULL : __real_##name arguments;                            \
	}
SCARCE(void *, malloc, (size_t size), (size))
SCARCE(void *, calloc, (size_t count, size_t size), (count, size))
SCARCE(void *, realloc, (void *old, size_t size), (old, size))
SCARCE(void *, reallocarray, (void *old, size_t count, size_t size), (old, count, size))
SCARCE(void *, aligned_alloc, (size_t alignment, size_t size), (alignment, size))
SCARCE(char *, strdup, (const char *text), (text))
SCARCE(char *, strndup, (const char *text, size_t length), (text, length))
#undef SCARCE

/* There is memory again, for what the test does next. */
static inline void scarce_over(void)
{
	if (atomic_load(&scarce_left) <= 0)
		atomic_store(&scarce_left, LONG_MAX);
}

/* No more allocations fail. Tells whether one has. */
static inline bool scarce_stop(void)
{
	long left = atomic_exchange(&scarce_left, 2 * SCARCE_MOST);

	return left <= 0 || left == LONG_MAX;
}

/*
 * Calls `what(context)` again and again and lets the first allocation fail, then the one `step`
 * behind it, and so on, until there is none that could. `what` returns 0 if all was done and is
 * right, which it checks itself, or -ENOMEM. Returns how many times it was -ENOMEM.
 */
static inline unsigned scarce_some(int (*what)(void *context), void *context, long step)
{
	unsigned failed = 0;
	bool reached = true;

	for (long n = 1; reached; n += step) {
		int r;

		atomic_store(&scarce_left, n);
		r = what(context);
		reached = scarce_stop();
		assert_true(n < SCARCE_MOST);
		if (r && (r != -ENOMEM || !reached))
			fail_msg("allocation %ld%s fails: %s", n,
				 atomic_load(&scarce_lasts) ? " and all behind it" : "",
				 strerror(-r));
		failed += r != 0;
	}
	return failed;
}

static inline unsigned scarce_each(int (*what)(void *context), void *context)
{
	return scarce_some(what, context, 1);
}

/* As scarce_some, but all allocations behind the one that fails do so, too. */
static inline unsigned scarce_lasting(int (*what)(void *context), void *context, long step)
{
	unsigned failed;

	atomic_store(&scarce_lasts, true);
	failed = scarce_some(what, context, step);
	atomic_store(&scarce_lasts, false);
	return failed;
}
