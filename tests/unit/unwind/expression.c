/* DWARF expressions, assembled by hand: every operation over values at the bounds, against the
 * standard's words in C; limits of the stack and of the steps; ends anywhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "agent/unwind/expression.h"

#define AT  64 /* of the expression's length */
#define REG 3

static uint8_t image[4096];
static uint64_t stack[64];
static struct unwind_module module;
static struct registers in;
static struct region region;
static struct walk walk;

struct code {
	uint8_t bytes[1024];
	size_t size;
};

static void begin(void)
{
	memset(image, 0xff, sizeof(image)); /* no operation */
	module = (struct unwind_module){.load_start = (uintptr_t)image,
					.load_end = (uintptr_t)image + sizeof(image)};
	for (unsigned i = 0; i < 64; i++)
		stack[i] = UINT64_C(0x1111111111111111) * (i % 15 + 1);
	region = (struct region){.low = (uintptr_t)stack,
				 .high = (uintptr_t)(stack + 64),
				 .until = (uintptr_t)(stack + 64),
				 .known = true};
	walk = (struct walk){.region = &region, .high = region.high, .bounded = true};
	in = (struct registers){.known = (1u << REG) | (1u << ARCH_REG_SP)};
	in.value[REG] = 1000;
	in.value[ARCH_REG_SP] = (uintptr_t)(stack + 32);
}

static void put(struct code *c, const void *bytes, size_t size)
{
	memcpy(c->bytes + c->size, bytes, size);
	c->size += size;
}

static void put_op(struct code *c, unsigned op)
{
	c->bytes[c->size++] = (uint8_t)op;
}

static void put_const(struct code *c, uint64_t value)
{
	put_op(c, 0x0e);
	put(c, &value, 8);
}

/* The length is written in two bytes. */
static int evaluate(const struct code *c, const uint64_t *initial, uint64_t *ret)
{
	image[AT] = (uint8_t)(0x80 | (c->size & 0x7f));
	image[AT + 1] = (uint8_t)(c->size >> 7);
	memset(image + AT + 2, 0xff, sizeof(image) - AT - 2);
	memcpy(image + AT + 2, c->bytes, c->size);
	return expression_value(&walk, &module, AT, &in, initial, ret);
}

static int error_of(const struct code *c)
{
	uint64_t value = 77;
	int r = evaluate(c, NULL, &value);

	if (r)
		assert_int_equal(value, 77);
	return r;
}

static void expect(const struct code *c, uint64_t expected)
{
	uint64_t value = ~expected;

	assert_int_equal(evaluate(c, NULL, &value), 0);
	assert_int_equal(value, expected);
}

#define CODE(text) (&(struct code){.bytes = text, .size = sizeof(text) - 1})

static void test_constants(void **state)
{
	const uint16_t two = 0x8123;
	const uint32_t four = 0x81234567;
	const uint64_t eight = 0x8123456789abcdef;
	struct code c;

	(void)state;
	begin();
	for (unsigned i = 0; i < 32; i++)
		expect(&(struct code){.bytes = {(uint8_t)(0x30 + i)}, .size = 1}, i);
	expect(CODE("\x08\xfe"), 0xfe);
	expect(CODE("\x09\xfe"), (uint64_t)-2);
	for (unsigned s = 0; s < 2; s++) {
		c = (struct code){.bytes = {(uint8_t)(0x0a + s)}, .size = 1};
		put(&c, &two, 2);
		expect(&c, s ? 0xffffffffffff8123 : 0x8123);
		c = (struct code){.bytes = {(uint8_t)(0x0c + s)}, .size = 1};
		put(&c, &four, 4);
		expect(&c, s ? 0xffffffff81234567 : 0x81234567);
		c = (struct code){.bytes = {(uint8_t)(0x0e + s)}, .size = 1};
		put(&c, &eight, 8);
		expect(&c, eight);
	}
	c = (struct code){.bytes = {0x03}, .size = 1};
	put(&c, &eight, 8);
	expect(&c, eight);
	expect(CODE("\x10\xe5\x8e\x26"), 624485); /* the examples of DWARF 5, 7.6 */
	expect(CODE("\x11\xff\x7e"), (uint64_t)-129);
	expect(CODE("\x11\x02"), 2);
}

