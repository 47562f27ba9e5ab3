#pragma once
/*
 * The shim's system calls. They are raw, because a wrapper in libc may be a cancellation point or
 * may be interposed. They preserve errno. Each returns the result or a negative errno. A call that
 * the program has forbidden itself is not made (strict.h): the result is -EPERM.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

/* 32-bit processors have a second mmap, whose offset counts pages. musl has its own name for the
 * clock with 32-bit times. */
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
/* Does the same for up to three arguments, which suffice for most calls. Each call that passes six
 * costs code size. */
long sys_call3(long number, long a, long b, long c);

#define sys_call(...)                                                                              \
	SYS_PICK(__VA_ARGS__, SYS_6, SYS_6, SYS_6, SYS_3, SYS_3, SYS_3, SYS_3, )                   \
	(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0)
#define SYS_PICK(number, a, b, c, d, e, f, picked, ...) picked
#define SYS_3(number, a, b, c, ...)			sys_call3((number), (long)(a), (long)(b), (long)(c))
#define SYS_6(number, a, b, c, d, e, f, ...)                                                       \
	sys_call6((number), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

/* Maps the beginning of a descriptor, or anonymous memory (fd -1), at this address or at one that
 * the kernel chooses. Returns NULL if the kernel refuses. */
void *sys_map(void *at, size_t size, int protection, int flags, int fd);

/*
 * Reserves address space of this kind; nothing can touch it before sys_open. Returns NULL if the
 * kernel refuses. After mlockall(MCL_FUTURE) the kernel makes all later mappings resident and locks
 * them. To avoid that, and not to exceed the program's limit of locked memory, this function maps
 * one page, unlocks it, and then grows it to its full size.
 */
void *sys_space(size_t size, int flags, int fd);
/* Makes whole pages readable and writable. The kernel allocates each when it is touched. Returns 0
 * or a negative errno. */
int sys_open(void *at, size_t size);

/* Returns zeroed private memory, page-aligned and never freed, or NULL. Where mapping is refused,
 * the memory comes from the reserve. */
void *sys_pages(size_t size);

/* Maps the reserve, once. */
void sys_reserve(void);

/* Waits until all calls that other threads have begun are over, at most for this time. The caller
 * has just refused further calls to these threads. This wait is allowed even if the caller's own
 * calls are refused. */
void sys_await_calls(unsigned milliseconds);

/* Reads a small file whole. Returns the number of bytes read, at most `size`, or a negative
 * errno. */
long sys_read_file(const char *path, char *buffer, size_t size);

/* Gets the inode of an open descriptor. Returns 0 or a negative errno. */
int sys_inode(int fd, uint64_t *ret_inode);

/* Sleeps until *word differs from `value`, a wake-up or a signal arrives, or the time is over.
 * Works across processes. */
void sys_futex_wait(const uint32_t *word, uint32_t value, unsigned microseconds);
void sys_futex_wake(uint32_t *word);

/* Returns the end of the readable memory that starts at `from`: the address of the first
 * unreadable page, or an address not below `to`. It writes nothing, and uses only the futex call
 * from above. */
uint64_t sys_readable(uint64_t from, uint64_t to);

/* Sleeps for this time, or less if a signal arrives. */
void sys_sleep_us(unsigned microseconds);
static inline void sys_sleep_ms(unsigned milliseconds)
{
	sys_sleep_us(1000 * milliseconds);
}

/* Returns CLOCK_MONOTONIC, without a system call if the vdso has it. If the clock is refused, the
 * result is a substitute that advances while threads wait. */
uint64_t sys_monotonic_ns(void);
