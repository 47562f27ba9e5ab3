#pragma once
/*
 * The bytes of a stream's sums by minute and backtrace (collector/query/minutes.h), with the names
 * of their call sites.
 *
 * Sums stand in blocks. Each begins with a keyframe: what every backtrace had in use before the
 * block. So what was in use at a minute takes one keyframe, and a part of one block. The last block
 * has no sums: its keyframe is what was in use at the end.
 *
 *	offset  bytes
 *	     0	    8  "HCMINUT" and the version, '2'
 *	     8	    8  XXH3 of the bytes from 16 to the end of the directory
 *	    16	    8  bytes from the beginning to the end of the directory
 *	    24	   48  what it was made of (struct minute_file_fit)
 *	    72	   20  numbers of modules, texts, call sites, backtraces, blocks; 4 each
 *	    92	    -  modules: build id and path, each with its length before it; 8 bytes: what
 *files named its code
 *		    -  texts: each with its length before it. Text 0 is not stored: it means "none"
 *		    -  call sites: packed function, module, file, line
 *		    -  backtraces: packed node, number, call site; in the order of nodes
 *		    -  directory: for each block the minute of its first sum (last block: of the
 *last sum), its sums, its length, XXH3 of its bytes; 4, 4, 8, 8
 *		    -  blocks: packed bytes, units and variance of the keyframe; packed minute,
 *		       backtrace, bytes, units, variance, allocated bytes, allocated units
 *
 * Lengths are varints, other numbers little endian. "Packed" is pack_values, at most PACK_VALUES at
 * a time.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/recording/stream_id.h"

struct buf;
struct minute_sum;

/* A file is used only if all of this is as it was when it was made. */
struct minute_file_fit {
	struct stream_id stream;
	uint64_t recording_bytes, recording_mtime_ns; /* of the recording */
	uint64_t start_wall_ns;
	uint64_t print; /* of all in this program that sums and names depend on */
};

/* A module with code that was named; how is told by symbols_signature. */
struct minute_file_module {
	const uint8_t *build_id;
	uint32_t build_id_length;
	const char *path;
	uint64_t signature;
};

/* Where a backtrace allocates, under the built-in rules. Texts are never NULL; "": unknown. */
struct sums_site {
	const char *function, *module, *file; /* module: without folders */
	uint32_t line;
	bool known; /* the function has a name */
};

struct sums_stack {
	uint32_t node; /* in the recording */
	uint32_t site; /* index */
	uint64_t id;   /* what it consists of (stack_ids.h); 0: no backtrace */
};

/* ---- writing ---- */

struct minute_file_content {
	struct minute_file_fit fit;
	const struct minute_file_module *modules;
	const struct sums_site *sites;
	const struct sums_stack *stacks; /* by node, ascending */
	const struct minute_sum *sums;	 /* in order; `stack` is an index of `stacks` */
	uint32_t module_count, site_count, stack_count;
	uint64_t sum_count;
};

/* Appends the bytes. Returns 0, -ENOMEM or -EMSGSIZE: they are too many for a file. */
int minute_file_write(const struct minute_file_content *content, struct buf *out);

/* ---- reading ---- */

struct minute_file_block {
	uint32_t first, count; /* its keyframe holds for minutes after `first`; sums */
	uint64_t at, length, check;
};

struct minute_file {
	const uint8_t *data; /* the caller's */
	size_t length;
	struct minute_file_module *modules;
	struct sums_site *sites;
	struct sums_stack *stacks;
	struct minute_file_block *blocks;
	uint32_t module_count, site_count, stack_count, block_count;
	char *texts;
};

/* Reads all but the blocks. The data must live as long as the file. Returns 0; -ENOMEM; or -EBADMSG
 * if the bytes are damaged, or were made of something else. */
int minute_file_open(struct minute_file *file, const uint8_t *data, size_t length,
		     const struct minute_file_fit *fit);
void minute_file_done(struct minute_file *file);

/* Goes through the minutes. `bytes`, `units` and `variance`, by backtrace, are what was in use at
 * the minute of the last minute_cursor_to. */
struct minute_cursor {
	const struct minute_file *file;
	int64_t *bytes, *units, *variance;
	/* The block, and how many of its sums have been added. */
	uint32_t block, done, count;
	uint64_t *minute, *stack, *bytes_change, *units_change, *variance_change;
	uint32_t room; /* of each */
};

/* Returns 0 or -ENOMEM; call minute_cursor_done in either case. */
int minute_cursor_init(struct minute_cursor *cursor, const struct minute_file *file);
void minute_cursor_done(struct minute_cursor *cursor);
/* Moves to a minute, which is not before the last one. Returns 0, -ENOMEM or -EBADMSG. */
int minute_cursor_to(struct minute_cursor *cursor, uint32_t minute);
