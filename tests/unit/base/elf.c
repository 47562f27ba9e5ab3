/* base/elf against files that are made here, of both classes and both byte orders: whole, cut off
 * anywhere, and with numbers that overflow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/elf/elf.h"
#include "base/elf/elf_identity.h"
#include "tests/unit/base/elf_made.h"

static void test_header(void **state)
{
	struct made m;
	struct elf elf;

	(void)state;
	FOR_EACH_KIND(m, elf)
	{
		assert_int_equal(elf.wide, m.wide);
		assert_int_equal(elf.big, m.big);
		assert_int_equal(elf.machine, EM_PPC64);
		assert_int_equal(elf.entry, 0x1234);
		assert_int_equal(elf.segments.count, 2);
		assert_int_equal(elf.sections.count, SECTIONS);
		assert_int_equal(elf_is_native(&elf),
				 m.wide == (sizeof(long) == 8) &&
					 m.big == (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__));
	}
}

static void test_tables(void **state)
{
	struct made m;
	struct elf elf;
	struct elf_table t;
	struct elf_segment segment;
	struct elf_section section;

	(void)state;
	FOR_EACH_KIND(m, elf)
	{
		elf_open_segments(&t, &elf);
		assert_true(elf_segment_at(&t, 0, &segment));
		assert_int_equal(segment.type, PT_LOAD);
		assert_int_equal(segment.flags, PF_R | PF_X);
		assert_int_equal(segment.address, 0x10000);
		assert_int_equal(segment.file_size, END);
		assert_int_equal(segment.memory_size, END + 8);
		assert_true(elf_segment_at(&t, 1, &segment));
		assert_int_equal(segment.offset, NOTE_AT);
		assert_false(elf_segment_at(&t, 2, &segment));
		assert_false(elf_segment_at(&t, UINT64_MAX, &segment));
		elf_open_sections(&t, &elf);
		assert_true(elf_section_at(&t, S_TEXT, &section));
		assert_int_equal(section.flags, SHF_EXECINSTR);
		assert_int_equal(section.address, 0x10000 + END);
		assert_true(elf_section_find(&t, SHT_RELA, &section));
		assert_int_equal(section.offset, RELA_AT);
		assert_int_equal(section.link, S_SYMBOLS);
		assert_false(elf_section_find(&t, SHT_DYNSYM, &section));
		assert_false(elf_section_at(&t, SECTIONS, &section));
		assert_int_equal(m.reads, 3); /* a block each, not an entry */
	}
}

static void test_contents(void **state)
{
	static struct elf_table sections, t;
	static struct elf_window text;
	struct made m;
	struct elf elf;
	struct elf_section section;
	struct elf_symbol symbol;
	struct elf_relocation relocation;
	struct elf_dynamic dynamic;

	(void)state;
	FOR_EACH_KIND(m, elf)
	{
		elf_open_sections(&sections, &elf);
		assert_true(elf_section_find(&sections, SHT_SYMTAB, &section));
		elf_open_section_names(&text, &sections);
		assert_string_equal(elf_window_string(&text, section.name), ".symtab");
		elf_open_symbols(&t, &elf, &section);
		elf_open_strings(&text, &sections, &section);
		assert_int_equal(t.count, SYMBOLS);
		assert_true(elf_symbol_at(&t, 2, &symbol));
		assert_string_equal(elf_window_string(&text, symbol.name), "free");
		assert_true(elf_symbol_at(&t, 1, &symbol));
		assert_string_equal(elf_window_string(&text, symbol.name), "malloc");
		assert_int_equal(symbol.value, 0x2000);
		assert_int_equal(symbol.size, 16);
		assert_int_equal(symbol.type, STT_FUNC);
		assert_int_equal(symbol.binding, STB_GLOBAL);
		assert_int_equal(symbol.section, S_TEXT);
		assert_false(elf_symbol_at(&t, SYMBOLS, &symbol));
		assert_true(elf_section_find(&sections, SHT_RELA, &section));
		elf_open_relocations(&t, &elf, &section);
		assert_true(elf_relocation_at(&t, 0, &relocation));
		assert_int_equal(relocation.offset, 0x4000);
		assert_int_equal(relocation.symbol, 2);
		assert_false(elf_relocation_at(&t, 1, &relocation));
		assert_true(elf_section_find(&sections, SHT_DYNAMIC, &section));
		elf_open_dynamic(&t, &elf, &section);
		elf_open_strings(&text, &sections, &section);
		assert_true(elf_dynamic_at(&t, 0, &dynamic));
		assert_int_equal(dynamic.tag, DT_NEEDED);
		assert_string_equal(elf_window_string(&text, dynamic.value), "free");
		assert_false(elf_dynamic_at(&t, 1, &dynamic));
		assert_true(elf_has_section(&elf, ".dynamic"));
		assert_false(elf_has_section(&elf, ".dyn"));
	}
}

