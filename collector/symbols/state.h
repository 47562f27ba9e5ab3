#pragma once
/* State that symbols.c, notes.c and ask.c share: the known modules, and the lookup in progress. */
#include "base/map.h"
#include "collector/symbols/cache.h"
#include "collector/symbols/fetch.h"
#include "collector/symbols/find.h"
#include "collector/symbols/process.h"
#include "collector/symbols/strings.h"
#include "collector/symbols/symbols.h"

/* A file that killed the worker. */
struct bad_file {
	uint64_t device, inode, size, mtime_ns;
};

/* A module that was looked up. */
struct module {
	struct module *next;
	char *path; /* "": none */
	char *name; /* the path, safe to display */
	uint8_t build_id[ELF_BUILD_ID_MAX];
	uint32_t build_id_length;
	struct map symbols; /* offset -> const struct symbol * */
	bool searched;	    /* `files` is valid */
	bool fetched;	    /* debuginfod was asked */
	bool nameless;	    /* it has code that was not named */
	struct candidates files;
};

struct symbols {
	struct symbols_options options;
	struct strings strings; /* also holds all struct symbol */
	struct module *modules;
	struct finder finder;
	struct process process;
	struct cache cache;
	struct fetcher fetcher;
	char *fetch_cache, *store;
	struct bad_file *bad;
	size_t bad_count;
	uint64_t looked_ms; /* last check by symbols_are_stale */
	struct symbols_note *notes;
	size_t note_count;
};

/* Offsets to look up, ascending, and the best that is known about each. */
struct work {
	uint64_t *offsets;
	const struct symbol **symbols;
	uint8_t *quality;
	bool *settled; /* the catalogue has it, and nothing better can have arrived since */
	size_t count;
};

/* notes.c: adds a note for the user about a module, once each and at most NOTES_MAX. */
void symbols_note(struct symbols *symbols, const struct module *module, const char *text);
/* Adds a note about a file of the module. */
void symbols_note_file(struct symbols *symbols, const struct module *module, const char *path,
		       const char *text);
void symbols_clear_notes(struct symbols *symbols);

/*
 * Defined in ask.c. Takes what the file knows better into `work`. A file that kills the worker is
 * marked and noted; that is no error. Returns 0, -ENOMEM, or another negative errno if no worker
 * could be started.
 */
int symbols_ask_file(struct symbols *symbols, struct module *module, struct candidate *file,
		     struct work *work, struct err_text *err);
/* Marks the module's files that killed the worker before. */
void symbols_pass_over_bad(struct symbols *symbols, struct module *module);
