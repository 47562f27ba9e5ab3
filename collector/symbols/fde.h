#pragma once
/*
 * The ranges of functions, from the tables for unwinding: .eh_frame, or .ARM.exidx. Stripping
 * leaves these tables, so even code without a name belongs to a function. Worker side.
 */
#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fde_range {
	uint64_t start, end; /* addresses in the file */
};

struct fde_table {
	struct fde_range *list; /* sorted by start */
	size_t count, capacity;
};

/* Loads the ranges and skips damaged entries. Returns 0 or -ENOMEM; call fde_table_done in either
 * case. */
int fde_table_load(Elf *elf, struct fde_table *ret_table);
void fde_table_done(struct fde_table *table);
/* Returns the range that holds `address`, or NULL. It is valid as long as the table. */
const struct fde_range *fde_table_find(const struct fde_table *table, uint64_t address);
