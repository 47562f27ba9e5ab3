/* Steps by rows that are not plain, and the checked reading that they use. See walk.h. */
#include "agent/unwind/walk.h"

#include <errno.h>

#include "agent/unwind/cfi.h"
#include "agent/unwind/registers.h"
#include "memory.h"
#include "agent/unwind/ban.h"

/* Limits for a stack with unknown bounds: */
#define UNKNOWN_STACK  (64u << 20)  /* the largest stack that is plausible */
#define UNKNOWN_FRAME  (256u << 10) /* pages up to this far above the known part are all checked */
#define UNKNOWN_GROWN  (1u << 20)  /* the most that the stack may have grown below the known part */
#define UNKNOWN_RECORD (64u << 10) /* the farthest frame record that is used */
#define OWN_RECORD     256u	   /* a small frame */
#define PAGE	       4096u	   /* or a part of one, on any processor */

#define NEAR_STACK (1u << 20) /* no code lies this close above a frame record */

/* Asks the host for the stack that contains the byte below sp: after all frames of a stack, sp
 * points one past its end. */
static bool special_is_known(uint64_t sp, struct region *region)
{
	uint64_t low, high;

	if (!unwind_host->stack_bounds ||
	    unwind_host->stack_bounds(unwind_host->context, sp - 1, &low, &high) <= 0)
		return false;
	*region = (struct region){.low = low,
				  .high = high & ~(uint64_t)(ARCH_WORD - 1),
				  .until = high,
				  .known = true};
	return true;
}

/* True if the stack has grown: `sp`, or its red zone, lies closely below the known part, and all
 * memory in between is readable. (The red zone of an `sp` above the known part may reach into it.
 * That is not growth, and memory above the part is not known to be readable.) */
static bool has_grown_to(struct region *region, uint64_t sp)
{
	uint64_t low = (sp - ARCH_RED_ZONE) & -(uint64_t)PAGE;

	if (region->known || sp > region->until || low >= region->low ||
	    region->low - low > UNKNOWN_GROWN ||
	    unwind_host->readable(low, region->low) < region->low)
		return false;
	region->low = low;
	return true;
}

struct region *region_find(struct unwind_thread *thread, uint64_t sp)
{
	struct region *regions = thread->regions, *oldest = &regions[thread->region_next];

	for (unsigned i = 0; i < 2; i++)
		if (sp >= regions[i].low && sp <= regions[i].until)
			return &regions[i];
	if (!special_is_known(sp, oldest)) {
		for (unsigned i = 0; i < 2; i++)
			if (has_grown_to(&regions[i], sp))
				return &regions[i];
		oldest->known = false;
		oldest->low = sp;
		oldest->high = oldest->until = unwind_host->readable(sp, sp + ARCH_WORD);
	}
	thread->region_next ^= 1;
	return oldest;
}

bool walk_reach(struct walk *w, uint64_t begin, uint64_t end)
{
	if (begin > end) /* the sum has wrapped around */
		return false;
	if (end <= w->high)
		return true;
	if (w->bounded || w->unsure || end - w->region->low > UNKNOWN_STACK ||
	    end & (ARCH_WORD - 1))
		return false;
	if (end - w->high > UNKNOWN_FRAME)
		return unwind_host->readable(begin, end) >= end;
	w->high = unwind_host->readable(w->high, end);
	return end <= w->high;
}

/* Restricts the walk to the page of sp, which is certainly readable. */
static void walk_trust(struct walk *w, uint64_t sp)
{
	uint64_t end = walk_page_end(sp); /* 0 in the last page of all */

	if (w->high - sp > end - sp)
		w->high = end;
}

/* True if a table is valid for the interrupted code. */
static bool is_told(uint64_t pc)
{
	struct unwind_module space;
	const struct unwind_module *module = rows_module(pc - 1, &space);
	struct eh_entry entry;

	return module && !eh_frame_find(module, pc - 1, &entry);
}

__attribute__((noinline)) void walk_interrupted(struct walk *w, const struct frame *frame)
{
	walk_keep(w);
	walk_enter(w, frame->sp);
	if (ARCH_SCAN && !w->bounded && !unwind_host->reads_checked &&
	    (!ARCH_TOLD || w->unsure || !is_told(frame->pc))) {
		w->unsure = true;
		walk_trust(w, frame->sp);
	}
}

