/* Functions of a file, as its tables name them, and its code: a file that is made here. */
#include "agent/core/elf_symbols.h"

#include <endian.h>
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/base/elf_made.h"

#define WIDE (sizeof(void *) == 8)
#define BIG  (__BYTE_ORDER == __BIG_ENDIAN)

static struct made m;
static struct elf_symbols file;
static int fd = -1;

static int open_made(void)
{
	if (fd >= 0)
		close(fd);
	fd = memfd_create("elf", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, m.bytes, m.size, 0), m.size);
	return elf_symbols_open(&file, fd);
}

static void put_kind(unsigned number, unsigned type, unsigned section, uint64_t value)
{
	size_t size = WIDE ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym), at = SYMBOLS_AT + number * size;

	put_symbol(&m, number, number % 2 ? 8 : 1, value); /* free, malloc, free... */
	put(&m, at + (WIDE ? 4 : 12), 1, STB_GLOBAL << 4 | type);
	put(&m, at + (WIDE ? 6 : 14), 2, section);
}

static struct {
	uint64_t value[16];
	const char *name[16];
	unsigned count, most;
} seen;

static bool see(void *context, const struct elf_symbol *symbol, const char *name)
{
	assert_ptr_equal(context, &seen);
	assert_true(seen.count < 16);
	seen.value[seen.count] = symbol->value;
	seen.name[seen.count++] = !strcmp(name, "malloc") ? "malloc"
				  : !strcmp(name, "free") ? "free"
							  : "";
	return seen.count == seen.most;
}

static bool is_known(const char *name)
{
	return !strcmp(name, "malloc") || !strcmp(name, "free");
}

static bool is_free(const char *name)
{
	return !strcmp(name, "free");
}

static const struct elf_names both = {"mal fre", is_known}, one = {"mal fre", is_free};

static void walk_all(const struct elf_names *wanted, unsigned most)
{
	memset(&seen, 0, sizeof(seen));
	seen.most = most;
	assert_true(elf_symbols_walk(&file, SHT_SYMTAB, wanted, see, &seen));
}

/* Functions that the file has, whatever else it names. */
static void test_functions(void **state)
{
	static const struct {
		unsigned type, section;
		uint64_t value;
		bool is_code;
	} symbols[] = {
		{STT_FUNC, S_TEXT, 0x10, true},	   {STT_GNU_IFUNC, S_TEXT, 0x20, true},
		{STT_OBJECT, S_TEXT, 0x30, false}, {STT_FUNC, SHN_UNDEF, 0x40, false},
		{STT_FUNC, SHN_ABS, 0x50, false},  {STT_FUNC, SHN_LORESERVE, 0x60, false},
		{STT_FUNC, S_TEXT, 0, false},
	};
	unsigned found = 0;

	(void)state;
	m = make(WIDE, BIG);
	for (unsigned i = 0; i < 7; i++)
		put_kind(i + 1, symbols[i].type, symbols[i].section, symbols[i].value);
	put_section(&m, S_SYMBOLS, ".symtab", SHT_SYMTAB, SYMBOLS_AT,
		    8 * (WIDE ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym)), S_STRINGS);
	assert_int_equal(open_made(), 0);
	walk_all(NULL, 0);
	for (unsigned i = 0; i < 7; i++)
		if (symbols[i].is_code) {
			assert_int_equal(seen.value[found], symbols[i].value);
			assert_string_equal(seen.name[found++], "");
		}
	assert_int_equal(seen.count, found);
	walk_all(&both, 0);
	assert_int_equal(seen.count, 2);
	assert_string_equal(seen.name[0], "free");
	assert_int_equal(seen.value[0], 0x10);
	assert_string_equal(seen.name[1], "malloc");
	assert_int_equal(seen.value[1], 0x20);
	walk_all(&both, 1); /* that is enough */
	assert_int_equal(seen.count, 1);
	walk_all(&one, 0);
	assert_int_equal(seen.count, 1);
	assert_string_equal(seen.name[0], "free");
	seen.count = 0;
	elf_symbols_walk(&file, SHT_DYNSYM, &both, see, &seen);
	assert_int_equal(seen.count, 0);
	/* Of a table that the file does not have in full, nothing. */
	put_section(&m, S_SYMBOLS, ".symtab", SHT_SYMTAB, SYMBOLS_AT,
		    60 * (WIDE ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym)), S_STRINGS);
	assert_int_equal(open_made(), 0);
	walk_all(NULL, 0);
	assert_int_equal(seen.count, 0);
}

