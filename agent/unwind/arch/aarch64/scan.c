/*
 * Finds frames of AArch64 by reading code: musl has no tables, and hand-written assembly often has
 * none.
 *
 * Backward, for a return address. A function that calls has stored x30, nearly always beside x29,
 * and made room for both, in one instruction (stp x29, x30, [sp, #-N]!) or in two. The last such
 * store before the call is the right one, because a function has one prologue, which lies before
 * its other code. Instructions that give room back stand at an end of the function and are skipped.
 * If x29 points to the stored pair (a frame record, AAPCS64 6.4.6), x29 is the base: sp may be
 * moved by a size that the code does not show (alloca).
 *
 * Forward, for interrupted code: the instructions up to the return tell where x30 is.
 */
#include "agent/unwind/arch/arch.h"

#include "agent/unwind/arch/aarch64/insn.h"
#include "agent/unwind/ban.h"

#define BACKWARD_MAX 32768 /* instructions */
#define PROLOGUE_MAX 32
#define FORWARD_MAX  1000
#define REACH	     (1 << 24)

struct prologue {
	const uint8_t *store; /* the store of x30 */
	int32_t size;	      /* cfa - sp after it */
	int32_t slot[2];      /* distances of x29 and x30 below the cfa; 0: not stored */
};

static bool scan_frame_at(bool from_fp, int32_t cfa, const int32_t *slot,
			  struct arch_frame *ret_frame)
{
	if (cfa < 0 || cfa % 16 || cfa / 8 > ARCH_FRAME_CFA_MAX || slot[1] <= 0 || slot[1] % 8)
		return false;
	*ret_frame = (struct arch_frame){
		.from_fp = from_fp,
		.cfa_words = (uint32_t)cfa / 8,
		.ra_words = (uint32_t)slot[1] / 8,
		.fp_words = (uint32_t)slot[0] / 8,
	};
	return true;
}

/* Returns the constant that was moved to the register before `at`, by mov, and movk for the upper
 * bits; 0 if it is not known. */
static int32_t constant_before(const struct arch_code *code, const uint8_t *at, unsigned reg)
{
	uint32_t high = 0;

	for (unsigned i = 0; i < 4 && at - 4 >= code->begin; i++) {
		uint32_t insn = insn_at(at -= 4);

		if ((insn & 0xffe0001f) == (0xf2a00000 | reg))
			high = insn << 11 & 0xffff0000;
		else if ((insn & 0xffe0001f) == (0xd2800000 | reg))
			return (int32_t)(high | (insn >> 5 & 0xffff));
	}
	return 0;
}

/* Returns by how much the instruction at `at` moves sp down; negative if that is not known. */
static int32_t room_made(const struct arch_code *code, const uint8_t *at)
{
	struct insn_access access;
	uint32_t insn = insn_at(at);
	int32_t moves = 0;
	unsigned reg;

	if (insn_moves_sp_by(insn, &reg)) {
		if (!(insn & 0x40000000)) /* add */
			return 0;
		moves = constant_before(code, at, reg);
		return moves > 0 && moves < REACH ? moves : -1;
	}
	if (insn_access(insn, &access))
		moves = access.moves;
	else if (!insn_adds(insn, INSN_SP, INSN_SP, &moves))
		return 0;
	return moves < 0 ? -moves : 0;
}

/* Returns the room that was made right before `at`. */
static int32_t room_before(const struct arch_code *code, const uint8_t *at)
{
	int32_t size = 0;

	for (unsigned i = 0; i < PROLOGUE_MAX && at - 4 >= code->begin; i++) {
		int32_t room;

		at -= 4;
		if (insn_branches(insn_at(at)))
			break;
		room = room_made(code, at);
		if (room < 0)
			return -1;
		size += room;
	}
	return size;
}

/* Finds the last store of x30 before `pc`. */
static bool find_store(const struct arch_code *code, const uint8_t *pc, struct prologue *p)
{
	const uint8_t *at = pc;
	struct insn_access access;

	for (unsigned i = 0; i < BACKWARD_MAX && at - 4 >= code->begin; i++) {
		int32_t before;

		at -= 4;
		if (!insn_access(insn_at(at), &access) || access.load ||
		    access.at[1] == INSN_NOT_THERE)
			continue;
		before = room_before(code, at);
		p->store = at;
		p->size = before - access.moves;
		p->slot[1] = before - access.at[1];
		p->slot[0] = access.at[0] == INSN_NOT_THERE ? 0 : before - access.at[0];
		return before >= 0 && p->size > 0;
	}
	return false;
}

/* Reads from the store to `pc`. A row counts in units of 16 bytes. If x29 is not at a multiple of
 * them (clang, below an odd number of vector registers), the row is based on sp. */
