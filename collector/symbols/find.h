#pragma once
/*
 * Finds files on this machine that may name the code of a module; symbols.h gives the order. Every
 * result is an ELF file that has the module's build id, or the CRC that a debug link states.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/symbols/elfid.h"

struct symbol_module;

#define CANDIDATES_MAX 8

struct candidate {
	char *path;
	bool unchecked; /* neither side has a build id: only the name matches */
	bool failed;	/* the worker died while it read this file */
	unsigned has;	/* enum elf_has */
	uint64_t device, inode, size, mtime_ns;
};

struct candidates {
	struct candidate list[CANDIDATES_MAX];
	size_t count;
	uint64_t signature; /* changes when these files or their contents change */
	char text[512];	    /* why a file was rejected; "": nothing to report */
};

struct finder {
	const char *const *folders; /* NULL-terminated; NULL: none */
	const char *store; /* folder of symbols_store (store.h), by build id only; NULL: none */
	const char *debug_root; /* usually /usr/lib/debug */
	struct found *found;	/* ELF files in the folders */
	size_t found_count, found_capacity;
	bool indexed;
	struct watched *watched; /* indexed folders, with their modification times */
	size_t watched_count, watched_capacity;
	uint64_t store_mtime_ns; /* the store's modification time at finder_clear, which precedes
				  * the first search; 0: it did not exist */
};

void finder_find(struct finder *finder, const struct symbol_module *module,
		 struct candidates *ret_candidates);
/*
 * Returns the most informative candidate with the module's build id and at most `bytes_max` bytes,
 * or NULL. ret_larger tells whether a larger file would be more informative.
 */
const struct candidate *candidates_best(const struct candidates *candidates,
					const struct symbol_module *module, uint64_t bytes_max,
					bool *ret_larger);
/* Adds a file that has arrived, if it has the module's build id. Returns true if it was added. */
bool candidates_add(struct candidates *candidates, const struct symbol_module *module,
		    const char *path);
/*
 * Tells whether files were added to, or removed from, the folders or the store since they were
 * searched. Costs a few system calls.
 */
bool finder_is_stale(const struct finder *finder);
/* Forgets the contents of the folders, so that the next search reads them again. */
void finder_clear(struct finder *finder);
void candidates_done(struct candidates *candidates);
