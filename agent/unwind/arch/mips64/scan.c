/*
 * Finds frames of MIPS64 by reading code: most code has no table (gcc writes none for C).
 *
 * Backward, for a return address. A function that calls has stored ra, with `sd ra, N(sp)`, after
 * it has made room with `daddiu sp, sp, -SIZE`. The last such store before the call is the right
 * one, because a function has one prologue, which lies before its other code. (After the prologue
 * ra is an ordinary register: a store without room made before it does not count.) If s8 is the
 * frame's base (alloca), sp does not help; `move s8, sp` comes before any call.
 *
 * Forward, for interrupted code, and for functions without a prologue: the instructions up to `jr
 * ra` tell where ra is now.
 *
 * gcc stores ra highest and s8 right below it (mips_compute_frame_info), so the scan looks for s8
 * there.
 */
#include "agent/unwind/arch/arch.h"

#include "agent/unwind/arch/mips64/insn.h"
#include "agent/unwind/ban.h"

#define BACKWARD_MAX 32768 /* instructions */
#define PROLOGUE_MAX 64
/* instructions; code farther on mostly belongs to another function */
#define FORWARD_MAX 100
#define PATHS_MAX   16
#define REACH	    (1 << 24)

static bool frame_at(bool from_fp, int32_t cfa, int32_t ra, int32_t fp,
		     struct arch_frame *ret_frame)
{
	if (cfa < 0 || cfa % 8 || ra % 8 || ra <= 0 || fp % 8 || cfa / 8 > ARCH_FRAME_CFA_MAX)
		return false;
	*ret_frame = (struct arch_frame){
		.from_fp = from_fp,
		.cfa_words = (uint32_t)cfa / 8,
		.ra_words = (uint32_t)ra / 8,
		.fp_words = (uint32_t)fp / 8,
	};
	return true;
}

/* Finds the constant that li, lui and ori move to `reg` right before `at`. Room for a large frame
 * is made in two steps. A store into the first part may come before the second step; both belong to
 * one function. */
static bool constant_before(const struct arch_code *code, const uint8_t *at, unsigned reg,
			    int32_t *ret_value)
{
	int32_t low = 0;

	for (unsigned i = 0; i < PROLOGUE_MAX && at - 4 >= code->begin; i++) {
		uint32_t insn = insn_at(at -= 4);
		unsigned to;

		if (insn >> 16 == (0x3400u | reg << 5 | reg)) /* ori reg, reg, low */
			low = (int32_t)(insn & 0xffff);
		else if (insn >> 16 == (0x3c00u | reg)) /* lui */
			return *ret_value = (int32_t)(insn << 16 | (uint32_t)low), true;
		else if (insn >> 16 == (0x3400u | reg)) /* ori reg, zero */
			return *ret_value = (int32_t)(insn & 0xffff), true;
		else if (insn >> 16 == (0x2400u | reg) || insn >> 16 == (0x6400u | reg)) /* li */
			return *ret_value = insn_immediate(insn), true;
		else if (insn_jumps_to(insn, &to))
			return false;
	}
	return false;
}

/* Returns by how much the instruction at `at` moves sp down; negative if that is not known. */
static int32_t room_made(const struct arch_code *code, const uint8_t *at)
{
	uint32_t insn = insn_at(at);
	int32_t size = insn_moves_sp(insn);

	if (size)
		return size < 0 ? -size : 0;
	if (!insn_moves_sp_by(insn))
		return 0;
	if (!constant_before(code, at, insn_rt(insn), &size))
		return -1;
	if (insn & 2) /* dsubu */
		size = -size;
	return size < 0 && size > -REACH ? -size : 0;
}

struct prologue {
	const uint8_t *room;  /* room is made here */
	const uint8_t *store; /* the store of ra */
	int32_t ra;	      /* distance of ra below the cfa */
	int32_t size;	      /* size of the frame at that place */
	int32_t fp;	      /* 0: s8 is not stored */
	int32_t based;	      /* cfa = s8 + this; 0: s8 is an ordinary register */
};

/* Goes back from the store of ra to the instruction that makes room for it. Returns NULL if ra was
 * an ordinary register there. */
static const uint8_t *find_room(const struct arch_code *code, const uint8_t *store,
				int32_t *ret_size)
{
	const uint8_t *at = store;

	for (unsigned i = 0; i < PROLOGUE_MAX && at - 4 >= code->begin; i++) {
		at -= 4;
		if (insn_stores(insn_at(at), INSN_RA))
			return NULL;
		*ret_size = room_made(code, at);
		if (*ret_size)
			return *ret_size > insn_immediate(insn_at(store)) ? at : NULL;
	}
	return NULL;
}

