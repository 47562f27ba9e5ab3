#pragma once
/*
 * Reads the section of names in front of a heap profile, as jeprof --raw, google-pprof --raw and
 * ClickHouse write it (jeprof, perl, PrintSymbolizedProfile and ReadSymbols):
 *
 * 	--- symbol
 * 	binary=/bin/app
 * 	0x55e1a0b0c0d0 outer--inlined--innermost	a function, and those that are inlined into
 * 							it
 * 	---
 * 	--- heap					or growth, profile; then what there is
 * 							without names
 *
 * The address of the innermost frame of a stack is the profile's own. The address of a caller is
 * one lower, inside the call.
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
	struct map texts; /* address -> offset of its names in `text` */
	struct buf text;  /* each name ends with a NUL, the last one of an address with two */
	char *binary;	  /* NULL: the section does not name it */
};

void symbol_section_done(struct symbol_section *section);
/* Tells whether this line begins the section. `line` has at least `length` bytes. */
bool symbol_section_begins(const char *line, size_t length);
/* Reads the section behind its first line, up to and including the line that ends it. Returns 0, or
 * a negative errno with an error text. */
int symbol_section_read(struct symbol_section *section, struct importer *importer);
/* Finds the names at an address, innermost first. Returns their number, 0 if there are none. The
 * texts live as long as the section. */
unsigned symbol_section_frames(const struct symbol_section *section, uint64_t address,
			       struct composer_frame *frames);
