/*
 * The walk in the kernel, for unit.ebpf.walk: each hit of a probe on its marker function walks the
 * caller's stack and leaves what came out of it, and all that a record of a miss would have, where
 * the test reads it when the marker has returned.
 */
#include "bpf/walk.h"

#include "tests/unit/ebpf/kernel/walk_sample.h"

char LICENSE[] SEC("license") = "GPL";

uint32_t process; /* the test's */
uint32_t space = WALK_SPACE_NONE;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, SAMPLES);
	__type(key, uint32_t);
	__type(value, struct walk_sample);
} samples SEC(".maps");

/* marker(slot): at its first instruction. */
SEC("uprobe") int at_marker(struct arch_registers *ctx)
{
	uint32_t number = (uint32_t)arch_register(ctx, ARCH_ARGUMENT) % SAMPLES;
	struct walk_sample *sample = bpf_map_lookup_elem(&samples, &number);
	struct walk_slot *slot = walk_slot_of(number);
	struct walk_result result = {0};
	struct walk_start start;
	enum walk_miss miss;

	if (!slot || !sample)
		return 0;
	if (!sample->hits || slot->space != space)
		walk_begin(slot, space);
	start.sp = arch_sp(ctx) + ARCH_RETURN_SLOT;
	start.fp = arch_fp(ctx);
	start.pc = arch_link(ctx);
	if (ARCH_RETURN_SLOT && arch_sp(ctx) & 16 &&
	    bpf_probe_read_user(&start.pc, sizeof(start.pc), (void *)arch_sp(ctx)))
		return 0; /* (sometimes it is for the walk to find) */
	miss = walk(number, slot, &start, &result);
	sample->pc = result.pc;
	sample->sp = start.sp;
	sample->fp = start.fp;
	arch_saved_registers(ctx, sample->saved);
	sample->miss = miss;
	sample->miss_pc = slot->miss_pc;
	sample->keep = result.keep;
	sample->count = result.count;
	for (uint32_t i = 0; i < WALK_FRAMES; i++) {
		if (i >= result.count)
			break;
		sample->pcs[i] = slot->pcs[i];
	}
	sample->copy_size = walk_copy(sample->copy, SAMPLE_PAGES, start.sp);
	sample->hits++;
	if (miss != WALK_DONE)
		walk_forget(slot);
	return 0;
}

/* The loader's r_brk: it calls that before it maps or unmaps, and when it is done. */
SEC("uprobe") int at_loader(struct arch_registers *ctx)
{
	(void)ctx;
	if (bpf_get_current_pid_tgid() >> 32 == process)
		walk_close(space);
	return 0;
}