static void test_registers(void **state)
{
	uint64_t at[ARCH_REGISTERS];

	(void)state;
	begin();
	in.known = (uint32_t)((1ull << ARCH_REGISTERS) - 1);
	for (unsigned i = 0; i < ARCH_REGISTERS; i++) {
		at[i] = in.value[i] = 1000 * i + 1;
		if (i < 32)
			expect(&(struct code){.bytes = {(uint8_t)(0x70 + i), 0x7e}, .size = 2},
			       at[i] - 2);
		expect(&(struct code){.bytes = {0x92, (uint8_t)i, 0x05}, .size = 3}, at[i] + 5);
		if (i == ARCH_REG_SP)
			continue;
		in.known &= ~(1u << i);
		assert_int_equal(
			error_of(&(struct code){.bytes = {0x92, (uint8_t)i, 5}, .size = 3}),
			-ENODATA);
		in.known |= 1u << i;
	}
	for (unsigned i = ARCH_REGISTERS; i < 128; i++) {
		assert_int_equal(
			error_of(&(struct code){.bytes = {0x92, (uint8_t)i, 5}, .size = 3}),
			-EBADMSG);
		if (i < 32)
			assert_int_equal(error_of(&(struct code){.bytes = {(uint8_t)(0x70 + i), 5},
								 .size = 2}),
					 -EBADMSG);
	}
}

static uint64_t two_operands(unsigned op, uint64_t a, uint64_t b)
{
	int64_t x = (int64_t)a, y = (int64_t)b;

	switch (op) {
	case 0x1a:
		return a & b;
	case 0x1b:
		return !b ? 0 : b == UINT64_MAX ? a == 1ull << 63 ? 0 : 0 - a : (uint64_t)(x / y);
	case 0x1c:
		return a - b;
	case 0x1d:
		return b ? a - a / b * b : 0;
	case 0x1e:
		return a * b;
	case 0x21:
		return a | b;
	case 0x22:
		return a + b;
	case 0x24:
		return b > 63 ? 0 : a << b;
	case 0x25:
		return b > 63 ? 0 : a >> b;
	case 0x26:
		return b > 63 ? (x < 0 ? UINT64_MAX : 0) : (uint64_t)(x >> b);
	case 0x27:
		return a ^ b;
	case 0x29:
		return a == b;
	case 0x2a:
		return x > y || a == b;
	case 0x2b:
		return x > y;
	case 0x2c:
		return x < y || a == b;
	case 0x2d:
		return x < y;
	default:
		return a != b;
	}
}

static const uint64_t bounds[] = {0,
				  1,
				  2,
				  3,
				  7,
				  31,
				  62,
				  63,
				  64,
				  65,
				  1000,
				  INT64_MAX - 1,
				  INT64_MAX,
				  1ull << 63,
				  (1ull << 63) + 1,
				  (uint64_t)-1000,
				  (uint64_t)-3,
				  (uint64_t)-2,
				  UINT64_MAX};
#define BOUNDS (sizeof(bounds) / sizeof(bounds[0]))

static void test_two_operands(void **state)
{
	static const uint8_t ops[] = {0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x21, 0x22, 0x24, 0x25,
				      0x26, 0x27, 0x29, 0x2a, 0x2b, 0x2c, 0x2d, 0x2e};

	(void)state;
	begin();
	for (size_t i = 0; i < sizeof(ops); i++)
		for (size_t a = 0; a < BOUNDS; a++)
			for (size_t b = 0; b < BOUNDS; b++) {
				struct code c = {.size = 0};

				put_const(&c, bounds[a]);
				put_const(&c, bounds[b]);
				put_op(&c, ops[i]);
				expect(&c, two_operands(ops[i], bounds[a], bounds[b]));
			}
}

static void test_one_operand(void **state)
{
	(void)state;
	begin();
	for (size_t i = 0; i < BOUNDS; i++) {
		uint64_t a = bounds[i];
		struct code c = {.size = 0};

		put_const(&c, a);
		expect(&c, a);
		put_op(&c, 0x19); /* abs */
		expect(&c, a >> 63 ? -a : a);
		c.bytes[c.size - 1] = 0x1f; /* neg */
		expect(&c, -a);
		c.bytes[c.size - 1] = 0x20; /* not */
		expect(&c, UINT64_MAX - a);
		c.bytes[c.size - 1] = 0x23; /* plus_uconst 300 */
		put(&c, "\xac\x02", 2);
		expect(&c, a + 300);
	}
}

static void expect_read(uint64_t address, int error, uint64_t value)
{
	for (unsigned sized = 0; sized < 2; sized++) {
		struct code c = {.size = 0};

		put_const(&c, address);
		put(&c, sized ? "\x94\x08" : "\x06", 1 + sized);
		if (error)
			assert_int_equal(error_of(&c), error);
		else
			expect(&c, value);
	}
}