/* The symbol comes first in r_info on MIPS64, in either byte order. */
static void test_mips64(void **state)
{
	static struct elf_table t;
	struct elf elf;

	(void)state;
	for (unsigned big = 0; big < 2; big++) {
		struct made m = make(true, big);
		struct elf_section section = {.type = SHT_RELA, .offset = RELA_AT, .size = 24};
		struct elf_relocation relocation;

		put(&m, 18, 2, EM_MIPS);
		put(&m, RELA_AT + 8, 4, 2);
		put(&m, RELA_AT + 12, 4, 0x01020304);
		assert_int_equal(elf_open(&elf, read_made, &m), 0);
		elf_open_relocations(&t, &elf, &section);
		assert_true(elf_relocation_at(&t, 0, &relocation));
		assert_int_equal(relocation.symbol, 2);
	}
}

/* Cut off at every byte: the header is there or the file is refused, and the rest is there or is
 * not. */
static void test_truncated(void **state)
{
	struct elf_identity identity;
	struct elf_section section;
	struct elf_segment segment;
	static struct elf_table t;
	struct elf elf;
	struct made m;

	(void)state;
	FOR_EACH_KIND(m, elf)
	for (m.size = 0; m.size <= END; m.size++) {
		size_t head = m.wide ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr);
		size_t entry = m.wide ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);

		assert_int_equal(elf_open(&elf, read_made, &m), m.size < head ? -ENOEXEC : 0);
		if (m.size < head)
			continue;
		elf_open_segments(&t, &elf);
		assert_int_equal(elf_segment_at(&t, 0, &segment), m.size >= SEGMENTS_AT + entry);
		assert_int_equal(elf_segment_at(&t, 1, &segment),
				 m.size >= SEGMENTS_AT + 2 * entry);
		elf_open_sections(&t, &elf);
		assert_int_equal(elf_section_at(&t, S_NAMES, &section),
				 m.size >= section_at(&m, SECTIONS));
		elf_identify(&elf, &identity);
		assert_int_equal(identity.build_id_length,
				 m.size >= NOTE_AT + 44 ? BUILD_ID_LEN : 0);
	}
}

static void test_refused(void **state)
{
	struct made m = make(true, false);
	struct elf elf;

	(void)state;
	m.bytes[EI_CLASS] = 3;
	assert_int_equal(elf_open(&elf, read_made, &m), -ENOEXEC);
	m = make(true, false);
	m.bytes[EI_DATA] = 0;
	assert_int_equal(elf_open(&elf, read_made, &m), -ENOEXEC);
	m = make(true, false);
	m.bytes[0]++;
	assert_int_equal(elf_open(&elf, read_made, &m), -ENOEXEC);
	m = make(true, false);
	m.error = -EIO;
	assert_int_equal(elf_open(&elf, read_made, &m), -EIO);
}

/* Tables with entries that are too small, or that end beyond all offsets. */
static void test_overflow(void **state)
{
	static const uint64_t places[] = {
		UINT64_MAX,	UINT64_MAX - 8,		INT64_MAX, INT64_MAX - 8, UINT32_MAX,
		UINT32_MAX - 8, 1ull << 62 | 0xffffff00};
	struct elf_identity identity;
	struct elf_section section;
	struct elf_segment segment;
	static struct elf_table t;
	struct elf elf;
	struct made m;

	(void)state;
	FOR_EACH_KIND(m, elf)
	{
		put(&m, m.wide ? 54 : 42, 2, m.wide ? 55 : 31);
		put(&m, m.wide ? 58 : 46, 2, 0);
		assert_int_equal(elf_open(&elf, read_made, &m), 0);
		elf_open_segments(&t, &elf);
		assert_false(elf_segment_at(&t, 0, &segment));
		elf_open_sections(&t, &elf);
		assert_false(elf_section_at(&t, 0, &section));
		for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
			m = make(m.wide, m.big);
			put_word(&m, 0, 28, 32, places[i]);
			put_word(&m, 0, 32, 40, places[i]);
			put(&m, m.wide ? 56 : 44, 2, 0xffff);
			put(&m, m.wide ? 60 : 48, 2, 0xffff);
			put(&m, m.wide ? 58 : 46, 2, 0xffff);
			assert_int_equal(elf_open(&elf, read_made, &m), 0);
			elf_open_segments(&t, &elf);
			assert_false(elf_segment_at(&t, 0, &segment));
			assert_false(elf_segment_at(&t, 0xfffe, &segment));
			elf_open_sections(&t, &elf);
			assert_false(elf_section_at(&t, 0xfffe, &section));
			elf_identify(&elf, &identity);
			assert_int_equal(identity.build_id_length, 0);
		}
	}
}

