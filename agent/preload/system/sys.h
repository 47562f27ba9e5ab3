#pragma once
/*
 * System calls as the shim makes them: raw (a wrapper of libc may be a cancellation point, or be
 * interposed by somebody else), and without a trace in errno. Each returns the result, or a
 * negative errno. What the program has forbidden itself is not called (strict.h): the result is
 * -EPERM.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

/* 32-bit processors have a second mmap, whose offset counts pages; and musl its own name for the
 * clock of so many bits. */
#ifdef SYS_mmap2
#define CALL_MMAP SYS_mmap2
#else
#define CALL_MMAP SYS_mmap
#endif
#ifdef SYS_clock_gettime32
#define CALL_CLOCK SYS_clock_gettime32
#else
#define CALL_CLOCK SYS_clock_gettime
#endif

long sys_call6(long number, long a, long b, long c, long d, long e, long f);
/* The same where three words do: most calls take no more, and each that is written out takes
 * room. */
long sys_call3(long number, long a, long b, long c);

#define sys_call(...)                                                                              \
	SYS_PICK(__VA_ARGS__, SYS_6, SYS_6, SYS_6, SYS_3, SYS_3, SYS_3, SYS_3, )                   \
	(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0)
#define SYS_PICK(number, a, b, c, d, e, f, picked, ...) picked
#define SYS_3(number, a, b, c, ...)			sys_call3((number), (long)(a), (long)(b), (long)(c))
#define SYS_6(number, a, b, c, d, e, f, ...)                                                       \
	sys_call6((number), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

/* mmap of a descriptor's beginning, or of nothing (fd -1), at this address or where the kernel
 * likes; NULL: refused. */
void *sys_map(void *at, size_t size, int protection, int flags, int fd);

/*
 * Address space of that kind, which nobody can touch yet (sys_open); NULL: refused. A program that
 * has called mlockall(MCL_FUTURE) has all of what is mapped later brought in at once, and kept
 * there; not this. It is mapped as one page, so that the program's limit of locked memory is not
 * met for it, unlocked, and made as large as it is to be.
 */
void *sys_space(size_t size, int flags, int fd);
/* From here on it may be read and written, whole pages. Each is brought in when it is touched. 0 or
 * a negative errno. */
int sys_open(void *at, size_t size);

/* Zeroed private memory, page-aligned, never given back; NULL: none to be had. Out of the reserve,
 * where mapping is refused. */
void *sys_pages(size_t size);

/* Maps that reserve, once. */
void sys_reserve(void);

/* Until all calls that threads have begun are over, or for so long: they were refused more. This
 * thread may still wait, though it is refused, too. */
void sys_await_calls(unsigned milliseconds);

/* The whole of a small file: bytes read, at most `size`; or a negative errno. */
long sys_read_file(const char *path, char *buffer, size_t size);

/* The inode of what a descriptor is open on: 0, or a negative errno. */
int sys_inode(int fd, uint64_t *ret_inode);

/* Sleeps until *word differs from `value`, a wake-up, a signal, or the time is over. Works across
 * processes. */
void sys_futex_wait(const uint32_t *word, uint32_t value, unsigned microseconds);
void sys_futex_wake(uint32_t *word);

/* How far memory can be read from `from` on: the first page that can't be, or one not below `to`.
 * Nothing is written, and the kernel is asked by no other call than above. */
uint64_t sys_readable(uint64_t from, uint64_t to);

/* Sleeps, or less if a signal comes. */
void sys_sleep_us(unsigned microseconds);
static inline void sys_sleep_ms(unsigned milliseconds)
{
	sys_sleep_us(1000 * milliseconds);
}

/* CLOCK_MONOTONIC without a system call where the vdso has it. Where that is refused: a clock that
 * goes on while somebody waits. */
uint64_t sys_monotonic_ns(void);
