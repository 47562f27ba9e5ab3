/*
 * Allocators that are linked into a program, found in files that are made here: which functions are
 * hooked, which are refused and why, and when an allocator is left alone as a whole. For x86-64.
 */
#include "agent/serve/own_allocator.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/allocator_functions.h"

#define BASE	 0x400000u
#define CODE	 0x1000u /* of function 0 */
#define SLOT	 128u
#define SYMBOLS	 0x8000u /* the dynamic table, and the other one behind it */
#define EACH	 (200 * sizeof(Elf64_Sym))
#define NAMES	 0x12000u
#define SECTIONS 0x16000u
#define SIZE	 0x17000u

enum { TEXT = 1, DYNAMIC, ALL, STRINGS, SECTION_COUNT };

static uint8_t bytes[SIZE] __attribute__((aligned(8)));
static unsigned symbols[ALL + 1], functions, names;
static struct own_allocator found;

/* push %rbp; mov %rsp, %rbp; sub $16, %rsp; nops; leave; ret: eight bytes that can be moved */
#define PLAIN "\x55\x48\x89\xe5\x48\x83\xec\x10\x90\x90\x90\x90\xc9\xc3"
#define SHORT "\xc3\x55\x48\x89\xe5\xc3" /* the next one begins right behind the return */
/* The same with a jump to its second instruction, to the first one behind what is moved. */
#define LOOP	"\x55\x48\x89\xe5\x48\x83\xec\x10\xeb\xf7\x90\xc9\xc3"
#define NO_LOOP "\x55\x48\x89\xe5\x48\x83\xec\x10\xeb\xfe\x90\xc9\xc3"
#define STRANGE "\x55\x06\x48\x89\xe5\x48\x83\xec\x10\xc9\xc3"

static void put_section(unsigned number, uint32_t type, uint64_t at, uint64_t size, uint32_t link)
{
	Elf64_Shdr s = {.sh_type = type,
			.sh_offset = at,
			.sh_addr = BASE + at,
			.sh_size = size,
			.sh_link = link,
			.sh_entsize = type == SHT_STRTAB ? 0 : sizeof(Elf64_Sym)};

	memcpy(bytes + SECTIONS + number * sizeof(s), &s, sizeof(s));
}

static void begin_file(void)
{
	memset(bytes, 0, sizeof(bytes));
	memset(bytes + CODE, 0xcc, SYMBOLS - CODE);
	symbols[DYNAMIC] = symbols[ALL] = 1;
	functions = 0;
	names = 1;
}

static uint64_t address_of(unsigned number)
{
	return BASE + CODE + number * SLOT;
}

static void add_symbol(unsigned table, const char *name, unsigned binding, unsigned type,
		       uint64_t address, uint64_t size)
{
	Elf64_Sym s = {.st_name = names,
		       .st_info = (unsigned char)ELF64_ST_INFO(binding, type),
		       .st_shndx = TEXT,
		       .st_value = address,
		       .st_size = size};

	memcpy(bytes + SYMBOLS + (table == ALL ? EACH : 0) + symbols[table]++ * sizeof(s), &s,
	       sizeof(s));
	memcpy(bytes + NAMES + names, name, strlen(name) + 1);
	names += (unsigned)strlen(name) + 1;
}

/* The next function's code, and what names it. */
static void add(unsigned table, const char *name, unsigned binding, const char *code, size_t size)
{
	memcpy(bytes + CODE + functions * SLOT, code, size);
	add_symbol(table, name, binding, STT_FUNC, address_of(functions++), size);
}

/* A function that begins with a jump to an address. */
static void add_jump(unsigned table, const char *name, uint64_t to, size_t size)
{
	uint8_t *at = bytes + CODE + functions * SLOT;
	int32_t distance = (int32_t)(to - address_of(functions) - 5);

	at[0] = 0xe9;
	memcpy(at + 1, &distance, sizeof(distance));
	add_symbol(table, name, STB_GLOBAL, STT_FUNC, address_of(functions++), size);
}

#define PLAIN_ONE(table, name, binding) add(table, name, binding, PLAIN, sizeof(PLAIN) - 1)

