#pragma once
/*
 * Small ELF files with a build id, of this machine's kind, for what gives them away:
 *
 *    head | note with the build id | names of sections | debug link | sections | filler
 */
#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define ELF_MADE_ID	20
#define ELF_MADE_FEWEST 1024
#define ELF_MADE_NAMES	"\0.gnu_debuglink\0.debug_info"

enum elf_made_with {
	ELF_MADE_BARE = 0, /* nothing names code */
	ELF_MADE_SYMBOLS = 1,
	ELF_MADE_DEBUG_INFO = 2,
};

struct elf_made {
	ElfW(Ehdr) head;
	ElfW(Nhdr) note;
	char owner[4];
	uint8_t build_id[ELF_MADE_ID];
	char names[sizeof(ELF_MADE_NAMES)];
	char debuglink[68] __attribute__((aligned(4))); /* and a CRC, which nobody checks here */
	ElfW(Shdr) section[6] __attribute__((aligned(8)));
};

static inline ElfW(Shdr) elf_made_section(unsigned name, unsigned type, size_t offset, size_t size)
{
	ElfW(Shdr) s = {0};

	s.sh_name = name;
	s.sh_type = type;
	s.sh_offset = offset;
	s.sh_size = size;
	return s;
}

/* Makes one at `out`, of `size` bytes (ELF_MADE_FEWEST at least). `debuglink` NULL: none. */
static inline void elf_make(uint8_t *out, size_t size, const uint8_t build_id[ELF_MADE_ID],
			    unsigned with, const char *debuglink)
{
	struct elf_made m = {.names = ELF_MADE_NAMES, .owner = "GNU"};
	unsigned count = 1;

	memset(&m.head, 0, sizeof(m.head));
	memcpy(m.head.e_ident, ELFMAG, SELFMAG);
	m.head.e_ident[EI_CLASS] = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;
	m.head.e_ident[EI_DATA] =
		__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? ELFDATA2MSB : ELFDATA2LSB;
	m.head.e_ident[EI_VERSION] = m.head.e_version = EV_CURRENT;
	m.head.e_type = ET_DYN;
	m.head.e_ehsize = sizeof(m.head);
	m.head.e_shentsize = sizeof(m.section[0]);
	m.head.e_shoff = offsetof(struct elf_made, section);
	m.note.n_namesz = sizeof(m.owner);
	m.note.n_descsz = ELF_MADE_ID;
	m.note.n_type = NT_GNU_BUILD_ID;
	memcpy(m.build_id, build_id, ELF_MADE_ID);
	m.section[count++] =
		elf_made_section(0, SHT_NOTE, offsetof(struct elf_made, note),
				 sizeof(m.note) + sizeof(m.owner) + sizeof(m.build_id));
	m.head.e_shstrndx = (ElfW(Half))count;
	m.section[count++] =
		elf_made_section(0, SHT_STRTAB, offsetof(struct elf_made, names), sizeof(m.names));
	if (debuglink) {
		memcpy(m.debuglink, debuglink, strlen(debuglink));
		m.section[count++] =
			elf_made_section(1, SHT_PROGBITS, offsetof(struct elf_made, debuglink),
					 ((strlen(debuglink) + 4) & ~(size_t)3) + 4);
	}
	if (with & ELF_MADE_SYMBOLS)
		m.section[count++] = elf_made_section(0, SHT_SYMTAB, 0, 24);
	if (with & ELF_MADE_DEBUG_INFO)
		m.section[count++] = elf_made_section(16, SHT_PROGBITS, 0, 24);
	m.head.e_shnum = (ElfW(Half))count;
	for (size_t i = sizeof(m); i < size; i++)
		out[i] = (uint8_t)(i * 7 + i / 256);
	memcpy(out, &m, sizeof(m));
}
