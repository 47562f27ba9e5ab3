/* Unwinding with all registers. See registers.h. */
#include "agent/unwind/registers.h"

#include <errno.h>
#include <string.h>

#include "agent/unwind/expression.h"
#include "arch_here.h"
#include "agent/unwind/ban.h"

#define HOOK_FRAMES_MAX 64 /* between registers_walk and the hook's caller */

static bool knows(const struct registers *registers, unsigned reg)
{
	return reg < ARCH_REGISTERS && registers->known >> reg & 1;
}

static void learn(struct registers *registers, unsigned reg, uint64_t value)
{
	registers->value[reg] = value;
	registers->known |= 1u << reg;
}

static int find_cfa(struct walk *w, const struct unwind_module *module,
		    const struct cfi_rules *rules, const struct registers *in, uint64_t *ret_cfa)
{
	if (rules->cfa.kind == CFI_EXPRESSION)
		return expression_value(w, module, (uint32_t)rules->cfa.value, in, NULL, ret_cfa);
	if (!knows(in, rules->cfa_register))
		return -ENODATA;
	*ret_cfa = in->value[rules->cfa_register] + (uint64_t)(int64_t)rules->cfa.value;
	return 0;
}

/* Computes a register by its rule. Returns 0, 1 if the register is undefined, -ENODATA if its value
 * cannot be known, or another negative errno. */
static int find_register(struct walk *w, const struct unwind_module *module,
			 const struct cfi_rule *rule, uint64_t cfa, unsigned reg,
			 const struct registers *in, uint64_t *ret_value)
{
	uint64_t sp = in->value[ARCH_REG_SP], address;
	int error;

	switch (rule->kind) {
	case CFI_SAME:
		if (!knows(in, reg))
			return -ENODATA;
		*ret_value = in->value[reg];
		return 0;
	case CFI_OFFSET:
		return stack_read(w, sp, cfa + (uint64_t)(int64_t)rule->value, ret_value);
	case CFI_VAL_OFFSET:
		*ret_value = cfa + (uint64_t)(int64_t)rule->value;
		return 0;
	case CFI_REGISTER:
		if (!knows(in, (unsigned)rule->value))
			return -ENODATA;
		*ret_value = in->value[rule->value];
		return 0;
	case CFI_EXPRESSION:
		error = expression_value(w, module, (uint32_t)rule->value, in, &cfa, &address);
		return error ? error : stack_read(w, sp, address, ret_value);
	case CFI_VAL_EXPRESSION:
		return expression_value(w, module, (uint32_t)rule->value, in, &cfa, ret_value);
	default:
		return 1;
	}
}

int registers_apply(struct walk *w, const struct unwind_module *module,
		    const struct cfi_rules *rules, bool signal, const struct registers *in,
		    struct registers *out)
{
	uint64_t sp = in->value[ARCH_REG_SP], cfa, value;
	int error = find_cfa(w, module, rules, in, &cfa);

	if (error)
		return error;
	if (!signal &&
	    (cfa < sp + !ARCH_LINK || !walk_reach(w, cfa - ARCH_WORD, cfa) || cfa % ARCH_WORD))
		return -EBADMSG;
	out->known = 0;
	for (unsigned reg = 0; reg < ARCH_REGISTERS; reg++) {
		const struct cfi_rule *rule = &rules->registers[reg];

		if (reg == ARCH_REG_SP && rule->kind == CFI_SAME) {
			learn(out, reg, cfa);
			continue;
		}
		if (rule->kind == CFI_SAME && reg != ARCH_REG_RA && !signal &&
		    !(ARCH_KEPT >> reg & 1))
			continue;
		error = find_register(w, module, rule, cfa, reg, in, &value);
		if (!error)
			learn(out, reg, value);
		else if (reg == ARCH_REG_RA)
			return error;
		else if (error < 0 && error != -ENODATA)
			return error;
	}
	return knows(out, ARCH_REG_SP) ? 0 : -ENODATA;
}

/* A frame, and all known registers. */
struct full_frame {
	struct frame frame;
	struct registers registers;
};

/* Fills in the frame from its registers. `raw` is the address where it continues. The link register
 * is known only for interrupted code. */
static void full_from_registers(struct full_frame *f, uint64_t raw, bool interrupted)
{
	struct registers *r = &f->registers;
	uint64_t pc = arch_code_address(raw);

	f->frame = (struct frame){.pc = pc + (interrupted ? 1u << ARCH_PC_SHIFT : 0),
				  .sp = r->value[ARCH_REG_SP],
				  .fp = knows(r, ARCH_REG_FP) ? r->value[ARCH_REG_FP] : 0,
				  .flags = interrupted ? FRAME_INTERRUPTED : 0};
	if (ARCH_LINK && interrupted)
		f->frame.link[0] = r->value[ARCH_REG_RA];
	else if (ARCH_LINK)
		r->known &= ~(1u << ARCH_REG_RA);
}

