/* Interprets call frame instructions. See cfi.h. */
#include "agent/unwind/cfi.h"

#include "agent/unwind/leb.h"
#include "agent/unwind/ban.h"

enum { /* DW_CFA_* */
       CFA_NOP = 0x00,
       CFA_SET_LOC = 0x01,
       CFA_ADVANCE_LOC1 = 0x02,
       CFA_ADVANCE_LOC2 = 0x03,
       CFA_ADVANCE_LOC4 = 0x04,
       CFA_OFFSET_EXTENDED = 0x05,
       CFA_RESTORE_EXTENDED = 0x06,
       CFA_UNDEFINED = 0x07,
       CFA_SAME_VALUE = 0x08,
       CFA_REGISTER = 0x09,
       CFA_REMEMBER_STATE = 0x0a,
       CFA_RESTORE_STATE = 0x0b,
       CFA_DEF_CFA = 0x0c,
       CFA_DEF_CFA_REGISTER = 0x0d,
       CFA_DEF_CFA_OFFSET = 0x0e,
       CFA_DEF_CFA_EXPRESSION = 0x0f,
       CFA_EXPRESSION = 0x10,
       CFA_OFFSET_EXTENDED_SF = 0x11,
       CFA_DEF_CFA_SF = 0x12,
       CFA_DEF_CFA_OFFSET_SF = 0x13,
       CFA_VAL_OFFSET = 0x14,
       CFA_VAL_OFFSET_SF = 0x15,
       CFA_VAL_EXPRESSION = 0x16,
       CFA_GNU_WINDOW_SAVE = 0x2d, /* AArch64: the return address is signed from here on; its PAC
				    * bits are stripped anyway */
       CFA_GNU_ARGS_SIZE = 0x2e,
       CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
       CFA_ADVANCE_LOC = 0x40, /* these three have an operand in the low 6 bits */
       CFA_OFFSET = 0x80,
       CFA_RESTORE = 0xc0,
};

#define REMEMBER_MAX 6 /* compilers nest one or two levels; the thread's stack may be small */

struct machine {
	const struct unwind_module *module;
	const struct eh_entry *entry;
	struct reader r;
	uint64_t location;
	uint64_t wanted;
	struct cfi_rules rules;
	struct cfi_rules initial;
	struct cfi_rules remembered[REMEMBER_MAX];
	unsigned remembered_count;
};

static void bad(struct machine *m)
{
	m->r.error = -EBADMSG;
}

/* Ignores registers that the unwinder does not track (vector registers, masks). */
static void set_rule(struct machine *m, uint64_t reg, enum cfi_kind kind, int64_t value)
{
	if (reg >= ARCH_REGISTERS)
		return;
	if (value != (int32_t)value)
		bad(m);
	m->rules.registers[reg] = (struct cfi_rule){.kind = kind, .value = (int32_t)value};
}

static void restore_rule(struct machine *m, uint64_t reg)
{
	if (reg < ARCH_REGISTERS)
		m->rules.registers[reg] = m->initial.registers[reg];
}

/* Returns the position of an expression and skips it. */
static int64_t expression_here(struct machine *m)
{
	uint64_t offset = m->r.offset;
	uint64_t length = reader_uleb(&m->r);

	reader_bytes(&m->r, length);
	if (offset > UINT32_MAX)
		bad(m);
	return (int32_t)(uint32_t)offset;
}

static void set_cfa_register(struct machine *m, uint64_t reg)
{
	if (reg >= ARCH_REGISTERS)
		bad(m);
	m->rules.cfa_register = (uint8_t)reg;
	m->rules.cfa.kind = CFI_VAL_OFFSET;
}

static void set_cfa_offset(struct machine *m, int64_t value)
{
	if (value != (int32_t)value)
		bad(m);
	m->rules.cfa = (struct cfi_rule){.kind = CFI_VAL_OFFSET, .value = (int32_t)value};
}

static int64_t factored(struct machine *m, int64_t value)
{
	return (int64_t)((uint64_t)value * (uint64_t)m->entry->data_align);
}

static void cfi_remember(struct machine *m)
{
	if (m->remembered_count < REMEMBER_MAX)
		m->remembered[m->remembered_count++] = m->rules;
	else
		bad(m);
}

static void restore(struct machine *m)
{
	if (m->remembered_count)
		m->rules = m->remembered[--m->remembered_count];
	else
		bad(m);
}