/* Finds the last prologue before `pc`. */
static bool find_prologue(const struct arch_code *code, const uint8_t *pc, struct prologue *p)
{
	const uint8_t *at = pc;

	for (unsigned i = 0; i < BACKWARD_MAX && at - 4 >= code->begin; i++) {
		int32_t offset, size;

		at -= 4;
		offset = insn_immediate(insn_at(at));
		if (!insn_stores(insn_at(at), INSN_RA) || offset < 0)
			continue;
		p->room = find_room(code, at, &size);
		if (!p->room)
			continue;
		p->store = at;
		p->size = size;
		p->ra = size - offset;
		return true;
	}
	return false;
}

/* Reads what follows the prologue: more room, the store of s8, and whether s8 becomes the frame's
 * base. Returns false if sp is moved by an unknown amount. */
static bool read_body(const struct arch_code *code, const uint8_t *pc, struct prologue *p)
{
	int32_t slot = insn_immediate(insn_at(p->store)) - 8;
	bool called = false, known = true;

	p->fp = p->based = 0;
	for (const uint8_t *at = p->room + 4; at < pc; at += 4) {
		uint32_t insn = insn_at(at);
		int32_t more = room_made(code, at);

		if (p->based)
			break;
		if (insn_is_call(insn))
			called = true;
		else if (insn_stores(insn, INSN_FP) && insn_immediate(insn) == slot && !p->fp)
			p->fp = p->ra + 8;
		else if (insn_copies(insn, INSN_FP, INSN_SP) && !called)
			p->based = p->size;
		else if (more > 0)
			p->size += more;
		else if (more < 0)
			known = false;
	}
	return known;
}

static bool scan_backward(const struct arch_code *code, const uint8_t *pc,
			  struct arch_frame *ret_frame)
{
	struct prologue p;
	bool known;

	if (!find_prologue(code, pc, &p))
		return false;
	known = read_body(code, pc, &p);
	if (p.based)
		return frame_at(true, p.based, p.ra, p.fp, ret_frame);
	return known && frame_at(false, p.size, p.ra, p.fp, ret_frame);
}

/* The forward search. */

struct path {
	const uint8_t *at;
	int32_t moved; /* how far sp, or s8, is above its first value */
	int32_t ra;    /* where ra was loaded from, above that value */
	int32_t fp;
	bool from_fp, has_ra, has_fp;
	bool called;
};

struct search {
	const struct arch_code *code;
	struct path open[PATHS_MAX];
	unsigned count;
	unsigned work;
};

static void add_path(struct search *s, const struct path *p, const uint8_t *at)
{
	if (s->count == PATHS_MAX || at < s->code->begin || at + 8 > s->code->end)
		return;
	s->open[s->count] = *p;
	s->open[s->count++].at = at;
}

/* Applies one instruction. Returns false if another function would begin here, or if the
 * instruction cannot be followed. */
static bool scan_apply(struct path *p, uint32_t insn)
{
	int32_t moves = insn_moves_sp(insn);

	if (insn_stores(insn, INSN_RA) || (moves < 0 && p->called))
		return false;
	p->moved += moves;
	if (insn_copies(insn, INSN_SP, INSN_FP)) {
		p->from_fp = true;
		p->moved = 0;
	} else if (insn_loads(insn, INSN_RA)) {
		p->ra = p->moved + insn_immediate(insn);
		p->has_ra = true;
	} else if (insn_loads(insn, INSN_FP)) {
		p->fp = p->moved + insn_immediate(insn);
		p->has_fp = true;
	}
	return p->moved < REACH;
}

static bool note_return(const struct path *p, struct arch_frame *ret_frame)
{
	if (p->has_ra)
		return frame_at(p->from_fp, p->moved, p->moved - p->ra,
				p->has_fp ? p->moved - p->fp : 0, ret_frame);
	if (p->called || p->from_fp || p->has_fp || p->moved % 8 ||
	    p->moved / 8 > ARCH_FRAME_CFA_MAX)
		return false;
	*ret_frame = (struct arch_frame){.cfa_words = (uint32_t)p->moved / 8};
	return true;
}

/* Returns the room that was made before `pc`, without a jump in between. */
static int32_t room_before(const struct arch_code *code, const uint8_t *pc)
{
	int32_t size = 0;

	for (unsigned i = 0; i < PROLOGUE_MAX && pc - 4 >= code->begin && !size; i++) {
		uint32_t insn = insn_at(pc -= 4);
		unsigned rs;

		if (insn_jumps_to(insn, &rs) || insn_is_call(insn))
			break;
		size = room_made(code, pc);
	}
	return size;
}