/* Sections that lie anywhere and claim any size, and notes that do. */
static void test_hostile_sections(void **state)
{
	static const uint64_t numbers[] = {
		0,	   1, 11, 12, END, UINT32_MAX - 3, UINT32_MAX, INT64_MAX, UINT64_MAX - 3,
		UINT64_MAX};
	const size_t count = sizeof(numbers) / sizeof(numbers[0]);
	struct elf_identity identity;
	static struct elf_window text;
	static struct elf_table t, of;
	struct elf_section section;
	struct elf_symbol symbol;
	struct elf elf;
	struct made m;

	(void)state;
	FOR_EACH_KIND(m, elf)
	for (size_t i = 0; i < count * count * SECTIONS; i++) {
		unsigned number = (unsigned)(i / (count * count));
		size_t at = section_at(&m, number);

		m = make(m.wide, m.big);
		put_word(&m, at, 16, 24, numbers[i % count]);
		put_word(&m, at, 20, 32, numbers[i / count % count]);
		put(&m, at + (m.wide ? 40 : 24), 4, numbers[i % count]);
		put(&m, NOTE_AT, 4, numbers[i % count]);
		put(&m, NOTE_AT + 4, 4, numbers[i / count % count]);
		assert_int_equal(elf_open(&elf, read_made, &m), 0);
		elf_identify(&elf, &identity);
		assert_true(identity.build_id_length <= ELF_BUILD_ID_MAX);
		elf_open_sections(&t, &elf);
		assert_true(elf_section_at(&t, number, &section));
		elf_open_symbols(&of, &elf, &section);
		elf_open_strings(&text, &t, &section);
		for (uint64_t k = 0; k < 8; k++)
			if (elf_symbol_at(&of, k, &symbol))
				elf_window_string(&text, symbol.name);
		assert_false(elf_symbol_at(&of, UINT64_MAX / 8, &symbol));
		assert_null(elf_window_string(&text, text.size));
	}
}

/* Strings at the end of a table that no NUL ends, and names that a block does not hold. */
static void test_strings(void **state)
{
	struct made m = make(true, true);
	static struct elf_window w;
	struct elf elf;

	(void)state;
	assert_int_equal(elf_open(&elf, read_made, &m), 0);
	memset(m.bytes + 100, 'x', FILE_MAX - 100);
	m.size = FILE_MAX;
	elf_window_init(&w, &elf);
	assert_null(elf_window_string(&w, 0));
	elf_window_set(&w, 100, 200);
	assert_int_equal(strlen(elf_window_string(&w, 0)), 200);
	assert_int_equal(strlen(elf_window_string(&w, 199)), 1);
	assert_null(elf_window_string(&w, 200));
	assert_null(elf_window_bytes(&w, 1, 200));
	assert_null(elf_window_bytes(&w, UINT64_MAX, 2));
	assert_non_null(elf_window_bytes(&w, 200, 0));
	assert_null(elf_window_bytes(&w, 0, ELF_BLOCK + 1));
	elf_window_set(&w, 100, UINT64_MAX); /* most of it is not there */
	assert_non_null(elf_window_string(&w, 0));
	assert_null(elf_window_string(&w, FILE_MAX));
}

/* Parts that are read back and forth have an end. */
static void test_reads(void **state)
{
	struct made m = make(true, false);
	static struct elf_window w;
	struct elf elf;
	unsigned failed = 0;

	(void)state;
	assert_int_equal(elf_open(&elf, read_made, &m), 0);
	elf_window_init(&w, &elf);
	for (unsigned i = 0; i < 2 * ELF_READS_MAX; i++) {
		elf_window_set(&w, i % 64, 64);
		failed += !elf_window_bytes(&w, 0, 1);
	}
	assert_int_equal(failed, ELF_READS_MAX);
	assert_int_equal(m.reads, ELF_READS_MAX + 1);
}

static void test_file(void **state)
{
	struct made m = make(true, false);
	int fd = memfd_create("elf", MFD_CLOEXEC);
	struct elf_identity identity;
	struct elf elf;
	uint8_t byte;

	(void)state;
	assert_true(fd >= 0 && write(fd, m.bytes, m.size) == (ssize_t)m.size);
	assert_int_equal(elf_open_file(&elf, fd), 0);
	elf_identify(&elf, &identity);
	assert_int_equal(identity.build_id_length, BUILD_ID_LEN);
	assert_int_equal(elf_read(&elf, m.size - 1, &byte, 1), 1);
	assert_int_equal(elf_read(&elf, m.size, &byte, 1), 0);
	assert_int_equal(elf_read(&elf, INT64_MAX, &byte, 1), 0);
	close(fd);
	assert_int_equal(elf_open_file(&elf, fd), -EBADF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_header),	  cmocka_unit_test(test_tables),
		cmocka_unit_test(test_contents),  cmocka_unit_test(test_mips64),

		cmocka_unit_test(test_truncated), cmocka_unit_test(test_refused),
		cmocka_unit_test(test_overflow),  cmocka_unit_test(test_hostile_sections),
		cmocka_unit_test(test_strings),	  cmocka_unit_test(test_reads),
		cmocka_unit_test(test_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