static void test_sections(void **state)
{
	ElfW(Shdr) header;
	uint8_t bytes[16];

	(void)state;
	m = make(WIDE, BIG);
	assert_int_equal(open_made(), 0);
	assert_true(elf_symbols_has(&file, SHT_SYMTAB));
	assert_false(elf_symbols_has(&file, SHT_DYNSYM));
	assert_true(elf_symbols_section(&file, S_STRINGS, &header));
	assert_int_equal(header.sh_type, SHT_STRTAB);
	assert_int_equal(header.sh_offset, STRINGS_AT);
	assert_true(elf_symbols_section(&file, SECTIONS - 1, &header));
	assert_int_equal(header.sh_offset, NAMES_AT);
	assert_false(elf_symbols_section(&file, SECTIONS, &header));
	assert_true(elf_symbols_read(&file, STRINGS_AT, bytes, sizeof(strings)));
	assert_memory_equal(bytes, strings, sizeof(strings));
	assert_true(elf_symbols_read(&file, m.size - 16, bytes, 16));
	assert_false(elf_symbols_read(&file, m.size - 15, bytes, 16));
}

/* Code by its address, up to the end of its segment; and files that are not taken. */
static void test_code(void **state)
{
	uint8_t bytes[32] = {0};

	(void)state;
	m = make(WIDE, BIG);
	memset(m.bytes + END - 8, 0xcc, 8);
	assert_int_equal(open_made(), 0);
	assert_int_equal(file.segment_count, 1); /* the other one is no code */
	assert_int_equal(elf_symbols_code(&file, 0x10000 - 1, bytes, 8), 0);
	assert_int_equal(elf_symbols_code(&file, 0x10000, bytes, 4), 4);
	assert_memory_equal(bytes, ELFMAG, 4);
	assert_int_equal(elf_symbols_code(&file, 0x10000 + END - 8, bytes, 8), 8);
	assert_int_equal(bytes[0] & bytes[7], 0xcc);
	assert_int_equal(elf_symbols_code(&file, 0x10000 + END - 1, bytes, 32), 1);
	assert_int_equal(elf_symbols_code(&file, 0x10000 + END, bytes, 32), 0);
	put_segment(&m, 1, PT_LOAD, PF_R, 0, END);
	assert_int_equal(open_made(), 0);
	assert_int_equal(file.segment_count, 1);
	put_segment(&m, 1, PT_LOAD, PF_X, m.size - 16, 16);
	assert_int_equal(open_made(), 0);
	assert_int_equal(file.segment_count, 2);
	put_segment(&m, 1, PT_LOAD, PF_X, m.size - 16, 17); /* beyond its end */
	assert_int_equal(open_made(), -ENOEXEC);
	put_segment(&m, 1, PT_LOAD, PF_X, m.size + 1, 0);
	assert_int_equal(open_made(), -ENOEXEC);
	m = make(!WIDE, BIG);
	assert_int_equal(open_made(), -ENOEXEC);
	m = make(WIDE, !BIG);
	assert_int_equal(open_made(), -ENOEXEC);
	m = make(WIDE, BIG);
	m.bytes[0] = 0;
	assert_true(open_made() < 0);
	assert_int_equal(elf_symbols_open(&file, -1), -EBADF);
	(void)read_made; /* that reader is for others */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_functions),
		cmocka_unit_test(test_sections),
		cmocka_unit_test(test_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
