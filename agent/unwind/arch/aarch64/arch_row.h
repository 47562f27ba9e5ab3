#pragma once
/*
 * A plain row of AArch64; included by row.h.
 *
 *   | cfa offset / 16 : 12 | slot : 11 | from the other end : 1 | keeps fp : 1 | type : 2 |
 *
 * x29 and x30 are saved side by side. "slot" is the distance of the return address below the cfa,
 * in words. The caller's x29 lies a word below the return address, or is still in the register. gcc
 * puts the pair at the frame's low end. In large frames the slot would not fit, so it counts
 * upwards from the low end (where the cfa offset begins).
 */
#define ROW_CFA_MAX 0xfffu
#define ROW_FP_MAX  0x7ffu

static inline uint64_t row_cfa(uint32_t row)
{
	return (uint64_t)(row >> 15) << 4;
}

static inline uint64_t row_ra(uint32_t row)
{
	uint64_t slot = (uint64_t)(row >> 4 & ROW_FP_MAX) << 3;

	return row & 8 ? row_cfa(row) - slot : slot;
}

static inline bool row_keeps_fp(uint32_t row)
{
	return row & 4;
}

static inline bool row_saves_fp(uint32_t row)
{
	return !row_keeps_fp(row);
}

static inline uint64_t row_lowest(uint32_t row)
{
	return row_ra(row) + (row_keeps_fp(row) ? 0 : 8);
}

static inline uint64_t row_fp(uint32_t row)
{
	return row_ra(row) + 8;
}

static inline uint64_t row_base(uint32_t row, uint64_t sp, uint64_t fp)
{
	return row_type(row) == ROW_SP ? sp : fp;
}

static inline __attribute__((always_inline)) uint64_t row_caller_fp(uint32_t row, uint64_t cfa,
								    uint64_t fp)
{
	uint64_t saved = arch_load(cfa - row_lowest(row));

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
	uint32_t cfa = frame->cfa_words, slot = frame->ra_words, from_end = 0;

	if (!slot || cfa % 2 || cfa / 2 > ROW_CFA_MAX || (!frame->from_fp && slot > cfa) ||
	    (frame->fp_words &&
	     (frame->fp_words != slot + 1 || (!frame->from_fp && slot + 1 > cfa))))
		return false;
	if (slot > ROW_FP_MAX) {
		if (slot > cfa || cfa - slot > ROW_FP_MAX)
			return false;
		slot = cfa - slot;
		from_end = 8;
	}
	*ret_row = (frame->from_fp ? ROW_FP : ROW_SP) | (frame->fp_words ? 0 : 4) | from_end |
		   slot << 4 | cfa / 2 << 15;
	return true;
}
