#pragma once
/*
 * Reads the build id of an ELF file, its debug link, and which symbol and debug sections it has.
 * Section headers take precedence over segments: in a separate debug file the segments still
 * describe the program and refer to bytes that the file lacks. Formats: System V ABI, chapter 5
 * (notes); the gdb manual, "Debugging Information in Separate Files" (GNU debug links).
 */
#include "base/elf/elf.h"

#define ELF_BUILD_ID_MAX  64
#define ELF_DEBUGLINK_MAX 255

enum elf_has {
	ELF_HAS_SYMBOLS = 1,	/* .symtab, or one packed in .gnu_debugdata */
	ELF_HAS_EXPORTS = 2,	/* .dynsym */
	ELF_HAS_LINES = 4,	/* .debug_line */
	ELF_HAS_DEBUG_INFO = 8, /* .debug_info: functions and inlined frames */
};

struct elf_identity {
	uint8_t build_id[ELF_BUILD_ID_MAX];
	uint32_t build_id_length;	       /* in bytes; 0: none */
	char debuglink[ELF_DEBUGLINK_MAX + 1]; /* file name in .gnu_debuglink, without a slash; "":
						* none */
	uint32_t debuglink_crc;		       /* of the linked file (base/crc32.h) */
	unsigned has;			       /* bitwise or of enum elf_has */
	bool has_code;			       /* false for a separate debug file */
};

/* Leaves a field empty if the file lacks the data or the data cannot be read. The work is bounded:
 * the function reads at most 1 MiB of notes and 4 MiB of names. */
void elf_identify(const struct elf *elf, struct elf_identity *ret_identity);