static void note_read(struct walk *w, uint64_t address, uint64_t value)
{
	if (w->reads && w->reads->count < READS_MAX)
		w->reads->list[w->reads->count++] = (struct check){address, value};
	else if (w->reads)
		w->reads->overflow = true;
}

int stack_read(struct walk *w, uint64_t sp, uint64_t address, uint64_t *ret_value)
{
	if (address & (ARCH_WORD - 1) || address < sp - ARCH_RED_ZONE ||
	    (address < w->region->low && !has_grown_to(w->region, sp)) ||
	    (address >= w->high && !walk_reach(w, address, address + ARCH_WORD)))
		return -EFAULT;
	*ret_value = arch_load(address);
	note_read(w, address, *ret_value);
	return 0;
}

/* Completes a step when the canonical frame address is known: reads the return address, which lies
 * `ra` bytes below it. */
static enum step step_to(struct walk *w, const struct frame *frame, uint64_t cfa, uint64_t ra,
			 uint64_t fp, struct frame *outer)
{
	uint64_t pc;

	if (cfa <= frame->sp || stack_read(w, frame->sp, cfa - ra, &pc))
		return STEP_BROKEN;
	if (!pc)
		return STEP_END;
	*outer = (struct frame){.pc = arch_code_address(pc), .sp = cfa, .fp = fp};
	return STEP_FRAME;
}

static bool is_record(const struct walk *w, uint64_t above, uint64_t fp)
{
	uint64_t limit = w->bounded ? w->high : above + UNKNOWN_RECORD;

	return !(fp & 7) && fp >= above && fp <= limit;
}

/* Tests a return address that only a frame record suggests: it must lie in a module, or the chain
 * of records must continue; and it must not lie on the stack itself. (Code generated at run time
 * may be anywhere else, far from its callers.) */
static bool is_plausible(struct walk *w, uint64_t pc, uint64_t record, uint64_t fp)
{
	uint32_t row = rows_get(w->thread, pc);
	uint64_t stack = w->bounded ? w->high - record : NEAR_STACK;

	if (row_is(row, ROW_BAD) || pc - record < stack)
		return false;
	return row != row_special(ROW_FRAME_POINTER, 0) || is_record(w, record + 16, fp);
}

/* True if a call precedes this address. Reads only bytes of the page that contains pc - 1, which is
 * readable. */
static bool is_behind_call(struct walk *w, uint64_t pc)
{
	uint32_t row = rows_get(w->thread, pc);
	uint64_t readable = ((pc - 1) & 4095) + 1;
	const uint8_t *code;

	if (row_is(row, ROW_BAD))
		return false;
	if (row == row_special(ROW_FRAME_POINTER, 0))
		return false; /* code generated at run time, or no code: its frame records are more
			       * reliable */
	if (row_is(row, ROW_END) || row_is(row, ROW_SIGNAL))
		return true;
	if (!rows_readable(pc))
		return true; /* the code can't be read */
	code = code_before(pc, readable);
	return code && arch_is_behind_call(code, readable);
}

/* Reads a word that lies on no stack. */
static int word_read(struct walk *w, uint64_t address, uint64_t *ret_value)
{
	if (address & (ARCH_WORD - 1) || address + ARCH_WORD < address ||
	    unwind_host->readable(address, address + ARCH_WORD) < address + ARCH_WORD)
		return -EFAULT;
	*ret_value = arch_load(address);
	note_read(w, address, *ret_value);
	return 0;
}

/* Continues the walk on another stack, at `sp`. */
static void walk_switch(struct walk *w, uint64_t sp)
{
	walk_keep(w);
	walk_enter(w, sp);
	if (!w->bounded)
		walk_trust(w, sp);
}

/* Steps by a frame record on another stack. The record is used only if that stack has known bounds,
 * and if a call precedes the return address. */
static enum step step_elsewhere(struct walk *w, const struct frame *frame, struct frame *outer)
{
	uint64_t record = frame->fp, fp, pc;

