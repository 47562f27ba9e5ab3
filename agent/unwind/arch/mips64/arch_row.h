#pragma once
/*
 * A plain row of MIPS64; included by row.h.
 *
 *   | cfa offset / 8 : 15 | ra slot : 5 | fp slot : 5 | type : 2 |
 *
 * Slots are in words below the cfa, because registers are saved at the frame's high end. fp slot 0
 * means that s8 is still in its register.
 */
#define ROW_CFA_MAX  0x7fffu
#define ROW_SLOT_MAX 31u

static inline uint64_t row_cfa(uint32_t row)
{
	return (uint64_t)(row >> 12) << 3;
}

static inline uint64_t row_ra(uint32_t row)
{
	return (uint64_t)(row >> 7 & ROW_SLOT_MAX) << 3;
}

static inline uint64_t row_fp(uint32_t row)
{
	return (uint64_t)(row >> 2 & ROW_SLOT_MAX) << 3;
}

static inline __attribute__((always_inline)) bool row_keeps_fp(uint32_t row)
{
	return !row_fp(row);
}

static inline bool row_saves_fp(uint32_t row)
{
	return !row_keeps_fp(row);
}

static inline __attribute__((always_inline)) uint64_t row_lowest(uint32_t row)
{
	return row_ra(row) > row_fp(row) ? row_ra(row) : row_fp(row);
}

static inline uint64_t row_base(uint32_t row, uint64_t sp, uint64_t fp)
{
	return row_type(row) == ROW_SP ? sp : fp;
}

static inline __attribute__((always_inline)) uint64_t row_caller_fp(uint32_t row, uint64_t cfa,
								    uint64_t fp)
{
	return row_keeps_fp(row) ? fp : arch_load(cfa - row_fp(row));
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
	uint32_t cfa = frame->cfa_words, ra = frame->ra_words, fp = frame->fp_words;

	if (!ra || ra > ROW_SLOT_MAX || fp > ROW_SLOT_MAX || fp == ra || cfa > ROW_CFA_MAX ||
	    (!frame->from_fp && (ra > cfa || fp > cfa)))
		return false;
	*ret_row = (frame->from_fp ? ROW_FP : ROW_SP) | fp << 2 | ra << 7 | cfa << 12;
	return true;
}
