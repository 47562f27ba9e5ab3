/*
 * Steps out of a function that no table describes, by reading its code.
 *
 * Forward first: a function removes its data from the stack before it returns. The instructions
 * from here to a `ret`, on any path, therefore tell where the return address lies, and whether fp
 * is restored on the way; the function's beginning need not be known. Calls that never return
 * mislead, because unrelated code follows them. Two rules keep that code out. Paths that cross
 * fewer calls are tried first. And sp is a multiple of 16 at every call (System V ABI, 3.2.2), so
 * sp at every call on a path must agree with the return address that is found: in another function
 * it would be 8 off.
 *
 * Otherwise backward: code that leads to no `ret` (such a call itself, or code after a jump table)
 * is compared with the function's beginning. One sweep from some place before it, in the order of
 * addresses, notes for each forward branch the height of the stack at its target. A function begins
 * after a return, jump or trap that no earlier branch leads past; the rule of 16 rejects most false
 * beginnings.
 *
 * Against the tables of glibc 2.36's libc, 13303 call sites: 98.6 % right, one wrong, the rest
 * undecided, mostly calls of abort in .text.unlikely (tests/unit/unwind/scan.c). Forward
 * alone: 87.5 %, none wrong.
 */
#include "agent/unwind/arch/x86_64/scan.h"

#include "agent/unwind/arch/x86_64/height.h"
#include "agent/unwind/ban.h"

#define FORWARD_MAX 3000  /* instructions that a search may read */
#define WINDOW	    16384 /* bytes that a sweep may read */
#define PATHS_MAX   32
#define SEEN_BITS   2048

struct path {
	const uint8_t *at;
	struct height height;
	struct place aligned; /* sp at the first call; base NONE: no call yet */
	uint32_t calls;
};

/* Crosses a call. Returns false if sp does not agree with that at an earlier call. */
static bool cross_call(struct path *p)
{
	struct place sp = p->height.sp;

	p->calls++;
	if (!p->aligned.base)
		p->aligned = sp;
	return p->aligned.base != sp.base || !((p->aligned.offset ^ sp.offset) & 8);
}

static bool is_even(int32_t offset)
{
	return !(offset & 15);
}

/* Makes a frame. `cfa` is the canonical frame address, as a distance from the present sp or fp. */
static bool frame_at(struct place cfa, int32_t fp_words, struct arch_frame *ret_frame)
{
	if (cfa.offset < 8 || cfa.offset % 8 || cfa.offset / 8 > ARCH_FRAME_CFA_MAX ||
	    fp_words > ARCH_FRAME_FP_MAX)
		return false;
	*ret_frame = (struct arch_frame){
		.from_fp = cfa.base == BASE_FP,
		.cfa_words = (uint32_t)cfa.offset / 8,
		.fp_words = (uint32_t)fp_words,
	};
	return true;
}

/* The forward search. */

struct search {
	const struct arch_code *code;
	struct path open[PATHS_MAX];
	unsigned count;
	unsigned work;
	uint64_t seen[SEEN_BITS /
		      64]; /* targets by a hash; of two with the same hash one is left out */
	bool found;
	bool conflict;
	uint32_t calls; /* calls on the path that found the return */
	struct arch_frame frame;
};

static void add_path(struct search *s, const struct path *p, const uint8_t *at)
{
	size_t offset = (size_t)(at - s->code->begin);
	size_t bit = (offset ^ offset >> 11) % SEEN_BITS;

	if (at < s->code->begin || at >= s->code->end || s->count == PATHS_MAX ||
	    s->seen[bit / 64] >> bit % 64 & 1)
		return;
	s->seen[bit / 64] |= 1ull << bit % 64;
	s->open[s->count] = *p;
	s->open[s->count++].at = at;
}

static bool scan_is_same(const struct arch_frame *a, const struct arch_frame *b)
{
	return a->from_fp == b->from_fp && a->cfa_words == b->cfa_words &&
	       a->fp_words == b->fp_words;
}

/* Handles a return at the end of a path. */
static void note_return(struct search *s, const struct path *p)
{
	struct place cfa = p->height.sp, fp = p->height.fp;
	int32_t words = ARCH_FP_KEPT;
	struct arch_frame frame;

	cfa.offset += 8;
	if (!cfa.base || (cfa.base == BASE_FP && !is_even(cfa.offset)) ||
	    (cfa.base == p->aligned.base && !is_even(cfa.offset - p->aligned.offset)))
		return;
	if (fp.stored) {
		words = (cfa.offset - fp.offset) / 8;
		if (fp.base != cfa.base || words <= ARCH_FP_KEPT || (cfa.offset - fp.offset) % 8)
			return;
	} else if (fp.base != BASE_FP || fp.offset || cfa.base == BASE_FP) {
		return; /* the restored fp would not be the caller's */
	}
	if (!frame_at(cfa, words, &frame))
		return;
	s->conflict |= s->found && !scan_is_same(&frame, &s->frame);
	s->found = true;
	s->calls = p->calls;
	s->frame = frame;
}