	walk_switch(w, record);
	if (!w->bounded || stack_read(w, record, record, &fp) ||
	    stack_read(w, record, record + 8, &pc) || !is_behind_call(w, pc))
		return STEP_BROKEN;
	*outer = (struct frame){.pc = pc, .sp = record + 16, .fp = fp};
	return STEP_FRAME;
}

/* True if fp points to the frame record of the function whose frame begins at `sp`. If the stack
 * was moved together with the record after fp was set, fp is unknown, and only code that uses sp
 * can be unwound. */
static bool is_own_record(struct walk *w, uint64_t sp, uint64_t fp)
{
	uint64_t pc;

	return fp - sp < OWN_RECORD && !stack_read(w, sp, fp + 8, &pc) && is_behind_call(w, pc);
}

/* Steps to a caller whose frame is on another stack, to which this stack has pointers. */
static enum step step_switched(struct walk *w, const struct frame *frame, struct frame *outer)
{
	struct row_switched how = row_switched_of(frame->row);
	struct frame there = {.fp = frame->fp};
	uint64_t sp = frame->sp, owner, depth, end, cfa;

	if (stack_read(w, sp, sp + 8 * how.owner, &owner) ||
	    stack_read(w, sp, sp + 8 * how.depth, &depth) ||
	    word_read(w, owner + 8 * how.end, &end) || depth > end || depth > UNKNOWN_STACK)
		return STEP_BROKEN;
	there.sp = end - depth;
	cfa = there.sp + 8 * how.cfa;
	walk_switch(w, there.sp);
	if (how.fp != ARCH_FP_KEPT ? stack_read(w, there.sp, cfa - 8 * how.fp, &there.fp) != 0
				   : !is_own_record(w, cfa, there.fp))
		there.fp = 0;
	if (step_to(w, &there, cfa, ARCH_WORD, there.fp, &there) != STEP_FRAME ||
	    !is_behind_call(w, there.pc))
		return STEP_BROKEN;
	*outer = there;
	return STEP_FRAME;
}

/* Steps by a frame record: | caller's fp | return address | at fp. The caller's sp is the address
 * after the record. */
static enum step step_frame_pointer(struct walk *w, const struct frame *frame, struct frame *outer)
{
	uint64_t sp = frame->sp, record = frame->fp, fp, pc;

	if (!ARCH_RECORD)
		return STEP_BROKEN;
	if (ARCH_FRAMED && row_argument(frame->row) & RECORD_ELSEWHERE)
		return step_elsewhere(w, frame, outer);
	if ((!record && row_argument(frame->row) & RECORD_FIRST) ||
	    row_argument(frame->row) & RECORD_BY_HAND)
		return STEP_END;
	if (!is_record(w, sp, record) || stack_read(w, sp, record, &fp) ||
	    stack_read(w, sp, record + 8, &pc))
		return STEP_BROKEN;
	if (!pc)
		return STEP_END;
	pc = arch_code_address(pc);
	if (!is_plausible(w, pc, record, fp))
		return STEP_BROKEN;
	*outer = (struct frame){.pc = pc, .sp = record + 16, .fp = fp};
	return STEP_FRAME;
}

/* Steps as by a plain row, but the result must look like a return address, because scanning code
 * can fail. */
static enum step step_scanned(struct walk *w, const struct frame *frame, struct frame *outer)
{
	struct arch_frame how = row_scanned_frame(frame->row);
	uint64_t cfa = (how.from_fp ? frame->fp : frame->sp) + 8 * how.cfa_words, fp = frame->fp;
	struct frame caller;

	if (how.fp_words != ARCH_FP_KEPT && stack_read(w, frame->sp, cfa - 8 * how.fp_words, &fp))
		return STEP_BROKEN;
	if (step_to(w, frame, cfa, ARCH_WORD, fp, &caller) != STEP_FRAME ||
	    !is_behind_call(w, caller.pc))
		return STEP_BROKEN;
	*outer = caller;
	return STEP_FRAME;
}

/* Steps from code without a table. The row is that of a return address. For an interrupted frame
 * the exact instruction is known, so its code is scanned again. */
static enum step step_untold(struct walk *w, const struct frame *frame, struct frame *outer)
{
	uint64_t pc = frame->pc - (1u << ARCH_PC_SHIFT);
	const struct unwind_module *module;
	struct frame copy = *frame;
	enum step result = STEP_BROKEN;

