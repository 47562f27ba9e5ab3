/*
 * Finds frames of ARM by reading code: most C code has no table. Thumb-2 and ARM differ only in the
 * encodings (insn.h).
 *
 * A function that calls has pushed lr. The last push of lr before the call is the right one,
 * because a function has one prologue, which lies before its other code. Code after the push makes
 * room, and gives it back only at an end of the function, so instructions that give it back are
 * skipped. A function with a variable number of arguments pushes them right before lr, so they lie
 * above.
 *
 * r7 and r11 are frame pointers if sp is set from them at the function's end, or if nothing else
 * tells how far sp was moved; otherwise they are ordinary registers. clang pushes r8 to r11
 * separately, below the registers that it pushes with lr, and may leave out some of them.
 *
 * Thumb code can be read backwards. Directly before the beginning of an instruction, the number of
 * consecutive halves that look like the first half of four bytes is even. (Before a function there
 * may be data or ARM code. A half that cannot form an instruction with the next one does not
 * count.)
 *
 * Interrupted code is read forward: the instructions up to the return tell where the return address
 * is.
 */
#include "agent/unwind/arch/arch.h"

#include "agent/unwind/arch/arm/insn.h"
#include "agent/unwind/ban.h"

#define BACKWARD_MAX (64 << 10) /* bytes */
#define FUNCTION_MAX (64 << 10)
#define FORWARD_MAX  400 /* instructions */
#define PROLOGUE_MAX 8	 /* instructions */
#define TABLE_MAX    520 /* bytes */
#define REACH	     (1 << 24)
#define LOOK_WORDS   8
#define SWITCH_MAX   32 /* instructions of setcontext */

struct scan {
	const struct arch_code *code;
	const uint8_t *pc;
	bool thumb;
};

struct prologue {
	const uint8_t *push; /* the push of lr */
	const uint8_t *next;
	int32_t above;	  /* bytes between the cfa and the push */
	int32_t size;	  /* cfa - sp */
	int32_t base[2];  /* cfa - r7, cfa - r11; 0: neither was set */
	int32_t saved[2]; /* where r7 and r11 were pushed, below the cfa; 0: not pushed */
	unsigned certain; /* the register that is certainly the frame's base; 0: not known */
	bool loose;
};

static bool is_beginning(const struct scan *s, const uint8_t *at)
{
	const uint8_t *before = at;

	if (!s->thumb)
		return true;
	while (before - 2 >= s->code->begin && insn_is_long(insn_half(before - 2)))
		before -= 2;
	return !((at - before) & 2) || !insn_may_pair(insn_half(at - 2), insn_half(at));
}

/* Returns the instruction before `at`, or NULL if there is none. */
static const uint8_t *scan_before(const struct scan *s, const uint8_t *at, struct insn *insn)
{
	for (int32_t size = s->thumb ? 2 : 4; size <= 4; size += 2)
		if (at - size >= s->code->begin && is_beginning(s, at - size) &&
		    insn_read(at - size, at, s->thumb, insn) && insn->next == at)
			return at - size;
	return NULL;
}

/* Returns the number of bytes above the push of lr that belong to the prologue: pushed arguments,
 * or room for them. */
static int32_t arguments_before(const struct scan *s, const uint8_t *push)
{
	const uint8_t *at = push;
	struct insn insn;

	for (unsigned i = 0; i < PROLOGUE_MAX; i++) {
		at = scan_before(s, at, &insn);
		if (!at)
			return 0;
		if (insn.kind == INSN_PUSH)
			return insn.mask && !(insn.mask & ~0xfu) ? insn.bytes : 0;
		if (insn.kind == INSN_ROOM)
			return insn.bytes <= 16 ? insn.bytes : 0;
		if (insn.kind != INSN_OTHER)
			return 0;
	}
	return 0;
}

/* Returns the end of a jump's table. The table ends at the latest at its lowest target. `last` is
 * the number of its last entry, from a compare before the jump; 0: unknown. */
