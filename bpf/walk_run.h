#pragma once
/*
 * The verified prefix in the kernel. Part of walk.h.
 *
 *   verify  from the outermost frame inwards, checks whether the slots that the last walk has read
 *           are unchanged: this many outer frames are valid
 *   step    from the new innermost frame outwards, until a frame is one of the valid ones, in the
 *           same state, or the stack ends
 *   move    the new frames behind those that were joined
 *
 * The kernel's walk checks the outer frames first, the agent's engine last. The result is the same:
 * a step depends only on its state and on the slots that it reads (docs/unwinding.md). The agent's
 * engine needs its order because it must not read an address before that is known to be valid.
 *
 * Each phase runs in pieces. A piece is a global function, which the verifier checks once,
 * independent of the depth. The state is in the slot.
 */
#define WALK_VERIFIED 64 /* frames in a piece */
#define WALK_STEPS    16
#define WALK_MOVED    32

/* Moves all state of a loop round to the slot, whose contents the verifier does not track. The
 * verifier thus checks a round once for each iteration count, not once for each path to it. */
#define WALK_FORGET_REGISTERS __asm__ volatile("" ::: "memory")

enum walk_piece { WALK_PIECE_MORE, WALK_PIECE_DONE, WALK_PIECE_MISS };

ARCH_INLINE struct walk_kept *walk_kept_at(struct walk_slot *slot, uint64_t index)
{
	return &slot->kept[index % WALK_FRAMES];
}

/* Repeats the step from a frame and returns whether it leads to the same state. Used for frames
 * with a row that is not plain, for those that depend on fp, and for the outermost one. */
__attribute__((noinline)) int walk_holds(uint32_t number, uint32_t index)
{
	struct walk_slot *slot = walk_slot_of(number);
	const struct walk_kept *outer, *kept;
	struct walk_frame frame;
	enum walk_step step;

	if (!slot)
		return 0;
	kept = walk_kept_at(slot, index);
	outer = walk_kept_at(slot, index - 1);
	frame = (struct walk_frame){.pc = slot->kept_pcs[index % WALK_FRAMES],
				    .sp = kept->sp,
				    .fp = kept->fp,
				    .row = kept->row};
	step = walk_step(number, slot, &frame);
	if (!index)
		return step == WALK_END;
	return step == WALK_FRAME && frame.pc == slot->kept_pcs[(index - 1) % WALK_FRAMES] &&
	       frame.sp == outer->sp && (!(outer->flags & WALK_NEEDS_FP) || frame.fp == outer->fp);
}

/* Verifies one piece of frames. A piece begins at a multiple of its length, so that positions in it
 * are constants and a frame costs few instructions. */
__attribute__((noinline)) int walk_verify(uint32_t number)
{
	struct walk_slot *slot = walk_slot_of(number);
	uint64_t first, count, base, have, sp, outer;
	const uint64_t *returns, *pcs;
	uint32_t i = 0;

	if (!slot)
		return WALK_PIECE_DONE;
	first = slot->valid;
	__asm__ volatile("" : "+r"(first));
	first &= WALK_FRAMES - WALK_VERIFIED;
	count = slot->count - first;
	returns = &slot->returns[first];
	pcs = &slot->kept_pcs[first];
	outer = slot->kept_pcs[(first - 1) % WALK_FRAMES];
	sp = slot->sp;
	base = slot->base;
	have = slot->have;
#pragma unroll
	for (; i < WALK_VERIFIED; i++) {
		uint64_t at = returns[i];

		if (i >= count)
			break;
		if (at) {
			if (at < sp)
				break;
			if (at - base >= have) {
				if (!walk_window(number, at))
					break;
				base = slot->base;
				have = slot->have;
			}
			if (arch_code_address(*(
				    const uint64_t *)((const uint8_t *)slot->bytes +
						      ((at - base) & (WALK_WINDOW - 8)))) != outer)
				break;
		} else {
			if (walk_kept_at(slot, first + i)->sp < sp ||
			    !walk_holds(number, (uint32_t)first + i))
				break;
			base = slot->base;
			have = slot->have;
		}
		outer = pcs[i];
	}
	slot->valid = (uint32_t)first + i;
	return i == WALK_VERIFIED && count > WALK_VERIFIED ? WALK_PIECE_MORE : WALK_PIECE_DONE;
}

ARCH_INLINE bool walk_meets(const struct walk_kept *known, uint64_t known_pc,
			    const struct walk_frame *now)
{
	return known->sp == now->sp && known_pc == now->pc &&
	       (!(known->flags & WALK_NEEDS_FP) || known->fp == now->fp);
}

ARCH_INLINE int walk_missed(struct walk_slot *slot, enum walk_miss miss, uint64_t pc)
{
	slot->miss_pc = pc;
	slot->miss = miss;
	return WALK_PIECE_MISS;
}

