#pragma once
/*
 * Symbols kept in the store's catalogue, by build id and offset. Four tables, plain enough to be
 * asked by SQL:
 *
 *   symbol_module  build_id, files (those that were asked, as a number)
 *   symbol_frame   module, offset, depth (0: innermost), function, raw, file, line, column, quality
 *   symbol_text    the strings, once each
 *   symbol_bad     device, inode, size, mtime of files that the reader died of: they are not tried
 *                  again until they change
 *
 * A cache is never in the way: a database that is locked, read-only or broken is as good as an
 * empty one.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "collector/symbols/strings.h"

struct sqlite3;
struct sqlite3_stmt;
struct symbol;

struct cache {
	struct sqlite3 *database; /* NULL: no cache */
	struct sqlite3_stmt *find_module, *find_frames, *find_text;
	struct sqlite3_stmt *find_bad, *put_bad;
	struct sqlite3_stmt *put_module, *put_frame, *put_text, *set_files, *drop_weak;
	struct map texts; /* number of a string -> row of symbol_text */
	bool can_write;
	bool failed; /* a write since cache_begin: all of them are taken back */
};

void cache_open(struct cache *cache, struct sqlite3 *database);
void cache_close(struct cache *cache);

/* Row of the module, 0: unknown. ret_files is what cache_begin stored. */
int64_t cache_module(struct cache *cache, const uint8_t *build_id, uint32_t length,
		     uint64_t *ret_files);
/* The symbol of an offset, in memory of `strings`, with its quality (protocol.h); NULL: not
 * there. */
const struct symbol *cache_get(struct cache *cache, int64_t module, uint64_t offset,
			       struct strings *strings, uint8_t *ret_quality);

/* Files that are not to be read. */
struct candidate;
bool cache_is_bad(struct cache *cache, const struct candidate *file);
void cache_put_bad(struct cache *cache, const struct candidate *file);

/* Writing: begin, put any number, end. ret_module is the row of the module, made if need be. What
 * is not known in full and was found with other files is dropped. False: not now. */
bool cache_begin(struct cache *cache, const uint8_t *build_id, uint32_t length, uint64_t files,
		 int64_t *ret_module);
void cache_put(struct cache *cache, int64_t module, uint64_t offset, uint8_t quality,
	       const struct symbol *symbol, struct strings *strings);
void cache_end(struct cache *cache);
