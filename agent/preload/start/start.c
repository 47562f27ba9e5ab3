/* The first hooked call: finds the allocator, the agent and the ring, and starts recording; see
 * start.h. */
#include "agent/preload/start/start.h"

#include <errno.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/preload/start/agent_link.h"
#include "agent/preload/system/clock.h"
#include "agent/preload/system/env.h"
#include "agent/preload/start/fork.h"
#include "agent/preload/modules/loader.h"
#include "agent/preload/modules/modules.h"
#include "agent/preload/system/next.h"
#include "agent/preload/system/owner.h"
#include "agent/preload/patch/patch.h"
#include "agent/preload/record/sample.h"
#include "agent/preload/start/signals.h"
#include "agent/preload/system/state.h"
#include "agent/preload/record/strict.h"
#include "agent/preload/system/sys.h"
#include "agent/preload/record/thread.h"
#include "agent/preload/record/ask_again.h"
#include "agent/unwind/arch/arch.h"

#include "agent/preload/poison.h"

/* Linux 4.14; older headers lack it. */
#define ADVICE_WIPE_ON_FORK 18

enum phase { PHASE_NEW, PHASE_RESOLVING, PHASE_LINKING, PHASE_RUNNING };

static uint32_t phase;

struct shim shim;
struct shim_page shim_page;

/* The unwinder's host functions. */

extern void *__libc_stack_end __attribute__((weak));

#define MAIN_STACK_REACH (64ul << 20)
#define OWN_STACK_GROWN	 (256u << 10)
#define OWN_STACK_LEAST	 (16u << 10)
#define PAGE		 4096u /* or a part of one */

/*
 * libc keeps a thread's data, and with it this library's thread-local variables, at the end of the
 * thread's stack (glibc: nptl/allocatestack.c; musl: src/thread/pthread_create.c). If all memory up
 * to there is readable, it is that stack, because a guard page lies below the stack; this stays
 * true while the thread lives. Only the new part is checked. Addresses too far below most likely
 * belong to a coroutine's stack. (The main thread's data lies elsewhere: the loader has allocated
 * it.)
 */
/* Returns true if all memory from `from` to `low` is readable, so that `from` is on this thread's
 * stack. If the kernel must not be asked, the stack is taken to have OWN_STACK_LEAST bytes. */
static bool start_is_own(uint64_t from, uint64_t low, uint64_t end)
{
	const struct ring_header *ring = shim_page.ring;

	if (!tls.thread || !ring || tls.thread->slice->owner_tid == ring->pid)
		return false;
	if (unlikely(strict_refuses(CALLS_WAIT)))
		return end - from <= OWN_STACK_LEAST;
	return low - from <= OWN_STACK_GROWN && sys_readable(from, low) >= low;
}

static int own_stack_bounds(uint64_t sp, uint64_t *ret_low, uint64_t *ret_high)
{
	uint64_t end = (uintptr_t)&tls, low = tls.stack_low ? tls.stack_low : end;
	uint64_t from = (sp - ARCH_RED_ZONE) & -(uint64_t)PAGE;

	if (sp >= end)
		return 0;
	if (sp < low) {
		if (!start_is_own(from, low, end))
			return 0;
		tls.stack_low = (uintptr_t)from;
		low = from;
	}
	*ret_low = low;
	*ret_high = end;
	return 1;
}

/* For struct unwind_host. The main thread's stack ends where the kernel put the program's arguments
 * (with musl, the random bytes behind them, because it does not tell this place). All memory from
 * the stack pointer up to there is mapped. No other mapping is near below that end, because the
 * kernel leaves a gap of at least 128 MiB below a stack (mmap_base). The answer is therefore valid
 * for the whole stack, and the unwinder asks once. The bounds of stacks that do not belong to a
 * thread cannot be looked up without a lock: the unwinder tries how far they can be read, once for
 * each page (sys_readable). */
static int start_stack_bounds(void *context, uint64_t sp, uint64_t *ret_low, uint64_t *ret_high)
{
	uint64_t end = &__libc_stack_end ? (uintptr_t)__libc_stack_end : getauxval(AT_RANDOM);

	(void)context;
	if (end <= MAIN_STACK_REACH || sp >= end || end - sp > MAIN_STACK_REACH)
		return own_stack_bounds(sp, ret_low, ret_high);
	*ret_low = (end - MAIN_STACK_REACH) & ~(uint64_t)15;
	*ret_high = (end + 15) & ~(uint64_t)15;
	return 1;
}

static void *pages(void *context, size_t size)
{
	(void)context;
	return sys_pages(size);
}

static const struct unwind_host host = {
	.find_module = modules_find,
	.stack_bounds = start_stack_bounds,
	.readable = sys_readable,
	.pages = pages,
};

/* Recording begins. */

/* Asks the kernel to wipe the page in fork children. Returns false on kernels that cannot do this;
 * the library could not recognise fork children there. */
static bool page_mark(void)
{
	int saved = errno;
	bool marked = !madvise(&shim_page, sizeof(shim_page), ADVICE_WIPE_ON_FORK);

	errno = saved;
	return marked;
}

/* Queries libc and the processor, once. A counter that the agent cannot read, for example an
 * emulator's, is not used. */
static void look_around(const struct ring_header *ring)
{
	shim.clock = arch_clock_usable() && ring->counter == ARCH_CLOCK ? ARCH_CLOCK
									: RING_CLOCK_MONOTONIC;
	if (shim.stamps != STAMPS_TICKS)
		shim.stamps = shim.clock != RING_CLOCK_MONOTONIC ? STAMPS_SINGLE
			      : strict_refuses(CALLS_CLOCK)	 ? STAMPS_TICKS
								 : STAMPS_SYSTEM;
	shim.owner_word_offset = owner_init();
}