/* Adds a new frame and steps to its caller. */
ARCH_INLINE int walk_new(uint32_t number, struct walk_slot *slot, struct walk_frame *frame)
{
	uint32_t fresh = slot->fresh;
	struct walk_kept *to;
	uint64_t pc = frame->pc;

	if (fresh >= WALK_FRAMES)
		return walk_missed(slot, WALK_DEEP, pc);
	if (slot->joined + fresh >= WALK_FRAMES)
		slot->joined = 0; /* new frames need the room, so the whole stack is returned */
	frame->row = walk_row(slot->word, pc);
	if (!frame->row)
		return walk_missed(slot, WALK_NO_ROW, pc);
	slot->pcs[fresh % WALK_FRAMES] = pc;
	slot->kept_pcs[(WALK_FRAMES - 1 - fresh) % WALK_FRAMES] = pc;
	to = walk_kept_at(slot, WALK_FRAMES - 1 - fresh);
	to->sp = frame->sp;
	to->fp = frame->fp;
	to->row = frame->row;
	slot->fresh = fresh + 1;
	switch (walk_step(number, slot, frame)) {
	case WALK_FRAME:
		return WALK_PIECE_MORE;
	case WALK_END:
		slot->joined = 0;
		return WALK_PIECE_DONE;
	case WALK_UNKNOWN_ROW:
		return walk_missed(slot, WALK_NO_ROW, frame->pc);
	case WALK_OTHER_ROW:
		return walk_missed(slot, WALK_ROW, pc);
	default:
		return walk_missed(slot, WALK_STACK, pc);
	}
}

__attribute__((noinline)) int walk_steps(uint32_t number)
{
	struct walk_slot *slot = walk_slot_of(number);
	int piece;

	if (!slot)
		return WALK_PIECE_MISS;
	for (uint32_t i = 0; i < WALK_STEPS; i++) {
		struct walk_frame frame = {.pc = slot->pc, .sp = slot->sp, .fp = slot->fp};
		uint32_t joined = slot->joined;
		const struct walk_kept *known = walk_kept_at(slot, joined - 1);

		if (joined && known->sp < frame.sp) {
			slot->joined = joined - 1;
			continue;
		}
		if (joined && walk_meets(known, slot->kept_pcs[(joined - 1) % WALK_FRAMES], &frame))
			return WALK_PIECE_DONE;
		piece = walk_new(number, slot, &frame);
		if (piece != WALK_PIECE_MORE)
			return piece;
		slot->pc = frame.pc;
		slot->sp = frame.sp;
		slot->fp = frame.fp;
		WALK_FORGET_REGISTERS;
	}
	return WALK_PIECE_MORE;
}

/* Moves the lowest index first, so that frames still to be moved are not overwritten. */
__attribute__((noinline)) int walk_move(uint32_t number)
{
	struct walk_slot *slot = walk_slot_of(number);

	if (!slot)
		return WALK_PIECE_DONE;
	for (uint32_t i = 0; i < WALK_MOVED; i++) {
		uint32_t fresh = slot->fresh, moved = slot->moved, at = slot->joined + moved, row;
		struct walk_kept *to, *from;
		uint64_t returns = 0;
		bool needs;

		if (moved >= fresh)
			return WALK_PIECE_DONE;
		from = walk_kept_at(slot, WALK_FRAMES - fresh + moved);
		to = walk_kept_at(slot, at);
		row = from->row;
		needs = at && walk_kept_at(slot, at - 1)->flags & WALK_NEEDS_FP;
		slot->kept_pcs[at % WALK_FRAMES] =
			slot->kept_pcs[(WALK_FRAMES - fresh + moved) % WALK_FRAMES];
		to->sp = from->sp;
		to->fp = from->fp;
		to->row = row;
		if (at && row_is_plain(row) && (!needs || row_keeps_fp(row)))
			returns = walk_kept_at(slot, at - 1)->sp - row_ra(row);
		slot->returns[at % WALK_FRAMES] = returns;
		to->flags = walk_row_needs_fp(row, needs) ? WALK_NEEDS_FP : 0;
		slot->moved = moved + 1;
		WALK_FORGET_REGISTERS;
	}
	return WALK_PIECE_MORE;
}

/* Returns the word of an open space, or 0 if the space is closed. */
ARCH_INLINE uint64_t walk_space_word(uint32_t space)
{
	const volatile struct walk_space *of = bpf_map_lookup_elem(&walk_spaces, &space);
	uint64_t word;

	if (!of)
		return 0;
	word = of->word;
	return walk_word_generation(word) == (uint32_t)of->unmapped ? word : 0;
}

ARCH_INLINE void walk_forget(struct walk_slot *slot)
{
	slot->count = 0;
}

ARCH_INLINE void walk_begin(struct walk_slot *slot, uint32_t space)
{
	slot->space = space;
	slot->count = 0;
	slot->end = 0;
}

