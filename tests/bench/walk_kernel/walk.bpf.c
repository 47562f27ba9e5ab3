/* Three probes for bench.walk: one that does nothing, one that walks, one that also leaves what a
 * miss leaves to the agent. */
#include "bpf/walk.h"

#include "tests/bench/walk_kernel/sample.h"

char LICENSE[] SEC("license") = "GPL";

uint32_t space = WALK_SPACE_NONE;
struct bench_sample sample;

static __attribute__((always_inline)) enum walk_miss
do_walk(struct arch_registers *ctx, struct walk_slot *slot, struct walk_start *start)
{
	struct walk_result result = {0};
	enum walk_miss miss;

	if (slot->space != space)
		walk_begin(slot, space);
	start->sp = arch_sp(ctx) + ARCH_RETURN_SLOT;
	start->fp = arch_fp(ctx);
	start->pc = arch_link(ctx);
	miss = walk(0, slot, start, &result);
	start->pc = result.pc;
	sample.walks++;
	sample.missed += miss != WALK_DONE;
	sample.keep += result.keep;
	sample.count += result.count;
	if (miss != WALK_DONE)
		walk_forget(slot);
	return miss;
}

SEC("uprobe") int at_bare(struct arch_registers *ctx)
{
	(void)ctx;
	return 0;
}

SEC("uprobe") int at_walk(struct arch_registers *ctx)
{
	struct walk_slot *slot = walk_slot_of(0);
	struct walk_start start;

	if (slot)
		do_walk(ctx, slot, &start);
	return 0;
}

SEC("uprobe") int at_learn(struct arch_registers *ctx)
{
	struct walk_slot *slot = walk_slot_of(0);
	struct walk_start start;

	if (!slot)
		return 0;
	sample.miss = do_walk(ctx, slot, &start);
	sample.pc = start.pc;
	sample.sp = start.sp;
	sample.fp = start.fp;
	sample.copy_size = walk_copy(sample.copy, BENCH_PAGES, start.sp);
	return 0;
}
