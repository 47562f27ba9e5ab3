/*
 * ELF files as the agent looks at them before one leaves the host: build id, debug link, what kinds
 * of symbols there are. Without allocating, in bounded time; what it finds must be in its bounds,
 * too.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/net/elf_file.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);
	struct elf_file file;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	if (!elf_file_read(fd, &file)) {
		if (file.build_id_length > MODULE_BUILD_ID_MAX || strchr(file.debuglink, '/') ||
		    (file.debug_info && !file.names))
			abort();
		fuzz_touch(file.build_id, file.build_id_length);
		fuzz_touch((const uint8_t *)file.debuglink, strlen(file.debuglink));
	}
	close(fd);
	return 0;
}