ARCH_INLINE void walk_prepare(struct walk_slot *slot, const struct walk_start *start, uint64_t word)
{
	if (slot->word != word)
		slot->count = 0;
	slot->word = word;
	slot->pc = start->pc;
	slot->sp = start->sp;
	slot->fp = start->fp;
	slot->from = (start->sp - ARCH_RETURN_SLOT) & ~(uint64_t)(WALK_PAGE - 1);
	slot->base = 0;
	slot->have = 0;
	slot->bad = 0;
	slot->valid = 0;
	slot->fresh = 0;
	slot->moved = 0;
	slot->miss = WALK_STACK;
}

/* Notes the end of the stack memory that this walk has read, except in unusual cases. */
ARCH_INLINE void walk_note_end(struct walk_slot *slot)
{
	const struct walk_kept *root = &slot->kept[0];
	uint64_t end = root->sp;

	if (row_is_plain(root->row))
		end = (row_type(root->row) == ROW_FP ? root->fp : end) + row_cfa(root->row);
	slot->end = end;
}

/* Returns a miss before any of the stack was read. On x86 it reads the return address, which the
 * result needs. */
ARCH_INLINE enum walk_miss walk_not(const struct walk_start *start, struct walk_result *ret,
				    enum walk_miss miss)
{
	if (ARCH_RETURN_SLOT && !start->pc)
		bpf_probe_read_user(&ret->pc, sizeof(ret->pc),
				    (void *)(start->sp - ARCH_RETURN_SLOT));
	return miss;
}

ARCH_INLINE enum walk_miss walk(uint32_t number, struct walk_slot *slot,
				const struct walk_start *start, struct walk_result *ret)
{
	uint64_t word;
	int piece = WALK_PIECE_MORE;

	ret->pc = start->pc;
	if (slot->space == WALK_SPACE_NONE)
		return walk_not(start, ret, WALK_NO_SPACE);
	word = walk_space_word(slot->space);
	if (!walk_word_bits(word))
		return walk_not(start, ret, WALK_CLOSED);
	walk_prepare(slot, start, word);
	if (start->sp & 7)
		return walk_not(start, ret, WALK_STACK);
	if (!start->pc && (!ARCH_RETURN_SLOT ||
			   !walk_load(number, slot, start->sp - ARCH_RETURN_SLOT, &slot->pc)))
		return WALK_STACK;
	ret->pc = slot->pc;
	for (uint32_t i = 0; i < WALK_FRAMES / WALK_VERIFIED; i++)
		if (walk_verify(number) != WALK_PIECE_MORE)
			break;
	slot->joined = slot->valid;
	for (uint32_t i = 0; piece == WALK_PIECE_MORE && i < 2 * WALK_FRAMES / WALK_STEPS; i++)
		piece = walk_steps(number);
	if (piece != WALK_PIECE_DONE) {
		slot->count = 0;
		return slot->miss;
	}
	for (uint32_t i = 0; i < WALK_FRAMES / WALK_MOVED; i++)
		if (walk_move(number) != WALK_PIECE_MORE)
			break;
	slot->count = slot->joined + slot->fresh;
	walk_note_end(slot);
	if (walk_space_word(slot->space) != word) {
		slot->count = 0;
		return WALK_CLOSED;
	}
	ret->keep = slot->joined;
	ret->count = slot->fresh;
	return WALK_DONE;
}

/* Closes a space: its rows are not used until the agent has read the process's maps. */
ARCH_INLINE void walk_close(uint32_t number)
{
	struct walk_space *space = bpf_map_lookup_elem(&walk_spaces, &number);

	if (space)
		__sync_fetch_and_add(&space->unmapped, 1);
}

/* Closes the space if these addresses contain code. The process is about to unmap (munmap) or remap
 * (mmap with MAP_FIXED, mremap) them. */
ARCH_INLINE void walk_unmapped(uint32_t number, uint64_t start, uint64_t length)
{
	struct walk_space *space = bpf_map_lookup_elem(&walk_spaces, &number);

	for (uint32_t i = 0; space && i < WALK_CODE_MAX; i++) {
		const struct walk_code *code = &space->code[i];

		if (!code->end)
			break;
		if (start < code->end && start + length > code->start) {
			__sync_fetch_and_add(&space->unmapped, 1);
			break;
		}
	}
}

/*
 * Copies the stack from `sp` upwards, page by page, for a record of a miss. `to` has room for
 * `pages` pages (a constant) and receives the memory from sp & ~4095 on; bytes below sp in the
 * first page do not belong to the stack. Returns the number of bytes read, up to the first
 * unreadable page.
 */
ARCH_INLINE uint32_t walk_copy(void *to, uint32_t pages, uint64_t sp)
{
	uint64_t from = sp & ~(uint64_t)(WALK_PAGE - 1);
	uint32_t page = 0;

#pragma unroll
	for (; page < pages; page++)
		if (bpf_probe_read_user((uint8_t *)to + page * WALK_PAGE, WALK_PAGE,
					(void *)(from + page * WALK_PAGE)))
			break;
	return page * WALK_PAGE;
}
