/*
 * Finds places of probes. See place.h.
 *
 * Linux emulates these instructions at a uprobe (arch/x86/kernel/uprobes.c): nops of one byte, and
 * jumps, branches and calls to a distance, since 3.16; pushes of a 64-bit register, since 4.18.
 * Longer nops came late (6.16), and this code does not rely on them.
 *
 *	free:	endbr64
 *		test %rdi, %rdi
 *		je   1f			<-- a place; NULL does not pass later ones
 *		mov  %rdi, %rbp	...	(registers are followed)
 *		push %rbx		<-- the place
 *		mov  8(%rdi), %rbx	(nothing is written to memory, and so no block given back)
 *		test $2, %bl
 *		jne  2f			<-- a cheaper one, if the function's return is not wanted;
 *					    the caller's rbx is on the stack
 */
#include "agent/unwind/place.h"

#include <elf.h>

#include "agent/unwind/arch/x86_64/effect.h"
#include "agent/unwind/arch/x86_64/follow.h"
#include "agent/unwind/arch/x86_64/height.h"
#include "agent/unwind/ban.h"

#define REGISTERS 16
#define STEPS_MAX 48 /* instructions that are searched for a place */
#define BIT(reg)  (1u << (reg))
#define KEPT                                                                                       \
	(BIT(3) | BIT(INSN_FP) |                                                                   \
	 0xf000u) /* registers that a function keeps for its caller: rbx, rbp, r12 to r15 */

/* The argument registers, by their numbers in instructions; and the DWARF number of each register
 * (System V ABI, AMD64 supplement, 3.2.3 and 3.6.2). */
static const uint8_t argument_register[PLACE_ARGUMENTS] = {7, 6, 2, 1, 8, 9};
static const uint8_t dwarf_number[REGISTERS] = {0, 2, 1,  3,  7,  6,  4,  5,
						8, 9, 10, 11, 12, 13, 14, 15};

struct state {
	uint8_t holds[REGISTERS]; /* which argument a register holds, + 1; 0: something else */
	struct height height;
	uint32_t changed; /* registers that were written */
	uint32_t kept;	  /* registers that must still have the caller's values */
	uint8_t pushes;
	uint8_t pushed[PLACE_PUSHED]; /* the first registers pushed, with the caller's values */
	uint8_t tested; /* the flags tell whether this argument (+ 1) is NULL; 0: they don't */
};

static bool is_emulated(const uint8_t *at, const struct insn *insn)
{
	size_t length = (size_t)(insn->next - at);

	if (insn->map)
		return length == 6 && at[0] == 0x0f && insn_flow(insn) == FLOW_BRANCH;
	switch (insn->opcode) {
	case 0x50 ... 0x57:
		return length == 1 || (length == 2 && at[0] == 0x41);
	case 0x90:
		return length == 1;
	case 0x70 ... 0x7f:
	case 0xeb:
		return length == 2;
	case 0xe8:
	case 0xe9:
		return length == 5;
	default:
		return false;
	}
}

/* Recognizes a push of a 64-bit register, which the kernel emulates. */
static bool is_push(const struct insn *insn)
{
	return !insn->map && (insn->opcode & 0xf8) == 0x50;
}

static void place_begin(struct state *s)
{
	*s = (struct state){.height = height_begin(), .kept = BIT(INSN_FP)};
	for (unsigned i = 0; i < PLACE_ARGUMENTS; i++)
		s->holds[argument_register[i]] = (uint8_t)(i + 1);
}

/* Recognizes test %reg, %reg and cmp $0, %reg. */
static uint8_t tested_register(const struct insn *insn)
{
	if (insn->map || !insn->wide || insn->mod != 3)
		return INSN_SP;
	if (insn->opcode == 0x85 && insn->reg == insn->rm)
		return insn->rm;
	return insn->opcode == 0x83 && (insn->reg & 7) == 7 && !insn->immediate ? insn->rm
										: INSN_SP;
}

/* Recognizes a copy of a whole register. */
static bool place_is_copy(const struct insn *insn, uint8_t *ret_from, uint8_t *ret_to)
{
	if (insn->map || !insn->wide || insn->mod != 3 || (insn->opcode & 0xfd) != 0x89)
		return false;
	*ret_from = insn->opcode == 0x89 ? insn->reg : insn->rm;
	*ret_to = insn->opcode == 0x89 ? insn->rm : insn->reg;
	return true;
}

