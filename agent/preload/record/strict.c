/* Handles programs that forbid themselves system calls; see strict.h. */
#include "agent/preload/record/strict.h"

#include <errno.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "agent/preload/system/clock.h"
#include "agent/preload/record/filter.h"
#include "agent/preload/modules/modules.h"
#include "agent/preload/record/note.h"
#include "agent/preload/record/slice.h"
#include "agent/preload/start/spawn.h"
#include "agent/preload/system/symbols.h"
#include "agent/preload/system/sys.h"
#include "agent/preload/record/thread.h"

#include "agent/preload/poison.h"

/* In units of stamps; more than the lead of a stamp that another thread takes from the clock. */
#define AHEAD	    8192
#define CALLS_MS    50 /* longest wait for other threads' calls under way */
#define STATUS_SIZE 4096
/* Arguments of syscall after the number. They are more than any call takes, so that all registers
 * are kept. */
#define WORDS_OF_CALL  long a, long b, long c, long d, long e, long f, long g
#define ARGUMENTS_CALL a, b, c, d, e, f, g

/* Stamps. */

static void strict_tell(struct ring_header *ring, uint32_t what)
{
	__atomic_fetch_or(&ring->strict, what, __ATOMIC_SEQ_CST);
}

/* Makes all stamps come from the ring from here on. Earlier stamps are not above `reached`. */
static void share_stamps(struct ring_header *ring, uint64_t reached)
{
	uint64_t tick;

	if (ring) {
		tick = __atomic_load_n(&ring->tick, __ATOMIC_RELAXED);
		while (tick < reached &&
		       !__atomic_compare_exchange_n(&ring->tick, &tick, reached, true,
						    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
			;
		strict_tell(ring, RING_STRICT_TICKS | RING_STRICT_POLLED);
	}
	__atomic_store_n(&shim.stamps, STAMPS_TICKS, __ATOMIC_SEQ_CST);
}

static void leave_clock(struct ring_header *ring)
{
	if (__atomic_load_n(&shim.stamps, __ATOMIC_RELAXED) != STAMPS_TICKS)
		share_stamps(ring, stamp_now() + AHEAD);
}

/* The restrictions that the program is about to set. */

struct wish {
	uint32_t calls; /* enum calls refused to this thread */
	bool all;	/* or to all threads */
	bool counter;	/* reading the counter */
	/* A positive result is a descriptor, not the id of a thread that could not be
	 * synchronised. */
	bool waits;
	const struct sock_fprog *filter;
};

static struct wish wish_of_prctl(int option, long a, long b)
{
	struct wish wish = {0};

	if (option == PR_SET_SECCOMP && a == SECCOMP_MODE_STRICT)
		wish = (struct wish){.calls = CALLS_EVERY, .counter = true};
	else if (option == PR_SET_SECCOMP && a == SECCOMP_MODE_FILTER)
		wish.filter = (const struct sock_fprog *)b;
	else if (option == PR_SET_TSC)
		wish.counter = a == PR_TSC_SIGSEGV;
	return wish;
}

static struct wish wish_of_seccomp(long operation, long flags, long argument)
{
	struct wish wish = {0};

	if (operation == SECCOMP_SET_MODE_STRICT)
		wish = (struct wish){.calls = CALLS_EVERY, .counter = true};
	if (operation != SECCOMP_SET_MODE_FILTER)
		return wish;
	wish.filter = (const struct sock_fprog *)argument;
	wish.all = flags & SECCOMP_FILTER_FLAG_TSYNC;
	wish.waits = flags & SECCOMP_FILTER_FLAG_NEW_LISTENER;
	return wish;
}

static bool readable(const void *p, size_t size)
{
	return size && sys_readable((uintptr_t)p, (uintptr_t)p + size) >= (uintptr_t)p + size;
}

/* Returns true if the filter can be read. Programs pass an unreadable filter to probe whether the
 * kernel supports filters. */
static bool can_be_run(const struct sock_fprog *filter)
{
	return readable(filter, sizeof(*filter)) &&
	       readable(filter->filter, filter->len * sizeof(*filter->filter));
}

/* Returns true in another process in this memory, as vfork creates it, which restricts only itself.
 */
static bool is_other_process(const struct ring_header *ring)
{
	return ring && !strict_refuses(CALLS_NUMBERS) &&
	       (uint32_t)sys_call(SYS_getpid) != ring->pid;
}

/* Does the work that will be forbidden later: announces the modules, maps the reserve, wakes the
 * agent. */
static void strict_prepare(struct ring_header *ring, uint32_t calls)
{
	if (calls & CALLS_WAIT && !tls.frame) {
		guard_set(FRAME);
		modules_refresh();
		guard_clear();
	}
	if (calls & CALLS_MEMORY)
		sys_reserve();
	if (calls & CALLS_WAIT)
		strict_tell(ring, RING_STRICT_POLLED);
	slice_doorbell();
}

/* The previous restrictions, to be restored if the call fails. */
struct before {
	uint32_t all, to_new;
	uint16_t here;
};

static void forbid_calls(struct ring_header *ring, uint32_t calls, bool all)
{
	bool late = strict_refuses(CALLS_WAIT);

	if (ring)
		strict_prepare(ring, calls & ~strict_refused());
	if (calls & CALLS_CLOCK && __atomic_load_n(&shim.stamps, __ATOMIC_RELAXED) == STAMPS_SYSTEM)
		leave_clock(ring);
	tls.refused |= (uint16_t)calls;
	if (all)
		__atomic_fetch_or(&shim.refused, tls.refused, __ATOMIC_SEQ_CST);
	__atomic_fetch_or(&shim.refused_new, tls.refused, __ATOMIC_SEQ_CST);
	__atomic_fetch_add(&shim.control, 1, __ATOMIC_RELEASE); /* makes each thread look */
	if (all && !late)
		sys_await_calls(CALLS_MS);
}

/* Returns the calls that the filter refuses. Examines no filter if the probe for readable memory is
 * refused. */
static uint32_t refused_by(const struct sock_fprog *filter)
{
	if (strict_refuses(CALLS_WAIT))
		return CALLS_EVERY;
	return can_be_run(filter) ? filter_refuses(filter) : 0;
}

static struct before forbid(struct wish *wish)
{
	struct ring_header *ring = __atomic_load_n(&shim_page.ring, __ATOMIC_ACQUIRE);
	struct before before = {__atomic_load_n(&shim.refused, __ATOMIC_RELAXED),
				__atomic_load_n(&shim.refused_new, __ATOMIC_RELAXED), tls.refused};

	if (is_other_process(ring))
		return before;
	if (wish->filter)
		wish->calls = refused_by(wish->filter);
	if (wish->all) /* all threads get this thread's earlier restrictions, too */
		wish->calls |= strict_refused();
	if (wish->counter)
		leave_clock(ring);
	if (wish->calls)
		forbid_calls(ring, wish->calls, wish->all);
	return before;
}

static void strict_take_back(struct before before)
{
	tls.refused = before.here;
	__atomic_store_n(&shim.refused, before.all, __ATOMIC_SEQ_CST);
	__atomic_store_n(&shim.refused_new, before.to_new, __ATOMIC_SEQ_CST);
}

/* Handles the result of the call. If the call failed, stamps still continue to come from the ring.
 */
static void done(const struct wish *wish, struct before before, long result)
{
	struct ring_header *ring = __atomic_load_n(&shim_page.ring, __ATOMIC_ACQUIRE);

	if (result < 0 || (result > 0 && wish->all && !wish->waits)) {
		if (wish->calls)
			strict_take_back(before);
	} else if (wish->filter) {
		__atomic_fetch_add(&shim.filters, 1, __ATOMIC_RELAXED);
		if (ring)
			__atomic_store_n(&ring->filters, shim.filters, __ATOMIC_RELEASE);
	}
}

/* The interposed functions. Initially they point to functions that look up the next definition,
 * because some constructors run before this library's. The lookup does not ask the loader
 * (mappings.c says why). */

struct real {
	long (*syscall)(long number, WORDS_OF_CALL);
	int (*prctl)(int option, long a, long b, long c, long d);
};

static struct real real;

static long strict_missing(void)
{
	errno = ENOSYS;
	return -1;
}

static RECORDED void find(void)
{
	int saved = errno;
	uintptr_t found = symbols_find_next("syscall", &real);

	real.syscall = (__typeof__(real.syscall))(found ? found : (uintptr_t)strict_missing);
	found = symbols_find_next("prctl", &real);
	real.prctl = (__typeof__(real.prctl))(found ? found : (uintptr_t)strict_missing);
	errno = saved;
}

static long first_syscall(long number, WORDS_OF_CALL)
{
	find();
	return real.syscall(number, ARGUMENTS_CALL);
}

static int first_prctl(int option, long a, long b, long c, long d)
{
	find();
	return real.prctl(option, a, b, c, d);
}

static struct real real = {.syscall = first_syscall, .prctl = first_prctl};

/* Both may pass on more or fewer arguments than they are given, as libc's variadic functions do:
 * the words are in registers and on the stack, in the places of a function with this many
 * parameters. */
long strict_syscall(long number, WORDS_OF_CALL) __asm__("syscall");
int strict_prctl(int option, long a, long b, long c, long d) __asm__("prctl");

static RECORDED long syscall_watched(long number, WORDS_OF_CALL)
{
	struct wish wish =
		number == SYS_prctl ? wish_of_prctl((int)a, b, c) : wish_of_seccomp(a, b, c);
	struct before before;
	long result;

	if (!wish.calls && !wish.counter && !wish.filter)
		return real.syscall(number, ARGUMENTS_CALL);
	before = forbid(&wish);
	result = real.syscall(number, ARGUMENTS_CALL);
	done(&wish, before, result);
	return result;
}

/* The call is a jump that leaves all words in place: a system call may return twice (clone), or
 * take one more word (32-bit processors). */
EXPORT long strict_syscall(long number, WORDS_OF_CALL)
{
	if (unlikely(number == SYS_prctl || number == SYS_seccomp))
		return syscall_watched(number, ARGUMENTS_CALL);
	return real.syscall(number, ARGUMENTS_CALL);
}

EXPORT int strict_prctl(int option, long a, long b, long c, long d)
{
	struct wish wish = wish_of_prctl(option, a, b);
	struct before before;
	int result;

	if (likely(!wish.calls && !wish.counter && !wish.filter))
		return real.prctl(option, a, b, c, d);
	before = forbid(&wish);
	result = real.prctl(option, a, b, c, d);
	done(&wish, before, result);
	return result;
}

/* glibc's name of prctl where time_t has 64 bits and words have 32. */
#if __SIZEOF_LONG__ == 4
int strict_prctl_time64(int option, long a, long b, long c, long d) __asm__("__prctl_time64");

EXPORT int strict_prctl_time64(int option, long a, long b, long c, long d)
{
	return strict_prctl(option, a, b, c, d);
}
#endif

/* What others report. */

void strict_forked(void)
{
	shim.refused |= tls.refused;
	shim.refused_new = shim.refused;
}

/* At this point it is too late for strict_prepare. In mode strict the counter cannot be read; the
 * agent has advanced the tick. */
void strict_told(struct ring_header *ring, uint32_t filtered)
{
	if (__atomic_exchange_n(&shim.refused, CALLS_EVERY, __ATOMIC_SEQ_CST) == CALLS_EVERY)
		return;
	__atomic_store_n(&shim.refused_new, CALLS_EVERY, __ATOMIC_SEQ_CST);
	strict_tell(ring, RING_STRICT_POLLED);
	if (filtered == RING_FILTERED_STRICT || shim.stamps == STAMPS_SYSTEM)
		share_stamps(ring, 0);
}

void strict_introduce(struct ring_header *ring)
{
	ring->filters = shim.filters;
	ring->strict = (shim.stamps == STAMPS_TICKS ? RING_STRICT_TICKS | RING_STRICT_POLLED : 0) |
		       (strict_refuses(CALLS_WAIT) ? RING_STRICT_POLLED : 0);
}

/* The start of an image. */

/* Returns the number after `name`. It does not use base/proc, which calls libc's read(2): that
 * would change the program's errno and is a cancellation point. */
static uint32_t number_behind(const char *status, const char *name)
{
	const char *at = strstr(status, name);
	uint32_t value = 0;

	if (!at)
		return 0;
	for (at += strlen(name); *at == ' ' || *at == '\t'; at++)
		;
	for (; *at >= '0' && *at <= '9'; at++)
		value = value * 10 + (uint32_t)(*at - '0');
	return value;
}

/* Returns the number of filters. The calls for this are allowed: the loader has just opened, read
 * and closed files to load this library. Kernels before 5.9 do not count filters. */
static uint32_t filters_now(void)
{
	char status[STATUS_SIZE];
	long length = sys_read_file("/proc/self/status", status, sizeof(status) - 1);
	uint32_t count;

	if (length <= 0)
		return 0;
	status[length] = 0;
	count = number_behind(status, "\nSeccomp_filters:");
	return count ? count : number_behind(status, "\nSeccomp:") != 0;
}

static void try_calls(uint32_t classes)
{
	for (size_t i = 0; i < filter_calls_count; i++) {
		const int32_t *argument = filter_calls[i].argument;

		if (!(filter_calls[i].class & classes))
			continue;
		sys_call(filter_calls[i].number, argument[0], argument[1], argument[2], argument[3],
			 0, 0);
	}
}

/* Tries calls of these classes in a child without a core dump. Returns true if the child survives.
 */
static bool child_survives(uint32_t classes)
{
	int status = -1;
	long child = spawn_clone();

	if (!child) {
		sys_call(SYS_prctl, PR_SET_DUMPABLE, 0);
		try_calls(classes);
		sys_call(SYS_exit_group, 0);
	}
	return child > 0 && spawn_reap(child, &status, 0) == child && !status;
}

/* Tries all calls. Usually one child is enough. */
static bool try_all(void)
{
	uint32_t refused = 0;

	if (child_survives(CALLS_EVERY))
		return true;
	if (!child_survives(CALLS_START | CALLS_MEMORY))
		return false;
	for (uint32_t class = 1; class < CALLS_START; class <<= 1)
		if (class != CALLS_MEMORY && !child_survives(class))
			refused |= class;
	shim.refused = shim.refused_new = refused;
	return true;
}

bool strict_may_begin(bool wanted)
{
	int counter = 0;

	if (wanted)
		shim.filters = filters_now();
	if (!wanted || (shim.filters && !try_all())) {
		shim.refused = shim.refused_new = CALLS_EVERY;
		return false;
	}
	if (!sys_call(SYS_prctl, PR_GET_TSC, &counter) && counter == PR_TSC_SIGSEGV)
		shim.stamps = STAMPS_TICKS;
	return true;
}
