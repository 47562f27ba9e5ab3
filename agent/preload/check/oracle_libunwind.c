/*
 * libunwind as the other unwinder; see oracle.h.
 *
 * Only one thread at a time compares: unw_backtrace takes locks of its own and then the loader's. A
 * thread that holds the loader's lock and allocates comes here, too; if it had to wait for
 * libunwind's locks, both threads would deadlock. Allocations of libunwind itself are put aside as
 * events of nested hooks.
 *
 * The place at which two stacks differ is their innermost unequal frame. This frame, and the frame
 * just inside it, define a class of differences.
 */
#define UNW_LOCAL_ONLY
#include "agent/preload/check/oracle.h"

#include <libunwind.h>

#include "agent/preload/system/env.h"
#include "agent/preload/system/state.h"

#include "agent/preload/poison.h"

#define FRAMES_MAX 4096
#define OURS_MAX   64 /* frames of hook, check and libunwind itself */

static uint32_t busy;
static uint32_t flushed_epoch;
static uint32_t every;
static void *theirs[FRAMES_MAX];

static uint32_t oracle_libunwind_step(void)
{
	if (!every) {
		const char *text = env_get("HEAPCAST_ORACLE_EVERY");
		uint64_t value = text ? env_bytes(text) : 1;

		every = value && value < UINT32_MAX ? (uint32_t)value : 1;
	}
	return every;
}

/* Compares a frame. This library reports an interrupted frame as its program counter plus one,
 * libunwind as the program counter. */
static bool oracle_libunwind_same(uint64_t ours, const void *other)
{
	return ours == (uintptr_t)other || ours - 1 == (uintptr_t)other;
}

static void oracle_libunwind_describe(struct text *text, const char *what, uint64_t pc)
{
	text_put(text, what);
	if (pc)
		text_put_pc(text, pc);
	else
		text_put(text, "the end");
}

static void count_class(struct report *report, uint64_t inner, uint64_t ours, uint64_t other)
{
	uint64_t key = (inner * 0x9e3779b97f4a7c15u) ^ (ours ? 1 : 2) ^ (other ? 4 : 8);
	struct report_class *class = report_classify(report, key);
	struct text text;

	if (!class)
		return;
	text = (struct text){class->text, sizeof(class->text)};
	oracle_libunwind_describe(&text, "different at ", inner);
	oracle_libunwind_describe(&text, ": ours goes to ", ours);
	oracle_libunwind_describe(&text, ", libunwind to ", other);
}

/* Returns the index of libunwind's first frame in the program, or -1 if it never got there. */
static int oracle_libunwind_find_start(const struct unwind_regs *regs, int count)
{
	for (int i = 0; i < count && i < OURS_MAX; i++)
		if ((uintptr_t)theirs[i] == regs->pc)
			return i;
	return -1;
}

static void oracle_libunwind_compare(struct report *report, const struct unwind_regs *regs,
				     const uint64_t *pcs, uint32_t count, uint32_t flags)
{
	int total = unw_backtrace(theirs, FRAMES_MAX),
	    start = oracle_libunwind_find_start(regs, total);
	uint32_t other = start < 0 ? 0 : (uint32_t)(total - start), i = 0;
	void **at = theirs + (start < 0 ? 0 : start);

	if (total >= FRAMES_MAX)
		return;
	if ((flags & UNWIND_DEPTH_LIMIT) && other > count) {
		at += other - count; /* the recorded frames are the outer ones */
		other = count;
	}
	while (i < count && i < other && oracle_libunwind_same(pcs[i], at[i]))
		i++;
	report->oracle++;
	if (i == count && i == other) {
		report->oracle_equal++;
		return;
	}
	report->oracle_different++;
	count_class(report, i ? pcs[i - 1] : regs->pc, i < count ? pcs[i] : 0,
		    i < other ? (uintptr_t)at[i] : 0);
}

void oracle_compare(struct report *report, const struct unwind_regs *regs, const uint64_t *pcs,
		    uint32_t count, uint32_t flags)
{
	uint32_t epoch = __atomic_load_n(&shim.epoch, __ATOMIC_ACQUIRE);

	if (report->compared % oracle_libunwind_step())
		return;
	if (__atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE)) {
		report_count(&report->oracle_busy, 1);
		return;
	}
	if (flushed_epoch != epoch)
		unw_flush_cache(unw_local_addr_space, 0, 0);
	flushed_epoch = epoch;
	oracle_libunwind_compare(report, regs, pcs, count, flags);
	__atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
}