static const uint8_t *skip_table(const struct scan *s, const struct insn *jump, int32_t last)
{
	int32_t end = TABLE_MAX, size = jump->bytes;

	if (last > 0 && last < TABLE_MAX / size)
		end = ((last + 1) * size + 1) & ~1;
	for (int32_t at = 0; at < end && s->code->end - jump->next >= at + size; at += size) {
		int32_t target = 2 * (size == 1 ? jump->next[at] : insn_half(jump->next + at));

		end = target < end ? target : end;
	}
	return jump->next + end;
}

/* Tells whether `at` lies in a table and thus is not an instruction. */
static bool is_in_table(const struct scan *s, const uint8_t *at)
{
	const uint8_t *from = at;
	struct insn jump;

	for (unsigned i = 0; i < TABLE_MAX && s->thumb; i += 2) {
		from -= 2;
		if (from < s->code->begin)
			return false;
		if (insn_half(from) == 0xe8df && insn_read(from, at, true, &jump) &&
		    jump.kind == INSN_TABLE)
			return at < skip_table(s, &jump, 0);
	}
	return false;
}

/* Tells whether a push has a usual list of registers; data between code may look like a push. A
 * usual push has a run of callee-saved registers. Below them it may push other registers, only to
 * make room: up to r3, or (-Os) from r0 on. */
static bool is_usual(uint32_t mask)
{
	uint32_t kept = mask >> 4 & 7,
		 room = mask & 15; /* (r7 may be the frame's base, so it does not count) */

	kept += kept & -kept; /* turns one run of bits into a single bit above it */
	return !(kept & (kept - 1)) && (!((16 - room) & (15 - room)) || !(room & (room + 1)));
}

/* Recognizes a frame's base that points to the pushed r7: clang sets it even where it leaves out
 * registers. */
static bool is_base_set(const struct insn *push, const uint8_t *end)
{
	struct insn insn;

	return push->mask >> INSN_R7 & 1 && insn_read(push->next, end, true, &insn) &&
	       insn.kind == INSN_BASE && insn.reg == INSN_R7 && insn.bytes == push->bytes - 8;
}

static bool pushes_link(const struct scan *s, const struct insn *insn)
{
	return insn->kind == INSN_PUSH && insn->mask >> INSN_LR & 1 &&
	       !(insn->mask >> INSN_SP & 1) && !(insn->mask >> INSN_PC & 1) &&
	       (is_usual(insn->mask) || (s->thumb && is_base_set(insn, s->code->end)));
}

/* Notes where registers were pushed, in ascending order. The frame's size already includes the
 * push. */
static void note_pushed(struct prologue *p, const struct insn *insn)
{
	int32_t at = p->size;

	for (unsigned reg = 0; reg < 16; reg++) {
		if (!(insn->mask >> reg & 1))
			continue;
		if ((reg == INSN_R7 || reg == INSN_R11) && !p->saved[reg == INSN_R11])
			p->saved[reg == INSN_R11] = at;
		at -= 4;
	}
}

/* Recognizes getcontext, which calls although it does not push lr, by str.w lr, [rN, #...] twice in
 * a row (for lr and pc). */
static bool keeps_link(const struct scan *s, const uint8_t *at)
{
	return s->pc - at >= 8 && insn_half(at) >> 4 == 0xf8c && insn_half(at + 2) >> 12 == 0xe &&
	       insn_word(at + 4) == insn_word(at) + (4 << 16);
}

static bool find_push(const struct scan *s, struct prologue *p)
{
	int32_t step = s->thumb ? 2 : 4;
	const uint8_t *at = s->pc;
	struct insn insn;

	while (at - step >= s->code->begin && s->pc - at < BACKWARD_MAX) {
		at -= step;
		if (s->thumb && keeps_link(s, at))
			return false;
		if (!insn_read(at, s->pc, s->thumb, &insn) || !pushes_link(s, &insn) ||
		    !is_beginning(s, at) || is_in_table(s, at))
			continue;
		*p = (struct prologue){.push = at, .next = insn.next};
		p->above = arguments_before(s, at);
		p->size = p->above + insn.bytes;
		note_pushed(p, &insn);
		return true;
	}
	return false;
}