/* Tells whether the instruction removes a frame, so that a jump after it leaves the function. */
static bool takes_away(const struct insn *insn)
{
	if (insn->map)
		return false;
	return (insn->opcode & 0xf8) == 0x58 || insn->opcode == 0xc9 ||
	       ((insn->opcode == 0x81 || insn->opcode == 0x83) && insn->mod == 3 &&
		insn->rm == INSN_SP && !(insn->reg & 7));
}

/* Follows a path to its end, to a call, or to a jump. Queues both sides of a branch. */
static void follow(struct search *s, struct path *p, const uint8_t *start)
{
	bool leaving = false;
	struct insn insn;

	for (; s->work < FORWARD_MAX && insn_read(p->at, s->code->end, &insn); p->at = insn.next) {
		s->work++;
		switch (insn_flow(&insn)) {
		case FLOW_BRANCH:
			add_path(s, p, insn.next + insn.immediate);
			break;
		case FLOW_JUMP:
			add_path(s, p, insn.next + insn.immediate);
			return;
		case FLOW_CALL:
			if (cross_call(p))
				add_path(s, p, insn.next);
			return;
		case FLOW_AWAY:
			if (!leaving)
				return;
			__attribute__((fallthrough));
		case FLOW_AWAY_STATIC:
		case FLOW_RETURN:
			note_return(s, p);
			return;
		case FLOW_BEGIN:
			if (p->at != start)
				return;
			break;
		case FLOW_STOP:
			return;
		case FLOW_ON:
			break;
		}
		leaving = takes_away(&insn);
		height_apply(&p->height, &insn);
	}
}

static struct path take_nearest(struct search *s)
{
	unsigned best = 0;
	struct path path;

	for (unsigned i = 1; i < s->count; i++)
		if (s->open[i].calls <= s->open[best].calls)
			best = i;
	path = s->open[best];
	s->open[best] = s->open[--s->count];
	return path;
}

bool scan_forward(const struct arch_code *code, const uint8_t *start, bool interrupted,
		  struct arch_frame *ret_frame)
{
	struct path path = {.height = height_begin(),
			    .aligned = {.base = interrupted ? BASE_NONE : BASE_SP}};
	struct search s;

	s.code = code;
	s.count = s.work = 0;
	s.found = s.conflict = false;
	__builtin_memset(s.seen, 0, sizeof(s.seen));
	add_path(&s, &path, start);
	while (s.count && s.work < FORWARD_MAX) {
		path = take_nearest(&s);
		if (s.found && path.calls > s.calls)
			break;
		follow(&s, &path, start);
	}
	if (!s.found || s.conflict)
		return false;
	*ret_frame = s.frame;
	return true;
}

/* The backward sweep. */

struct expected {
	const uint8_t *at;
	struct height height;
};

struct sweep {
	struct height now; /* counted from sp and fp at the function's beginning */
	struct height
		body; /* the state at the last jump: probably right if only later code leads here */
	bool known;
	bool guessed; /* the state is `body`; a branch that leads here overrides it */
	bool has_body;
	bool ended; /* the instruction before ended a block or a function */
	bool after_call;
	bool cleared; /* fp was set to 0, with no jump since; only an outermost frame does that
			 before it calls */
	const uint8_t *farthest; /* the farthest target of a branch */
	const uint8_t *nearest;	 /* the nearest expected target */
	unsigned count;
	struct expected expected[PATHS_MAX];
};

/* xor %ebp, %ebp */
static bool clears_fp(const struct insn *insn)
{
	return !insn->map && (insn->opcode & 0xfd) == 0x31 && insn->mod == 3 &&
	       insn->rm == INSN_FP && insn->reg == INSN_FP;
}

static bool is_entry(const struct height *h)
{
	return is_from_sp(h->sp) && !h->sp.offset;
}

static void expect(struct sweep *s, const uint8_t *target, const uint8_t *here)
{
	if (!s->known || target < here)
		return;
	if (target > s->farthest)
		s->farthest = target;
	if (s->count == PATHS_MAX)
		return;
	if (!s->count || target < s->nearest)
		s->nearest = target;
	s->expected[s->count].at = target;
	s->expected[s->count++].height = s->now;
}

static void meet_expected(struct sweep *s, const uint8_t *at)
{
	unsigned kept = 0;

	if (!s->count || at < s->nearest)
		return;
	s->nearest = NULL;
	for (unsigned i = 0; i < s->count; i++) {
		const struct expected *e = &s->expected[i];

		if (e->at > at) {
			if (!kept || e->at < s->nearest)
				s->nearest = e->at;
			s->expected[kept++] = *e;
		} else if (e->at == at && (!s->known || s->guessed)) {
			s->now = e->height;
			s->known = true;
			s->guessed = false;
		}
	}
	s->count = kept;
}

static void begin_function(struct sweep *s, const uint8_t *at)
{
	s->now = height_begin();
	s->known = true;
	s->guessed = false;
	s->has_body = false;
	s->count = 0;
	s->farthest = at;
}

