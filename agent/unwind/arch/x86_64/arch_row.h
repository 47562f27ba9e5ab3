#pragma once
/*
 * A plain row of x86-64; included by row.h.
 *
 *   | cfa offset / 8 : 16 | fp slot : 9 | type : 2 |
 *
 * The return address lies at cfa - 8, and rbp's old value is saved below it. fp slot 1 is the slot
 * of the return address, so it is free to mean that rbp is still in the register.
 */
#define ROW_CFA_MAX 0xffffu
#define ROW_FP_MAX  0x1ffu

static inline uint64_t row_cfa(uint32_t row)
{
	return (uint64_t)(row >> 11) << 3;
}

static inline uint64_t row_fp(uint32_t row)
{
	return (uint64_t)(row >> 2 & ROW_FP_MAX) << 3;
}

static inline uint64_t row_ra(uint32_t row)
{
	(void)row;
	return 8;
}

static inline uint64_t row_lowest(uint32_t row)
{
	return row_fp(row);
}

static inline bool row_keeps_fp(uint32_t row)
{
	return row_fp(row) == ARCH_FP_KEPT * 8;
}

static inline bool row_saves_fp(uint32_t row)
{
	return !row_keeps_fp(row);
}

static inline uint64_t row_base(uint32_t row, uint64_t sp, uint64_t fp)
{
	return row_type(row) == ROW_SP ? sp : fp;
}

static inline __attribute__((always_inline)) uint64_t row_caller_fp(uint32_t row, uint64_t cfa,
								    uint64_t fp)
{
	uint64_t saved = arch_load(cfa - row_fp(row));

	return row_keeps_fp(row) ? fp : saved;
}

#define ROW_FP_CHECKS 1

static inline __attribute__((always_inline)) unsigned row_fp_checks(uint32_t row, uint64_t cfa,
								    uint64_t fp, struct check *to)
{
	*to = (struct check){cfa - row_fp(row), fp};
	return 1;
}

static inline bool row_of_frame(const struct arch_frame *frame, uint32_t *ret_row)
{
	uint32_t fp = frame->fp_words, cfa = frame->cfa_words;

	if (frame->ra_words != 1 || !cfa || cfa > ROW_CFA_MAX || fp < ARCH_FP_KEPT ||
	    fp > ROW_FP_MAX || (!frame->from_fp && fp > cfa))
		return false; /* so a row based on sp reads nothing in the red zone */
	*ret_row = (frame->from_fp ? ROW_FP : ROW_SP) | fp << 2 | cfa << 11;
	return true;
}
