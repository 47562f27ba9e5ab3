/* System calls without libc's wrappers; see sys.h. */
#include "agent/preload/system/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/stat.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "agent/preload/record/strict.h"

#include "agent/preload/poison.h"

#define RESERVE_BYTES (8ul << 20) /* enough for a dozen new threads */
#define US_PER_MS     1000u

/* The argument of the old futex and sleep calls on every Linux: two machine words. */
struct sys_timespec {
	long seconds;
	long nanoseconds;
};

static struct sys_timespec timespec_of_us(unsigned microseconds)
{
	return (struct sys_timespec){.seconds = microseconds / 1000000,
				     .nanoseconds = (long)(microseconds % 1000000) * 1000};
}

/* Number of calls under way. A thread that refuses calls to other threads waits for them to end. A
 * call that is left by a jump out of a signal handler stays counted. */
static uint32_t under_way;

static long call(long number, long a, long b, long c, long d, long e, long f)
{
	int saved = errno;
	long result = syscall(number, a, b, c, d, e, f);

	if (result == -1)
		result = -errno;
	errno = saved;
	return result;
}

static uint32_t class_of(long number)
{
	switch (number) {
	case SYS_futex:
		return CALLS_WAIT;
	case CALL_MMAP:
	case SYS_mprotect:
	case SYS_mremap:
		return CALLS_MEMORY;
	case SYS_gettid:
	case SYS_getpid:
	case SYS_sched_getscheduler:
		return CALLS_NUMBERS;
	case SYS_sigaltstack:
		return CALLS_STACK;
	case CALL_CLOCK:
		return CALLS_CLOCK;
	case SYS_getcwd:
	case SYS_readlinkat:
		return CALLS_FILES;
	case SYS_pwrite64:
		return CALLS_CODE;
	case SYS_munlock:
	case SYS_kill:
		return CALLS_REST;
	}
	return CALLS_START;
}

long sys_call6(long number, long a, long b, long c, long d, long e, long f)
{
	uint32_t refused;
	long result = -EPERM;

	__atomic_fetch_add(&under_way, 1, __ATOMIC_SEQ_CST);
	refused = strict_refused();
	if (likely(!refused) || !(refused & class_of(number)))
		result = call(number, a, b, c, d, e, f);
	__atomic_fetch_sub(&under_way, 1, __ATOMIC_SEQ_CST);
	return result;
}

void sys_await_calls(unsigned milliseconds)
{
	static const uint32_t never;
	const struct sys_timespec piece = timespec_of_us(US_PER_MS);

	while (milliseconds-- && __atomic_load_n(&under_way, __ATOMIC_SEQ_CST))
		call(SYS_futex, (long)&never, FUTEX_WAIT, 0, (long)&piece, 0, 0);
}

__attribute__((noinline)) long sys_call3(long number, long a, long b, long c)
{
	return sys_call6(number, a, b, c, 0, 0, 0);
}

/* Recognises errors as the last 4095 addresses, where the kernel never maps memory. */
void *sys_map(void *at, size_t size, int protection, int flags, int fd)
{
	long result = sys_call(CALL_MMAP, at, size, protection, flags, fd, 0);

	return (unsigned long)result >= -4095ul ? NULL : (void *)result;
}

void *sys_space(size_t size, int flags, int fd)
{
	size_t page = (size_t)getpagesize();
	void *at = sys_map(NULL, page, PROT_NONE, flags, fd);
	long grown;

	if (!at)
		return NULL;
	sys_call(SYS_munlock, at, page);
	grown = sys_call(SYS_mremap, at, page, size, MREMAP_MAYMOVE);
	if ((unsigned long)grown < -4095ul)
		return (void *)grown;
	sys_call(SYS_munmap, at, page);
	return NULL;
}

int sys_open(void *at, size_t size)
{
	return (int)sys_call(SYS_mprotect, at, size, PROT_READ | PROT_WRITE);
}

static uintptr_t reserve_at, reserve_end;

static void *reserved_pages(size_t size)
{
	uintptr_t end = __atomic_load_n(&reserve_end, __ATOMIC_ACQUIRE);
	uintptr_t at = __atomic_load_n(&reserve_at, __ATOMIC_RELAXED);

	size = (size + 4095) & ~(size_t)4095;
	do
		if (size > end - at)
			return NULL;
	while (!__atomic_compare_exchange_n(&reserve_at, &at, at + size, true, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED));
	return (void *)at;
}

