/*
 * A cache of ranges in which the frame pointer is valid, by pieces of code of 256 bytes. See
 * framed.h.
 *
 *   | begin : 47 | length : 17 |      of a function, in each piece that it overlaps; 0: none
 *
 * An entry has room for one function, the last one that was looked up there. Any thread reads and
 * writes single entries, as in L2 (rows.h).
 */
#include "agent/unwind/framed.h"

#include "memory.h"
#include "agent/unwind/ban.h"

#define PIECE_SHIFT 8
#define PIECES	    4096u
#define LENGTH_BITS 17

static uint64_t pieces[PIECES]; /* through __atomic builtins */

static uint64_t *piece_of(uint64_t pc)
{
	return &pieces[pc >> PIECE_SHIFT & (PIECES - 1)];
}

static bool framed_is_kept(uint64_t pc)
{
	uint64_t entry = __atomic_load_n(piece_of(pc), __ATOMIC_RELAXED);
	uint64_t begin = entry >> LENGTH_BITS, length = entry & ((1u << LENGTH_BITS) - 1);

	return pc - begin < length;
}

static void framed_keep(const struct arch_range *range)
{
	uint64_t length = range->end - range->begin;
	uint64_t entry = range->begin << LENGTH_BITS | length;

	if (!length || length >> LENGTH_BITS)
		return;
	for (uint64_t at = range->begin >> PIECE_SHIFT; at <= range->end >> PIECE_SHIFT; at++)
		__atomic_store_n(piece_of(at << PIECE_SHIFT), entry, __ATOMIC_RELAXED);
}

bool framed_find(const struct unwind_module *module, uint64_t pc, uint32_t *ret_row)
{
	struct arch_frame frame = {.from_fp = true, .cfa_words = 2, .ra_words = 1, .fp_words = 2};
	uint64_t state = rows_state();
	bool kept = !rows_is_suspended(state) && !unwind_host->reads_checked;
	struct arch_code code;
	struct arch_range range;

	if (!(kept && framed_is_kept(pc))) {
		if (!module_code_around(module, pc, &code) ||
		    !arch_framed(&code, pc, &range, &frame))
			return false;
		if (kept && rows_state() == state)
			framed_keep(&range);
	}
	return row_of_frame(&frame, ret_row);
}

void framed_clear(void)
{
	for (unsigned i = 0; i < PIECES; i++)
		if (__atomic_load_n(&pieces[i], __ATOMIC_RELAXED))
			__atomic_store_n(&pieces[i], 0, __ATOMIC_RELAXED);
}
