/* Pointers of .eh_frame in each format, from each base, at each alignment and end; and the reader
 * that they come from. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "agent/unwind/eh_frame.h"

static struct {
	uint8_t bytes[1024];
} image; /* the "module" */

struct number {
	uint8_t format; /* of the encoding */
	uint8_t size;
	uint8_t bytes[10];
	uint64_t value;
};

/* In the order of the bytes of this machine. */
static struct number fixed(uint8_t format, uint8_t size, uint64_t value)
{
	struct number n = {.format = format, .size = size, .value = value};

	if (size == 2)
		memcpy(n.bytes, &(uint16_t){(uint16_t)value}, 2);
	else if (size == 4)
		memcpy(n.bytes, &(uint32_t){(uint32_t)value}, 4);
	else
		memcpy(n.bytes, &value, 8);
	return n;
}

#define DATA 0x123456789u

/* A pointer at `at` that ends at `end`; -EBADMSG or the offset behind it. */
static int64_t pointer(size_t at, size_t end, unsigned encoding, uint64_t *ret)
{
	struct unwind_module module = {.load_start = (uintptr_t)image.bytes,
				       .load_end = (uintptr_t)image.bytes + sizeof(image.bytes)};
	struct reader r = eh_reader(&module, at, end);

	*ret = eh_pointer(&module, &r, (uint8_t)encoding, DATA);
	return r.error ? r.error : (int64_t)r.offset;
}

static void expect_pointer(const struct number *n, uint64_t misaligned)
{
	uint64_t start = (uintptr_t)image.bytes, value;

	for (unsigned application = 0; application < 0x80; application += 0x10) {
		unsigned encoding = n->format | application;
		bool aligned = application == 0x50,
		     known = !application || application == 0x10 || application == 0x30 || aligned;
		size_t skipped = aligned ? -(start + 128 + misaligned) & 7 : 0,
		       at = 128 + misaligned + skipped;
		uint64_t base = application == 0x10 ? start + at : application == 0x30 ? DATA : 0;

		memset(image.bytes, 0x55, sizeof(image.bytes));
		memcpy(image.bytes + at, n->bytes, n->size);
		assert_int_equal(pointer(at - skipped, SIZE_MAX, encoding, &value),
				 known ? (int64_t)(at + n->size) : -EBADMSG);
		if (known)
			assert_int_equal(value, base + n->value);
		/* the indirection is left to who reads it */
		assert_int_equal(pointer(at - skipped, at + n->size, 0x80 | encoding, &value),
				 known ? (int64_t)(at + n->size) : -EBADMSG);
		assert_int_equal(pointer(at - skipped, at + n->size - 1u, encoding, &value),
				 -EBADMSG);
	}
}

static void test_pointers(void **state)
{
	const struct number numbers[] = {
		fixed(0x00, 8, 0xfedcba9876543210),
		fixed(0x04, 8, 0xfedcba9876543210),
		fixed(0x0c, 8, 0xfedcba9876543210),
		fixed(0x02, 2, 0xfedc),
		fixed(0x0a, 2, (uint64_t)-0x124),
		fixed(0x03, 4, 0xfedcba98),
		fixed(0x0b, 4, (uint64_t)-0x1234568),
		fixed(0x0b, 4, 0x7edcba98),
		{0x01, 3, {0xe5, 0x8e, 0x26}, 624485},
		{0x09, 2, {0xff, 0x7e}, (uint64_t)-129},
		{0x09, 1, {0x3f}, 63},
	};
	uint64_t value;

	(void)state;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		for (unsigned misaligned = 0; misaligned < 8; misaligned++)
			expect_pointer(&numbers[i], misaligned);
	for (unsigned format = 0; format < 16; format++) {
		bool known = format < 5 || (format > 8 && format < 13);

		memset(image.bytes, 0x55, sizeof(image.bytes));
		assert_int_equal(pointer(128, SIZE_MAX, format, &value) < 0, !known);
		if (!known)
			assert_int_equal(value, 0);
	}
	assert_int_equal(pointer(128, SIZE_MAX, 0xff, &value), 128); /* omitted */
	assert_int_equal(value, 0);
}

/* Numbers of any length; bits beyond 64 are dropped. */
static void test_leb(void **state)
{
	uint64_t value;

	(void)state;
	for (unsigned bits = 1; bits <= 80; bits++) {
		uint64_t expected = bits <= 64 ? 1ull << (bits - 1) : 0,
			 negative = bits < 64 ? -expected : expected;
		size_t size = (bits + 6) / 7;
		bool signs = bits % 7 == 0; /* the highest bit of the last byte is set */

		memset(image.bytes, 0x80, sizeof(image.bytes));
		image.bytes[128 + size - 1] = (uint8_t)(1u << (bits - 1) % 7);
		assert_int_equal(pointer(128, SIZE_MAX, 0x01, &value), 128 + size);
		assert_int_equal(value, expected);
		assert_int_equal(pointer(128, SIZE_MAX, 0x09, &value), 128 + size);
		assert_int_equal(value, signs ? negative : expected);
		assert_int_equal(pointer(128, 128 + size - 1, 0x01, &value), -EBADMSG);
		assert_int_equal(pointer(128, 128 + size - 1, 0x09, &value), -EBADMSG);
	}
}

static void test_reader(void **state)
{
	struct unwind_module module = {.load_start = (uintptr_t)image.bytes,
				       .load_end = (uintptr_t)image.bytes + 100};

	(void)state;
	assert_int_equal(eh_reader(&module, 100, SIZE_MAX).error, 0);
	assert_int_equal(eh_reader(&module, 100, SIZE_MAX).length, 100);
	assert_int_equal(eh_reader(&module, 101, SIZE_MAX).error, -EBADMSG);
	assert_int_equal(eh_reader(&module, 50, 70).length, 70);
	assert_int_equal(eh_reader(&module, 70, 70).offset, 70);
	assert_int_equal(eh_reader(&module, 71, 70).error, -EBADMSG);
	module.load_end = module.load_start;
	assert_int_equal(eh_reader(&module, 0, 70).error, 0);
	module.load_end--;
	assert_int_equal(eh_reader(&module, 0, 70).error, -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pointers),
		cmocka_unit_test(test_leb),
		cmocka_unit_test(test_reader),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
