#pragma once
/*
 * The kernel's map of rows (bpf/walk_shared.h) as the agent writes it: parts of it are let to
 * processes, smaller ones first, larger ones as rows come. What does not fit is not there: a miss.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "bpf/walk_shared.h"

struct kernel_rows {
	struct walk_line *lines; /* NULL: there is no kernel */
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

struct kernel_part {	/* what a process has of it */
	uint32_t space; /* WALK_SPACE_NONE: nothing */
	uint32_t bits;	/* 0: nothing */
	uint32_t first; /* line */
	uint32_t count; /* rows in it */
};

/* fds below 0: no kernel. 0 or a negative errno. */
int kernel_rows_open(struct kernel_rows *k, int rows_fd, int spaces_fd, uint32_t lines,
		     uint32_t spaces, struct err_text *error);
void kernel_rows_close(struct kernel_rows *k);

void kernel_part_let(struct kernel_rows *k, struct kernel_part *ret);
void kernel_part_end(struct kernel_rows *k, struct kernel_part *part);

/* How often the kernel has seen code of this process go: read it before the process's maps are
 * read, and give it then to kernel_part_say along with where its code lies, by address. */
uint64_t kernel_part_unmapped(const struct kernel_rows *k, const struct kernel_part *part);
void kernel_part_say(struct kernel_rows *k, const struct kernel_part *part, uint64_t unmapped,
		     const struct walk_code *code, uint32_t count);

/* Whether the space is open: nothing has gone since it was said. */
bool kernel_part_is_open(const struct kernel_rows *k, const struct kernel_part *part);

/* Puts in a row; `key` as in agent/unwind/row.h. If it is there already nothing happens. */
void kernel_part_insert(struct kernel_rows *k, struct kernel_part *part, uint64_t key,
			uint32_t row);
/* Drops all rows. Only while the space is closed. */
void kernel_part_clear(struct kernel_rows *k, struct kernel_part *part);
