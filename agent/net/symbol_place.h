#pragma once
/*
 * Opening a symbol file on this host: of a module that a recorded program has announced, by its
 * build id. The program is not trusted: the path that it announced may be anything. What is opened
 * must be a regular ELF file with that build id in its notes, and one that leaves this host by the
 * user's leave:
 *
 *   public   every user of this host may read it, each folder down to it included
 *   all      the program's own user may read it
 *
 * The file is looked for in the program's own root folder, whose symbolic links lead nowhere else,
 * then by the plain path; with `all` a file that is gone or was replaced is opened through the
 * program's mapping (/proc/PID/map_files), where the agent has the rights. Without debug
 * information in it, its debug file is taken, if it is there: by build id in usr/lib/debug, or the
 * one that .gnu_debuglink names.
 *
 * May block on a slow file system, and changes the calling thread's file system identity meanwhile:
 * for a worker thread.
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
	pid_t pid;	/* 0: it has ended */
	uint64_t start; /* an address of the module in it */
	char path[MODULE_PATH_MAX + 1];
};

struct symbol_opened {
	int fd;
	uint64_t size;
	uint64_t identity; /* of file, size and times of change; never 0 */
};

/* 0, or why not: enum FileRefusal (GONE, PRIVATE, TOO_LARGE, STRIPPED). */
int symbol_place_open(const struct symbol_place *place, enum symbol_policy policy,
		      struct symbol_opened *ret_opened);
/* As in symbol_opened; 0: the descriptor is bad. */
uint64_t symbol_identity(int fd);