	if (frame->flags & FRAME_INTERRUPTED && frame->row != row_special(ROW_FRAME_POINTER, 0)) {
		module = unwind_host->find_module(unwind_host->context, pc);
		if (module)
			copy.row = rows_scan(module, pc, true);
	}
	if (row_is(copy.row, ROW_SCANNED)) {
		result = step_scanned(w, &copy, outer);
		copy.row = row_special(ROW_FRAME_POINTER, RECORD_IN_MODULE);
	}
	return result == STEP_BROKEN ? step_frame_pointer(w, &copy, outer) : result;
}

/* Steps to interrupted code, whose state the kernel saved. The code may be on another stack. */
static enum step step_signal(struct walk *w, const struct frame *frame, struct frame *outer)
{
	uint64_t at = frame->sp + row_argument(frame->row), pc, sp, fp, fp2 = 0, link = 0;

	if (stack_read(w, frame->sp, arch_signal_slot(at, ARCH_REG_PC), &pc) ||
	    stack_read(w, frame->sp, arch_signal_slot(at, ARCH_REG_SP), &sp) ||
	    stack_read(w, frame->sp, arch_signal_slot(at, ARCH_REG_FP), &fp) ||
	    (ARCH_REG_FP2 && stack_read(w, frame->sp, arch_signal_slot(at, ARCH_REG_FP2), &fp2)) ||
	    (ARCH_LINK && stack_read(w, frame->sp, arch_signal_slot(at, ARCH_REG_RA), &link)) ||
	    sp & (ARCH_WORD - 1))
		return STEP_BROKEN;
	*outer = (struct frame){.pc = arch_code_address(pc) + (1u << ARCH_PC_SHIFT),
				.sp = sp,
				.fp = ARCH_REG_FP2 ? fp | fp2 << 32 : fp,
				.flags = FRAME_INTERRUPTED};
	if (ARCH_LINK)
		outer->link[0] = link;
	walk_interrupted(w, outer);
	return STEP_FRAME;
}

/* Steps from code that was interrupted in its first instructions, or in a function that saves
 * nothing. */
static enum step step_link(struct walk *w, const struct frame *frame, struct frame *outer)
{
	uint64_t link = ARCH_LINK ? frame->link[0] : 0;
	uint64_t cfa = frame->sp + ARCH_WORD * (uint64_t)row_argument(frame->row);

	if (!(frame->flags & FRAME_INTERRUPTED) || cfa < frame->sp ||
	    !walk_reach(w, cfa - ARCH_WORD, cfa))
		return STEP_BROKEN;
	if (!link)
		return STEP_END;
	*outer = (struct frame){.pc = arch_code_address(link), .sp = cfa, .fp = frame->fp};
	return STEP_FRAME;
}

static enum step step_deref_fp(struct walk *w, const struct frame *frame, struct frame *outer)
{
	uint64_t cfa, fp;

	if (stack_read(w, frame->sp, frame->fp + (uint64_t)row_deref_fp_offset(frame->row), &cfa) ||
	    stack_read(w, frame->sp, frame->fp, &fp))
		return STEP_BROKEN;
	return step_to(w, frame, cfa, ARCH_WORD, fp, outer);
}

static enum step step_deref_sp(struct walk *w, const struct frame *frame, struct frame *outer)
{
	uint32_t argument = row_argument(frame->row);
	uint64_t cfa, fp = frame->fp;

	if (stack_read(w, frame->sp, frame->sp + 8 * (argument & 1023), &cfa))
		return STEP_BROKEN;
	cfa += 8 * (argument >> 10 & 31);
	if (argument >> 15 && stack_read(w, frame->sp, cfa - 8 * (argument >> 15), &fp))
		return STEP_BROKEN;
	return step_to(w, frame, cfa, ARCH_WORD, fp, outer);
}

/* Steps by rules that are decoded again. Only pc, sp and fp are known, which often suffices. */
static enum step step_general(struct walk *w, const struct frame *frame, struct frame *outer)
{
	struct unwind_module space;
	const struct unwind_module *module = rows_module(frame->pc - 1, &space);
	uint32_t wanted = 1u << ARCH_REG_SP | 1u << ARCH_REG_FP | 1u << ARCH_REG_RA;
	struct registers in = {.known = wanted}, out;
	bool interrupted = frame->flags & FRAME_INTERRUPTED;
	struct cfi_rules rules;
	struct eh_entry entry;
	int error;

