#pragma once
/*
 * What the parts of the front (symbols.c, notes.c, ask.c) share: the modules that were asked about,
 * and what is being looked up.
 */
#include "base/map.h"
#include "collector/symbols/cache.h"
#include "collector/symbols/fetch.h"
#include "collector/symbols/find.h"
#include "collector/symbols/process.h"
#include "collector/symbols/strings.h"
#include "collector/symbols/symbols.h"

/* A file that the worker died of. */
struct bad_file {
	uint64_t device, inode, size, mtime_ns;
};

/* A module that was asked about. */
struct module {
	struct module *next;
	char *path; /* "": none */
	char *name; /* the path, fit to be shown */
	uint8_t build_id[BUILD_ID_MAX];
	uint32_t build_id_length;
	struct map symbols; /* offset -> const struct symbol * */
	bool searched;	    /* `files` are filled */
	bool fetched;	    /* debuginfod was asked */
	struct candidates files;
};

struct symbols {
	struct symbols_options options;
	struct strings strings; /* and all struct symbol */
	struct module *modules;
	struct finder finder;
	struct process process;
	struct cache cache;
	struct fetcher fetcher;
	char *fetch_cache, *store;
	struct bad_file *bad;
	size_t bad_count;
	uint64_t looked_ms; /* when symbols_are_stale last looked */
	struct symbols_note *notes;
	size_t note_count;
};

/* Offsets that are being looked up, ascending, and the best that is known of each. */
struct work {
	uint64_t *offsets;
	const struct symbol **symbols;
	uint8_t *quality;
	bool *settled; /* the catalogue has it, and nothing better can have come since */
	size_t count;
};

/* notes.c: what a person should know of a module, once each and NOTES_MAX at most. */
void symbols_note(struct symbols *symbols, const struct module *module, const char *text);
/* Of a file of it. */
void symbols_note_file(struct symbols *symbols, const struct module *module, const char *path,
		       const char *text);
void symbols_clear_notes(struct symbols *symbols);

/* ask.c: what the file knows better than `work` does goes there. A file that the worker dies of is
 * marked and noted, which is no error. 0; -ENOMEM; a negative errno where no worker can be had. */
int symbols_ask_file(struct symbols *symbols, struct module *module, struct candidate *file,
		     struct work *work, struct err_text *err);
/* Marks those of the module's files that the worker has died of before. */
void symbols_pass_over_bad(struct symbols *symbols, struct module *module);
