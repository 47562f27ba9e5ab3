#pragma once
/*
 * The names that a heap profile brings along, in front of it, as jeprof --raw, google-pprof --raw
 * and ClickHouse write them (jeprof, perl, PrintSymbolizedProfile and ReadSymbols):
 *
 *	--- symbol
 *	binary=/bin/app
 *	0x55e1a0b0c0d0 outer--inlined--innermost	a function, and those that are inlined into
 *							it
 *	---
 *	--- heap					or growth, profile; then what there is
 *							without names
 *
 * An address is the profile's own of a stack's innermost frame, and one below it of its callers,
 * which lies in the call.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/map.h"

struct composer_frame;
struct importer;

#define SYMBOL_SECTION_MAX  (1u << 22)	 /* addresses */
#define SYMBOL_SECTION_TEXT (256u << 20) /* bytes of names */

struct symbol_section {
	struct map texts; /* by address: where its names begin */
	struct buf text;  /* each name ended by a NUL, the last of an address by two */
	char *binary;	  /* NULL: not told */
};

void symbol_section_done(struct symbol_section *section);
/* Whether this is its first line, of `length` bytes at least. */
bool symbol_section_begins(const char *line, size_t length);
/* What follows the first line, up to the one that ends it. 0 or a negative errno with a
 * sentence. */
int symbol_section_read(struct symbol_section *section, struct importer *importer);
/* What is at an address, the innermost first; how many, 0: nobody says. The texts live as long as
 * the section. */
unsigned symbol_section_frames(const struct symbol_section *section, uint64_t address,
			       struct composer_frame *frames);
