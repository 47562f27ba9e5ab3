#pragma once
/* A small ELF file of each kind, made in memory: its sections, notes, symbols and segments stand at
 * fixed places, so a test can spoil any of them. */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include <cmocka.h>

#include "base/elf/elf.h"

#define FILE_MAX     4096
#define SEGMENTS_AT  64
#define SECTIONS_AT  256
#define NOTE_AT	     1024
#define LINK_AT	     1088
#define NAMES_AT     1152
#define STRINGS_AT   1280
#define SYMBOLS_AT   1344
#define RELA_AT	     1536
#define DYNAMIC_AT   1664
#define END	     1792
#define SYMBOLS	     3
#define BUILD_ID     "\x01\x23\x45\x67\x89\xab\xcd\xef"
#define BUILD_ID_LEN 8

/* The sections, and the offsets of their names. */
enum {
	S_NONE,
	S_NOTE,
	S_TEXT,
	S_LINK,
	S_STRINGS,
	S_SYMBOLS,
	S_RELA,
	S_DYNAMIC,
	S_INFO,
	S_NAMES,
	SECTIONS
};

static const char names[] = "\0.note\0.text\0.gnu_debuglink\0.strtab\0.symtab\0.rela\0.dynamic\0"
			    ".debug_info\0.shstrtab";
static const char strings[] = "\0malloc\0free";

struct made {
	bool wide, big;
	uint8_t bytes[FILE_MAX];
	size_t size;
	unsigned reads;
	int error; /* of every read from now on */
};

static void put(struct made *m, size_t at, unsigned bytes, uint64_t value)
{
	for (unsigned i = 0; i < bytes; i++)
		m->bytes[at + i] = (uint8_t)(value >> 8 * (m->big ? bytes - 1 - i : i));
}

/* Writes a field that is as wide as an address. */
static void put_word(struct made *m, size_t at, unsigned narrow, unsigned wide, uint64_t value)
{
	put(m, at + (m->wide ? wide : narrow), m->wide ? 8 : 4, value);
}

static size_t section_at(const struct made *m, unsigned number)
{
	return SECTIONS_AT + number * (m->wide ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr));
}

static void put_section(struct made *m, unsigned number, const char *name, uint32_t type,
			uint64_t offset, uint64_t size, uint32_t link)
{
	size_t at = section_at(m, number);
	const char *found = memmem(names, sizeof(names), name, strlen(name) + 1);

	put(m, at, 4, (uint64_t)(found - names));
	put(m, at + 4, 4, type);
	put_word(m, at, 8, 8, number == S_TEXT ? SHF_EXECINSTR : 0);
	put_word(m, at, 12, 16, 0x10000u + offset);
	put_word(m, at, 16, 24, offset);
	put_word(m, at, 20, 32, size);
	put(m, at + (m->wide ? 40 : 24), 4, link);
}

static void put_segment(struct made *m, unsigned number, uint32_t type, uint32_t flags,
			uint64_t offset, uint64_t size)
{
	size_t at = SEGMENTS_AT + number * (m->wide ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr));

	put(m, at, 4, type);
	put(m, at + (m->wide ? 4 : 24), 4, flags);
	put_word(m, at, 4, 8, offset);
	put_word(m, at, 8, 16, 0x10000u + offset);
	put_word(m, at, 16, 32, size);
	put_word(m, at, 20, 40, size + 8);
}

static void put_header(struct made *m)
{
	memcpy(m->bytes, ELFMAG, SELFMAG);
	m->bytes[EI_CLASS] = m->wide ? ELFCLASS64 : ELFCLASS32;
	m->bytes[EI_DATA] = m->big ? ELFDATA2MSB : ELFDATA2LSB;
	put(m, 18, 2, EM_PPC64);
	put_word(m, 0, 24, 24, 0x1234);
	put_word(m, 0, 28, 32, SEGMENTS_AT);
	put_word(m, 0, 32, 40, SECTIONS_AT);
	put(m, m->wide ? 54 : 42, 2, m->wide ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr));
	put(m, m->wide ? 56 : 44, 2, 2);
	put(m, m->wide ? 58 : 46, 2, m->wide ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr));
	put(m, m->wide ? 60 : 48, 2, SECTIONS);
	put(m, m->wide ? 62 : 50, 2, S_NAMES);
}

