/* What an ELF file says of itself: build id, link to its debug file, what it has. */
#include "base/elf/elf_identity.h"

#include <stdio.h>

#include "tests/unit/base/elf_made.h"

static void test_identity(void **state)
{
	struct elf_identity identity;
	struct made m;
	struct elf elf;

	(void)state;
	FOR_EACH_KIND(m, elf)
	{
		elf_identify(&elf, &identity);
		assert_int_equal(identity.build_id_length, BUILD_ID_LEN);
		assert_memory_equal(identity.build_id, BUILD_ID, BUILD_ID_LEN);
		assert_string_equal(identity.debuglink, "a.debug");
		assert_int_equal(identity.debuglink_crc, 0xcafe1234);
		assert_int_equal(identity.has, ELF_HAS_SYMBOLS | ELF_HAS_DEBUG_INFO);
		assert_true(identity.has_code);
		assert_true(m.reads < 8);

		put(&m, m.wide ? 60 : 48, 2, 0); /* no sections: only segments tell */
		assert_int_equal(elf_open(&elf, read_made, &m), 0);
		elf_identify(&elf, &identity);
		assert_int_equal(identity.build_id_length, BUILD_ID_LEN);
		assert_int_equal(identity.has, 0);
		assert_string_equal(identity.debuglink, "");
	}
}

/* What each section's name says, if it has bytes. */
static void test_section_names(void **state)
{
	static const struct {
		const char *name;
		unsigned has;
	} rows[] = {
		{".debug_info", ELF_HAS_DEBUG_INFO}, {".zdebug_info", ELF_HAS_DEBUG_INFO},
		{".debug_line", ELF_HAS_LINES},	     {".zdebug_line", ELF_HAS_LINES},
		{".gnu_debugdata", ELF_HAS_SYMBOLS}, {".debug_str", 0},
	};
	struct elf_identity identity;
	struct made m;
	struct elf elf;

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		FOR_EACH_KIND(m, elf)
		{
			char *name = memmem(m.bytes + NAMES_AT, sizeof(names), ".debug_info", 12);

			put_section(&m, S_SYMBOLS, ".symtab", SHT_NULL, SYMBOLS_AT, 16, 0);
			snprintf(name, 16, "%s", rows[i].name);
			elf_identify(&elf, &identity);
			assert_int_equal(identity.has, rows[i].has);
			put_section(&m, S_INFO, ".debug_info", SHT_PROGBITS, END, 0, 0);
			elf_identify(&elf, &identity);
			assert_int_equal(identity.has, 0);
		}
}

/* A link is a name without a folder, and a checksum that is in the section. */
static void test_debuglink(void **state)
{
	static const struct {
		const char *bytes;
		unsigned size;
		const char *name;
	} rows[] = {
		{"abc\0\1\1\1\1", 8, "abc"},	      {"abc\0\1\1\1\1", 7, ""},
		{"abcd\0\0\0\0\1\1\1\1", 12, "abcd"}, {"abcd\0\0\0\0\1\1\1", 11, ""},
		{"abcd\0\0\0\0\1\1\1", 8, ""},	      {"a/c\0\1\1\1\1", 8, ""},
		{"\0\0\0\0\1\1\1\1", 8, ""},	      {"abcdefghijkl", 12, ""},
	};
	struct elf_identity identity;
	struct made m;
	struct elf elf;

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		FOR_EACH_KIND(m, elf)
		{
			memcpy(m.bytes + LINK_AT, rows[i].bytes, rows[i].size);
			put_section(&m, S_LINK, ".gnu_debuglink", SHT_PROGBITS, LINK_AT,
				    rows[i].size, 0);
			elf_identify(&elf, &identity);
			assert_string_equal(identity.debuglink, rows[i].name);
			assert_int_equal(identity.debuglink_crc, *rows[i].name ? 0x01010101 : 0);
		}
	/* The longest; and one that would be longer, of a section that is. */
	for (unsigned length = ELF_DEBUGLINK_MAX; length < ELF_DEBUGLINK_MAX + 8; length++)
		FOR_EACH_KIND(m, elf)
		{
			memset(m.bytes + END, 0, 300);
			memset(m.bytes + END, 'n', length);
			m.size = END + 300;
			put_section(&m, S_LINK, ".gnu_debuglink", SHT_PROGBITS, END,
				    (length + 1 + 3) / 4 * 4 + 4, 0);
			elf_identify(&elf, &identity);
			assert_int_equal(strlen(identity.debuglink),
					 length == ELF_DEBUGLINK_MAX ? length : 0);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_identity),
		cmocka_unit_test(test_section_names),
		cmocka_unit_test(test_debuglink),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