	if (!module || eh_frame_find(module, frame->pc - 1, &entry) ||
	    cfi_decode(module, &entry, frame->pc - 1, &rules))
		return STEP_BROKEN;
	in.value[ARCH_REG_RA] = frame->pc - (interrupted ? 1u << ARCH_PC_SHIFT : 0);
	in.value[ARCH_REG_SP] = frame->sp;
	in.value[ARCH_REG_FP] = frame->fp;
	if (ARCH_LINK && interrupted)
		in.value[ARCH_REG_RA] = frame->link[0];
	else if (ARCH_LINK)
		in.known &= ~(1u << ARCH_REG_RA);
	error = registers_apply(w, module, &rules, entry.signal, &in, &out);
	if (error == -ENODATA || (!error && (out.known & wanted) != wanted))
		return STEP_NEEDS_REGISTERS;
	if (error < 0 || out.value[ARCH_REG_SP] & (ARCH_WORD - 1))
		return STEP_BROKEN;
	if (error || !out.value[ARCH_REG_RA])
		return STEP_END;
	*outer = (struct frame){.pc = arch_code_address(out.value[ARCH_REG_RA]) +
				      (entry.signal ? 1u << ARCH_PC_SHIFT : 0),
				.sp = out.value[ARCH_REG_SP],
				.fp = out.value[ARCH_REG_FP],
				.flags = entry.signal ? FRAME_INTERRUPTED : 0};
	if (ARCH_LINK)
		outer->link[0] = 0;
	if (entry.signal)
		walk_interrupted(w, outer);
	return STEP_FRAME;
}

/* Steps by a plain row that step() has rejected. */
static enum step step_far(struct walk *w, const struct frame *frame, struct frame *outer)
{
	uint64_t cfa = row_base(frame->row, frame->sp, frame->fp) + row_cfa(frame->row);
	uint64_t lowest = cfa - row_lowest(frame->row);

	if (!walk_reach(w, lowest, cfa) || lowest < frame->sp)
		return STEP_BROKEN;
	return step_to(w, frame, cfa, row_ra(frame->row), row_caller_fp(frame->row, cfa, frame->fp),
		       outer);
}

static enum step step_by_kind(struct walk *w, const struct frame *frame, struct frame *outer)
{
	uint64_t pc = frame->pc - (frame->flags & FRAME_INTERRUPTED ? 1u << ARCH_PC_SHIFT : 0);

	if (row_is_plain(frame->row))
		return step_far(w, frame, outer);
	switch (row_kind(frame->row)) {
	case ROW_END:
		return STEP_END;
	case ROW_FRAME_POINTER:
	case ROW_SCANNED:
		return step_untold(w, frame, outer);
	case ROW_SIGNAL:
		return step_signal(w, frame, outer);
	case ROW_LINK:
		return step_link(w, frame, outer);
	case ROW_PLT:
		return step_to(w, frame, arch_plt_cfa(frame->sp, pc, row_argument(frame->row)),
			       ARCH_WORD, frame->fp, outer);
	case ROW_DEREF_FP:
		return step_deref_fp(w, frame, outer);
	case ROW_SWITCHED:
		return ARCH_FRAMED ? step_switched(w, frame, outer) : STEP_BROKEN;
	case ROW_DEREF_SP:
		return step_deref_sp(w, frame, outer);
	case ROW_GENERAL:
		return step_general(w, frame, outer);
	default:
		return STEP_BROKEN;
	}
}

enum step step_special(struct walk *w, const struct frame *frame, struct frame *outer)
{
	enum step result;

	walk_enter(w, frame->sp);
	if (!w->bounded && (ARCH_SCAN ? w->unsure : !row_is_certain(frame->row)))
		walk_trust(w, frame->sp);
	result = step_by_kind(w, frame, outer);
	if (result != STEP_BROKEN)
		walk_keep(w);
	if (result == STEP_FRAME && !walk_follow(w, outer->sp))
		return STEP_BROKEN;
	return result;
}