/* Notes a push if nothing else moved sp before: the register then lies right below the return
 * address. */
static void note_push(struct state *s, const struct insn *insn)
{
	if (s->pushes < PLACE_PUSHED && s->height.sp.offset == -8 * s->pushes &&
	    BIT(insn->reg) & KEPT & ~s->changed)
		s->pushed[s->pushes++] = insn->reg;
}

/* Applies an instruction. Returns false if its effect is not known. */
static bool place_apply(struct state *s, const struct insn *insn)
{
	uint8_t from = 0, to = 0, kept = 0;
	uint32_t written;

	if (!effect_registers(insn, &written))
		return false;
	if (place_is_copy(insn, &from, &to))
		kept = s->holds[from];
	for (unsigned i = 0; i < REGISTERS; i++)
		if (written >> i & 1)
			s->holds[i] = 0;
	if (kept)
		s->holds[to] = kept;
	s->changed |= written;
	if (!effect_keeps_flags(insn))
		s->tested = 0;
	if (tested_register(insn) != INSN_SP)
		s->tested = s->holds[tested_register(insn)];
	if (insn->map && written >> INSN_SP & 1)
		return false;
	height_apply(&s->height, insn);
	return is_from_sp(s->height.sp);
}

static uint8_t find_argument(const struct state *s, unsigned argument)
{
	/* The register in which it was passed is preferred, as other registers may hold copies. */
	if (s->holds[argument_register[argument]] == argument + 1)
		return argument_register[argument];
	for (uint8_t i = 0; i < REGISTERS; i++)
		if (s->holds[i] == argument + 1 && i != INSN_SP)
			return i;
	return REGISTERS;
}

/* True if all callee-saved registers are unchanged or saved on the stack. */
static bool is_caller_known(const struct state *s)
{
	uint32_t lost = s->changed & s->kept;

	for (unsigned i = 0; i < s->pushes; i++)
		lost &= ~BIT(s->pushed[i]);
	return !lost;
}

static bool place_describe(const struct state *s, const struct place_question *question,
			   struct place_probe *probe)
{
	int32_t below = -s->height.sp.offset;

	if (!is_caller_known(s) || below < 0 || below % 8 || below / 8 > UINT8_MAX)
		return false;
	probe->words = (uint8_t)(below / 8);
	for (unsigned i = 0; i < s->pushes; i++)
		probe->pushed[i] = dwarf_number[s->pushed[i]];
	for (unsigned i = 0; i < PLACE_ARGUMENTS; i++) {
		uint8_t reg = find_argument(s, i);

		if (reg == REGISTERS && question->wanted >> i & 1)
			return false;
		probe->argument[i] = reg == REGISTERS ? 63 : dwarf_number[reg];
	}
	return true;
}

/* Recognizes a branch that only NULL takes. */
static bool is_for_null(const struct state *s, const struct place_question *question,
			const struct insn *insn)
{
	bool je = insn_flow(insn) == FLOW_BRANCH && (insn->opcode & 0xf) == 4 &&
		  (insn->map || insn->opcode == 0x74);

	return je && question->not_null >= 0 && s->tested == question->not_null + 1;
}

/* The findings on the way to the place. */
struct way {
	const uint8_t *branch;	    /* the branch on the test for NULL; NULL: none */
	struct place_probe cheaper; /* a later place, if this one is a push; address 0: none */
};

/* Looks after a push, from `at` on, for the first instruction that the kernel emulates without
 * writing to the stack, which is cheaper. No instruction on the way may write to memory, so the
 * pushed words stay. */
static void look_behind(const struct place_function *f, const struct place_question *question,
			struct state *s, const uint8_t *at, struct place_probe *cheaper)
{
	const uint8_t *end = f->code + f->size;
	struct place_probe found = *cheaper;
	struct insn insn;

	s->kept = KEPT; /* a function seldom changes any of these before its first push */
	for (unsigned i = 0; i < STEPS_MAX && insn_read(at, end, &insn); i++) {
		int32_t sp = s->height.sp.offset;
		bool emulated = is_emulated(at, &insn), pushes = emulated && is_push(&insn);

		if (emulated && !pushes) {
			found.address = f->address + (uint64_t)(at - f->code);
			if (insn_flow(&insn) != FLOW_CALL && place_describe(s, question, &found))
				*cheaper = found;
			return;
		}
		if (pushes)
			note_push(s, &insn);
		else if (insn_flow(&insn) != FLOW_ON || effect_stores(&insn))
			return;
		if (!place_apply(s, &insn) || s->height.sp.offset > sp)
			return;
		at = insn.next;
	}
}