/* Reads from the push to `pc`. */
static bool read_body(const struct scan *s, struct prologue *p)
{
	const uint8_t *at = p->next;
	bool called = false;
	int32_t last = 0;
	struct insn insn;

	while (at < s->pc && p->size < REACH) {
		if (!insn_read(at, s->pc, s->thumb, &insn))
			return false;
		if ((insn.kind == INSN_PUSH || insn.kind == INSN_ROOM) && !called) {
			p->size += insn.bytes;
			note_pushed(p, &insn);
		} else if (insn.kind == INSN_ROOM_LOOSE ||
			   (insn.kind == INSN_UNBASE && !p->base[insn.reg == INSN_R11]))
			p->loose = true;
		else if (insn.kind == INSN_BASE && !called) {
			p->base[insn.reg == INSN_R11] = p->size - insn.bytes;
			if (s->thumb && insn_half(at) == 0xaf00)
				p->certain = INSN_R7; /* an ordinary copy would be a move */
		} else if (insn.kind == INSN_COMPARE)
			last = insn.bytes;
		called |= insn.kind == INSN_CALL;
		at = insn.kind == INSN_TABLE ? skip_table(s, &insn, last) : insn.next;
	}
	return at == s->pc && p->size < REACH;
}

/* Returns the register from which sp is set in this function, or 0. The function is taken to extend
 * to the next push of lr. */
static unsigned find_unbase(const struct scan *s, const struct prologue *p)
{
	const uint8_t *at = p->next, *end = s->code->end;
	int32_t last = 0;
	struct insn insn;

	if (end - at > FUNCTION_MAX)
		end = at + FUNCTION_MAX;
	while (at < end && insn_read(at, end, s->thumb, &insn)) {
		if (pushes_link(s, &insn) && at > s->pc)
			break;
		if (insn.kind == INSN_UNBASE && p->base[insn.reg == INSN_R11])
			return insn.reg;
		if (insn.kind == INSN_COMPARE)
			last = insn.bytes;
		at = insn.kind == INSN_TABLE ? skip_table(s, &insn, last) : insn.next;
	}
	return 0;
}

static bool scan_frame_of(const struct prologue *p, unsigned base, struct arch_frame *ret_frame)
{
	int32_t cfa = base ? p->base[base == INSN_R11] : p->size;

	if (cfa < 0 || cfa % 4 || p->above % 4 || cfa / 4 > ARCH_FRAME_CFA_MAX)
		return false;
	*ret_frame = (struct arch_frame){
		.from_fp = base,
		.from_fp2 = base == INSN_R11,
		.cfa_words = (uint32_t)cfa / 4,
		.ra_words = (uint32_t)p->above / 4 + 1,
		.fp_words = (uint32_t)p->saved[0] / 4,
		.fp2_words = (uint32_t)p->saved[1] / 4,
	};
	return true;
}

static bool scan_backward(const struct scan *s, struct arch_frame *ret_frame)
{
	struct prologue p;
	unsigned base;

	if (!find_push(s, &p) || !read_body(s, &p))
		return false;
	base = p.certain;
	if (!base && (p.base[0] || p.base[1]))
		base = find_unbase(s, &p);
	if (p.loose && !base) { /* clang sets sp from a register that holds an earlier sp */
		if (!p.base[0] && !p.base[1])
			return false;
		base = p.base[0] ? INSN_R7 : INSN_R11;
	}
	return scan_frame_of(&p, base, ret_frame);
}

/* The forward search. */

struct path {
	int32_t moved;	  /* how far sp has moved up */
	unsigned base;	  /* the register from which `moved` counts */
	int32_t added[2]; /* what was added to r7 and r11 */
	int32_t slot[16]; /* where registers were popped from; valid for those in `popped` */
	uint32_t popped;
};

static void scan_pop(struct path *p, const struct insn *insn)
{
	int32_t at = p->moved;

	for (unsigned reg = 0; reg < 16; reg++) {
		if (!(insn->mask >> reg & 1))
			continue;
		p->slot[reg] = at;
		p->popped |= 1u << reg;
		at += 4;
	}
	p->moved += insn->bytes;
}

