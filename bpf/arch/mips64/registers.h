#pragma once
/* MIPS with a 64-bit kernel. See bpf/arch.h. */

struct arch_registers {
	__u64 r[32];
	__u64 status;
	__u64 hi;
	__u64 lo;
	__u64 badvaddr;
	__u64 cause;
	__u64 epc;
};

ARCH_INLINE __u64 arch_pc(struct arch_registers *ctx)
{
	return ctx->epc;
}

ARCH_INLINE __u64 arch_sp(struct arch_registers *ctx)
{
	return ctx->r[29];
}

ARCH_INLINE __u64 arch_fp(struct arch_registers *ctx)
{
	return ctx->r[30];
}

ARCH_INLINE __u64 arch_link(struct arch_registers *ctx)
{
	return ctx->r[31];
}

ARCH_INLINE __u64 arch_result(struct arch_registers *ctx)
{
	return ctx->r[2];
}

/* Unrolled, so that every offset is a constant. */
ARCH_INLINE __u64 arch_register(struct arch_registers *ctx, __u32 number)
{
	__u64 value = 0;

#pragma unroll
	for (__u32 i = 0; i < 32; i++)
		if (number == i)
			value = ARCH_READ(ctx->r[i]);
	return value;
}

/* s0 to s5. */
ARCH_INLINE void arch_saved_registers(struct arch_registers *ctx, __u64 *to)
{
#pragma unroll
	for (__u32 i = 0; i < ARCH_SAVED_MAX; i++)
		to[i] = ctx->r[16 + i];
}
