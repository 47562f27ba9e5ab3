#pragma once
/*
 * Reads /proc/PID/smaps region by region, in a buffer of its own and without allocating. Each
 * region has several lines:
 *
 *   7f3a1c000000-7f3a1c021000 rw-p 00000000 fe:01 131122      /lib/any\012name (deleted)
 *   Rss:                 132 kB
 *   ...                                                        more keys; unknown ones are skipped
 *
 * /proc/PID/maps (first lines only) and smaps_rollup (one region that spans all) have the same
 * form. The kernel writes the text, but a program controls the names, which have any length and any
 * bytes except NUL. The kernel writes a newline in a name as \012 and escapes nothing else, so a
 * name that really contains these four characters looks the same.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SMAPS_NAME_MAX 1023 /* longer names are truncated */

enum smaps_figure {
	SMAPS_RSS,
	SMAPS_PSS,
	SMAPS_SHARED_CLEAN,
	SMAPS_SHARED_DIRTY,
	SMAPS_PRIVATE_CLEAN,
	SMAPS_PRIVATE_DIRTY,
	SMAPS_ANONYMOUS,
	SMAPS_SWAP,
	SMAPS_FIGURES,
};

struct smaps_region {
	uint64_t start, end;
	uint64_t offset, inode;
	uint32_t major, minor;
	uint32_t flags; /* enum MapFlag of heapcast.proto */
	uint32_t name_length;
	const char *name;		/* owned by the reader; ends with a NUL */
	uint64_t figure[SMAPS_FIGURES]; /* KiB; missing ones are 0 */
};

struct smaps {
	int fd;
	bool ended, skipping, pending;
	int error;
	uint64_t damaged; /* malformed lines, which were skipped */
	size_t at, length;
	struct smaps_region region;
	char name[SMAPS_NAME_MAX + 1];
	char buffer[8192];
};

/* Begins to read the open file `fd`, which stays the caller's. */
void smaps_begin(struct smaps *smaps, int fd);
/* Returns 1 with the next region, valid until the next call; 0 at the end; or a negative errno of
 * read(2). */
int smaps_next(struct smaps *smaps, struct smaps_region *ret_region);

/* Returns the number after "KEY:" at the start of a line of `text` (as in /proc/PID/status),
 * without its unit, or 0 if the key is missing. */
uint64_t smaps_key(const char *text, const char *key);