static bool scan_backward(const struct arch_code *code, const uint8_t *pc,
			  struct arch_frame *ret_frame)
{
	bool called = false;
	struct prologue p;

	if (!find_store(code, pc, &p))
		return false;
	for (const uint8_t *at = p.store + 4; at < pc; at += 4) {
		int32_t room = room_made(code, at), above;

		if (insn_adds(insn_at(at), INSN_FP, INSN_SP, &above) && !called &&
		    p.size - above == p.slot[0] && !(p.slot[0] % 16))
			return scan_frame_at(true, p.slot[0], p.slot, ret_frame);
		called |= insn_is_call(insn_at(at));
		if (room < 0 || p.size >= REACH)
			return false;
		p.size += called ? 0 : room;
	}
	return scan_frame_at(false, p.size, p.slot, ret_frame);
}

/* The forward search. */

struct path {
	int32_t moved; /* how far sp, or x29, is above its first value */
	int32_t at[2]; /* where x29 and x30 were loaded from, above that value */
	bool has[2];
	bool from_fp;
};

static bool scan_note_return(const struct path *p, struct arch_frame *ret_frame)
{
	int32_t slot[2];

	for (unsigned i = 0; i < 2; i++)
		slot[i] = p->has[i] ? p->moved - p->at[i] : 0;
	if (p->has[1])
		return scan_frame_at(p->from_fp, p->moved, slot, ret_frame);
	if (p->from_fp || p->has[0] || p->moved < 0 || p->moved / 8 > ARCH_FRAME_CFA_MAX)
		return false;
	*ret_frame = (struct arch_frame){.cfa_words = (uint32_t)p->moved / 8};
	return true;
}

static void scan_load(struct path *p, const struct insn_access *access)
{
	for (unsigned i = 0; i < 2; i++) {
		if (access->at[i] == INSN_NOT_THERE)
			continue;
		p->at[i] = p->moved + access->at[i];
		p->has[i] = true;
	}
	p->moved += access->moves;
}

/* Reads forward from `pc`, the instruction that will be executed next. */
static bool scan_forward(const struct arch_code *code, const uint8_t *pc,
			 struct arch_frame *ret_frame)
{
	struct path p = {.moved = 0};
	const uint8_t *at = pc;
	bool called = false;

	for (unsigned i = 0; i < FORWARD_MAX && at >= code->begin && at + 4 <= code->end; i++) {
		struct insn_access access;
		uint32_t insn = insn_at(at);
		int32_t moves;
		unsigned reg;

		at += 4;
		called |= insn_is_call(insn);
		if (insn_access(insn, &access)) {
			if (!access.load &&
			    access.at[1] != INSN_NOT_THERE) { /* x30 is not saved yet */
				moves = room_before(code, pc);
				*ret_frame = (struct arch_frame){.cfa_words = (uint32_t)moves / 8};
				return !called && moves >= 0;
			}
			if (access.load)
				scan_load(&p, &access);
		} else if (insn_adds(insn, INSN_SP, INSN_SP, &moves)) {
			p.moved += moves > 0 ? moves : 0;
		} else if (insn_adds(insn, INSN_SP, INSN_FP, &moves)) {
			p.from_fp = true;
			p.moved = moves;
		} else if (insn_moves_sp_by(insn, &reg)) {
			return false;
		} else if (insn_returns(insn)) {
			return scan_note_return(&p, ret_frame);
		} else if (insn_jumps(insn)) {
			if (p.has[1]) /* a tail call */
				return scan_note_return(&p, ret_frame);
			if (insn >> 26 != 5)
				return false;
			at += 4 * insn_field(insn, 0, 26) - 4;
		}
	}
	return false;
}

/* Recognizes the end of a stack in musl: the code in which a thread begins, where mov x8, #93; svc
 * #0 (exit) follows. */
static bool scan_ends_stack(const struct arch_code *code, const uint8_t *pc)
{
	for (unsigned i = 0; i < 4 && code->end - pc >= 8; i++, pc += 4)
		if (insn_at(pc) == 0xd2800ba8 && insn_at(pc + 4) == 0xd4000001)
			return true;
	return false;
}

bool arch_scan(const struct arch_code *code, uint64_t pc, bool interrupted,
	       struct arch_frame *ret_frame)
{
	const uint8_t *at = code->begin + (pc - code->address);

	ret_frame->outermost = !interrupted && scan_ends_stack(code, at);
	if (ret_frame->outermost || pc & 3)
		return false;
	if (interrupted && scan_forward(code, at, ret_frame))
		return true;
	return scan_backward(code, at, ret_frame);
}
