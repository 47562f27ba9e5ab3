/* Evaluates DWARF expressions. See expression.h. */
#include "agent/unwind/expression.h"

#include <errno.h>

#include "agent/unwind/leb.h"
#include "agent/unwind/ban.h"

enum { /* DW_OP_* */
       OP_ADDR = 0x03,
       OP_DEREF = 0x06,
       OP_CONST1U = 0x08,
       OP_CONST1S = 0x09,
       OP_CONST2U = 0x0a,
       OP_CONST2S = 0x0b,
       OP_CONST4U = 0x0c,
       OP_CONST4S = 0x0d,
       OP_CONST8U = 0x0e,
       OP_CONST8S = 0x0f,
       OP_CONSTU = 0x10,
       OP_CONSTS = 0x11,
       OP_DUP = 0x12,
       OP_DROP = 0x13,
       OP_OVER = 0x14,
       OP_PICK = 0x15,
       OP_SWAP = 0x16,
       OP_ROT = 0x17,
       OP_ABS = 0x19,
       OP_AND = 0x1a,
       OP_DIV = 0x1b,
       OP_MINUS = 0x1c,
       OP_MOD = 0x1d,
       OP_MUL = 0x1e,
       OP_NEG = 0x1f,
       OP_NOT = 0x20,
       OP_OR = 0x21,
       OP_PLUS = 0x22,
       OP_PLUS_UCONST = 0x23,
       OP_SHL = 0x24,
       OP_SHR = 0x25,
       OP_SHRA = 0x26,
       OP_XOR = 0x27,
       OP_BRA = 0x28,
       OP_EQ = 0x29,
       OP_GE = 0x2a,
       OP_GT = 0x2b,
       OP_LE = 0x2c,
       OP_LT = 0x2d,
       OP_NE = 0x2e,
       OP_SKIP = 0x2f,
       OP_LIT0 = 0x30,
       OP_LIT31 = 0x4f,
       OP_BREG0 = 0x70,
       OP_BREG31 = 0x8f,
       OP_BREGX = 0x92,
       OP_DEREF_SIZE = 0x94,
       OP_NOP = 0x96,
};

#define STACK_MAX 16
#define STEPS_MAX 256

struct evaluation {
	struct walk *w;
	const struct registers *in;
	struct reader r;
	uint64_t begin;
	uint64_t stack[STACK_MAX];
	unsigned depth;
	int error;
};

static void expression_fail(struct evaluation *e, int error)
{
	if (!e->error)
		e->error = error;
}

static void expression_push(struct evaluation *e, uint64_t value)
{
	if (e->depth == STACK_MAX)
		expression_fail(e, -EBADMSG);
	else
		e->stack[e->depth++] = value;
}

static uint64_t expression_pop(struct evaluation *e)
{
	if (e->depth)
		return e->stack[--e->depth];
	expression_fail(e, -EBADMSG);
	return 0;
}

static void pick(struct evaluation *e, unsigned below)
{
	if (below < e->depth)
		expression_push(e, e->stack[e->depth - 1 - below]);
	else
		expression_fail(e, -EBADMSG);
}

static void push_register(struct evaluation *e, uint64_t reg, int64_t offset)
{
	if (reg >= ARCH_REGISTERS)
		expression_fail(e, -EBADMSG);
	else if (!(e->in->known >> reg & 1))
		expression_fail(e, -ENODATA);
	else
		expression_push(e, e->in->value[reg] + (uint64_t)offset);
}

static void dereference(struct evaluation *e, unsigned size)
{
	uint64_t address = expression_pop(e), value = 0;
	int error;

	if (size != 8 || e->error) {
		expression_fail(e, -EBADMSG);
		return;
	}
	error = stack_read(e->w, e->in->value[ARCH_REG_SP], address, &value);
	if (error)
		expression_fail(e, error);
	expression_push(e, value);
}

static void expression_jump(struct evaluation *e, bool taken)
{
	uint64_t target = (uint64_t)(int64_t)(int16_t)reader_host_u16(&e->r) + e->r.offset;

	if (!taken)
		return;
	if (target < e->begin || target > e->r.length)
		expression_fail(e, -EBADMSG);
	else
		e->r.offset = target;
}

/* Applies an operation to two operands; `b` was on top of the stack. Returns false for other
 * operations. */
static bool binary(uint8_t op, uint64_t a, uint64_t b, uint64_t *ret_value)
{
	int64_t x = (int64_t)a, y = (int64_t)b;

	switch (op) {
	case OP_AND:
		*ret_value = a & b;
		return true;
	case OP_OR:
		*ret_value = a | b;
		return true;
	case OP_XOR:
		*ret_value = a ^ b;
		return true;
	case OP_PLUS:
		*ret_value = a + b;
		return true;
	case OP_MINUS:
		*ret_value = a - b;
		return true;
	case OP_MUL:
		*ret_value = a * b;
		return true;
	case OP_DIV:
		*ret_value = !y || (x == INT64_MIN && y == -1) ? 0 : (uint64_t)(x / y);
		return true;
	case OP_MOD:
		*ret_value = b ? a % b : 0;
		return true;
	case OP_SHL:
		*ret_value = b < 64 ? a << b : 0;
		return true;
	case OP_SHR:
		*ret_value = b < 64 ? a >> b : 0;
		return true;
	case OP_SHRA:
		*ret_value = (uint64_t)(x >> (b < 64 ? b : 63));
		return true;
	case OP_EQ:
		*ret_value = x == y;
		return true;
	case OP_NE:
		*ret_value = x != y;
		return true;
	case OP_GE:
		*ret_value = x >= y;
		return true;
	case OP_GT:
		*ret_value = x > y;
		return true;
	case OP_LE:
		*ret_value = x <= y;
		return true;
	case OP_LT:
		*ret_value = x < y;
		return true;
	default:
		return false;
	}
}