static void full_from_frame(struct full_frame *f)
{
	f->registers.known = 0;
	if (!ARCH_LINK)
		learn(&f->registers, ARCH_REG_RA, f->frame.pc);
	learn(&f->registers, ARCH_REG_SP, f->frame.sp);
	learn(&f->registers, ARCH_REG_FP, f->frame.fp);
}

static enum step step_signal(struct walk *w, struct full_frame *f)
{
	uint64_t at = f->frame.sp + row_argument(f->frame.row), pc, value;
	struct registers out = {.known = 0};

	for (unsigned reg = 0; reg < ARCH_REGISTERS; reg++) {
		if (stack_read(w, f->frame.sp, arch_signal_slot(at, reg), &value))
			return STEP_BROKEN;
		learn(&out, reg, value);
	}
	if (stack_read(w, f->frame.sp, arch_signal_slot(at, ARCH_REG_PC), &pc))
		return STEP_BROKEN;
	f->registers = out;
	full_from_registers(f, pc, true);
	walk_interrupted(w, &f->frame);
	return STEP_FRAME;
}

static enum step step_rules(struct walk *w, struct full_frame *f)
{
	struct unwind_module space;
	const struct unwind_module *module = rows_module(f->frame.pc - 1, &space);
	struct registers out;
	struct cfi_rules rules;
	struct eh_entry entry;
	int error;

	if (!module || eh_frame_find(module, f->frame.pc - 1, &entry) ||
	    cfi_decode(module, &entry, f->frame.pc - 1, &rules))
		return STEP_BROKEN;
	error = registers_apply(w, module, &rules, entry.signal, &f->registers, &out);
	if (error)
		return error > 0 ? STEP_END : STEP_BROKEN;
	if (!out.value[ARCH_REG_RA])
		return STEP_END;
	f->registers = out;
	full_from_registers(f, out.value[ARCH_REG_RA], entry.signal);
	if (entry.signal)
		walk_interrupted(w, &f->frame);
	else if (!walk_follow(w, f->frame.sp))
		return STEP_BROKEN;
	return STEP_FRAME;
}

static enum step step_full(struct walk *w, struct full_frame *f)
{
	enum step step;
	uint32_t row;

	row = f->frame.row = walk_row(w->thread, &f->frame);
	if (row_is(row, ROW_SIGNAL))
		return step_signal(w, f);
	if (!row_is(row, ROW_END) && !row_is(row, ROW_BAD) && !row_is(row, ROW_FRAME_POINTER) &&
	    !row_is(row, ROW_SCANNED))
		return step_rules(w, f);
	step = step_special(w, &f->frame, &f->frame);
	full_from_frame(f);
	return step;
}

/* Unwinds from the current function to the frame at which `regs` starts, so that its registers are
 * known. */
static bool registers_find_start(struct walk *w, const struct unwind_regs *regs,
				 struct full_frame *f)
{
	memset(f, 0, sizeof(*f));
	f->registers.known = ARCH_KEPT | 1u << ARCH_REG_SP | 1u << ARCH_REG_RA;
	full_from_registers(f, arch_registers_here(f->registers.value), false);
	walk_enter(w, f->frame.sp);
	for (unsigned i = 0; i < HOOK_FRAMES_MAX && f->frame.sp <= regs->sp; i++) {
		if (f->frame.sp == regs->sp && f->frame.pc == regs->pc)
			return true;
		if (step_full(w, f) != STEP_FRAME)
			break;
	}
	return false;
}

static void start_with(const struct unwind_regs *regs, struct full_frame *f)
{
	memset(f, 0, sizeof(*f));
	f->frame = (struct frame){.pc = regs->pc, .sp = regs->sp, .fp = regs->fp};
	full_from_frame(f);
	for (unsigned i = 0; regs->has_saved && i < ARCH_SAVED; i++)
		learn(&f->registers, arch_saved[i], regs->saved[i]);
}

void registers_walk(struct unwind_thread *thread, const struct unwind_regs *regs,
		    uint32_t depth_limit, struct unwind_delta *ret_delta)
{
	struct walk w = {.thread = thread};
	struct sink sink = {.thread = thread, .limit = depth_limit};
	struct full_frame f;
	enum step step = STEP_FRAME;

	if (regs->has_saved || !registers_find_start(&w, regs, &f))
		start_with(regs, &f);
	walk_enter(&w, f.frame.sp);
	while (step == STEP_FRAME && sink.total < DEPTH_HARD) {
		f.frame.row = walk_row(thread, &f.frame);
		if (row_is(f.frame.row, ROW_BAD) && sink.total)
			break;
		sink_push(&sink, f.frame.pc);
		step = step_full(&w, &f);
	}
	sink_finish(&sink, step == STEP_END ? 0 : UNWIND_TRUNCATED, ret_delta);
}