static void scan_end_block(struct sweep *s)
{
	if (s->known && !is_entry(&s->now)) {
		s->body = s->now;
		s->has_body = true;
	}
	s->known = false;
	s->ended = true;
}

/* Recognizes the beginning of a function: it is aligned, and if the function calls, the instruction
 * is one of these. */
static bool is_opening(const struct insn *insn, uint64_t address)
{
	if (address % 16 || insn->map)
		return false;
	return (insn->opcode & 0xf8) == 0x50 ||
	       (insn->opcode == 0x83 && insn->mod == 3 && insn->rm == INSN_SP);
}

/* Determines the state before this instruction is executed. */
static void arrive(struct sweep *s, const uint8_t *at, const struct insn *insn, bool opening)
{
	bool padding = insn_is_padding(insn);

	if (s->after_call && s->farthest <= at && (padding || opening)) {
		s->known = s->has_body = false; /* the call before does not return */
		s->ended = true;
	}
	if (s->after_call && !insn->map && insn->opcode == 0xe8)
		s->known = false; /* a call right after a call: the first one probably does not
				     return */
	s->after_call = false;
	if (insn_flow(insn) == FLOW_BEGIN) {
		s->known = false;
		s->count = 0;
		s->farthest = at;
		s->ended = true;
	}
	meet_expected(s, at);
	if (!s->known && s->has_body && s->farthest > at) {
		s->now = s->body;
		s->known = s->guessed = true;
	}
	if (!s->known && s->ended && !padding && (opening || s->farthest <= at))
		begin_function(s, at);
	if (s->known)
		s->ended = false;
}

static void scan_leave(struct sweep *s, const struct insn *insn)
{
	const uint8_t *target = insn->next + insn->immediate;

	if (clears_fp(insn))
		s->cleared = true;
	else if (insn_flow(insn) != FLOW_ON && insn_flow(insn) != FLOW_CALL)
		s->cleared = false;
	switch (insn_flow(insn)) {
	case FLOW_BRANCH:
		expect(s, target, insn->next);
		break;
	case FLOW_JUMP:
		if (!is_entry(&s->now)) /* otherwise this is probably a tail call */
			expect(s, target, insn->next);
		scan_end_block(s);
		break;
	case FLOW_AWAY:
		scan_end_block(s);
		break;
	case FLOW_AWAY_STATIC:
		s->known = false;
		break;
	case FLOW_CALL:
		s->after_call = true;
		if (s->known && is_from_sp(s->now.sp) && !(s->now.sp.offset & 8)) {
			s->known = false;
			s->count = 0;
		}
		break;
	case FLOW_RETURN:
	case FLOW_STOP:
		s->known = false;
		s->ended = true;
		break;
	case FLOW_BEGIN:
	case FLOW_ON:
		break;
	}
	height_apply(&s->now, insn);
	if (is_from_sp(s->now.sp) && s->now.sp.offset > 0)
		s->known = false; /* the function would have removed its own return address */
}

static bool frame_of_body(const struct height *h, bool interrupted, struct arch_frame *ret_frame)
{
	bool from_fp = !is_from_sp(h->sp);
	struct place cfa = {.base = from_fp ? BASE_FP : BASE_SP};
	int32_t words = ARCH_FP_KEPT;

	if (from_fp && !is_from_sp(h->fp))
		return false;
	cfa.offset = 8 - (from_fp ? h->fp.offset : h->sp.offset);
	if (!interrupted && !is_even(cfa.offset))
		return false;
	if (h->pushed.base) {
		words = (8 - h->pushed_at) / 8;
		if (h->pushed_at > -8 || h->pushed_at % 8 || (!from_fp && words * 8 > cfa.offset))
			return false;
	}
	return frame_at(cfa, words, ret_frame);
}

static bool sweep_backward(const struct arch_code *code, const uint8_t *target, bool interrupted,
			   struct arch_frame *ret_frame)
{
	const uint8_t *at = target - code->begin > WINDOW ? target - WINDOW : code->begin;
	struct sweep s;
	struct insn insn;

	__builtin_memset(&s, 0, offsetof(struct sweep, expected));
	s.farthest = at + 1;
	while (at <= target) {
		if (at == target && !interrupted)
			break; /* only the state before the last call is of use */
		if (!insn_read(at, code->end, &insn)) {
			__builtin_memset(&s, 0, offsetof(struct sweep, expected));
			s.farthest = ++at + 1;
			continue;
		}
		arrive(&s, at, &insn,
		       is_opening(&insn, code->address + (uint64_t)(at - code->begin)));
		if (at == target)
			break;
		scan_leave(&s, &insn);
		at = insn.next;
	}
	ret_frame->outermost = at == target && s.cleared;
	return at == target && s.known && frame_of_body(&s.now, interrupted, ret_frame);
}

bool arch_scan(const struct arch_code *code, uint64_t pc, bool interrupted,
	       struct arch_frame *ret_frame)
{
	const uint8_t *at = code->begin + (pc - code->address);

	return scan_forward(code, at, interrupted, ret_frame) ||
	       sweep_backward(code, at, interrupted, ret_frame);
}
