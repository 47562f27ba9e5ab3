#pragma once
/*
 * Which files on this machine may name the code of a module: see symbols.h for the order. All are checked to be ELF files with
 * the module's build id (or the CRC that a debug link states) before they are named here.
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
	uint64_t device, inode;
};

struct candidates {
	struct candidate list[CANDIDATES_MAX];
	size_t count;
	uint64_t signature; /* changes when these files or their contents do */
	char text[512];	    /* "": nothing to say; else why a file was not taken */
};

struct finder {
	const char *const *folders; /* NULL-terminated; NULL: none */
	const char *debug_root;	    /* usually /usr/lib/debug */
	struct found *found;	    /* ELF files in the folders */
	size_t found_count, found_capacity;
	bool indexed;
};

void finder_find(struct finder *finder, const struct symbol_module *module, struct candidates *ret_candidates);
/* Forgets what the folders hold, to look again at the next question. */
void finder_clear(struct finder *finder);
void candidates_done(struct candidates *candidates);
