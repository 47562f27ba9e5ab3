#pragma once
/*
 * Where sp and fp are, as far as a row of instructions tells: each as a distance from what one of
 * them was where the row began. That much is linear, and enough: functions move sp by push, pop,
 * add, sub, lea and leave.
 */
#include "agent/unwind/arch/x86_64/insn.h"

enum base { BASE_NONE, BASE_SP, BASE_FP }; /* not known; from sp or fp at the beginning */

struct place {
	int32_t offset;
	uint8_t base;
	bool stored; /* the value lies at that address; else it is that address */
};

struct height {
	struct place sp;
	struct place fp;
	struct place pushed; /* what fp was when it was saved; base NONE: it was not */
	int32_t pushed_at;   /* from sp at the beginning */
};

/* At the beginning itself. */
static inline struct height height_begin(void)
{
	return (struct height){.sp = {.base = BASE_SP}, .fp = {.base = BASE_FP}};
}

static inline bool is_from_sp(struct place place)
{
	return place.base == BASE_SP && !place.stored;
}

/* What an instruction does to them that is neither a jump nor a return. Of a call: nothing, as it
 * will have returned. */
void height_apply(struct height *h, const struct insn *insn);
