#pragma once
/*
 * Reads /proc/PID/smaps region by region, in a buffer of its own and without allocating. A row of
 * lines a region:
 *
 *   7f3a1c000000-7f3a1c021000 rw-p 00000000 fe:01 131122      /lib/name with anything\012in it
 *                                                             (deleted)
 *   Rss:                 132 kB
 *   ...                                                        more keys, those that nobody asks
 *                                                              for are passed over
 *
 * /proc/PID/maps (first lines only) and smaps_rollup (one region, which spans all) have the same
 * form. The text is the kernel's, but names are anybody's: of any length, of any bytes but newline
 * and NUL. The kernel writes a newline in one as \012 and nothing else so; a name that really holds
 * these four characters can't be told apart.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SMAPS_NAME_MAX 1023 /* longer names are cut */

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
	const char *name;		/* the reader's; ends with a NUL */
	uint64_t figure[SMAPS_FIGURES]; /* KiB; those that were not there are 0 */
};

struct smaps {
	int fd;
	bool ended, skipping, pending;
	int error;
	uint64_t damaged; /* lines that made no sense, and were passed over */
	size_t at, length;
	struct smaps_region region;
	char name[SMAPS_NAME_MAX + 1];
	char buffer[8192];
};

/* Begins to read the file that is open as `fd`, which stays the caller's. */
void smaps_begin(struct smaps *smaps, int fd);
/* 1: the next region, valid until the next call; 0: that was all; a negative errno of read. */
int smaps_next(struct smaps *smaps, struct smaps_region *ret_region);

/* The number behind "KEY:" at the start of a line of `text` (as in /proc/PID/status), without its
 * unit; 0: it is not there. */
uint64_t smaps_key(const char *text, const char *key);
