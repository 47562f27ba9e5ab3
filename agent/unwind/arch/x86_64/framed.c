/*
 * Finds the range in which the frame pointer is valid. A function that keeps one begins with `push
 * %rbp; mov %rsp, %rbp`. The search starts at the nearest such beginning before a call and reads
 * the code once, in the order of addresses, up to the place where the function removes its frame
 * record and leaves. All calls in between have the same row.
 *
 *   55 48 89 e5   ...   call   ...   call   ...   pop %rbp; ret
 *               |<------------ held ------------------->|
 *
 * The danger is a function without a frame between the two: in it the row would skip the caller.
 * All code that is read must therefore be consistent with a frame that has only the record below
 * the return address. sp is a multiple of 16 at all calls, or 8 off at all calls. fp is not
 * written. Each return or jump away finds sp and fp restored. After such an end the function
 * continues only if an earlier branch leads past it. Code after the last such end or jump back is
 * not part of the range: it may be the beginning of another function, after a call that does not
 * return. In doubt the range is empty, and the caller uses another method.
 *
 * Go's functions make room first and put the record into it: `sub $N, %rsp; mov %rbp, N-8(%rsp);
 * lea N-8(%rsp), %rbp`. Their stacks move, so fp may be out of date when C code returns to them.
 * Their rows are based on sp and are derived for each call.
 */
#include "agent/unwind/arch/arch.h"

#include <string.h>

#include "agent/unwind/arch/x86_64/effect.h"
#include "agent/unwind/arch/x86_64/height.h"
#include "agent/unwind/ban.h"

#define BEFORE_MAX 8192 /* bytes to search for a function's beginning */
#define READ_MAX   2000 /* instructions */
#define OPENING	   32	/* the longest beginning, in bytes */
#define ROOM_MAX   (1 << 20)

struct opening {
	const uint8_t *end;
	bool put;     /* the beginning is that of a Go function */
	int32_t room; /* bytes below the record */
};

