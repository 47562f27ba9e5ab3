#pragma once
/* Options of every command that shows functions: where their names come from. */
#include <stdint.h>

#include "collector/catalogue/store.h"
#include "collector/cli/command.h"

struct err_text;
struct store;
struct symbols;

struct symbol_choice {
	struct option_list folders, servers;
	uint64_t timeout_ns;
};

/* DEBUGINFOD_URLS in the environment is ignored. Debian sets it for everybody, so it does not mean
 * that the user agreed to tell a server on the internet which programs are examined. */
#define SYMBOL_OPTIONS(type, field)                                                                \
	OPTION_LIST(type, field.folders, "symbols", "DIR",                                         \
		    "look for debug information below this folder first; may be given more than "  \
		    "once"),                                                                       \
		OPTION_LIST(type, field.servers, "debuginfod", "URL",                              \
			    "ask this debuginfod server for what is not here; may be given more "  \
			    "than once; without it "                                               \
			    "nobody is asked"),                                                    \
		OPTION_TIME(type, field.timeout_ns, "debuginfod-timeout", "TIME",                  \
			    "give up on a server that sends nothing for so long (20s)")

struct symbol_sources {
	const char **folders, **servers; /* both end with NULL; servers NULL: none */
	uint64_t seconds;		 /* time limit; 0: the default */
	struct store *store;		 /* NULL: none */
};

/* Returns 0 or -ENOMEM. */
int symbol_sources_init(struct symbol_sources *sources, const struct symbol_choice *choice);
/* Does the same, and opens the symbols. They use the symbol files at `data` and, if there is a
 * store, the names kept in it. The caller frees the symbols, then calls symbol_sources_close, also
 * after a failure. */
int symbol_sources_open(struct symbol_sources *sources, const char *data,
			const struct symbol_choice *choice, struct symbols **ret_symbols,
			struct err_text *err);
void symbol_sources_close(struct symbol_sources *sources);
