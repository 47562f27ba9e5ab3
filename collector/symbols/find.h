#pragma once
/*
 * Which files on this machine may name the code of a module: see symbols.h for the order. All are
 * checked to be ELF files with the module's build id (or the CRC that a debug link states) before
 * they are named here.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/symbols/elfid.h"

struct symbol_module;

#define CANDIDATES_MAX 8

struct candidate {
	char *path;
	bool unchecked; /* neither side has a build id: it has the right name, no more */
	bool failed;	/* the worker died of it */
	unsigned has;	/* enum elf_has */
	uint64_t device, inode, size, mtime_ns;
};

struct candidates {
	struct candidate list[CANDIDATES_MAX];
	size_t count;
	uint64_t signature; /* changes when these files or their contents do */
	char text[512];	    /* "": nothing to say; else why a file was not taken */
};

struct finder {
	const char *const *folders; /* NULL-terminated; NULL: none */
	const char
		*store; /* folder of symbols_store (store.h), asked by build id alone; NULL: none */
	const char *debug_root; /* usually /usr/lib/debug */
	struct found *found;	/* ELF files in the folders */
	size_t found_count, found_capacity;
	bool indexed;
	struct watched *watched; /* folders that were indexed, and when they were last changed */
	size_t watched_count, watched_capacity;
	uint64_t store_mtime_ns; /* as of finder_clear, which comes before the first question; 0: it
				    was not there */
};

void finder_find(struct finder *finder, const struct symbol_module *module,
		 struct candidates *ret_candidates);
/* The one that tells most, of those whose build id is the module's and that have `bytes_max` bytes
 * at most; NULL: none. True in ret_larger: one that is larger would tell more. */
const struct candidate *candidates_best(const struct candidates *candidates,
					const struct symbol_module *module, uint64_t bytes_max,
					bool *ret_larger);
/* Adds a file that has come, if it carries the module's build id. True: it was added. */
bool candidates_add(struct candidates *candidates, const struct symbol_module *module,
		    const char *path);
/* True if files came to the folders or to the store, or went, since they were looked at. A few
 * system calls. */
bool finder_is_stale(const struct finder *finder);
/* Forgets what the folders hold, to look again at the next question. */
void finder_clear(struct finder *finder);
void candidates_done(struct candidates *candidates);