static int32_t constant(const uint8_t *at)
{
	int32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

/* A beginning is recognized by its last four bytes, Go's by the first four of its last instruction.
 * push %rbp; mov %rsp, %rbp has two encodings. */
#define MOV_SP_FP  ((int32_t)0xe5894855)
#define MOV_SP_FP2 ((int32_t)0xec8b4855)
#define LEA_0	   0x242c8d48 /* lea (%rsp), %rbp; the next two have 8-bit and 32-bit distances */
#define LEA_8	   0x246c8d48
#define LEA_32	   0x24ac8d48

/* Recognizes sub $N, %rsp; mov %rbp, N-8(%rsp) before the lea of `size` bytes. The lea differs from
 * the mov only in its second byte. */
static bool is_put(const uint8_t *lea, unsigned size, struct opening *ret)
{
	const uint8_t *mov = lea - size;
	int32_t room = size == 8 ? constant(lea + 4) : size == 5 ? (int8_t)lea[4] : 0;

	if (mov[0] != 0x48 || mov[1] != 0x89 || memcmp(mov + 2, lea + 2, size - 2) != 0 ||
	    room < 0 || room > ROOM_MAX)
		return false;
	*ret = (struct opening){.end = lea + size, .put = true, .room = room};
	if (mov[-4] == 0x48 && mov[-3] == 0x83 && mov[-2] == 0xec)
		return mov[-1] == room + 8;
	return mov[-7] == 0x48 && mov[-6] == 0x81 && mov[-5] == 0xec &&
	       constant(mov - 4) == room + 8;
}

static bool is_opening(const uint8_t *at, const uint8_t *most, struct opening *ret)
{
	switch (constant(at)) {
	case MOV_SP_FP:
	case MOV_SP_FP2:
		*ret = (struct opening){.end = at + 4};
		return true;
	case LEA_0:
		return is_put(at, 4, ret);
	case LEA_8:
		return at + 5 <= most && is_put(at, 5, ret);
	case LEA_32:
		return at + 8 <= most && is_put(at, 8, ret);
	default:
		return false;
	}
}

static bool opening_before(const struct arch_code *code, const uint8_t *most, struct opening *ret)
{
	const uint8_t *least;

	if (most - code->begin < OPENING)
		return false;
	least = most - code->begin > BEFORE_MAX ? most - BEFORE_MAX : code->begin + OPENING;
	for (const uint8_t *at = most - 4; at >= least; at--)
		if (is_opening(at, most, ret))
			return true;
	return false;
}

static bool is_at(struct place place, enum base base, int32_t offset)
{
	return place.base == base && place.offset == offset && !place.stored;
}

/* True if fp points to the record, which lies right below the return address. */
static bool is_held(const struct height *h)
{
	return is_at(h->fp, BASE_SP, -8) && is_at(h->pushed, BASE_FP, 0) && h->pushed_at == -8;
}

/* True if fp has the caller's value again. */
static bool is_leaving(const struct height *h)
{
	return is_from_sp(h->sp) && is_at(h->fp, BASE_FP, 0);
}

/* True if sp and fp both have the caller's values. */
static bool is_left(const struct height *h)
{
	return is_leaving(h) && !h->sp.offset;
}

struct reading {
	struct height now;
	struct height body; /* the state at the last jump; valid again after an end of the function
			       that is not its last */
	const uint8_t *farthest; /* the farthest target of a jump so far */
	const uint8_t *begin;
	const uint8_t *end; /* code up to here certainly belongs to the function */
	bool passed;	    /* a call or an end was read, so another function may follow */
	int32_t parity;	    /* of sp at the calls, which all must share; -1: no call yet */
	bool left;	    /* an end was read, so only the record lies below the return address */
};

/* Tells whether the instruction writes fp in a way that height_apply does not follow. */
static bool writes_fp(const struct insn *insn)
{
	uint32_t registers;

	if (insn->reg != INSN_FP && (insn->mod != 3 || insn->rm != INSN_FP))
		return false;
	return !effect_registers(insn, &registers) ||
	       (registers >> INSN_FP & 1 && (insn->map || insn->opcode != 0x5d));
}

/* Notes a jump within the function. Code that jumps back into the function is part of it. */
static void note_target(struct reading *r, const struct insn *insn)
{
	const uint8_t *target = insn->next + insn->immediate;

	r->body = r->now;
	if (target > r->farthest)
		r->farthest = target;
	if (target >= r->begin && target <= r->end)
		r->end = insn->next;
}

/* Called after a jump, a return or a trap. Returns false if no later code is known to belong to the
 * function. */
static bool goes_on(struct reading *r, const struct insn *insn)
{
	r->now = r->body;
	r->passed = true;
	return r->farthest >= insn->next && is_held(&r->body) && is_from_sp(r->body.sp);
}

/* Notes a call. Returns false if its sp disagrees with earlier calls, which shows that the code
 * belongs to another function. */
static bool note_call(struct reading *r, const struct insn *insn)
{
	struct place sp = r->now.sp;

	if (!is_held(&r->now))
		return false;
	if (!r->passed)
		r->end = insn->next;
	r->passed = true;
	if (!is_from_sp(sp))
		return true;
	if (r->parity < 0)
		r->parity = sp.offset & 15;
	return r->parity == (sp.offset & 15) && !(r->parity & 7);
}

/* Applies a load of the caller's fp from the record relative to sp. Returns false for other
 * instructions. */
static bool restores_fp(struct height *h, const struct insn *insn)
{
	if (insn->map || insn->opcode != 0x8b || !insn->wide || insn->mod == 3 ||
	    insn->reg != INSN_FP || insn->rm != INSN_SP || !insn->simple || !is_held(h) ||
	    !is_from_sp(h->sp) || h->sp.offset + insn->displacement != -8)
		return false;
	h->fp = h->pushed;
	return true;
}

/* Follows one instruction. Returns false if the function ends, or does not keep a frame after all.
 */
static bool framed_follow(struct reading *r, const uint8_t *at, const struct insn *insn)
{
	enum insn_flow flow = insn_flow(insn);
	bool held = is_held(&r->now);

	if (flow == FLOW_ON) {
		if (restores_fp(&r->now, insn))
			return true;
		if (writes_fp(insn))
			return false;
		height_apply(&r->now, insn);
		return is_held(&r->now) || is_leaving(&r->now);
	}
	if (flow == FLOW_CALL)
		return note_call(r, insn);
	if (flow == FLOW_BRANCH) {
		if (held)
			note_target(r, insn);
		return held;
	}
	if (held && flow == FLOW_JUMP) {
		note_target(r, insn);
	} else if (is_left(&r->now) && flow != FLOW_STOP && flow != FLOW_BEGIN) {
		r->end = at;
		r->left = true;
	} else if (!held || (flow != FLOW_AWAY && flow != FLOW_STOP)) {
		return false;
	}
	return goes_on(r, insn);
}

/* Begins with sp and fp in the state after the function's beginning. */
static void begin(struct reading *r, const struct opening *opening)
{
	*r = (struct reading){.now = height_begin(), .parity = -1};
	r->now.pushed = r->now.fp;
	r->now.pushed_at = -8;
	r->now.fp = r->now.sp;
	r->now.fp.offset = -8;
	r->now.sp.offset = -8 - opening->room;
	r->begin = r->end = opening->end;
}

bool arch_framed(const struct arch_code *code, uint64_t pc, struct arch_range *ret_range,
		 struct arch_frame *ret_frame)
{
	const uint8_t *site = code->begin + (pc - code->address), *at;
	struct place sp = {.base = BASE_NONE};
	bool called = false, by_sp;
	struct opening opening;
	struct reading r;
	struct insn insn;

	if (!opening_before(code, site, &opening))
		return false;
	begin(&r, &opening);
	at = opening.end;
	for (unsigned i = 0; i < READ_MAX && insn_read(at, code->end, &insn); i++, at = insn.next) {
		if (!framed_follow(&r, at, &insn))
			break;
		if (insn.next == site) {
			called = insn_flow(&insn) == FLOW_CALL;
			sp = r.now.sp;
		}
	}
	by_sp = opening.put || r.parity == 0;
	if (!called || !r.left || site > r.end || (by_sp && !is_from_sp(sp)))
		return false;
	*ret_frame = (struct arch_frame){.from_fp = !by_sp,
					 .cfa_words = by_sp ? (uint32_t)(8 - sp.offset) / 8 : 2,
					 .ra_words = 1,
					 .fp_words = 2};
	ret_range->begin = code->address + (uint64_t)(opening.end - code->begin);
	ret_range->end =
		by_sp ? ret_range->begin : code->address + (uint64_t)(r.end - code->begin) + 1;
	return true;
}
