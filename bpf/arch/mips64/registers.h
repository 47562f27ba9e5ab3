#pragma once
/* MIPS with a 64-bit kernel. See bpf/arch.h. */

struct arch_registers {
	uint64_t r[32];
	uint64_t status;
	uint64_t hi;
	uint64_t lo;
	uint64_t badvaddr;
	uint64_t cause;
	uint64_t epc;
};

ARCH_INLINE uint64_t arch_pc(struct arch_registers *ctx)
{
	return ctx->epc;
}

ARCH_INLINE uint64_t arch_sp(struct arch_registers *ctx)
{
	return ctx->r[29];
}

ARCH_INLINE uint64_t arch_fp(struct arch_registers *ctx)
{
	return ctx->r[30];
}

ARCH_INLINE uint64_t arch_link(struct arch_registers *ctx)
{
	return ARCH_READ(ctx->r[31]);
}

ARCH_INLINE uint64_t arch_result(struct arch_registers *ctx)
{
	return ctx->r[2];
}

/* Knows only the registers of arguments, because places are entries of functions. The loop is
 * unrolled, so that every offset is a constant. */
ARCH_INLINE uint64_t arch_register(struct arch_registers *ctx, uint32_t number)
{
	uint64_t value = 0;

#pragma unroll
	for (uint32_t i = 4; i < 12; i++)
		if (number == i)
			value = ARCH_READ(ctx->r[i]);
	return value;
}

/* Stores s0 to s5. */
ARCH_INLINE void arch_saved_registers(struct arch_registers *ctx, uint64_t *to)
{
#pragma unroll
	for (uint32_t i = 0; i < ARCH_SAVED_MAX; i++)
		to[i] = ctx->r[16 + i];
}

ARCH_INLINE void arch_give_back(uint32_t number, uint64_t value, uint64_t *fp, uint64_t *saved)
{
	(void)number;
	(void)value;
	(void)fp;
	(void)saved;
}

/* DWARF number of the first argument's register. */
#define ARCH_ARGUMENT 4

/* Bytes that a call pushes on the stack. */
#define ARCH_RETURN_SLOT 0
