#pragma once
/*
 * Looks up rows and steps by them: the kernel's version of rows.h, walk.h and special.c in
 * agent/unwind. A step returns the same result as there, or that it does not know. Part of walk.h.
 */
enum walk_step { WALK_FRAME, WALK_END, WALK_UNKNOWN_ROW, WALK_OTHER_ROW, WALK_SENSELESS };

/* Returns the row of a program counter, or 0. Compares all entries of the line without a branch, so
 * there is nothing to mispredict and no path for the verifier to follow. At most one entry matches.
 */
ARCH_INLINE uint32_t walk_row(uint64_t word, uint64_t pc)
{
	uint64_t key = key_of(pc), tag = key >> KEY_LOW_BITS, row = 0;
	uint32_t number = walk_line_of(word, key);
	const volatile struct walk_line *line = bpf_map_lookup_elem(&walk_rows, &number);

	if (!line)
		return 0;
#pragma unroll
	for (uint32_t i = 0; i < WALK_LINE_ENTRIES; i++) {
		uint64_t entry = line->entries[i], differs = (entry >> ROW_BITS) ^ tag;

		__asm__ volatile(""
				 : "+r"(differs)); /* a compiler that knows the number of bits turns
						    * this into a branch */
		row |= entry & (0 - ((differs - 1) >> 63));
	}
	return (uint32_t)row & ROW_MASK;
}

/* Completes a step when the canonical frame address is known. The return address lies `ra` bytes
 * below it. */
ARCH_INLINE enum walk_step walk_step_to(uint32_t number, struct walk_slot *slot,
					struct walk_frame *frame, uint64_t cfa, uint64_t ra,
					uint64_t fp)
{
	uint64_t at = cfa - ra, pc;

	if (cfa - frame->sp - 1 >= WALK_STRIDE || cfa & 7 || at - frame->sp >= WALK_STRIDE ||
	    !walk_load(number, slot, at, &pc))
		return WALK_SENSELESS;
	frame->pc = arch_code_address(pc);
	frame->sp = cfa;
	frame->fp = fp;
	return pc ? WALK_FRAME : WALK_END;
}

/* Distances below the cfa, in bytes. */
struct walk_places {
	uint64_t ra, fp;
	bool keeps_fp;
};

ARCH_INLINE enum walk_step walk_step_plain(uint32_t number, struct walk_slot *slot,
					   struct walk_frame *frame, uint64_t cfa,
					   const struct walk_places *places)
{
	uint64_t fp = frame->fp, saved = cfa - places->fp;

	if (!places->keeps_fp &&
	    (saved & 7 || saved - frame->sp >= WALK_STRIDE || !walk_load(number, slot, saved, &fp)))
		return WALK_SENSELESS;
	return walk_step_to(number, slot, frame, cfa, places->ra, fp);
}

/* Steps by a row from scanned code, which must lead to a return address. The space has rows only
 * for return addresses. */
ARCH_INLINE enum walk_step walk_step_scanned(uint32_t number, struct walk_slot *slot,
					     struct walk_frame *frame)
{
	struct arch_frame how = row_scanned_frame(frame->row);
	struct walk_places places = {8, how.fp_words * 8, how.fp_words == ARCH_FP_KEPT};
	uint64_t cfa = (how.from_fp ? frame->fp : frame->sp) + how.cfa_words * 8;
	uint32_t row;

	if (walk_step_plain(number, slot, frame, cfa, &places) != WALK_FRAME)
		return WALK_SENSELESS;
	row = walk_row(slot->word, frame->pc);
	if (!row)
		return WALK_UNKNOWN_ROW;
	return row == row_special(ROW_FRAME_POINTER, 0) ? WALK_SENSELESS : WALK_FRAME;
}

/* Steps by a frame record, on processors that have them, after checking its plausibility; the
 * stack's bounds are not known here. */
