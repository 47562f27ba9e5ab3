#pragma once
/* What an announcement says about a loaded ELF file, read from its mapped program headers. */
#include <link.h>
#include <stdint.h>

#include "agent/unwind/unwind.h"

#define ELF_BUILD_ID_MAX 32

struct elf_image {
	struct unwind_module module;
	uint8_t build_id_length;
	uint8_t build_id[ELF_BUILD_ID_MAX];
	/* A hash of the name by which the loader knows it and of the build id, or of its layout if
	 * it has no build id. */
	uint64_t identity;
};

/* Returns 0, or -ENOEXEC if the file has no executable segment. */
int elf_image_read(const struct dl_phdr_info *info, struct elf_image *ret_image);
