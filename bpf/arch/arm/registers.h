#pragma once
/* 32-bit ARM. BPF's `long` has 64 bits, so the registers have types of a fixed width. See
 * bpf/arch.h. */

struct arch_registers { /* struct pt_regs */
	uint32_t r[16];
	uint32_t cpsr;
	uint32_t orig_r0;
};

ARCH_INLINE uint64_t arch_pc(struct arch_registers *ctx)
{
	return ctx->r[15];
}

ARCH_INLINE uint64_t arch_sp(struct arch_registers *ctx)
{
	return ctx->r[13];
}

ARCH_INLINE uint64_t arch_fp(struct arch_registers *ctx)
{
	return ctx->r[11];
}

ARCH_INLINE uint64_t arch_link(struct arch_registers *ctx)
{
	return ARCH_READ(ctx->r[14]);
}

ARCH_INLINE uint64_t arch_result(struct arch_registers *ctx)
{
	return ctx->r[0];
}

/* Knows only the registers of arguments, because places are entries of functions. The loop is
 * unrolled, so that every offset is a constant. */
ARCH_INLINE uint64_t arch_register(struct arch_registers *ctx, uint32_t number)
{
	uint64_t value = 0;

#pragma unroll
	for (uint32_t i = 0; i < 4; i++)
		if (number == i)
			value = ARCH_READ(ctx->r[i]);
	return value;
}

/* Stores r4 to r9. */
ARCH_INLINE void arch_saved_registers(struct arch_registers *ctx, uint64_t *to)
{
#pragma unroll
	for (uint32_t i = 0; i < ARCH_SAVED_MAX; i++)
		to[i] = ctx->r[4 + i];
}

ARCH_INLINE void arch_give_back(uint32_t number, uint64_t value, uint64_t *fp, uint64_t *saved)
{
	(void)number;
	(void)value;
	(void)fp;
	(void)saved;
}

/* DWARF number of the first argument's register. */
#define ARCH_ARGUMENT 0

/* Bytes that a call pushes on the stack. */
#define ARCH_RETURN_SLOT 0
