#pragma once
/* 32-bit ARM. `long` has 64 bits for BPF, so the registers are told by width. See bpf/arch.h. */

struct arch_registers { /* struct pt_regs */
	__u32 r[16];
	__u32 cpsr;
	__u32 orig_r0;
};

ARCH_INLINE __u64 arch_pc(struct arch_registers *ctx)
{
	return ctx->r[15];
}

ARCH_INLINE __u64 arch_sp(struct arch_registers *ctx)
{
	return ctx->r[13];
}

ARCH_INLINE __u64 arch_fp(struct arch_registers *ctx)
{
	return ctx->r[11];
}

ARCH_INLINE __u64 arch_link(struct arch_registers *ctx)
{
	return ctx->r[14];
}

ARCH_INLINE __u64 arch_result(struct arch_registers *ctx)
{
	return ctx->r[0];
}

/* Unrolled, so that every offset is a constant. */
ARCH_INLINE __u64 arch_register(struct arch_registers *ctx, __u32 number)
{
	__u64 value = 0;

#pragma unroll
	for (__u32 i = 0; i < 16; i++)
		if (number == i)
			value = ARCH_READ(ctx->r[i]);
	return value;
}

/* r4 to r9. */
ARCH_INLINE void arch_saved_registers(struct arch_registers *ctx, __u64 *to)
{
#pragma unroll
	for (__u32 i = 0; i < ARCH_SAVED_MAX; i++)
		to[i] = ctx->r[4 + i];
}
