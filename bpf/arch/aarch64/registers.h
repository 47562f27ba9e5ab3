#pragma once
/* AArch64. See bpf/arch.h. */

struct arch_registers { /* struct user_pt_regs */
	uint64_t x[31];
	uint64_t sp;
	uint64_t pc;
	uint64_t pstate;
};

ARCH_INLINE uint64_t arch_pc(struct arch_registers *ctx)
{
	return ctx->pc;
}

ARCH_INLINE uint64_t arch_sp(struct arch_registers *ctx)
{
	return ctx->sp;
}

ARCH_INLINE uint64_t arch_fp(struct arch_registers *ctx)
{
	return ctx->x[29];
}

ARCH_INLINE uint64_t arch_link(struct arch_registers *ctx)
{
	return ARCH_READ(ctx->x[30]);
}

ARCH_INLINE uint64_t arch_result(struct arch_registers *ctx)
{
	return ctx->x[0];
}

/* Knows only the registers of arguments, because places are entries of functions. The loop is
 * unrolled, so that every offset is a constant. */
ARCH_INLINE uint64_t arch_register(struct arch_registers *ctx, uint32_t number)
{
	uint64_t value = 0;

#pragma unroll
	for (uint32_t i = 0; i < 8; i++)
		if (number == i)
			value = ARCH_READ(ctx->x[i]);
	return value;
}

/* Stores only some of x19 to x28, because a row seldom uses another register as base. */
ARCH_INLINE void arch_saved_registers(struct arch_registers *ctx, uint64_t *to)
{
#pragma unroll
	for (uint32_t i = 0; i < ARCH_SAVED_MAX; i++)
		to[i] = ctx->x[19 + i];
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
