#pragma once
/*
 * A disk that fails: failing_each does a thing again and again, and each time another one of its
 * calls for files fails. A program whose name begins with "failing" is linked so that what it is
 * made of calls these (tests/unit/CMakeLists.txt). What closes, removes and asks whether there is a
 * file does not fail.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define FAILING_MOST 100000 /* calls of one thing */

/* How many calls until one fails; above FAILING_MOST: none does. */
static atomic_long failing_left = 2 * FAILING_MOST;
static const char *failing_name; /* that failed last */
static atomic_bool failing_write;

static inline bool failing_now(const char *name)
{
	if (atomic_load(&failing_left) > FAILING_MOST || atomic_fetch_sub(&failing_left, 1) != 1)
		return false;
	failing_name = name;
	errno = EIO;
	return true;
}

#define FAILING(type, name, parameters, arguments, failed)                                         \
	type __real_##name parameters;                                                             \
	type __wrap_##name parameters;                                                             \
	type __wrap_##name parameters                                                              \
	{                                                                                          \
		return failing_now(#name) ? failed : __real_##name arguments;                      \
	}
/* A write that fails takes a part first: the next one fails wholly. */
#define FAILING_WRITE(name, parameters, part, whole)                                               \
	ssize_t __real_##name parameters;                                                          \
	ssize_t __wrap_##name parameters;                                                          \
	ssize_t __wrap_##name parameters                                                           \
	{                                                                                          \
		if (failing_now(#name)) {                                                          \
			atomic_store(&failing_write, true);                                        \
			if (size > 1)                                                              \
				return __real_##name part;                                         \
		}                                                                                  \
		if (!atomic_exchange(&failing_write, false))                                       \
			return __real_##name whole;                                                \
		errno = EIO;                                                                       \
		return -1;                                                                         \
	}
FAILING_WRITE(write, (int fd, const void *from, size_t size), (fd, from, size / 2),
	      (fd, from, size))
FAILING_WRITE(pwrite, (int fd, const void *from, size_t size, off_t at), (fd, from, size / 2, at),
	      (fd, from, size, at))
#undef FAILING_WRITE
FAILING(ssize_t, read, (int fd, void *to, size_t size), (fd, to, size), -1)
FAILING(ssize_t, pread, (int fd, void *to, size_t size, off_t at), (fd, to, size, at), -1)
FAILING(int, fstat, (int fd, struct stat *st), (fd, st), -1)
FAILING(int, fsync, (int fd), (fd), -1)
FAILING(int, fdatasync, (int fd), (fd), -1)
FAILING(int, ftruncate, (int fd, off_t length), (fd, length), -1)
FAILING(int, posix_fallocate, (int fd, off_t at, off_t length), (fd, at, length), EIO)
FAILING(int, mkdir, (const char *path, mode_t mode), (path, mode), -1)
FAILING(int, rename, (const char *from, const char *to), (from, to), -1)
FAILING(void *, mmap, (void *at, size_t length, int protection, int flags, int fd, off_t offset),
	(at, length, protection, flags, fd, offset), MAP_FAILED)
#undef FAILING

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
	va_list more;
	mode_t mode;

	va_start(more, flags);
	mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
	va_end(more);
	return failing_now("open") ? -1 : __real_open(path, flags, mode);
}

/* No more calls fail. Tells whether one has. */
static inline bool failing_stop(void)
{
	atomic_store(&failing_write, false);
	return atomic_exchange(&failing_left, 2 * FAILING_MOST) <= 0;
}

/* Tells whether this call has failed. */
static inline bool failing_was(const char *name)
{
	return atomic_load(&failing_left) <= 0 && !strcmp(failing_name, name);
}

/*
 * Calls `what(context)` again and again and lets the first call fail, then the one `step` behind
 * it, and so on, until there is none that could. `what` returns 0 if all was done and is right,
 * which it checks itself, or what went wrong, below 0. Returns how many times it did.
 */
static inline unsigned failing_some(int (*what)(void *context), void *context, long step)
{
	unsigned failed = 0;
	bool reached = true;

	for (long n = 1; reached; n += step) {
		int r;

		atomic_store(&failing_left, n);
		r = what(context);
		reached = failing_stop();
		assert_true(n < FAILING_MOST);
		if (r > 0 || (r && !reached))
			fail_msg("call %ld, %s, fails: %d", n, failing_name, r);
		failed += r != 0;
	}
	return failed;
}

static inline unsigned failing_each(int (*what)(void *context), void *context)
{
	return failing_some(what, context, 1);
}

/* How many calls there are that could fail. */
static inline long failing_calls(int (*what)(void *context), void *context)
{
	long left;

	atomic_store(&failing_left, FAILING_MOST);
	assert_int_equal(what(context), 0);
	left = atomic_load(&failing_left);
	failing_stop();
	return FAILING_MOST - left;
}