void *sys_pages(size_t size)
{
	void *at;

	if (unlikely(strict_refuses(CALLS_MEMORY)))
		return reserved_pages(size);
	at = sys_space(size, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
	return at && !sys_open(at, size) ? at : NULL;
}

/* Uses sys_space, so that the reserve does not become resident in a program that locks all mappings
 * (mlockall). */
void sys_reserve(void)
{
	void *memory;

	if (reserve_end)
		return;
	memory = sys_space(RESERVE_BYTES, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
	if (!memory || sys_open(memory, RESERVE_BYTES) < 0)
		return;
	reserve_at = (uintptr_t)memory;
	__atomic_store_n(&reserve_end, (uintptr_t)memory + RESERVE_BYTES, __ATOMIC_RELEASE);
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

/* Uses statx (Linux 4.11), because its struct is the same on every processor. */
int sys_inode(int fd, uint64_t *ret_inode)
{
	struct statx status;
	long error = sys_call(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_INO, &status);

	if (error < 0)
		return (int)error;
	*ret_inode = status.stx_ino;
	return status.stx_mask & STATX_INO ? 0 : -ENODATA;
}

/* Time that all threads have waited; the substitute clock of a process that may read no clock. */
static uint64_t waited_us;

void sys_futex_wait(const uint32_t *word, uint32_t value, unsigned microseconds)
{
	struct sys_timespec timeout = timespec_of_us(microseconds);
	bool whole = sys_call(SYS_futex, word, FUTEX_WAIT, value, &timeout) == -ETIMEDOUT;

	__atomic_fetch_add(&waited_us, whole || microseconds < US_PER_MS ? microseconds : US_PER_MS,
			   __ATOMIC_RELAXED);
}

void sys_futex_wake(uint32_t *word)
{
	sys_call(SYS_futex, word, FUTEX_WAKE, 1);
}

/* A value that words on a stack seldom have (unlike 0). If the value matches, the wait yields the
 * processor, even with a zero timeout. */
#define UNLIKELY_WORD 0x8f1d35b7u

/* Probes by a futex wait with a zero timeout: the kernel reads the word first, and returns EFAULT
 * if it cannot. If the call is refused, the rest of the page counts as readable, because `from` is
 * on a stack in use. At the start of a page nothing counts as readable, because the page before it
 * may be the last. */
uint64_t sys_readable(uint64_t from, uint64_t to)
{
	struct sys_timespec none = {0};

	if (unlikely(strict_refuses(CALLS_WAIT)))
		return from < to && from & 4095 ? (from | 4095) + 1 : from;
	while (from < to && sys_call(SYS_futex, (uintptr_t)from & ~(uintptr_t)3, FUTEX_WAIT_PRIVATE,
				     UNLIKELY_WORD, &none) != -EFAULT)
		from = (from | 4095) + 1; /* a page, or a part of one */
	return from;
}

/* Sleeps on a futex that is never woken, because futex is the call for waiting that a program's
 * seccomp filter most likely allows. */
void sys_sleep_us(unsigned microseconds)
{
	static const uint32_t never;

	sys_futex_wait(&never, 0, microseconds);
}

/* Gets the time by a system call, because the vdso reads the counter, which may be forbidden. If
 * the call is refused, returns the substitute. */
static uint64_t asked_ns(void)
{
	struct sys_timespec now;

	if (sys_call(CALL_CLOCK, CLOCK_MONOTONIC, &now) < 0)
		return __atomic_load_n(&waited_us, __ATOMIC_RELAXED) * 1000u;
	return (uint64_t)now.seconds * 1000000000u + (uint64_t)now.nanoseconds;
}

uint64_t sys_monotonic_ns(void)
{
	struct timespec now;
	int saved = errno;

	if (unlikely(shim.stamps == STAMPS_TICKS || strict_refuses(CALLS_CLOCK)))
		return asked_ns();
	clock_gettime(CLOCK_MONOTONIC, &now);
	errno = saved;
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
