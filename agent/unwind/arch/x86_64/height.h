#pragma once
/* Where sp and fp are after a sequence of instructions: each as a distance from what one of them
 * was at the beginning of the sequence. Functions move sp by push, pop, add, sub, lea and leave, so
 * distances are enough. */
#include "agent/unwind/arch/x86_64/insn.h"

enum base { BASE_NONE, BASE_SP, BASE_FP }; /* not known; from sp, or from fp, at the beginning */

struct place {
	int32_t offset;
	uint8_t base;
	bool stored; /* true: the value is stored at that address; false: the value is that address
		      */
};

struct height {
	struct place sp;
	struct place fp;
	struct place pushed; /* what fp was when it was saved; base NONE: it was not saved */
	int32_t pushed_at;   /* where it was saved, from sp at the beginning */
};

/* Returns the state at the beginning itself. */
static inline struct height height_begin(void)
{
	return (struct height){.sp = {.base = BASE_SP}, .fp = {.base = BASE_FP}};
}

static inline bool is_from_sp(struct place place)
{
	return place.base == BASE_SP && !place.stored;
}

/* Applies what an instruction does to them. Not for jumps and returns. A call changes nothing, as
 * it will have returned. */
void height_apply(struct height *h, const struct insn *insn);