static void execute_other(struct machine *m, uint8_t op)
{
	struct reader *r = &m->r;
	uint64_t reg;

	switch (op) {
	case CFA_NOP:
	case CFA_GNU_WINDOW_SAVE:
		break;
	case CFA_GNU_ARGS_SIZE:
		reader_uleb(r);
		break;
	case CFA_OFFSET_EXTENDED:
		reg = reader_uleb(r);
		set_rule(m, reg, CFI_OFFSET, factored(m, (int64_t)reader_uleb(r)));
		break;
	case CFA_OFFSET_EXTENDED_SF:
		reg = reader_uleb(r);
		set_rule(m, reg, CFI_OFFSET, factored(m, reader_sleb(r)));
		break;
	case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
		reg = reader_uleb(r);
		set_rule(m, reg, CFI_OFFSET, factored(m, -(int64_t)reader_uleb(r)));
		break;
	case CFA_VAL_OFFSET:
		reg = reader_uleb(r);
		set_rule(m, reg, CFI_VAL_OFFSET, factored(m, (int64_t)reader_uleb(r)));
		break;
	case CFA_VAL_OFFSET_SF:
		reg = reader_uleb(r);
		set_rule(m, reg, CFI_VAL_OFFSET, factored(m, reader_sleb(r)));
		break;
	case CFA_RESTORE_EXTENDED:
		restore_rule(m, reader_uleb(r));
		break;
	case CFA_UNDEFINED:
		set_rule(m, reader_uleb(r), CFI_UNDEFINED, 0);
		break;
	case CFA_SAME_VALUE:
		set_rule(m, reader_uleb(r), CFI_SAME, 0);
		break;
	case CFA_REGISTER:
		reg = reader_uleb(r);
		set_rule(m, reg, CFI_REGISTER, (int64_t)reader_uleb(r));
		break;
	case CFA_EXPRESSION:
		reg = reader_uleb(r);
		set_rule(m, reg, CFI_EXPRESSION, expression_here(m));
		break;
	case CFA_VAL_EXPRESSION:
		reg = reader_uleb(r);
		set_rule(m, reg, CFI_VAL_EXPRESSION, expression_here(m));
		break;
	case CFA_REMEMBER_STATE:
		cfi_remember(m);
		break;
	case CFA_RESTORE_STATE:
		restore(m);
		break;
	case CFA_DEF_CFA:
		set_cfa_register(m, reader_uleb(r));
		set_cfa_offset(m, (int64_t)reader_uleb(r));
		break;
	case CFA_DEF_CFA_SF:
		set_cfa_register(m, reader_uleb(r));
		set_cfa_offset(m, factored(m, reader_sleb(r)));
		break;
	case CFA_DEF_CFA_REGISTER:
		set_cfa_register(m, reader_uleb(r));
		break;
	case CFA_DEF_CFA_OFFSET:
		set_cfa_offset(m, (int64_t)reader_uleb(r));
		break;
	case CFA_DEF_CFA_OFFSET_SF:
		set_cfa_offset(m, factored(m, reader_sleb(r)));
		break;
	case CFA_DEF_CFA_EXPRESSION:
		m->rules.cfa = (struct cfi_rule){CFI_EXPRESSION, (int32_t)expression_here(m)};
		break;
	default:
		bad(m);
	}
}

/* Executes an instruction that moves the location. Returns false for other instructions. */
static bool advance(struct machine *m, uint8_t op)
{
	uint64_t delta;

	if ((op & 0xc0) == CFA_ADVANCE_LOC)
		delta = op & 0x3f;
	else if (op == CFA_ADVANCE_LOC1)
		delta = reader_u8(&m->r);
	else if (op == CFA_ADVANCE_LOC2)
		delta = reader_host_u16(&m->r);
	else if (op == CFA_ADVANCE_LOC4)
		delta = reader_host_u32(&m->r);
	else if (op == CFA_SET_LOC) {
		m->location = eh_pointer(m->module, &m->r, m->entry->pointer_encoding,
					 m->module->eh_frame_hdr);
		return true;
	} else {
		return false;
	}
	m->location += delta * m->entry->code_align;
	return true;
}

static int cfi_run(struct machine *m, const struct eh_bytes *instructions)
{
	m->r = eh_reader(m->module, instructions->begin, instructions->end);
	while (reader_more(&m->r)) {
		uint8_t op = reader_u8(&m->r);

		if (advance(m, op)) {
			if (m->location > m->wanted)
				break;
		} else if ((op & 0xc0) == CFA_OFFSET) {
			set_rule(m, op & 0x3f, CFI_OFFSET,
				 factored(m, (int64_t)reader_uleb(&m->r)));
		} else if ((op & 0xc0) == CFA_RESTORE) {
			restore_rule(m, op & 0x3f);
		} else {
			execute_other(m, op);
		}
	}
	return m->r.error;
}

int cfi_decode(const struct unwind_module *module, const struct eh_entry *entry, uint64_t address,
	       struct cfi_rules *ret_rules)
{
	struct machine m;
	int error;

	m.module = module;
	m.entry = entry;
	m.location = entry->start;
	m.wanted = address;
	m.remembered_count = 0;
	memset(&m.rules, 0, sizeof(m.rules));
	m.initial = m.rules;
	if (entry->return_register != ARCH_REG_RA)
		return -EBADMSG;
	error = cfi_run(&m, &entry->initial);
	if (error)
		return error;
	m.initial = m.rules;
	error = cfi_run(&m, &entry->instructions);
	if (error)
		return error;
	if (m.rules.cfa.kind != CFI_VAL_OFFSET && m.rules.cfa.kind != CFI_EXPRESSION)
		return -EBADMSG;
	*ret_rules = m.rules;
	return 0;
}