static void place_look(const struct place_function *f, const struct place_question *question,
		       struct way *way, struct place_probe *probe)
{
	const uint8_t *at = f->code, *end = f->code + f->size;
	struct place_probe found;
	struct insn insn;
	struct state s;

	place_begin(&s);
	for (unsigned i = 0; i < STEPS_MAX && insn_read(at, end, &insn); i++) {
		enum insn_flow flow = insn_flow(&insn);

		if (is_emulated(at, &insn)) {
			found = *probe;
			if (!place_describe(&s, question, &found))
				return;
			found.address = f->address + (uint64_t)(at - f->code);
			found.emulated = true;
			found.not_null = way->branch != NULL;
			*probe = found;
			if (question->ends && is_push(&insn)) {
				way->cheaper = found;
				look_behind(f, question, &s, at, &way->cheaper);
				return;
			}
			if (way->branch || !is_for_null(&s, question, &insn))
				return;
			way->branch = at;
		} else if ((flow != FLOW_ON && !(flow == FLOW_BEGIN && at == f->code)) ||
			   !place_apply(&s, &insn))
			return;
		at = insn.next;
	}
}

/* Tells whether the instruction removes a frame, so that a jump after it leaves the function. */
static bool takes_away(const struct insn *insn)
{
	return !insn->map && ((insn->opcode & 0xf8) == 0x58 || insn->opcode == 0xc9 ||
			      ((insn->opcode == 0x81 || insn->opcode == 0x83) && insn->mod == 3 &&
			       insn->rm == INSN_SP && !(insn->reg & 7)));
}

/* Tells whether a jump within the function may lead to (entry, probe]. A jump to the entry itself
 * is a loop. */
static bool is_disturbed(const struct place_function *f, const struct way *way,
			 struct place_probe *probe)
{
	const uint8_t *end = f->code + f->size;
	bool disturbed = false, leaving = false;
	struct insn insn;

	for (const uint8_t *at = f->code; at < end; at = insn.next) {
		enum insn_flow flow;
		uint64_t target;

		if (!insn_read(at, end, &insn))
			return true;
		flow = insn_flow(&insn);
		disturbed |= flow == FLOW_AWAY && !leaving;
		leaving = takes_away(&insn);
		if (flow != FLOW_BRANCH && flow != FLOW_JUMP)
			continue;
		target = f->address + (uint64_t)(insn.next - f->code) +
			 (uint64_t)(int64_t)insn.immediate;
		probe->looped |= target == f->address;
		disturbed |= at != way->branch && target > f->address && target <= probe->address;
	}
	return disturbed;
}

static void place_find(const struct place_function *function, const struct place_question *question,
		       struct place_probe *ret_probe)
{
	struct place_probe entry = {.address = function->address}, probe;
	struct way way = {0};
	struct state s;

	place_begin(&s);
	place_describe(&s, question, &entry);
	probe = entry;
	place_look(function, question, &way, &probe);
	if (way.cheaper.address && !is_disturbed(function, &way, &way.cheaper)) {
		*ret_probe = way.cheaper;
		return;
	}
	if (is_disturbed(function, &way, &probe) && probe.address != entry.address) {
		entry.looped = probe.looped;
		probe = entry;
	}
	*ret_probe = probe;
}

static uint64_t stub(const uint8_t *code, size_t size, uint64_t address)
{
	const uint8_t *at = code, *end = code + size;
	struct insn insn;

	if (insn_read(at, end, &insn) && insn_flow(&insn) == FLOW_BEGIN)
		at = insn.next;
	if (!insn_read(at, end, &insn) || insn_flow(&insn) != FLOW_AWAY_STATIC)
		return 0;
	return address + (uint64_t)(insn.next - code) + (uint64_t)(int64_t)insn.displacement;
}

const struct place_reader place_own = {EM_X86_64,	place_find,	follow_exits,
				       follow_hands_on, follow_reaches, stub};
