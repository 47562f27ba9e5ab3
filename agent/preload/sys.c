/* System calls without libc's wrappers; see sys.h. */
#include "agent/preload/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/stat.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "agent/preload/poison.h"

/* 32-bit processors have a second mmap, whose offset counts pages. */
#ifdef SYS_mmap2
#define CALL_MMAP SYS_mmap2
#else
#define CALL_MMAP SYS_mmap
#endif

/* What the old futex and sleep calls take on every Linux: two words of the machine. */
struct sys_timespec {
	long seconds;
	long nanoseconds;
};

static struct sys_timespec timespec_of_us(unsigned microseconds)
{
	return (struct sys_timespec){.seconds = microseconds / 1000000,
				     .nanoseconds = (long)(microseconds % 1000000) * 1000};
}

long sys_call6(long number, long a, long b, long c, long d, long e, long f)
{
	int saved = errno;
	long result = syscall(number, a, b, c, d, e, f);

	if (result == -1)
		result = -errno;
	errno = saved;
	return result;
}

__attribute__((noinline)) long sys_call3(long number, long a, long b, long c)
{
	return sys_call6(number, a, b, c, 0, 0, 0);
}

/* A negative errno is among the last 4095 addresses, which nobody gets. */
void *sys_map(void *at, size_t size, int protection, int flags, int fd)
{
	long result = sys_call(CALL_MMAP, at, size, protection, flags, fd, 0);

	return (unsigned long)result >= -4095ul ? NULL : (void *)result;
}

void *sys_pages(size_t size)
{
	return sys_map(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
}

long sys_read_file(const char *path, char *buffer, size_t size)
{
	long fd = sys_call(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	size_t length = 0;
	long got = 0;

	if (fd < 0)
		return fd;
	while (length < size) {
		got = sys_call(SYS_read, fd, buffer + length, size - length);
		if (got == -EINTR)
			continue;
		if (got <= 0)
			break;
		length += (size_t)got;
	}
	sys_call(SYS_close, fd);
	return got < 0 ? got : (long)length;
}

/* statx (Linux 4.11): its struct is the same on every processor. */
int sys_inode(int fd, uint64_t *ret_inode)
{
	struct statx status;
	long error = sys_call(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_INO, &status);

	if (error < 0)
		return (int)error;
	*ret_inode = status.stx_ino;
	return status.stx_mask & STATX_INO ? 0 : -ENODATA;
}

void sys_futex_wait(const uint32_t *word, uint32_t value, unsigned microseconds)
{
	struct sys_timespec timeout = timespec_of_us(microseconds);

	sys_call(SYS_futex, word, FUTEX_WAIT, value, &timeout);
}

void sys_futex_wake(uint32_t *word)
{
	sys_call(SYS_futex, word, FUTEX_WAKE, 1);
}

#define UNLIKELY_WORD                                                                              \
	0x8f1d35b7u /* words of a stack are often 0, and even a wait for no time gives the processor away */

/* A wait for no time: the kernel reads the word first, and says EFAULT if it can't. */
uint64_t sys_readable(uint64_t from, uint64_t to)
{
	struct sys_timespec none = {0};

	while (from < to && sys_call(SYS_futex, (uintptr_t)from & ~(uintptr_t)3, FUTEX_WAIT_PRIVATE,
				     UNLIKELY_WORD, &none) != -EFAULT)
		from = (from | 4095) + 1; /* a page, or a part of one */
	return from;
}

/* Through a futex that nobody wakes: a program under seccomp allows this call if any. */
void sys_sleep_us(unsigned microseconds)
{
	static const uint32_t never;

	sys_futex_wait(&never, 0, microseconds);
}

uint64_t sys_monotonic_ns(void)
{
	struct timespec now;
	int saved = errno;

	clock_gettime(CLOCK_MONOTONIC, &now);
	errno = saved;
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
