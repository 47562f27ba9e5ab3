#pragma once
/*
 * A plain row of ARM; included by row.h.
 *
 *   | cfa offset / 4 : 15 | ra slot : 3 | r7 : 3 | r11 : 3 | from r11 : 1 | type : 2 |
 *
 * The ra slot is in words below the cfa; only arguments lie above it. r7 and r11 are in words below
 * the return address; 0 means still in the register. (One push saves all of them in ascending
 * order. clang may push r8 to r11 separately, below the registers that it pushes with lr.)
 */
#define ROW_CFA_MAX  0x7fffu
#define ROW_SLOT_MAX 7u

static inline uint64_t row_cfa(uint32_t row)
{
	return (uint64_t)(row >> 12 & ROW_CFA_MAX) << 2;
}

static inline uint64_t row_ra(uint32_t row)
{
	return (uint64_t)(row >> 9 & ROW_SLOT_MAX) << 2;
}

static inline uint32_t row_r7(uint32_t row)
{
	return (row >> 6 & 7) << 2;
}

static inline uint32_t row_r11(uint32_t row)
{
	return (row >> 3 & 7) << 2;
}

static inline bool row_keeps_fp(uint32_t row)
{
	return !row_r7(row) || !row_r11(row);
}

static inline bool row_saves_fp(uint32_t row)
{
	return row_r7(row) || row_r11(row);
}

static inline uint64_t row_lowest(uint32_t row)
{
	return row_ra(row) + (row_r7(row) > row_r11(row) ? row_r7(row) : row_r11(row));
}

static inline uint64_t row_base(uint32_t row, uint64_t sp, uint64_t fp)
{
	if (row_type(row) == ROW_SP)
		return sp;
	return row & 4 ? fp >> 32 : (uint32_t)fp;
}

static inline __attribute__((always_inline)) uint64_t row_caller_fp(uint32_t row, uint64_t cfa,
								    uint64_t fp)
{
	uint64_t ra = cfa - row_ra(row);
	uint64_t r7 = row_r7(row) ? arch_load(ra - row_r7(row)) : (uint32_t)fp;
	uint64_t r11 = row_r11(row) ? arch_load(ra - row_r11(row)) : fp >> 32;

	return r11 << 32 | r7;
}

#define ROW_FP_CHECKS 2

static inline unsigned row_fp_checks(uint32_t row, uint64_t cfa, uint64_t fp, struct check *to)
{
	uint64_t ra = cfa - row_ra(row);
	unsigned count = 0;

	if (row_r7(row))
		to[count++] = (struct check){ra - row_r7(row), (uint32_t)fp};
	if (row_r11(row))
		to[count++] = (struct check){ra - row_r11(row), fp >> 32};
	return count;
}

static inline bool row_of_frame(const struct arch_frame *frame, uint32_t *ret_row)
{
	uint32_t cfa = frame->cfa_words, ra = frame->ra_words;
	uint32_t r7 = frame->fp_words ? frame->fp_words - ra : 0;
	uint32_t r11 = frame->fp2_words ? frame->fp2_words - ra : 0;

	if (!ra || ra > ROW_SLOT_MAX || r7 > 7 || r11 > 7 || cfa > ROW_CFA_MAX ||
	    (frame->fp_words && !r7) || (frame->fp2_words && !r11) ||
	    (!frame->from_fp && (ra > cfa || frame->fp_words > cfa || frame->fp2_words > cfa)))
		return false;
	*ret_row = (frame->from_fp ? ROW_FP : ROW_SP) | (frame->from_fp2 ? 4 : 0) | r11 << 3 |
		   r7 << 6 | ra << 9 | cfa << 12;
	return true;
}