static void test_reads(void **state)
{
	(void)state;
	if (ARCH_WORD != 8)
		skip(); /* words of other sizes */
	begin();
	expect_read((uintptr_t)(stack + 32), 0, stack[32]);
	expect_read((uintptr_t)(stack + 63), 0, stack[63]);
	expect_read((uintptr_t)(stack + 64), -EFAULT, 0);
	expect_read((uintptr_t)(stack + 32) + 1, -EFAULT, 0);
	expect_read((uintptr_t)(stack + 32) - ARCH_RED_ZONE, 0, stack[32 - ARCH_RED_ZONE / 8]);
	expect_read((uintptr_t)(stack + 32) - ARCH_RED_ZONE - 8, -EFAULT, 0);
	expect_read(0, -EFAULT, 0);
	for (unsigned size = 0; size < 256; size++) {
		struct code c = {.size = 0};

		put_const(&c, 1);
		put_const(&c, (uintptr_t)(stack + 32));
		put_op(&c, 0x94);
		put_op(&c, size);
		assert_int_equal(error_of(&c), size == 8 ? 0 : -EBADMSG);
	}
}

/* 1 2 3 lie on the stack; `expected` is what does then, from the top. */
static void expect_stack(const struct code *op, const uint64_t *expected, size_t depth)
{
	struct code c = *CODE("\x31\x32\x33");

	put(&c, op->bytes, op->size);
	for (size_t i = 0; i < depth; i++) {
		expect(&c, expected[i]);
		put_op(&c, 0x13);
	}
	assert_int_equal(error_of(&c), -EBADMSG);
}

static void test_stack(void **state)
{
	(void)state;
	begin();
	expect_stack(CODE(""), (uint64_t[]){3, 2, 1}, 3);
	expect_stack(CODE("\x96"), (uint64_t[]){3, 2, 1}, 3);
	expect_stack(CODE("\x12"), (uint64_t[]){3, 3, 2, 1}, 4);
	expect_stack(CODE("\x13"), (uint64_t[]){2, 1}, 2);
	expect_stack(CODE("\x14"), (uint64_t[]){2, 3, 2, 1}, 4);
	expect_stack(CODE("\x15\x00"), (uint64_t[]){3, 3, 2, 1}, 4);
	expect_stack(CODE("\x15\x01"), (uint64_t[]){2, 3, 2, 1}, 4);
	expect_stack(CODE("\x15\x02"), (uint64_t[]){1, 3, 2, 1}, 4);
	expect_stack(CODE("\x16"), (uint64_t[]){2, 3, 1}, 3);
	expect_stack(CODE("\x17"), (uint64_t[]){2, 1, 3}, 3);
	expect_stack(CODE("\x22"), (uint64_t[]){5, 1}, 2);
	expect_stack(CODE("\x1f"), (uint64_t[]){(uint64_t)-3, 2, 1}, 3);
}

/* Each operation needs so many values, and 16 can lie there. */
static void test_depth(void **state)
{
	static const struct {
		const char *op;
		unsigned size, needs;
	} ops[] = {
		{"\x12", 1, 1},		{"\x13", 1, 2},		{"\x14", 1, 2}, {"\x15\x00", 2, 1},
		{"\x15\x02", 2, 3},	{"\x16", 1, 2},		{"\x17", 1, 3}, {"\x19", 1, 1},
		{"\x1a", 1, 2},		{"\x1f", 1, 1},		{"\x20", 1, 1}, {"\x23\x01", 2, 1},
		{"\x28\x00\x00", 3, 2}, {"\x2f\x00\x00", 3, 1},
	};

	(void)state;
	begin();
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		for (unsigned depth = 0; depth < 4; depth++) {
			struct code c = {.size = 0};

			for (unsigned k = 0; k < depth; k++)
				put_op(&c, 0x31);
			put(&c, ops[i].op, ops[i].size);
			assert_int_equal(error_of(&c), depth >= ops[i].needs ? 0 : -EBADMSG);
		}
	for (unsigned depth = 1; depth < 20; depth++) {
		struct code c = {.size = 0};

		for (unsigned k = 0; k < depth; k++)
			put_op(&c, 0x31);
		assert_int_equal(error_of(&c), depth <= 16 ? 0 : -EBADMSG);
	}
	assert_int_equal(error_of(CODE("")), -EBADMSG);
}

/* `jump` is behind three values; behind it lie lit5, lit6, lit7. */
static int jumped(unsigned op, int16_t by, unsigned condition, uint64_t *ret)
{
	struct code c = {.size = 0};

	put_op(&c, 0x34);
	put_op(&c, 0x30 + condition);
	put_op(&c, op);
	put(&c, &by, 2);
	put(&c, "\x35\x36\x37", 3);
	return evaluate(&c, NULL, ret);
}

