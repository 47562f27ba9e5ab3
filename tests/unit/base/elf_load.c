/* Where a file lies, by its mappings as kernels with pages of 4, 16 and 64 KiB show them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/elf/elf_load.h"

#define SEGMENTS 4
#define BIAS	 0xaaaac0a50000u

struct layout {
	const char *what;
	struct elf_load code[SEGMENTS];
	unsigned count;
};

/* As readelf -lW has shown them. */
static const struct layout layouts[] = {
	{"lld, small", {{0x103d4, 0x3d4, 0x24}}, 1},
	{"lld", {{0x19ec0, 0x9ec0, 0x21a30}}, 1},
	{"lld, just behind a page", {{0x30010, 0x20010, 0x8000}}, 1},
	{"lld, before a page's end", {{0x1fff0, 0xfff0, 0x20}}, 1},
	{"lld -z separate-code", {{0x10000, 0x10000, 0x24}}, 1},
	{"GNU ld", {{0, 0, 0x1b2f4}}, 1},
	{"GNU ld -z separate-code", {{0x10000, 0x10000, 0x1b2f4}}, 1},
	{"two pieces of code", {{0x10500, 0x500, 0x3000}, {0x33600, 0x13600, 0x45000}}, 2},
	{"two, the larger one first", {{0x10500, 0x500, 0x45000}, {0x75500, 0x45500, 0x2b00}}, 2},
};

/* A kernel maps whole pages. */
static void check(const struct layout *l, const struct elf_load *of, uint64_t base, uint64_t page)
{
	uint64_t before = of->address & (page - 1), bias = 1,
		 end = (of->address + of->size + page - 1) & ~(page - 1);

	print_message("%s, pages of %u\n", l->what, (unsigned)page);
	assert_true(elf_load_bias(l->code, l->count, base + of->address - before, base + end,
				  of->offset - before, &bias));
	assert_int_equal(bias, base);
}

static void test_pages(void **state)
{
	static const uint64_t pages[] = {4096, 16384, 65536};

	(void)state;
	for (unsigned i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		for (unsigned k = 0; k < layouts[i].count; k++)
			for (unsigned p = 0; p < 3; p++) {
				check(&layouts[i], &layouts[i].code[k], BIAS, pages[p]);
				check(&layouts[i], &layouts[i].code[k], 0,
				      pages[p]); /* linked to a place */
			}
}

static uint64_t bias_of(const struct layout *l, const char *line)
{
	unsigned long long start, end, offset;
	uint64_t bias = 1;

	assert_int_equal(sscanf(line, "%llx-%llx r-xp %llx", &start, &end, &offset), 3);
	assert_true(elf_load_bias(l->code, l->count, start, end, offset, &bias));
	return bias;
}

/* Lines of /proc/PID/maps: of Linux 6.1 with pages of 64 KiB and 16 KiB, of a part whose neighbour
 * has other rights by now. */
static void test_lines(void **state)
{
	(void)state;
	assert_int_equal(
		bias_of(&layouts[0],
			"aaaac0a60000-aaaac0a70000 r-xp 00000000 00:02 1170    /attached_lld"),
		BIAS);
	assert_int_equal(
		bias_of(&layouts[1],
			"aaaac0a60000-aaaac0a90000 r-xp 00000000 00:02 1170    /attached_lld"),
		BIAS);
	assert_int_equal(
		bias_of(&layouts[1],
			"aaaac0a68000-aaaac0a8c000 r-xp 00008000 00:02 1170    /attached_lld"),
		BIAS);
	assert_int_equal(
		bias_of(&layouts[1],
			"aaaac0a70000-aaaac0a71000 r-xp 00010000 00:02 1170    /attached_lld"),
		BIAS);
	assert_int_equal(
		bias_of(&layouts[7],
			"aaaac0a60000-aaaac0a70000 r-xp 00000000 00:02 1170    /attached_lld"),
		BIAS);
	assert_int_equal(
		bias_of(&layouts[7],
			"aaaac0a80000-aaaac0ad0000 r-xp 00010000 00:02 1170    /attached_lld"),
		BIAS);
}

/* If nothing tells two apart, the first counts. */
static void test_the_first(void **state)
{
	static const struct elf_load same[] = {{0x10000, 0, 0x1000}, {0x23000, 0x1000, 0x1000}};
	uint64_t bias = 1;

	(void)state;
	assert_true(elf_load_bias(same, 2, BIAS, BIAS + 0x2000, 0, &bias));
	assert_int_equal(bias, BIAS - 0x10000);
	assert_true(elf_load_bias(same + 1, 1, BIAS, BIAS + 0x2000, 0, &bias));
	assert_int_equal(bias, BIAS - 0x22000);
}

static void test_nothing(void **state)
{
	static const struct elf_load large = {0, UINT64_MAX - 1, UINT64_MAX};
	const struct layout *l = &layouts[1];
	uint64_t bias = 1;

	(void)state;
	assert_false(elf_load_bias(l->code, 0, BIAS, BIAS + 65536, 0, &bias));
	assert_false(elf_load_bias(l->code, 1, BIAS, BIAS + 4096, 0, &bias));	     /* before it */
	assert_false(elf_load_bias(l->code, 1, BIAS, BIAS + 65536, 0x40000, &bias)); /* behind it */
	assert_false(elf_load_bias(l->code, 1, BIAS, BIAS, 0x10000, &bias));
	assert_false(elf_load_bias(l->code, 1, BIAS + 1, BIAS, 0x10000, &bias));
	assert_int_equal(bias, 1);
	assert_false(elf_load_bias(&large, 1, 0, UINT64_MAX - 1, 0, &bias));
	assert_true(elf_load_bias(&large, 1, 0, UINT64_MAX, UINT64_MAX - 1, &bias));
	assert_int_equal(bias, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pages),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_the_first),
		cmocka_unit_test(test_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
