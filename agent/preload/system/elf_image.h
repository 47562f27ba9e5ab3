#pragma once
/* What an announcement says of a loaded ELF file, read from its mapped program headers. */
#include <link.h>
#include <stdint.h>

#include "agent/unwind/unwind.h"

#define ELF_BUILD_ID_MAX 32

struct elf_image {
	struct unwind_module module;
	uint8_t build_id_length;
	uint8_t build_id[ELF_BUILD_ID_MAX];
	uint64_t identity; /* a hash of the name that the loader knows it by, and of the build id;
			      without one, of its layout */
};

/* 0; -ENOEXEC: it has no executable segment. */
int elf_image_read(const struct dl_phdr_info *info, struct elf_image *ret_image);
