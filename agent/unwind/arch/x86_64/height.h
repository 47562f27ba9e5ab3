#pragma once
/* Tracks sp and fp through a sequence of instructions. Each is a distance from the value of sp or
 * of fp at the beginning of the sequence. Distances are enough, because functions move sp by push,
 * pop, add, sub, lea and leave. */
#include "agent/unwind/arch/x86_64/insn.h"

enum base { BASE_NONE, BASE_SP, BASE_FP }; /* unknown; from sp or from fp at the beginning */

struct place {
	int32_t offset;
	uint8_t base;
	bool stored; /* true: the value is stored at that address; false: the value is that address
		      */
};

struct height {
	struct place sp;
	struct place fp;
	struct place pushed; /* value of fp when it was saved; base NONE: fp was not saved */
	int32_t pushed_at;   /* where fp was saved, from sp at the beginning */
};

/* Returns the state at the beginning of a sequence. */
static inline struct height height_begin(void)
{
	return (struct height){.sp = {.base = BASE_SP}, .fp = {.base = BASE_FP}};
}

static inline bool is_from_sp(struct place place)
{
	return place.base == BASE_SP && !place.stored;
}

/* Applies the effect of an instruction on sp and fp. Not for jumps and returns. A call has no
 * effect, because the callee restores both before it returns. */
void height_apply(struct height *h, const struct insn *insn);
