#pragma once
/* AArch64. See bpf/arch.h. */

struct arch_registers { /* struct user_pt_regs */
	__u64 x[31];
	__u64 sp;
	__u64 pc;
	__u64 pstate;
};

ARCH_INLINE __u64 arch_pc(struct arch_registers *ctx)
{
	return ctx->pc;
}

ARCH_INLINE __u64 arch_sp(struct arch_registers *ctx)
{
	return ctx->sp;
}

ARCH_INLINE __u64 arch_fp(struct arch_registers *ctx)
{
	return ctx->x[29];
}

ARCH_INLINE __u64 arch_link(struct arch_registers *ctx)
{
	return ctx->x[30];
}

ARCH_INLINE __u64 arch_result(struct arch_registers *ctx)
{
	return ctx->x[0];
}

/* Unrolled, so that every offset is a constant. */
ARCH_INLINE __u64 arch_register(struct arch_registers *ctx, __u32 number)
{
	__u64 value = 0;

#pragma unroll
	for (__u32 i = 0; i < 31; i++)
		if (number == i)
			value = ARCH_READ(ctx->x[i]);
	return number == 31 ? ARCH_READ(ctx->sp) : value;
}

/* Of x19 to x28 a row's base is seldom another than these. */
ARCH_INLINE void arch_saved_registers(struct arch_registers *ctx, __u64 *to)
{
#pragma unroll
	for (__u32 i = 0; i < ARCH_SAVED_MAX; i++)
		to[i] = ctx->x[19 + i];
}