static void find(bool early)
{
	Elf64_Ehdr *head = (Elf64_Ehdr *)(void *)bytes;
	Elf64_Phdr *segment = (Elf64_Phdr *)(void *)(bytes + sizeof(*head));
	int fd = memfd_create("program", MFD_CLOEXEC);

	*head = (Elf64_Ehdr){.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			     .e_type = ET_EXEC,
			     .e_machine = EM_X86_64,
			     .e_version = EV_CURRENT,
			     .e_phoff = sizeof(*head),
			     .e_shoff = SECTIONS,
			     .e_ehsize = sizeof(*head),
			     .e_phentsize = sizeof(*segment),
			     .e_phnum = 1,
			     .e_shentsize = sizeof(Elf64_Shdr),
			     .e_shnum = SECTION_COUNT};
	*segment = (Elf64_Phdr){.p_type = PT_LOAD,
				.p_flags = PF_R | PF_X,
				.p_offset = CODE,
				.p_vaddr = BASE + CODE,
				.p_filesz = SYMBOLS - CODE,
				.p_memsz = SYMBOLS - CODE};
	put_section(TEXT, SHT_PROGBITS, CODE, SYMBOLS - CODE, 0);
	put_section(DYNAMIC, SHT_DYNSYM, SYMBOLS, symbols[DYNAMIC] * sizeof(Elf64_Sym), STRINGS);
	put_section(ALL, SHT_SYMTAB, SYMBOLS + EACH, symbols[ALL] * sizeof(Elf64_Sym), STRINGS);
	put_section(STRINGS, SHT_STRTAB, NAMES, names, 0);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
	memset(&found, 0xff, sizeof(found));
	own_allocator_find(fd, early, &found);
	close(fd);
}

/* Which functions are hooked, a bit each; how many are not, the first of these, and why not. */
static void expect(unsigned hooked, unsigned refused, const char *function, const char *reason)
{
	unsigned bits = 0;

	for (unsigned i = 0; i < found.count; i++) {
		uint64_t number = (found.entry[i].address - address_of(0)) / SLOT;

		assert_int_equal(found.entry[i].address, address_of((unsigned)number));
		assert_false(bits >> number & 1);
		bits |= 1u << number;
	}
	assert_int_equal(bits, hooked);
	assert_int_equal(found.refused, refused);
	assert_int_equal(found.reason != NULL, reason != NULL);
	if (reason) {
		assert_string_equal(found.reason, reason);
		assert_string_equal(found.function, function);
	}
}

/* What replaces malloc counts where all libraries call it, and only as a whole. */
static void test_common(void **state)
{
	static const struct {
		unsigned table;
		const char *name[4];
		unsigned binding, hooked;
	} cases[] = {
		{DYNAMIC, {"malloc", "free"}, STB_GLOBAL, 3},
		{DYNAMIC, {"malloc", "free", "realloc", "other"}, STB_GLOBAL, 7},
		{DYNAMIC, {"malloc", "free", "_Znwm", "_ZdlPv"}, STB_WEAK, 15},
		{DYNAMIC,
		 {"malloc", "free"},
		 STB_LOCAL,
		 3}, /* it is a name of the operators only */
		{DYNAMIC, {"malloc", "realloc"}, STB_GLOBAL, 0},
		{DYNAMIC, {"calloc", "free"}, STB_GLOBAL, 0},
		{DYNAMIC, {"_Znwm", "_ZdlPv"}, STB_GLOBAL, 0},
		{DYNAMIC, {"mallo", "freed", "malloc2", "xfree"}, STB_GLOBAL, 0},
		{ALL, {"malloc", "free"}, STB_GLOBAL, 0},
		{ALL, {"mi_malloc", "mi_free"}, STB_LOCAL, 3},
		{ALL, {"mallocx", "dallocx"}, STB_GLOBAL, 3},
		{ALL, {"mallocx", "dallocx"}, STB_LOCAL, 0}, /* may be something else */
		{ALL, {"_rjem_malloc", "tc_new", "je_free", "jemalloc_calloc"}, STB_LOCAL, 15},
		{DYNAMIC, {"__asan_init", "malloc", "free"}, STB_GLOBAL, 0},
		{ALL, {"mi_malloc", "mi_free", "__tsan_init"}, STB_GLOBAL, 0},
		{ALL, {"mi_malloc", "mi_free", "__tsan_init2"}, STB_GLOBAL, 3},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin_file();
		for (unsigned k = 0; k < 4 && cases[i].name[k]; k++)
			PLAIN_ONE(cases[i].table, cases[i].name[k], cases[i].binding);
		find(true);
		expect(cases[i].hooked, 0, NULL, NULL);
	}
}