static uint32_t words_popped(const struct path *p, unsigned reg)
{
	return p->popped >> reg & 1 ? (uint32_t)(p->moved - p->slot[reg]) / 4 : 0;
}

static bool note_return(const struct path *p, struct arch_frame *ret_frame)
{
	unsigned ra = p->popped >> INSN_PC & 1 ? INSN_PC : INSN_LR;

	if (p->moved < 0 || p->moved / 4 > ARCH_FRAME_CFA_MAX ||
	    (p->base && !(p->popped >> ra & 1)))
		return false;
	*ret_frame = (struct arch_frame){
		.from_fp = p->base,
		.from_fp2 = p->base == INSN_R11,
		.cfa_words = (uint32_t)p->moved / 4,
		.ra_words = words_popped(p, ra),
		.fp_words = words_popped(p, INSN_R7),
		.fp2_words = words_popped(p, INSN_R11),
	};
	return true;
}

/* Reads forward from the instruction that will be executed next. Returns false if the code is too
 * complicated. */
static bool scan_forward(const struct scan *s, struct arch_frame *ret_frame)
{
	const uint8_t *at = s->pc;
	struct path p = {.moved = 0};
	bool called = false, link = true; /* lr has its first value */
	struct insn insn;

	for (unsigned i = 0; i < FORWARD_MAX && insn_read(at, s->code->end, s->thumb, &insn); i++) {
		switch (insn.kind) {
		case INSN_PUSH:
			if (called)
				return false;
			if (insn.mask >> INSN_LR & 1) { /* lr is not saved yet */
				*ret_frame = (struct arch_frame){
					.cfa_words = (uint32_t)arguments_before(s, at) / 4};
				return p.moved <= 0;
			}
			p.moved -= insn.bytes;
			break;
		case INSN_ROOM:
			if (called)
				return false;
			p.moved -= insn.bytes;
			break;
		case INSN_LESS:
			p.moved += insn.bytes;
			break;
		case INSN_REBASE:
			p.added[insn.reg == INSN_R11] += insn.bytes;
			break;
		case INSN_UNBASE:
			p.base = insn.reg;
			p.moved = p.added[insn.reg == INSN_R11] - insn.bytes;
			break;
		case INSN_POP:
			scan_pop(&p, &insn);
			if (insn.mask >> INSN_PC & 1)
				return note_return(&p, ret_frame);
			break;
		case INSN_RETURN:
			return (link || p.popped >> INSN_LR & 1) && note_return(&p, ret_frame);
		case INSN_JUMP:
		case INSN_ROOM_LOOSE:
			return false;
		case INSN_CALL:
			called = true;
			link = false;
			break;
		case INSN_LINK:
			link = false;
			break;
		default:
			break;
		}
		at = insn.next;
	}
	return false;
}

/* Tells whether the code looks like ARM code. Most ARM instructions have the condition "always", 14
 * in the highest four bits of a word; few words of Thumb code do. */
static bool looks_like_arm(const struct arch_code *code, const uint8_t *pc)
{
	unsigned words = 0, always = 0;

	for (int i = -LOOK_WORDS; i < LOOK_WORDS; i++) {
		if (4 * i < code->begin - pc || 4 * (i + 1) > code->end - pc)
			continue;
		words++;
		always += insn_word(pc + 4 * i) >> 28 == 14;
	}
	return 2 * always > words;
}

/* Decides whether the code is Thumb. The last four bytes of a call may be a call in both encodings.
 */
static bool is_thumb(const struct arch_code *code, const uint8_t *pc, bool interrupted)
{
	bool thumb, arm;

	if (((uintptr_t)pc - (uintptr_t)code->begin + code->address) & 2)
		return true;
	if (interrupted || pc - code->begin < 4)
		return !looks_like_arm(code, pc);
	thumb = insn_thumb_call(pc);
	arm = insn_arm_call(pc);
	return thumb == arm ? !looks_like_arm(code, pc) : thumb;
}

/* Recognizes the end of a stack in glibc: the code in which a thread begins, where mov r7, #1; svc
 * #0 follows; or __startcontext (ARM code: movs r0, r4 and two branches). makecontext puts the
 * address of __startcontext on the stack, and sp there is the end of the stack that it was given.
 */