static void introduce(struct ring_header *ring)
{
	if (ring->byte_order) /* the same ring, after an exec */
		ring->image++;
	shim.epoch = ring->image ? ring->epoch + 1 : ring->epoch;
	ring->epoch = shim.epoch;
	shim.incarnation = __atomic_load_n(&ring->account.incarnation, __ATOMIC_ACQUIRE);
	ring->pointer_bits = 8 * sizeof(void *);
	ring->machine = ARCH_MACHINE;
	ring->clock = shim.clock;
	ring->owner_word_offset = shim.owner_word_offset;
	ring->page_size = (uint32_t)getpagesize();
	ring->pid = (uint32_t)sys_call(SYS_getpid);
	strict_introduce(ring);
	__atomic_store_n(&ring->byte_order, 0x01020304u, __ATOMIC_RELEASE);
}

/* Starts recording. The guard is set during the first scan for modules, because the scan can
 * already use the ring. */
static void record(const struct agent_terms *terms)
{
	uintptr_t frame = ARCH_FRAME;

	introduce(terms->ring);
	sample_init(terms->ring);
	modules_init(terms->ring->image);
	fork_watch(terms);
	guard_set(frame);
	shim_page.ours = 1;
	shim.shut = thread_control(terms->ring) - 1;
	for (unsigned i = 0; i < GATES; i++)
		__atomic_store_n(&shim_page.gate[i], terms->ring, __ATOMIC_RELEASE);
	__atomic_store_n(&shim_page.ring, terms->ring, __ATOMIC_RELEASE);
	__atomic_store_n(&shim.follow, terms->follow, __ATOMIC_RELEASE);
	__atomic_store_n(&shim.attention, 1, __ATOMIC_RELEASE);
	modules_refresh();
	guard_clear();
}

static bool wanted(void)
{
	return !getauxval(AT_SECURE) && !env_flag("HEAPCAST_OFF");
}

/* Returns 0 or a negative errno. */
static int begin_recording(struct agent_terms *terms, enum agent_ask ask)
{
	int error = agent_link(NULL, ask, terms);

	if (error)
		return error;
	if (!page_mark() || unwind_init(&host))
		return -ENOTSUP;
	look_around(terms->ring);
	shim.stopped = env_switch("DISABLE_BY_DEFAULT");
	terms->ring->patched += patch_apply(terms->entry, terms->entries);
	terms->ring->before = shim.before;
	record(terms);
	signals_register();
	return 0;
}

static void start_begin(void)
{
	bool may = strict_may_begin(wanted());
	struct agent_terms terms = {.entry = may && start_early() ? patch_room() : NULL};

	next_resolve();
	__atomic_store_n(&phase, PHASE_LINKING, __ATOMIC_RELEASE);
	loader_init();
	if (may && agent_silent_error(begin_recording(&terms, AGENT_ASK_FIRST)))
		ask_again_begin();
	patch_room_done(terms.entry);
	__atomic_store_n(&phase, PHASE_RUNNING, __ATOMIC_RELEASE);
}

/* Begins in a fork child, without asking the loader or starting a process; see fork.h. The kernel
 * has wiped the page, and will wipe it again in the next child. */
static void begin_forked(void)
{
	struct agent_terms terms = {.entry = NULL};
	const struct agent_parent *parent = fork_enter();
	bool again = shim.waits == (uint32_t)sys_call(SYS_getpid);
	int error;

	thread_forked();
	error = agent_link(parent, again ? AGENT_ASK_AGAIN : AGENT_ASK_FIRST, &terms);
	if (agent_silent_error(error))
		ask_again_begin();
	else
		ask_again_end();
	if (error)
		return;
	terms.ring->before = again ? shim.before : 0;
	shim.recorded = shim.gone = 0;
	shim.owner_word_offset = owner_init_forked();
	record(&terms);
}

/* Begins when an agent comes later. It is then too late to patch the program's own functions. A
 * fork child of the process that asks does not ask itself. */
static void begin_late(void)
{
	struct agent_terms terms = {.entry = NULL};

	if (shim.waits == (uint32_t)sys_call(SYS_getpid) &&
	    agent_silent_error(begin_recording(&terms, AGENT_ASK_AGAIN)))
		ask_again_begin();
	else
		ask_again_end();
}

/* If a signal handler forked during a hook, that hook is left alone: its frame is still on the
 * stack. `attention` is off meanwhile, for functions called from here, and stays off if no agent
 * wants this process. */
struct ring_header *start_again(void)
{
	uint32_t expected = PHASE_RUNNING;
	int saved = errno;

	if ((__atomic_load_n(&shim.waits, __ATOMIC_ACQUIRE) && !ask_again_due()) ||
	    thread_in_hook(ARCH_FRAME) ||
	    !__atomic_compare_exchange_n(&phase, &expected, PHASE_LINKING, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE))
		return NULL;
	__atomic_store_n(&shim.attention, 0, __ATOMIC_RELEASE);
	if (shim.follow && !shim_page.ours)
		begin_forked();
	else if (shim.waits)
		begin_late();
	__atomic_store_n(&phase, PHASE_RUNNING, __ATOMIC_RELEASE);
	errno = saved;
	return __atomic_load_n(&shim_page.ring, __ATOMIC_ACQUIRE);
}

static bool constructed;

bool start_early(void)
{
	return !constructed;
}

void start_constructed(void)
{
	constructed = true;
}

bool start_resolved(void)
{
	uint32_t expected = PHASE_NEW;
	int saved = errno;

	if (__atomic_compare_exchange_n(&phase, &expected, PHASE_RESOLVING, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE)) {
		start_begin();
		errno = saved;
		return true;
	}
	return expected != PHASE_RESOLVING;
}