/* What is to be written. */
static void test_entry(void **state)
{
	const struct ring_entry *e = found.entry;
	bool heap;

	(void)state;
	begin_file();
	PLAIN_ONE(ALL, "mi_heap_malloc", STB_GLOBAL);
	PLAIN_ONE(ALL, "mi_free", STB_GLOBAL);
	find(true);
	expect(3, 0, NULL, NULL);
	for (unsigned i = 0; i < 2; i++, e++) {
		bool first = e->address == address_of(0);

		assert_int_equal(e->function, allocator_function_find(
						      first ? "mi_heap_malloc" : "mi_free", &heap));
		assert_int_equal(e->heap, first);
		assert_int_equal(e->length, 8);
		assert_true(e->moved_length >= 8);
		assert_memory_equal(e->was, PLAIN, 8);
		assert_memory_equal(e->moved, PLAIN, 8);
	}
	find(false);
	expect(0, 2, found.function, "the program can't be changed here, or any more");
	begin_file();
	find(true);
	expect(0, 0, NULL, NULL);
	own_allocator_find(-1, true, &found);
	expect(0, 0, NULL, NULL);
}

/* A function that can't be hooked. Without one that frees, the allocator is left alone. */
static void test_refused(void **state)
{
	static const struct {
		const char *code, *reason; /* NULL: it can */
		size_t length, size;
	} cases[] = {
		{PLAIN, NULL, 14, 14},
		{NO_LOOP, NULL, 13, 13},
		{SHORT, "it is too short", 6, 1},
		{LOOP, "a loop leads back to its first instructions", 13, 13},
		{STRANGE, "it has instructions that are not known", 11, 11},
		{PLAIN, "its size is not known", 14, 0},
		{PLAIN, "it is too long", 14, (64 << 10) + 1},
		{PLAIN, "its code is not in the file", 14, 64 << 10},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (unsigned frees = 0; frees < 2; frees++) {
			const char *name = frees ? "mi_free" : "mi_malloc";
			bool bad = cases[i].reason;

			begin_file();
			memcpy(bytes + CODE, cases[i].code, cases[i].length);
			add_symbol(ALL, name, STB_GLOBAL, STT_FUNC, address_of(functions++),
				   cases[i].size);
			PLAIN_ONE(ALL, frees ? "mi_malloc" : "mi_free", STB_GLOBAL);
			PLAIN_ONE(ALL, "tc_free", STB_GLOBAL); /* another one's */
			find(true);
			expect(!bad    ? 7
			       : frees ? 4
				       : 6,
			       !bad    ? 0
			       : frees ? 2
				       : 1,
			       name, cases[i].reason);
		}
	begin_file();
	PLAIN_ONE(ALL, "mi_free", STB_GLOBAL);
	memcpy(bytes + CODE + SLOT, PLAIN, sizeof(PLAIN) - 1);
	add_symbol(ALL, "mi_malloc", STB_GLOBAL, STT_GNU_IFUNC, address_of(1), sizeof(PLAIN) - 1);
	functions++;
	find(true);
	expect(1, 1, "mi_malloc", "it is chosen when the program starts");
}

/* What else begins or leads where instructions are moved; eight bytes are. */
static void test_inside(void **state)
{
	(void)state;
	for (unsigned at = 0; at <= 9; at++)
		for (unsigned branch = 0; branch < 2; branch++) {
			bool inside = at > 0 && at < 8;

			begin_file();
			PLAIN_ONE(ALL, "mi_malloc", STB_GLOBAL);
			PLAIN_ONE(ALL, "mi_free", STB_GLOBAL);
			if (branch)
				add_jump(ALL, "other", address_of(0) + at, 5);
			else
				add_symbol(ALL, "other", STB_LOCAL, STT_FUNC, address_of(0) + at,
					   1);
			find(true);
			expect(inside ? 2 : 3, inside, "mi_malloc",
			       !inside	? NULL
			       : branch ? "other code leads into its first instructions"
					: "another function begins in its first instructions");
		}
}

/* Names of the same function are one; of parts and copies that the compiler has made, none is
 * hooked itself, and a copy that others call spoils the function. */
static void test_names(void **state)
{
	(void)state;
	begin_file();
	PLAIN_ONE(DYNAMIC, "malloc", STB_GLOBAL);
	PLAIN_ONE(DYNAMIC, "free", STB_GLOBAL);
	add_symbol(DYNAMIC, "mi_malloc", STB_GLOBAL, STT_FUNC, address_of(0), 14);
	add_symbol(DYNAMIC, "_ZdlPv", STB_GLOBAL, STT_FUNC, address_of(1), 14);
	find(true);
	expect(3, 0, NULL, NULL);
	/* The name that says most, whichever comes first. */
	for (unsigned first = 0; first < 2; first++) {
		begin_file();
		PLAIN_ONE(DYNAMIC, "malloc", STB_GLOBAL);
		PLAIN_ONE(DYNAMIC, first ? "free" : "_ZdlPv", STB_GLOBAL);
		add_symbol(DYNAMIC, first ? "_ZdlPv" : "free", STB_GLOBAL, STT_FUNC, address_of(1),
			   14);
		find(true);
		expect(3, 0, NULL, NULL);
		for (unsigned i = 0; i < 2; i++)
			if (found.entry[i].address == address_of(1))
				assert_int_equal(found.entry[i].function,
						 allocator_function_find_common("free"));
	}
	for (unsigned others = 0; others < 4; others++) {
		begin_file();
		PLAIN_ONE(ALL, "mi_malloc", STB_GLOBAL);
		PLAIN_ONE(ALL, "mi_free", STB_GLOBAL);
		PLAIN_ONE(ALL, others < 2 ? "mi_free.constprop.0" : "mi_free.cold", STB_LOCAL);
		if (others & 1)
			add_jump(ALL, "other", address_of(2), 5);
		else
			add_jump(ALL, "mi_calloc", address_of(2), 14);
		find(true);
		if (others == 1)
			expect(0, 3, "mi_free",
			       "the compiler has made a copy of it that others call");
		else if (others & 1)
			expect(3, 0, NULL, NULL);
		else
			expect(11, 0, NULL, NULL);
	}
}

/* A small function that can't be hooked, since it jumps into its beginning, but calls another one
 * of its kind that is: nothing is missed. */
static void test_wrappers(void **state)
{
	static const struct {
		const char *name;
		unsigned to;
		size_t size;
		unsigned hooked, refused;
	} cases[] = {
		{"mi_cfree", 1, 15, 3, 0},   {"mi_cfree", 0, 15, 0, 3},
		{"mi_cfree", 9, 15, 0, 3},   {"mi_cfree", 1, 128, 3, 0},
		{"mi_cfree", 1, 129, 0, 3},  {"mi_zalloc", 0, 15, 3, 0},
		{"mi_zalloc", 1, 15, 3, 1},  {"mi_zalloc", 9, 15, 3, 1},
		{"mi_zalloc", 0, 128, 3, 0}, {"mi_zalloc", 0, 129, 3, 1},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char code[] = "\x55\x48\x89\xe5\x48\x83\xec\x10\xe8\0\0\0\0\xeb\xf2";
		int32_t distance = (int32_t)(address_of(cases[i].to) - address_of(2) - 13);

		memcpy(code + 9, &distance, sizeof(distance));
		begin_file();
		PLAIN_ONE(ALL, "mi_malloc", STB_GLOBAL);
		PLAIN_ONE(ALL, "mi_free", STB_GLOBAL);
		memcpy(bytes + CODE + 2 * SLOT, code, 15);
		memset(bytes + CODE + 2 * SLOT + 15, 0x90, 200);
		add_symbol(ALL, cases[i].name, STB_GLOBAL, STT_FUNC, address_of(2), cases[i].size);
		find(true);
		expect(cases[i].hooked, cases[i].refused, cases[i].name,
		       cases[i].refused ? "a loop leads back to its first instructions" : NULL);
	}
}

static void test_many(void **state)
{
	(void)state;
	for (unsigned count = RING_ENTRIES_MAX - 1; count <= 161; count++) {
		begin_file();
		memcpy(bytes + CODE, PLAIN, sizeof(PLAIN) - 1);
		for (unsigned i = 0; i < count; i++) {
			memcpy(bytes + CODE + 64 * i, PLAIN, sizeof(PLAIN) - 1);
			add_symbol(ALL, i & 1 ? "mi_free" : "mi_malloc", STB_GLOBAL, STT_FUNC,
				   BASE + CODE + 64 * i, sizeof(PLAIN) - 1);
		}
		find(true);
		assert_int_equal(found.count, count <= RING_ENTRIES_MAX ? count : 0);
		assert_int_equal(found.refused, count <= RING_ENTRIES_MAX ? 0
						: count < 160		  ? count
									  : 160);
		if (count > RING_ENTRIES_MAX)
			assert_string_equal(found.reason, "there are too many like it");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_common),	cmocka_unit_test(test_entry),
		cmocka_unit_test(test_refused), cmocka_unit_test(test_inside),
		cmocka_unit_test(test_names),	cmocka_unit_test(test_wrappers),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
