#pragma once
/*
 * Reads the names that stand in front of a heap profile, as jeprof --raw, google-pprof --raw and
 * ClickHouse write them (jeprof, perl, PrintSymbolizedProfile and ReadSymbols):
 *
 * 	--- symbol
 * 	binary=/bin/app
 * 	0x55e1a0b0c0d0 outer--inlined--innermost	a function, and those that are inlined into
 * 							it
 * 	---
 * 	--- heap					or growth, profile; then what there is
 * 							without names
 *
 * The address of a stack's innermost frame is the profile's own. That of a caller is one below it,
 * inside the call.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/map.h"

struct composer_frame;
struct importer;

#define SYMBOL_SECTION_MAX  (1u << 22)	 /* limit for addresses */
#define SYMBOL_SECTION_TEXT (256u << 20) /* limit for bytes of names */

struct symbol_section {
	struct map texts; /* by address: where its names begin in `text` */
	struct buf text;  /* each name has a NUL behind it, the last one of an address two */
	char *binary;	  /* NULL: the section does not say it */
};

void symbol_section_done(struct symbol_section *section);
/* Tells whether this is the section's first line; it has at least `length` bytes. */
bool symbol_section_begins(const char *line, size_t length);
/* Reads what follows the first line, up to the line that ends the section. Returns 0 or a negative
 * errno with a sentence. */
int symbol_section_read(struct symbol_section *section, struct importer *importer);
/* Returns the names at an address, the innermost first; 0: there are none. The texts live as long
 * as the section. */
unsigned symbol_section_frames(const struct symbol_section *section, uint64_t address,
			       struct composer_frame *frames);