static void put_note(struct made *m, size_t at, uint32_t type, uint32_t data_size, const void *data)
{
	put(m, at, 4, 4);
	put(m, at + 4, 4, data_size);
	put(m, at + 8, 4, type);
	memcpy(m->bytes + at + 12, "GNU", 4);
	memcpy(m->bytes + at + 16, data, data_size);
}

static void put_symbol(struct made *m, unsigned number, uint32_t name, uint64_t value)
{
	size_t at = SYMBOLS_AT + number * (m->wide ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym));

	put(m, at, 4, name);
	put(m, at + (m->wide ? 4 : 12), 1, STB_GLOBAL << 4 | STT_FUNC);
	put(m, at + (m->wide ? 6 : 14), 2, S_TEXT);
	put_word(m, at, 4, 8, value);
	put_word(m, at, 8, 16, 16);
}

static void put_rest(struct made *m)
{
	size_t symbol = m->wide ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym), word = m->wide ? 8 : 4;

	memcpy(m->bytes + NAMES_AT, names, sizeof(names));
	memcpy(m->bytes + STRINGS_AT, strings, sizeof(strings));
	put_note(m, NOTE_AT, NT_GNU_ABI_TAG, 3, "abc"); /* another one before, padded */
	put_note(m, NOTE_AT + 20, NT_GNU_BUILD_ID, BUILD_ID_LEN, BUILD_ID);
	memcpy(m->bytes + LINK_AT, "a.debug", 8);
	put(m, LINK_AT + 8, 4, 0xcafe1234);
	put_symbol(m, 1, 1, 0x2000);
	put_symbol(m, 2, 8, 0x3000);
	put_word(m, RELA_AT, 0, 0, 0x4000);
	put_word(m, RELA_AT, 4, 8, m->wide ? 2ull << 32 | 6 : 2 << 8 | 6);
	put_word(m, DYNAMIC_AT, 0, 0, DT_NEEDED);
	put_word(m, DYNAMIC_AT, 4, 8, 8);
	put_section(m, S_NOTE, ".note", SHT_NOTE, NOTE_AT, 44, 0);
	put_section(m, S_TEXT, ".text", SHT_PROGBITS, END, 16, 0);
	put_section(m, S_LINK, ".gnu_debuglink", SHT_PROGBITS, LINK_AT, 12, 0);
	put_section(m, S_STRINGS, ".strtab", SHT_STRTAB, STRINGS_AT, sizeof(strings), 0);
	put_section(m, S_SYMBOLS, ".symtab", SHT_SYMTAB, SYMBOLS_AT, SYMBOLS * symbol, S_STRINGS);
	put_section(m, S_RELA, ".rela", SHT_RELA, RELA_AT, 3 * word, S_SYMBOLS);
	put_section(m, S_DYNAMIC, ".dynamic", SHT_DYNAMIC, DYNAMIC_AT, 2 * word, S_STRINGS);
	put_section(m, S_INFO, ".debug_info", SHT_PROGBITS, END, 4, 0);
	put_section(m, S_NAMES, ".shstrtab", SHT_STRTAB, NAMES_AT, sizeof(names), 0);
}

static struct made make(bool wide, bool big)
{
	struct made m = {.wide = wide, .big = big, .size = END + 16};

	put_header(&m);
	put_segment(&m, 0, PT_LOAD, PF_R | PF_X, 0, END);
	put_segment(&m, 1, PT_NOTE, PF_R, NOTE_AT, 44);
	put_rest(&m);
	return m;
}

/* Holds the reader to what it promises about offsets. */
static ssize_t read_made(void *context, uint64_t offset, void *to, size_t size)
{
	struct made *m = context;

	m->reads++;
	assert_true(offset <= INT64_MAX && size <= (uint64_t)INT64_MAX - offset);
	if (m->error)
		return m->error;
	if (offset >= m->size)
		return 0;
	size = size < m->size - offset ? size : m->size - (size_t)offset;
	memcpy(to, m->bytes + offset, size);
	return (ssize_t)size;
}

#define FOR_EACH_KIND(m, elf)                                                                      \
	for (unsigned kind = 0; kind < 4; kind++)                                                  \
		for (bool once = (m = make(kind & 1, kind & 2),                                    \
				 assert_int_equal(elf_open(&elf, read_made, &m), 0), true);        \
		     once; once = false)
