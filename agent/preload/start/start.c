/* The first hooked call: allocator, agent, ring, recording; see start.h. */
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
#include "agent/preload/allocators/patch.h"
#include "agent/preload/record/sample.h"
#include "agent/preload/start/signals.h"
#include "agent/preload/system/state.h"
#include "agent/preload/record/strict.h"
#include "agent/preload/system/sys.h"
#include "agent/preload/record/thread.h"
#include "agent/preload/record/wait.h"
#include "agent/unwind/arch/arch.h"

#include "agent/preload/poison.h"

/* Linux 4.14; older headers lack it. */
#define ADVICE_WIPE_ON_FORK 18

enum phase { PHASE_NEW, PHASE_RESOLVING, PHASE_LINKING, PHASE_RUNNING };

static uint32_t phase;

struct shim shim;
struct shim_page shim_page;

/* What the unwinder asks for. */

extern void *__libc_stack_end __attribute__((weak));

#define MAIN_STACK_REACH (64ul << 20)
#define OWN_STACK_GROWN	 (256u << 10)
#define OWN_STACK_LEAST	 (16u << 10)
#define PAGE		 4096u /* or a part of one */

/*
 * What libc has for a thread lies at the end of the thread's stack, this library's variables with
 * it (glibc: nptl/allocatestack.c; musl: src/thread/pthread_create.c). If all up to there can be
 * read it is that stack, for below it is a guard page, and it stays so while the thread lives. Only
 * what is new is looked at; what lies too far below is most likely a coroutine's. (What libc has
 * for the main thread lies elsewhere: the loader has allocated it.)
 */
/* Where nobody may be asked: a thread has so much at least. */
static bool is_own(uint64_t from, uint64_t low, uint64_t end)
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
		if (!is_own(from, low, end))
			return 0;
		tls.stack_low = (uintptr_t)from;
		low = from;
	}
	*ret_low = low;
	*ret_high = end;
	return 1;
}

/* The main thread's ends where the kernel put the program's arguments (musl does not tell: at the
 * random bytes behind them), and what lies above the stack pointer is mapped. Nothing else is
 * within reach below that end: the kernel leaves a gap of at least 128 MiB below a stack
 * (mmap_base), so the answer holds for all of it, and is asked for once. For stacks that are no
 * thread's there is no way that takes no lock: how far they can be read is tried, once for each
 * page (sys_readable). */
static int stack_bounds(void *context, uint64_t sp, uint64_t *ret_low, uint64_t *ret_high)
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
	.stack_bounds = stack_bounds,
	.readable = sys_readable,
	.pages = pages,
};

/* Recording begins. */

/* The kernel is to wipe the page in a child; refused if it does not know how: then there is no
 * telling. */
static bool page_mark(void)
{
	int saved = errno;
	bool marked = !madvise(&shim_page, sizeof(shim_page), ADVICE_WIPE_ON_FORK);

	errno = saved;
	return marked;
}

/* What is asked of libc and the processor; once. A counter that the agent can't read is none: an
 * emulator's, say. */
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

/* The guard is set while the modules are looked at for the first time: the ring is already there
 * for them to use. */
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

/* 0 or a negative errno. */
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

static void begin(void)
{
	bool may = strict_may_begin(wanted());
	struct agent_terms terms = {.entry = may ? patch_room() : NULL};

	next_resolve();
	__atomic_store_n(&phase, PHASE_LINKING, __ATOMIC_RELEASE);
	loader_init();
	if (may && agent_silent_error(begin_recording(&terms, AGENT_ASK_FIRST)))
		wait_begin();
	patch_room_done(terms.entry);
	__atomic_store_n(&phase, PHASE_RUNNING, __ATOMIC_RELEASE);
}

/* Nothing in here asks the loader, or starts a process: see fork.h. The page is wiped, but it is
 * still the one that the kernel wipes. */
static void begin_forked(void)
{
	struct agent_terms terms = {.entry = NULL};
	const struct agent_parent *parent = fork_enter();
	bool again = shim.waits == (uint32_t)sys_call(SYS_getpid);
	int error;

	thread_forked();
	error = agent_link(parent, again ? AGENT_ASK_AGAIN : AGENT_ASK_FIRST, &terms);
	if (agent_silent_error(error))
		wait_begin();
	else
		wait_end();
	if (error)
		return;
	terms.ring->before = again ? shim.before : 0;
	shim.recorded = shim.gone = 0;
	shim.owner_word_offset = owner_init_forked();
	record(&terms);
}

/* It is too late to patch what the program has of its own, and for a fork child of the process that
 * has asked. */
static void begin_late(void)
{
	struct agent_terms terms = {.entry = NULL};

	if (shim.waits == (uint32_t)sys_call(SYS_getpid) &&
	    agent_silent_error(begin_recording(&terms, AGENT_ASK_AGAIN)))
		wait_begin();
	else
		wait_end();
}

/* A hook that was interrupted by the handler which forked is left alone: its frame is still there.
 * `attention` is off meanwhile, for what is called from here, and stays so where nobody wants
 * us. */
struct ring_header *start_again(void)
{
	uint32_t expected = PHASE_RUNNING;
	int saved = errno;

	if ((__atomic_load_n(&shim.waits, __ATOMIC_ACQUIRE) && !wait_over()) ||
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
		begin();
		errno = saved;
		return true;
	}
	return expected != PHASE_RESOLVING;
}