static bool ends_stack(const struct scan *s, bool interrupted)
{
	for (const uint8_t *at = s->pc; at >= s->pc - 8 && at >= s->code->begin; at -= 4)
		if (s->code->end - at >= 8 && insn_word(at) == 0xe1b00004 &&
		    (insn_word(at + 4) & 0x0f000000) == 0x0a000000)
			return true;
	for (const uint8_t *at = s->pc; at < s->pc + 12 && s->code->end - at >= 8 && !interrupted;
	     at += 2)
		if (insn_word(at) == 0xdf002701 ||
		    (insn_word(at) == 0xe3a07001 && insn_word(at + 4) == 0xef000000))
			return true;
	return false;
}

#define PLT_JUMP     0xe5bcf000 /* ldr pc, [ip, #...]! */
#define PLT0_JUMP    0xe5bef008 /* ldr pc, [lr, #8]!: lr was pushed */
#define VENEER_JUMP  0xe08cf00f /* add pc, ip, pc */
#define VENEER_THUMB 0x4778	/* bx pc */

/* Recognizes the linker's stubs of a few instructions that jump on. They use no stack, except for
 * the push in the first entry of the procedure linkage table. */
static bool scan_stub(const struct scan *s, struct arch_frame *ret_frame)
{
	const uint8_t *at = s->pc;

	*ret_frame = (struct arch_frame){.cfa_words = 0};
	if (s->thumb)
		return insn_half(at) == VENEER_THUMB;
	for (; at < s->pc + 12 && s->code->end - at >= 4; at += 4) {
		uint32_t word = insn_word(at);

		if (word == PLT0_JUMP)
			ret_frame->cfa_words = ret_frame->ra_words = 1;
		if (word == PLT0_JUMP || word == VENEER_JUMP || (word & 0xfffff000) == PLT_JUMP)
			return true;
	}
	return false;
}

/* Recognizes a place right after lr was popped. Only the loading of arguments and a jump to another
 * function follow. */
static bool scan_popped(const struct scan *s, struct arch_frame *ret_frame)
{
	const uint8_t *at = s->pc;
	struct insn insn;

	*ret_frame = (struct arch_frame){.cfa_words = 0};
	for (unsigned i = 0; i < PROLOGUE_MAX && (at = scan_before(s, at, &insn)); i++) {
		if (insn.kind == INSN_POP)
			return (insn.mask >> INSN_LR & 3) == 1;
		if (insn.kind != INSN_OTHER && insn.kind != INSN_COMPARE)
			break;
	}
	return false;
}

/* Recognizes glibc's setcontext (ARM code). It loads sp from memory that is not the stack, and
 * never returns, so it saves no lr. */
static bool switches_stack(const struct scan *s)
{
	const uint8_t *at = s->pc;

	for (unsigned i = 0; i < SWITCH_MAX && s->code->end - at >= 4; i++, at += 4) {
		uint32_t word = insn_word(at);

		if ((word & 0xfff0f000) == 0xe590d000 ||
		    (word & 0xfff08000) == 0xe8908000) /* ldr sp; ldm with pc */
			return word >> 16 != 0xe59d && word >> 16 != 0xe89d;
		if (word == 0xe12fff1e || word >> 16 == 0xe8bd || word >> 24 == 0xea)
			return false; /* bx lr; pop; b */
	}
	return false;
}

bool arch_scan(const struct arch_code *code, uint64_t pc, bool interrupted,
	       struct arch_frame *ret_frame)
{
	struct scan s = {.code = code, .pc = code->begin + (pc - code->address)};

	s.thumb = is_thumb(code, s.pc, interrupted);
	ret_frame->outermost = ends_stack(&s, interrupted);
	if (ret_frame->outermost || pc & 1 || (!s.thumb && switches_stack(&s)))
		return false;
	if (interrupted)
		return scan_stub(&s, ret_frame) || scan_popped(&s, ret_frame) ||
		       scan_forward(&s, ret_frame) || scan_backward(&s, ret_frame);
	return scan_backward(&s, ret_frame);
}
