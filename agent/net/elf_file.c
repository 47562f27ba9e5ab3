/* Examines ELF files. See elf_file.h. */
#include "agent/net/elf_file.h"

#include <errno.h>
#include <string.h>

#include "base/elf/elf.h"
#include "base/ban.h"

int elf_file_read(int fd, struct elf_file *ret_file)
{
	struct elf_identity identity;
	struct elf elf;

	*ret_file = (struct elf_file){0};
	if (elf_open_file(&elf, fd) < 0)
		return -ENOEXEC;
	elf_identify(&elf, &identity);
	if (identity.build_id_length <= sizeof(ret_file->build_id)) {
		ret_file->build_id_length = identity.build_id_length;
		memcpy(ret_file->build_id, identity.build_id, identity.build_id_length);
	}
	ret_file->debug_info = identity.has & ELF_HAS_DEBUG_INFO;
	ret_file->names = identity.has & (ELF_HAS_SYMBOLS | ELF_HAS_EXPORTS | ELF_HAS_DEBUG_INFO);
	memcpy(ret_file->debuglink, identity.debuglink, sizeof(ret_file->debuglink));
	return 0;
}