static void test_jumps(void **state)
{
	uint64_t value;

	(void)state;
	begin();
	for (unsigned op = 0x28; op <= 0x2f; op += 7) {
		for (int16_t by = 0; by <= 2; by++) {
			assert_int_equal(jumped(op, by, 1, &value), 0);
			assert_int_equal(value, 7);
		}
		assert_int_equal(jumped(op, 3, 1, &value), 0); /* to the end */
		assert_int_equal(value, op == 0x28 ? 4 : 1);
		assert_int_equal(jumped(op, 4, 1, &value), -EBADMSG);
		assert_int_equal(jumped(op, INT16_MAX, 1, &value), -EBADMSG);
		assert_int_equal(jumped(op, -6, 1, &value), -EBADMSG);
		assert_int_equal(jumped(op, INT16_MIN, 1, &value), -EBADMSG);
		assert_int_equal(jumped(op, -5, 1, &value), -EBADMSG); /* round and round */
	}
	assert_int_equal(jumped(0x28, 3, 0, &value), 0); /* not taken */
	assert_int_equal(value, 7);
	assert_int_equal(jumped(0x28, 4, 0, &value), 0);
	/* round and round while it is less than 5 */
	assert_int_equal(evaluate(CODE("\x31\x22\x12\x35\x2d\x28\xf8\xff"), &(uint64_t){0}, &value),
			 __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 0 : -EBADMSG);
	if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
		assert_int_equal(value, 5);
}

static void test_steps(void **state)
{
	struct code c = {.size = 0};

	(void)state;
	begin();
	put_op(&c, 0x31);
	while (c.size < 256)
		put_op(&c, 0x96);
	expect(&c, 1);
	put_op(&c, 0x96);
	assert_int_equal(error_of(&c), -EBADMSG);
}

/* Bytes that are operations, with operands of any size behind them. */
static void test_known(void **state)
{
	(void)state;
	begin();
	in.known = (uint32_t)((1ull << ARCH_REGISTERS) - 1);
	for (unsigned op = 0; op < 256; op++) {
		struct code c = *CODE("\x31\x31\x31\x31");
		bool known = op == 0x03 || (op >= 0x08 && op <= 0x17) ||
			     (op >= 0x19 && op <= 0x4f) ||
			     (op >= 0x70 && op < 0x70 + ARCH_REGISTERS && op <= 0x8f) ||
			     op == 0x92 || op == 0x96;

		if (op == 0x06 || op == 0x94)
			continue; /* reads */
		put_op(&c, op);
		if (op == 0x03 || op == 0x0e || op == 0x0f)
			put(&c, "\0\0\0\0\0\0\0", 8);
		else if (op == 0x0c || op == 0x0d)
			put(&c, "\0\0\0", 4);
		else if (op == 0x0a || op == 0x0b || op == 0x28 || op == 0x2f || op == 0x92)
			put(&c, "\0", 2);
		else if (op == 0x08 || op == 0x09 || op == 0x10 || op == 0x11 || op == 0x15 ||
			 op == 0x23 || (op >= 0x70 && op <= 0x8f))
			put(&c, "", 1);
		assert_int_equal(error_of(&c), known ? 0 : -EBADMSG);
		if (known && c.size > 5) {
			c.size--; /* its operand is not all there */
			assert_int_equal(error_of(&c), -EBADMSG);
		}
	}
}

/* A length that leads out of the module, an initial value, and no stack to read from. */
static void test_begin(void **state)
{
	uint64_t value = 0;

	(void)state;
	begin();
	assert_int_equal(evaluate(CODE("\x23\x02"), &(uint64_t){40}, &value), 0);
	assert_int_equal(value, 42);
	assert_int_equal(evaluate(CODE(""), &(uint64_t){40}, &value), 0);
	assert_int_equal(value, 40);
	in.known = 0;
	assert_int_equal(error_of(CODE("\x31")), -EBADMSG);
	begin();
	image[sizeof(image) - 2] = 1;
	image[sizeof(image) - 1] = 0x39;
	assert_int_equal(expression_value(&walk, &module, sizeof(image) - 2, &in, NULL, &value), 0);
	assert_int_equal(value, 9);
	image[sizeof(image) - 2] = 2;
	assert_int_equal(expression_value(&walk, &module, sizeof(image) - 2, &in, NULL, &value),
			 -EBADMSG);
	assert_int_equal(expression_value(&walk, &module, sizeof(image), &in, NULL, &value),
			 -EBADMSG);
	assert_int_equal(expression_value(&walk, &module, sizeof(image) + 1, &in, NULL, &value),
			 -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_constants),    cmocka_unit_test(test_registers),
		cmocka_unit_test(test_two_operands), cmocka_unit_test(test_one_operand),
		cmocka_unit_test(test_reads),	     cmocka_unit_test(test_stack),
		cmocka_unit_test(test_depth),	     cmocka_unit_test(test_jumps),
		cmocka_unit_test(test_steps),	     cmocka_unit_test(test_known),
		cmocka_unit_test(test_begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
