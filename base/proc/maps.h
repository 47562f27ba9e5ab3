#pragma once
/*
 * Reads the mappings of a process from /proc/PID/maps or smaps, one by one. In smaps, each mapping
 * has several lines:
 *
 *   7f3a1c000000-7f3a1c021000 rw-p 00000000 fe:01 131122      /lib/any\012name (deleted)
 *   Rss:                 132 kB
 *   ...                                                        more keys; unknown ones are skipped
 *
 * maps has only the first line of each mapping. smaps_rollup has one mapping that spans all. The
 * kernel writes the text, but the program controls the paths, which may have any length and any
 * bytes except NUL. The kernel writes a newline in a path as \012 and escapes nothing else, so a
 * path that contains these four characters looks the same.
 *
 * These functions do not allocate: the reader holds all memory, and a thread needs only one reader.
 * If the process ends or executes another program meanwhile, the file ends early.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/proc/lines.h"

#define PROC_PATH_MAX 4095 /* longer paths are truncated */

enum proc_permission {
	PROC_READABLE = 1,
	PROC_WRITABLE = 2,
	PROC_EXECUTABLE = 4,
	PROC_SHARED = 8,
	/* The path ends with " (deleted)": the file has no name any more, or this one. */
	PROC_DELETED = 16,
};

enum proc_figure {
	PROC_RSS,
	PROC_PSS,
	PROC_SHARED_CLEAN,
	PROC_SHARED_DIRTY,
	PROC_PRIVATE_CLEAN,
	PROC_PRIVATE_DIRTY,
	PROC_ANONYMOUS,
	PROC_SWAP,
	PROC_FIGURES,
};

struct proc_mapping {
	uint64_t start, end;
	uint64_t offset, inode;
	uint32_t major, minor; /* of the device */
	uint32_t permissions;  /* enum proc_permission */
	uint32_t path_length;
	const char *path;	       /* owned by the reader; ends with a NUL; "": none */
	uint64_t figure[PROC_FIGURES]; /* KiB; 0 if the file lacks the figure */
};

struct proc_maps {
	struct proc_lines lines;
	char *head;	  /* the first line of the next mapping, already read */
	uint64_t damaged; /* malformed lines, which were skipped */
	char path[PROC_PATH_MAX + 1];
	char memory[8192];
};

/* Begins to read the open file `fd`; the caller closes it. */
void proc_maps_begin(struct proc_maps *maps, int fd);
/* Reads the next mapping, which is valid until the next call. Returns 1, 0 at the end, or a
 * negative errno of read(2). */
int proc_maps_next(struct proc_maps *maps, struct proc_mapping *ret_mapping);
/* Finds the mapping that contains an address, in the process of a folder (proc_open). Omits its
 * path. Returns false if there is none, or if the file cannot be read. */
bool proc_maps_find(int folder, uint64_t address, struct proc_mapping *ret_mapping);
