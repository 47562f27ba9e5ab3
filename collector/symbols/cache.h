#pragma once
/*
 * Symbols kept in the store's catalogue, by build id and offset. The four tables can also be
 * queried directly with SQL:
 *
 *   symbol_module  build_id, files (a number that identifies the files that were asked)
 *   symbol_frame   module, offset, depth (0: innermost), function, raw, file, line, column, quality
 *   symbol_text    the strings, once each
 *   symbol_bad     device, inode, size, mtime of files that killed the worker: they are not tried
 *                  again until they change
 *
 * The cache never blocks a lookup: a database that is locked, read-only or broken counts as empty.
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
	bool failed; /* a write since cache_begin failed, and cache_end rolls back all of them */
};

void cache_open(struct cache *cache, struct sqlite3 *database);
void cache_close(struct cache *cache);

/* Returns the row of the module, or 0 if it is unknown. Sets ret_files to the number that
 * cache_begin stored. */
int64_t cache_module(struct cache *cache, const uint8_t *build_id, uint32_t length,
		     uint64_t *ret_files);
/*
 * Returns the symbol of an offset, in the memory of `strings`, with its quality (protocol.h).
 * Returns NULL if it is not cached.
 */
const struct symbol *cache_get(struct cache *cache, int64_t module, uint64_t offset,
			       struct strings *strings, uint8_t *ret_quality);

/* Files that must not be read. */
struct candidate;
bool cache_is_bad(struct cache *cache, const struct candidate *file);
void cache_put_bad(struct cache *cache, const struct candidate *file);

/*
 * A write is cache_begin, any number of cache_put, and cache_end. ret_module is the module's row,
 * which is created if necessary. Symbols that are not PLACE_FULL and were found with other files
 * are dropped. cache_begin returns false if writing is impossible at present.
 */
bool cache_begin(struct cache *cache, const uint8_t *build_id, uint32_t length, uint64_t files,
		 int64_t *ret_module);
void cache_put(struct cache *cache, int64_t module, uint64_t offset, uint8_t quality,
	       const struct symbol *symbol, struct strings *strings);
void cache_end(struct cache *cache);
