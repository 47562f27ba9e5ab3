#pragma once
/*
 * Opens a symbol file on this host: the file of a module that a recorded program has announced, by
 * its build id. The program is not trusted, and the path that it announced may be anything. The
 * file must be a regular ELF file with that build id in its notes, and the user must allow that it
 * leaves the host:
 *
 *    public   every user of this host may read the file, and search every folder in its path
 *    all      the program's own user may read the file
 *
 * The file is searched in the program's own root folder, whose symbolic links can't lead out of it,
 * then by the same path in the agent's root. With `all`, a file that was deleted or replaced is
 * opened through the program's mapping (/proc/PID/map_files), if the agent has the rights. If the
 * file has no debug information, its separate debug file is used, if there is one: by build id in
 * usr/lib/debug, or the one that .gnu_debuglink names.
 *
 * Opening may block on a slow file system, and changes the thread's file system identity meanwhile,
 * so it runs in a worker thread.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/core/modules.h"

#define SYMBOL_FILE_MAX (512ull << 20)

enum symbol_policy { SYMBOLS_PUBLIC, SYMBOLS_ALL, SYMBOLS_NONE };

struct symbol_place {
	uint8_t build_id[MODULE_BUILD_ID_MAX];
	uint32_t build_id_length;
	uid_t uid;	/* the program's user */
	pid_t pid;	/* 0: the program has ended */
	uint64_t start; /* an address of the module in the program */
	char path[MODULE_PATH_MAX + 1];
};

struct symbol_opened {
	int fd;
	uint64_t size;
	uint64_t identity; /* hash of device, inode, size and times of change; never 0 */
};

/* Returns 0, or an enum FileRefusal (GONE, PRIVATE, TOO_LARGE, STRIPPED). */
int symbol_place_open(const struct symbol_place *place, enum symbol_policy policy,
		      struct symbol_opened *ret_opened);
/* Returns the `identity` of an open file, as in symbol_opened, or 0 if the descriptor is
 * invalid. */
uint64_t symbol_identity(int fd);
