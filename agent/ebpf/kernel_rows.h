#pragma once
/*
 * Writes the kernel's map of unwind rows (bpf/walk_shared.h). Each process gets a part of the map:
 * a small one first, a larger one as rows are added. A row that does not fit is a miss in the
 * kernel's walk.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "bpf/walk_shared.h"

struct kernel_rows {
	struct walk_line *lines; /* NULL: no kernel map */
	struct walk_space *spaces;
	size_t lines_size;
	size_t spaces_size;
	uint32_t blocks; /* of 1 << WALK_BITS_MIN lines */
	uint32_t space_count;
	uint8_t *block_used;
	uint8_t *space_used;
	uint32_t blocks_in_use;
	uint32_t spaces_in_use;
	uint64_t inserted;
	uint64_t turned_away;
};

struct kernel_part {	/* the part of one process */
	uint32_t space; /* WALK_SPACE_NONE: no part */
	uint32_t bits;	/* log2 of its lines; 0: no part */
	uint32_t first; /* line */
	uint32_t count; /* rows in it */
};

/* Maps the kernel's map. If `rows_fd` or `spaces_fd` is negative, no kernel map is used. Returns 0
 * or a negative errno. */
int kernel_rows_open(struct kernel_rows *k, int rows_fd, int spaces_fd, uint32_t lines,
		     uint32_t spaces, struct err_text *error);
void kernel_rows_close(struct kernel_rows *k);

void kernel_part_let(struct kernel_rows *k, struct kernel_part *ret);
void kernel_part_end(struct kernel_rows *k, struct kernel_part *part);

/* Returns how often the kernel has seen code of this process being unmapped. Read it before the
 * process's maps, and then pass it to kernel_part_say, with the ranges of code sorted by
 * address. */
uint64_t kernel_part_unmapped(const struct kernel_rows *k, const struct kernel_part *part);
void kernel_part_say(struct kernel_rows *k, const struct kernel_part *part, uint64_t unmapped,
		     const struct walk_code *code, uint32_t count);

/* Returns true if the space is open: no code was unmapped since kernel_part_say. */
bool kernel_part_is_open(const struct kernel_rows *k, const struct kernel_part *part);

/* Inserts a row; `key` as in agent/unwind/row.h. Does nothing if the row exists. */
void kernel_part_insert(struct kernel_rows *k, struct kernel_part *part, uint64_t key,
			uint32_t row);
/* Drops all rows. Call this only while the space is closed. */
void kernel_part_clear(struct kernel_rows *k, struct kernel_part *part);
