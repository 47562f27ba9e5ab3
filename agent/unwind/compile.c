/*
 * Compiles rules to a row. The patterns that compilers usually emit become plain rows, and the few
 * known expressions become special rows. All others become ROW_GENERAL, which is decoded at each
 * use.
 */
#include "agent/unwind/compile.h"

#include "agent/unwind/leb.h"
#include "agent/unwind/ban.h"

enum { /* DW_OP_* */
       OP_DEREF = 0x06,
       OP_PLUS_UCONST = 0x23,
       OP_BREG0 = 0x70,
};

static uint32_t general(void)
{
	return row_special(ROW_GENERAL, 0);
}

/* Gets the distance of a saved register below the cfa, in words. Returns false for other rules. */
static bool words_below(const struct cfi_rule *rule, uint32_t *ret_words)
{
	if (rule->kind != CFI_OFFSET || rule->value >= 0 || rule->value % ARCH_WORD)
		return false;
	*ret_words = (uint32_t)-rule->value / ARCH_WORD;
	return true;
}

static bool fp_words(const struct cfi_rules *rules, uint32_t *ret_words)
{
	const struct cfi_rule *fp = &rules->registers[ARCH_REG_FP];

	if (fp->kind == CFI_SAME || fp->kind == CFI_UNDEFINED) {
		*ret_words = ARCH_FP_KEPT;
		return true;
	}
	return words_below(fp, ret_words) && *ret_words > ARCH_FP_KEPT;
}

/* Compiles rules by which the return address is still in its register: the code was interrupted. */
static uint32_t compile_link(const struct cfi_rules *rules, const struct arch_frame *frame)
{
	if (frame->from_fp || frame->fp_words != ARCH_FP_KEPT ||
	    rules->registers[ARCH_REG_RA].kind != CFI_SAME)
		return general();
	return row_special(ROW_LINK, frame->cfa_words);
}

static uint32_t compile_plain(const struct cfi_rules *rules)
{
	int32_t offset = rules->cfa.value;
	struct arch_frame frame = {.from_fp = rules->cfa_register == ARCH_REG_FP,
				   .cfa_words = (uint32_t)offset / ARCH_WORD};
	uint32_t row;

	if ((!frame.from_fp && rules->cfa_register != ARCH_REG_SP) || offset % ARCH_WORD ||
	    offset < 0 || !fp_words(rules, &frame.fp_words))
		return general();
	if (ARCH_LINK && rules->registers[ARCH_REG_RA].kind == CFI_SAME)
		return offset >> ROW_ARGUMENT_BITS ? general() : compile_link(rules, &frame);
	if (!words_below(&rules->registers[ARCH_REG_RA], &frame.ra_words) ||
	    !row_of_frame(&frame, &row))
		return general();
	return row;
}

/* Returns a reader of the rule's expression, after its length. The reader is in the error state if
 * the length is invalid. */
static struct reader expression_of(const struct unwind_module *module, const struct cfi_rule *rule)
{
	struct reader r = eh_reader(module, (uint32_t)rule->value, UINT64_MAX);
	uint64_t length = reader_uleb(&r);

	if (length <= reader_left(&r))
		r.length = r.offset + length;
	else
		r.error = -EBADMSG;
	return r;
}

/* True if the rule is "*fp": the caller's fp after gcc has realigned the stack. */
static bool fp_is_at_fp(const struct unwind_module *module, const struct cfi_rules *rules)
{
	struct reader r;

	if (rules->registers[ARCH_REG_FP].kind != CFI_EXPRESSION)
		return false;
	r = expression_of(module, &rules->registers[ARCH_REG_FP]);
	return reader_u8(&r) == OP_BREG0 + ARCH_REG_FP && reader_sleb(&r) == 0 && !r.error &&
	       !reader_left(&r);
}

/* *(fp + n) */
static uint32_t compile_deref_fp(const struct unwind_module *module, const struct cfi_rules *rules,
				 struct reader r)
{
	int64_t offset;

	reader_u8(&r);
	offset = reader_sleb(&r);
	if (reader_u8(&r) != OP_DEREF || r.error || reader_left(&r) || offset % 8 ||
	    offset < -4096 || offset > 4096 || !fp_is_at_fp(module, rules))
		return general();
	return row_deref_fp((int32_t)(offset / 8));
}

/* *(sp + n) + m */
static uint32_t compile_deref_sp(const struct cfi_rules *rules, struct reader r)
{
	uint64_t add = 0;
	int64_t offset;
	uint32_t fp;

	reader_u8(&r);
	offset = reader_sleb(&r);
	if (reader_u8(&r) != OP_DEREF)
		return general();
	if (reader_more(&r)) {
		if (reader_u8(&r) != OP_PLUS_UCONST)
			return general();
		add = reader_uleb(&r);
	}
	if (r.error || reader_left(&r) || offset % 8 || offset < 0 || offset / 8 > 1023 ||
	    add % 8 || add / 8 > 31 || !fp_words(rules, &fp) || fp > 63)
		return general();
	return row_deref_sp((uint32_t)(offset / 8), (uint32_t)(add / 8),
			    fp == ARCH_FP_KEPT ? 0 : fp);
}

static uint32_t compile_expression(const struct unwind_module *module,
				   const struct cfi_rules *rules)
{
	struct reader r = expression_of(module, &rules->cfa);
	unsigned constant;
	uint32_t words;

	if (r.error || !reader_left(&r) || !words_below(&rules->registers[ARCH_REG_RA], &words) ||
	    words != 1)
		return general();
	if (arch_is_plt_expression(r.data + r.offset, reader_left(&r), &constant) &&
	    fp_words(rules, &words) && words == ARCH_FP_KEPT)
		return row_special(ROW_PLT, constant);
	if (r.data[r.offset] == OP_BREG0 + ARCH_REG_FP)
		return compile_deref_fp(module, rules, r);
	if (r.data[r.offset] == OP_BREG0 + ARCH_REG_SP)
		return compile_deref_sp(rules, r);
	return general();
}

uint32_t row_compile(const struct unwind_module *module, const struct cfi_rules *rules)
{
	const struct cfi_rule *ra = &rules->registers[ARCH_REG_RA];

	if (ra->kind == CFI_UNDEFINED)
		return row_special(ROW_END, END_CERTAIN);
	if (rules->registers[ARCH_REG_SP].kind != CFI_SAME)
		return general();
	return rules->cfa.kind == CFI_VAL_OFFSET ? compile_plain(rules)
						 : compile_expression(module, rules);
}