ARCH_INLINE enum walk_step walk_step_record(uint32_t number, struct walk_slot *slot,
					    struct walk_frame *frame)
{
	uint64_t record = frame->fp, fp, pc;
	uint32_t row;

	if (!ARCH_RECORD)
		return WALK_SENSELESS;
	if ((!record && row_argument(frame->row) & RECORD_FIRST) ||
	    row_argument(frame->row) & RECORD_BY_HAND)
		return WALK_END;
	if (record & 7 || record - frame->sp > WALK_RECORD ||
	    !walk_load(number, slot, record, &fp) || !walk_load(number, slot, record + 8, &pc))
		return WALK_SENSELESS;
	if (!pc)
		return WALK_END;
	pc = arch_code_address(pc);
	row = walk_row(slot->word, pc);
	if (!row)
		return WALK_UNKNOWN_ROW;
	if (pc - record < WALK_NEAR || (row == row_special(ROW_FRAME_POINTER, 0) &&
					(fp & 7 || fp - record - 16 > WALK_RECORD)))
		return WALK_SENSELESS;
	frame->pc = pc;
	frame->sp = record + 16;
	frame->fp = fp;
	return WALK_FRAME;
}

/* Steps from a frame whose stack gcc has realigned. */
ARCH_INLINE enum walk_step walk_step_deref_fp(uint32_t number, struct walk_slot *slot,
					      struct walk_frame *frame)
{
	uint64_t at = frame->fp + (uint64_t)row_deref_fp_offset(frame->row), cfa, fp;

	if (frame->fp & 7 || at - frame->sp >= WALK_STRIDE ||
	    frame->fp - frame->sp >= WALK_STRIDE || !walk_load(number, slot, at, &cfa) ||
	    !walk_load(number, slot, frame->fp, &fp))
		return WALK_SENSELESS;
	return walk_step_to(number, slot, frame, cfa, 8, fp);
}

/* Steps from slot->at, whose row is set and not plain, to its caller. A global function, so that
 * the verifier checks it only once. */
__attribute__((noinline)) int walk_step_special(uint32_t number)
{
	struct walk_slot *slot = walk_slot_of(number);
	struct walk_frame *frame;

	if (!slot)
		return WALK_SENSELESS;
	frame = &slot->at;
	if (row_is(frame->row, ROW_END))
		return WALK_END;
	if (row_is(frame->row, ROW_SCANNED))
		return walk_step_scanned(number, slot, frame);
	if (row_is(frame->row, ROW_FRAME_POINTER))
		return walk_step_record(number, slot, frame);
	if (row_is(frame->row, ROW_DEREF_FP))
		return walk_step_deref_fp(number, slot, frame);
	return WALK_OTHER_ROW;
}

/* Steps from `frame`, whose row is set, to its caller. */
ARCH_INLINE enum walk_step walk_step(uint32_t number, struct walk_slot *slot,
				     struct walk_frame *frame)
{
	uint32_t row = frame->row;
	enum walk_step step;

	if (row_is_plain(row)) {
		struct walk_places places = {row_ra(row), row_fp(row), row_keeps_fp(row)};

		return walk_step_plain(number, slot, frame,
				       row_base(row, frame->sp, frame->fp) + row_cfa(row), &places);
	}
	/* Member by member: the padding between them is uninitialized, and older verifiers reject
	 * reading it. */
	slot->at.pc = frame->pc;
	slot->at.sp = frame->sp;
	slot->at.fp = frame->fp;
	slot->at.row = row;
	step = (enum walk_step)walk_step_special(number);
	frame->pc = slot->at.pc;
	frame->sp = slot->at.sp;
	frame->fp = slot->at.fp;
	return step;
}

ARCH_INLINE bool walk_row_needs_fp(uint32_t row, bool outer_needs)
{
	if (row_is_plain(row))
		return row_type(row) == ROW_FP || (row_keeps_fp(row) && outer_needs);
	return !row_is(row, ROW_END);
}