/* Applies an operation to one operand. Returns false for other operations. */
static bool unary(struct evaluation *e, uint8_t op)
{
	uint64_t a;

	if (op == OP_PLUS_UCONST) {
		a = reader_uleb(&e->r);
		expression_push(e, expression_pop(e) + a);
	} else if (op == OP_NEG) {
		expression_push(e, 0 - expression_pop(e));
	} else if (op == OP_NOT) {
		expression_push(e, ~expression_pop(e));
	} else if (op == OP_ABS) {
		a = expression_pop(e);
		expression_push(e, (int64_t)a < 0 ? 0 - a : a);
	} else if (op == OP_DEREF) {
		dereference(e, 8);
	} else if (op == OP_DEREF_SIZE) {
		dereference(e, reader_u8(&e->r));
	} else {
		return false;
	}
	return true;
}

/* Pushes a constant or a register. Returns false for other operations. */
static bool operand(struct evaluation *e, uint8_t op)
{
	struct reader *r = &e->r;
	uint64_t reg;

	if (op >= OP_LIT0 && op <= OP_LIT31) {
		expression_push(e, (uint64_t)(op - OP_LIT0));
		return true;
	}
	if (op >= OP_BREG0 && op <= OP_BREG31) {
		push_register(e, (uint64_t)(op - OP_BREG0), reader_sleb(r));
		return true;
	}
	switch (op) {
	case OP_CONST1U:
		expression_push(e, reader_u8(r));
		return true;
	case OP_CONST1S:
		expression_push(e, (uint64_t)(int64_t)(int8_t)reader_u8(r));
		return true;
	case OP_CONST2U:
		expression_push(e, reader_host_u16(r));
		return true;
	case OP_CONST2S:
		expression_push(e, (uint64_t)(int64_t)(int16_t)reader_host_u16(r));
		return true;
	case OP_CONST4U:
		expression_push(e, reader_host_u32(r));
		return true;
	case OP_CONST4S:
		expression_push(e, (uint64_t)(int64_t)(int32_t)reader_host_u32(r));
		return true;
	case OP_ADDR:
	case OP_CONST8U:
	case OP_CONST8S:
		expression_push(e, reader_host_u64(r));
		return true;
	case OP_CONSTU:
		expression_push(e, reader_uleb(r));
		return true;
	case OP_CONSTS:
		expression_push(e, (uint64_t)reader_sleb(r));
		return true;
	case OP_BREGX:
		reg = reader_uleb(r);
		push_register(e, reg, reader_sleb(r));
		return true;
	default:
		return false;
	}
}

/* Executes stack manipulation, jumps and no-ops. Any other operation is an error. */
static void other(struct evaluation *e, uint8_t op)
{
	uint64_t a, b, c;

	switch (op) {
	case OP_NOP:
		break;
	case OP_DUP:
		pick(e, 0);
		break;
	case OP_OVER:
		pick(e, 1);
		break;
	case OP_PICK:
		pick(e, reader_u8(&e->r));
		break;
	case OP_DROP:
		expression_pop(e);
		break;
	case OP_SWAP:
		b = expression_pop(e);
		a = expression_pop(e);
		expression_push(e, b);
		expression_push(e, a);
		break;
	case OP_ROT:
		c = expression_pop(e);
		b = expression_pop(e);
		a = expression_pop(e);
		expression_push(e, c);
		expression_push(e, a);
		expression_push(e, b);
		break;
	case OP_SKIP:
		expression_jump(e, true);
		break;
	case OP_BRA:
		expression_jump(e, expression_pop(e) != 0);
		break;
	default:
		expression_fail(e, -EBADMSG);
	}
}

static void expression_execute(struct evaluation *e, uint8_t op)
{
	uint64_t value;

	if (operand(e, op) || unary(e, op))
		return;
	if (!binary(op, 0, 1, &value)) {
		other(e, op);
		return;
	}
	value = expression_pop(e);
	binary(op, expression_pop(e), value, &value);
	expression_push(e, value);
}

int expression_value(struct walk *w, const struct unwind_module *module, uint32_t offset,
		     const struct registers *in, const uint64_t *initial, uint64_t *ret_value)
{
	struct evaluation e = {.w = w, .in = in, .r = eh_reader(module, offset, UINT64_MAX)};
	uint64_t length = reader_uleb(&e.r), value;

	if (e.r.error || length > reader_left(&e.r) || !(in->known >> ARCH_REG_SP & 1))
		return -EBADMSG;
	e.begin = e.r.offset;
	e.r.length = e.begin + length;
	if (initial)
		expression_push(&e, *initial);
	for (unsigned steps = 0; reader_more(&e.r) && !e.error; steps++) {
		if (steps == STEPS_MAX)
			return -EBADMSG;
		expression_execute(&e, reader_u8(&e.r));
	}
	value = expression_pop(&e);
	if (e.r.error)
		return e.r.error;
	if (e.error)
		return e.error;
	*ret_value = value;
	return 0;
}