/* Notes that a frame begins here. Nothing was called since the code was interrupted, so the code is
 * in a prologue or before it. */
static bool note_prologue(const struct path *p, const struct arch_code *code, const uint8_t *pc,
			  uint32_t insn, struct arch_frame *ret_frame)
{
	int32_t size = insn_stores(insn, INSN_RA) ? room_before(code, pc) : 0;

	if (p->called || p->moved || p->has_ra || size < 0 || size % 8)
		return false;
	*ret_frame = (struct arch_frame){.cfa_words = (uint32_t)size / 8};
	return true;
}

/* Tells whether the instruction makes room for a frame. Room that is not for ra is local (alloca),
 * or belongs to a function that does not call. */
static bool begins_frame(const struct arch_code *code, const uint8_t *at)
{
	bool made = room_made(code, at) > 0;

	for (unsigned i = 0; i < PROLOGUE_MAX / 2 && made && at + 8 <= code->end; i++, at += 4)
		if (insn_stores(insn_at(at + 4), INSN_RA))
			return true;
	return insn_stores(insn_at(at), INSN_RA);
}

static bool scan_follow(struct search *s, struct path *p, const uint8_t *pc,
			struct arch_frame *ret_frame)
{
	for (; s->work < FORWARD_MAX && p->at + 8 <= s->code->end; p->at += 4) {
		uint32_t insn = insn_at(p->at), slot = insn_at(p->at + 4);
		const uint8_t *target = p->at + 4 + 4 * (ptrdiff_t)insn_immediate(insn);
		unsigned rs;

		s->work++;
		if (begins_frame(s->code, p->at) && !p->called)
			return note_prologue(p, s->code, pc, insn, ret_frame);
		p->called |= insn_is_call(insn);
		if (insn_jumps_to(insn, &rs)) {
			if (rs != INSN_RA && !p->has_ra)
				return false; /* a jump by a table */
			return scan_apply(p, slot) && note_return(p, ret_frame);
		}
		if (insn_always_branches(insn)) {
			if (scan_apply(p, slot))
				add_path(s, p, target);
			return false;
		}
		if (insn_branches(insn)) {
			struct path taken = *p;

			if (scan_apply(&taken, slot))
				add_path(s, &taken, target);
		} else if (!scan_apply(p, insn)) {
			return false;
		}
	}
	return false;
}

static bool scan_forward(const struct arch_code *code, const uint8_t *pc,
			 struct arch_frame *ret_frame)
{
	struct path path = {.at = pc};
	struct search s;

	s.code = code;
	s.count = s.work = 0;
	add_path(&s, &path, pc);
	while (s.count && s.work < FORWARD_MAX) {
		path = s.open[--s.count];
		if (scan_follow(&s, &path, pc, ret_frame))
			return true;
	}
	return false;
}

#define LAST_MAX 12 /* instructions of the code to which a function of makecontext returns */
#define EXIT_MAX 4

/* Recognizes the end of a stack in glibc: the code in which a thread begins, where li v0, 5058;
 * syscall (exit) follows; or the code to which a function of makecontext returns: move gp, s1; beqz
 * s0. There sp is the one that makecontext was given, and no instruction leads to an outer frame.
 */
static bool ends_stack(const struct arch_code *code, const uint8_t *pc, bool interrupted)
{
	const uint8_t *at = pc + (interrupted ? 0 : 4 * (EXIT_MAX - 1));

	for (; at > pc - 4 * LAST_MAX && at >= code->begin; at -= 4) {
		if (code->end - at < 8)
			continue;
		if (insn_copies(insn_at(at), 28, 17) && insn_at(at + 4) >> 16 == 0x1200)
			return at <= pc;
		if (insn_at(at) == 0x240213c2 && insn_at(at + 4) == 0x0000000c)
			return at >= pc && !interrupted;
	}
	return false;
}

bool arch_scan(const struct arch_code *code, uint64_t pc, bool interrupted,
	       struct arch_frame *ret_frame)
{
	const uint8_t *at = code->begin + (pc - code->address);

	ret_frame->outermost = ends_stack(code, at, interrupted);
	if (ret_frame->outermost || pc & 3)
		return false;
	if (interrupted)
		return scan_forward(code, at, ret_frame) || scan_backward(code, at, ret_frame);
	if (scan_backward(code, at, ret_frame))
		return true;
	return scan_forward(code, at, ret_frame) && ret_frame->ra_words;
}
