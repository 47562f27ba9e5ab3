#pragma once
/* x86-64. See bpf/arch.h. */

struct arch_registers {
	uint64_t r15, r14, r13, r12, rbp, rbx, r11, r10, r9, r8, rax, rcx, rdx, rsi, rdi;
	uint64_t orig_rax, rip, cs, eflags, rsp, ss;
};

ARCH_INLINE uint64_t arch_pc(struct arch_registers *ctx)
{
	return ctx->rip;
}

ARCH_INLINE uint64_t arch_sp(struct arch_registers *ctx)
{
	return ctx->rsp;
}

ARCH_INLINE uint64_t arch_fp(struct arch_registers *ctx)
{
	return ctx->rbp;
}

ARCH_INLINE uint64_t arch_link(struct arch_registers *ctx)
{
	(void)ctx;
	return 0;
}

ARCH_INLINE uint64_t arch_result(struct arch_registers *ctx)
{
	return ctx->rax;
}

ARCH_INLINE uint64_t arch_register(struct arch_registers *ctx, uint32_t number)
{
	switch (number) {
	case 0:
		return ARCH_READ(ctx->rax);
	case 1:
		return ARCH_READ(ctx->rdx);
	case 2:
		return ARCH_READ(ctx->rcx);
	case 3:
		return ARCH_READ(ctx->rbx);
	case 4:
		return ARCH_READ(ctx->rsi);
	case 5:
		return ARCH_READ(ctx->rdi);
	case 6:
		return ARCH_READ(ctx->rbp);
	case 7:
		return ARCH_READ(ctx->rsp);
	case 8:
		return ARCH_READ(ctx->r8);
	case 9:
		return ARCH_READ(ctx->r9);
	case 10:
		return ARCH_READ(ctx->r10);
	case 11:
		return ARCH_READ(ctx->r11);
	case 12:
		return ARCH_READ(ctx->r12);
	case 13:
		return ARCH_READ(ctx->r13);
	case 14:
		return ARCH_READ(ctx->r14);
	case 15:
		return ARCH_READ(ctx->r15);
	case 16:
		return ARCH_READ(ctx->rip);
	default:
		return 0;
	}
}

ARCH_INLINE void arch_saved_registers(struct arch_registers *ctx, uint64_t *to)
{
	to[0] = ctx->rbx;
	to[1] = ctx->r12;
	to[2] = ctx->r13;
	to[3] = ctx->r14;
	to[4] = ctx->r15;
	to[5] = 0;
}

ARCH_INLINE void arch_give_back(uint32_t number, uint64_t value, uint64_t *fp, uint64_t *saved)
{
	if (number == 6)
		*fp = value;
	else if (number == 3)
		saved[0] = value;
#pragma unroll
	for (uint32_t i = 1; i < 5; i++)
		if (number == 11 + i)
			saved[i] = ARCH_READ(value);
}

/* DWARF number of the first argument's register. */
#define ARCH_ARGUMENT 5

/* Bytes that a call pushes on the stack. */
#define ARCH_RETURN_SLOT 8
