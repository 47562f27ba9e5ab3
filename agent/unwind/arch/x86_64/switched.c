/*
 * Derives rows of functions that switch to another stack before they return. Go has such functions,
 * for calls of C code and from C code. The instructions by which they switch back tell where the
 * caller's frame is.
 *
 *   asmcgocall           mov 48(%rsp), %rdi         the owner of the other stack
 *                        mov 8(%rdi), %rsi          the end of that stack
 *                        sub 40(%rsp), %rsi         less the depth at which it was left
 *                        mov %rsi, %rsp
 *   the same, if there   mov 40(%rsp), %rsi
 *   was no need to       mov %rsi, %rsp
 *   cgocallback          mov 56(%rsi), %rsp         the code does not tell where the stack is,
 *                        mov 24(%rsp), %rbp         but fp was saved right below the return
 *                        add $32, %rsp; ret         address, and this function's fp points there
 */
#include "agent/unwind/arch/arch.h"

#include "agent/unwind/arch/x86_64/effect.h"
#include "agent/unwind/arch/x86_64/height.h"
#include "agent/unwind/arch/x86_64/scan.h"
#include "agent/unwind/row.h"
#include "agent/unwind/ban.h"

#define READ_MAX  40 /* instructions */
#define WORDS_MAX 32

/* The content of a register: a word on the stack, or a word to which a word on the stack points. */
struct value {
	enum { VALUE_UNKNOWN, VALUE_SLOT, VALUE_FIELD, VALUE_DISTANCE } kind;
	uint8_t slot;  /* *(sp + 8 * slot) */
	uint8_t field; /* *(that + 8 * field) */
	uint8_t less;  /* that - *(sp + 8 * less) */
};

static bool words(const struct insn *insn, uint8_t *ret_words)
{
	if (insn->displacement < 0 || insn->displacement % 8 || insn->displacement / 8 >= WORDS_MAX)
		return false;
	*ret_words = (uint8_t)(insn->displacement / 8);
	return true;
}

static struct value loaded(const struct value *values, const struct insn *insn)
{
	struct value value = {.kind = VALUE_UNKNOWN};
	uint8_t place;

	if (!insn->wide || !insn->simple || !words(insn, &place))
		return value;
	if (insn->rm == INSN_SP)
		return (struct value){.kind = VALUE_SLOT, .slot = place};
	if (values[insn->rm].kind != VALUE_SLOT)
		return value;
	value = values[insn->rm];
	value.kind = VALUE_FIELD;
	value.field = place;
	return value;
}

static struct value less(const struct value *values, const struct insn *insn)
{
	struct value value = values[insn->reg];

	if (value.kind != VALUE_FIELD || !insn->wide || !insn->simple || insn->rm != INSN_SP ||
	    !words(insn, &value.less))
		return (struct value){.kind = VALUE_UNKNOWN};
	value.kind = VALUE_DISTANCE;
	return value;
}

/* Follows one instruction. Returns false if it cannot be followed. */
static bool switched_follow(struct value *values, const struct insn *insn)
{
	uint32_t registers;
	struct value value = {.kind = VALUE_UNKNOWN};

	if (insn_flow(insn) != FLOW_ON || !effect_registers(insn, &registers) ||
	    registers & (1u << INSN_SP | 1u << INSN_FP) || (insn->opcode & 0xf0) == 0x50)
		return false;
	if (!insn->map && insn->opcode == 0x8b && insn->mod != 3)
		value = loaded(values, insn);
	else if (!insn->map && insn->opcode == 0x2b && insn->mod != 3)
		value = less(values, insn);
	for (unsigned i = 0; i < 16; i++)
		if (registers >> i & 1)
			values[i] = value;
	return true;
}

/* Recognizes a move to sp. */
static bool is_switch(const struct insn *insn)
{
	if (insn->map || !insn->wide)
		return false;
	return (insn->opcode == 0x8b && insn->reg == INSN_SP) ||
	       (insn->opcode == 0x89 && insn->mod == 3 && insn->rm == INSN_SP);
}

static struct value switched_to(const struct value *values, const struct insn *insn)
{
	if (insn->mod != 3)
		return loaded(values, insn);
	return values[insn->opcode == 0x8b ? insn->rm : insn->reg];
}

/* Makes the row for a move of `to` to sp. `frame` describes the frame from that sp on. */
static bool row_of_switch(struct value to, const struct arch_frame *frame, uint32_t *ret_row)
{
	struct row_switched how = {to.slot, to.field, to.less, frame->cfa_words, frame->fp_words};

	if (to.kind == VALUE_SLOT && frame->cfa_words < WORDS_MAX)
		*ret_row = row_deref_sp(to.slot, frame->cfa_words,
					frame->fp_words == ARCH_FP_KEPT ? 0 : frame->fp_words);
	else if (to.kind == VALUE_DISTANCE && row_switched_fits(&how))
		*ret_row = row_switched(&how);
	else if (to.kind != VALUE_DISTANCE && frame->fp_words == 2)
		*ret_row = row_special(ROW_FRAME_POINTER, RECORD_IN_MODULE | RECORD_ELSEWHERE);
	else
		return false;
	return true;
}

bool arch_switched(const struct arch_code *code, uint64_t pc, uint32_t *ret_row)
{
	const uint8_t *at = code->begin + (pc - code->address);
	struct value values[16] = {{.kind = VALUE_UNKNOWN}};
	struct arch_frame frame;
	struct insn insn;

	for (unsigned i = 0; i < READ_MAX && insn_read(at, code->end, &insn); i++, at = insn.next) {
		if (is_switch(&insn))
			return scan_forward(code, insn.next, true, &frame) && !frame.from_fp &&
			       row_of_switch(switched_to(values, &insn), &frame, ret_row);
		if (!switched_follow(values, &insn))
			break;
	}
	return false;
}
