/* The symbol cache in SQLite. cache.h describes it. */
#include "collector/symbols/cache.h"

#include <sqlite3.h>
#include <string.h>

#include "base/words.h"
#include "collector/symbols/find.h"
#include "collector/symbols/protocol.h"
#include "collector/symbols/symbols.h"

#include "base/ban.h"

/* For code without a name, a row has the beginning of the function in place of a line (0: unknown),
 * and this value in place of a column. */
#define START_KNOWN 1

static const char schema[] =
	"CREATE TABLE IF NOT EXISTS symbol_module("
	"	id INTEGER PRIMARY KEY, build_id BLOB NOT NULL UNIQUE, files INTEGER NOT NULL);"
	"CREATE TABLE IF NOT EXISTS symbol_text(id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);"
	"CREATE TABLE IF NOT EXISTS symbol_frame("
	"	module INTEGER NOT NULL, offset INTEGER NOT NULL, depth INTEGER NOT NULL,"
	"	function INTEGER, raw INTEGER, file INTEGER, line INTEGER NOT NULL, column INTEGER "
	"NOT NULL,"
	"	quality INTEGER NOT NULL, PRIMARY KEY(module, offset, depth)) WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS symbol_bad(device INTEGER NOT NULL, inode INTEGER NOT NULL,"
	"	size INTEGER NOT NULL, mtime INTEGER NOT NULL,"
	"	PRIMARY KEY(device, inode, size, mtime)) WITHOUT ROWID;";

/*
 * Prepares a statement at its first use, because another process may create the tables after the
 * start.
 */
static sqlite3_stmt *statement(struct cache *cache, sqlite3_stmt **place, const char *text)
{
	if (!*place && cache->database)
		sqlite3_prepare_v3(cache->database, text, -1, SQLITE_PREPARE_PERSISTENT, place,
				   NULL);
	return *place;
}

static bool cache_run(sqlite3_stmt *s)
{
	bool done = sqlite3_step(s) == SQLITE_DONE;

	sqlite3_reset(s);
	return done;
}

void cache_open(struct cache *cache, struct sqlite3 *database)
{
	*cache = (struct cache){.database = database};
	if (!database)
		return;
	sqlite3_exec(database, schema, NULL, NULL, NULL);
	cache->can_write = sqlite3_db_readonly(database, "main") == 0;
}

void cache_close(struct cache *cache)
{
	sqlite3_stmt *all[] = {cache->find_module, cache->find_frames, cache->find_text,
			       cache->put_module,  cache->put_frame,   cache->put_text,
			       cache->set_files,   cache->drop_weak,   cache->find_bad,
			       cache->put_bad};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		sqlite3_finalize(all[i]);
	map_done(&cache->texts);
	*cache = (struct cache){0};
}

/* ---- reading ---- */

int64_t cache_module(struct cache *cache, const uint8_t *build_id, uint32_t length,
		     uint64_t *ret_files)
{
	sqlite3_stmt *s = statement(cache, &cache->find_module,
				    "SELECT id, files FROM symbol_module WHERE build_id = ?");
	int64_t module = 0;

	if (!s || !length)
		return 0;
	sqlite3_bind_blob(s, 1, build_id, (int)length, SQLITE_STATIC);
	if (sqlite3_step(s) == SQLITE_ROW) {
		module = sqlite3_column_int64(s, 0);
		*ret_files = (uint64_t)sqlite3_column_int64(s, 1);
	}
	sqlite3_reset(s);
	return module;
}

/* Texts in the database are as untrusted as those in files. */
static const char *column_string(sqlite3_stmt *s, int column, struct strings *strings)
{
	const char *text = (const char *)sqlite3_column_text(s, column);
	char clean[3 * STRING_MAX + 1];

	if (!text)
		return NULL;
	return strings_at(strings, strings_put(strings, clean,
					       words_clean(clean, sizeof(clean), text,
							   strnlen(text, STRING_MAX))));
}

static const struct symbol *cache_keep(struct strings *strings, const struct symbol_frame *frames,
				       uint32_t count, uint64_t start)
{
	struct symbol *symbol = arena_get(&strings->arena, sizeof(*symbol));
	struct symbol_frame *kept = arena_get(&strings->arena, count * sizeof(*kept));

	if (!symbol || !kept)
		return NULL;
	memcpy(kept, frames, count * sizeof(*kept));
	*symbol = (struct symbol){.count = count, .frames = kept, .start = start};
	return symbol;
}

const struct symbol *cache_get(struct cache *cache, int64_t module, uint64_t offset,
			       struct strings *strings, uint8_t *ret_quality)
{
	static const char text[] =
		"SELECT a.text, b.text, c.text, line, column, quality FROM symbol_frame"
		" LEFT JOIN symbol_text a ON a.id = function LEFT JOIN symbol_text b ON b.id = raw"
		" LEFT JOIN symbol_text c ON c.id = file WHERE module = ? AND offset = ? ORDER BY "
		"depth";
	sqlite3_stmt *s = statement(cache, &cache->find_frames, text);
	struct symbol_frame frames[FRAMES_MAX];
	uint32_t count = 0;
	int64_t start = 0;

	if (!s)
		return NULL;
	sqlite3_bind_int64(s, 1, module);
	sqlite3_bind_int64(s, 2, (int64_t)offset);
	while (count < FRAMES_MAX && sqlite3_step(s) == SQLITE_ROW) {
		if (count)
			frames[count - 1].is_inline = true;
		frames[count++] = (struct symbol_frame){
			.function = column_string(s, 0, strings),
			.raw_function = column_string(s, 1, strings),
			.file = column_string(s, 2, strings),
			.line = (uint32_t)sqlite3_column_int64(s, 3),
			.column = (uint32_t)sqlite3_column_int64(s, 4),
		};
		start = sqlite3_column_int64(s, 3);
		*ret_quality = (uint8_t)(sqlite3_column_int(s, 5) & 3);
	}
	sqlite3_reset(s);
	if (!count || *ret_quality)
		return count ? cache_keep(strings, frames, count, 0) : NULL;
	/* Rows of former versions have no START_KNOWN: they are looked up again. */
	if (frames[0].column != START_KNOWN)
		return NULL;
	frames[0].line = frames[0].column = 0;
	return cache_keep(strings, frames, count, (uint64_t)start);
}

/* ---- files that killed the worker ---- */

static sqlite3_stmt *of_file(sqlite3_stmt *s, const struct candidate *file)
{
	if (!s)
		return NULL;
	sqlite3_bind_int64(s, 1, (int64_t)file->device);
	sqlite3_bind_int64(s, 2, (int64_t)file->inode);
	sqlite3_bind_int64(s, 3, (int64_t)file->size);
	sqlite3_bind_int64(s, 4, (int64_t)file->mtime_ns);
	return s;
}

bool cache_is_bad(struct cache *cache, const struct candidate *file)
{
	static const char text[] = "SELECT 1 FROM symbol_bad WHERE device = ? AND inode = ?"
				   " AND size = ? AND mtime = ?";
	sqlite3_stmt *s = of_file(statement(cache, &cache->find_bad, text), file);
	bool bad = s && sqlite3_step(s) == SQLITE_ROW;

	sqlite3_reset(s);
	return bad;
}

void cache_put_bad(struct cache *cache, const struct candidate *file)
{
	static const char text[] = "INSERT OR IGNORE INTO symbol_bad VALUES(?, ?, ?, ?)";
	sqlite3_stmt *s =
		of_file(cache->can_write ? statement(cache, &cache->put_bad, text) : NULL, file);

	if (s)
		cache_run(s);
}

/* ---- writing ---- */

static void undo(struct cache *cache)
{
	sqlite3_exec(cache->database, "ROLLBACK TO heapcast_symbols; RELEASE heapcast_symbols",
		     NULL, NULL, NULL);
	map_clear(&cache->texts); /* rows created since are gone */
}

static bool write_module(struct cache *cache, const uint8_t *build_id, uint32_t length,
			 uint64_t files, int64_t *ret_module)
{
	sqlite3_stmt *put =
		statement(cache, &cache->put_module,
			  "INSERT OR IGNORE INTO symbol_module(build_id, files) VALUES(?, ?)");
	sqlite3_stmt *drop = statement(cache, &cache->drop_weak,
				       "DELETE FROM symbol_frame WHERE module = ? AND quality < ?");
	sqlite3_stmt *set = statement(cache, &cache->set_files,
				      "UPDATE symbol_module SET files = ? WHERE id = ?");
	uint64_t old = 0;

	if (!put || !drop || !set)
		return false;
	sqlite3_bind_blob(put, 1, build_id, (int)length, SQLITE_STATIC);
	sqlite3_bind_int64(put, 2, (int64_t)files);
	if (!cache_run(put))
		return false;
	*ret_module = cache_module(cache, build_id, length, &old);
	if (!*ret_module || old == files)
		return *ret_module != 0;
	sqlite3_bind_int64(drop, 1, *ret_module);
	sqlite3_bind_int(drop, 2, PLACE_FULL);
	sqlite3_bind_int64(set, 1, (int64_t)files);
	sqlite3_bind_int64(set, 2, *ret_module);
	return cache_run(drop) && cache_run(set);
}

bool cache_begin(struct cache *cache, const uint8_t *build_id, uint32_t length, uint64_t files,
		 int64_t *ret_module)
{
	if (!cache->can_write || !length ||
	    sqlite3_exec(cache->database, "SAVEPOINT heapcast_symbols", NULL, NULL, NULL))
		return false;
	cache->failed = false;
	if (write_module(cache, build_id, length, files, ret_module))
		return true;
	undo(cache);
	return false;
}

/* Returns the row of a text, which is created if necessary; 0 on failure. */
static int64_t text_row(struct cache *cache, const char *text, struct strings *strings)
{
	sqlite3_stmt *put = statement(cache, &cache->put_text,
				      "INSERT OR IGNORE INTO symbol_text(text) VALUES(?)");
	sqlite3_stmt *find =
		statement(cache, &cache->find_text, "SELECT id FROM symbol_text WHERE text = ?");
	uint64_t *known = map_put(&cache->texts, strings_put(strings, text, strlen(text)), NULL);

	if (!put || !find || !known || *known)
		return known ? (int64_t)*known : 0;
	sqlite3_bind_text(put, 1, text, -1, SQLITE_STATIC);
	cache_run(put);
	sqlite3_bind_text(find, 1, text, -1, SQLITE_STATIC);
	if (sqlite3_step(find) == SQLITE_ROW)
		*known = (uint64_t)sqlite3_column_int64(find, 0);
	sqlite3_reset(find);
	return (int64_t)*known;
}

static void bind_text(struct cache *cache, int column, const char *text, struct strings *strings)
{
	int64_t row = text ? text_row(cache, text, strings) : 0;

	if (row)
		sqlite3_bind_int64(cache->put_frame, column, row);
	else
		sqlite3_bind_null(cache->put_frame, column);
}

void cache_put(struct cache *cache, int64_t module, uint64_t offset, uint8_t quality,
	       const struct symbol *symbol, struct strings *strings)
{
	sqlite3_stmt *s =
		statement(cache, &cache->put_frame,
			  "INSERT OR REPLACE INTO symbol_frame VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)");

	for (uint32_t i = 0; s && i < symbol->count; i++) {
		const struct symbol_frame *f = &symbol->frames[i];

		sqlite3_bind_int64(s, 1, module);
		sqlite3_bind_int64(s, 2, (int64_t)offset);
		sqlite3_bind_int(s, 3, (int)i);
		bind_text(cache, 4, f->function, strings);
		bind_text(cache, 5, f->raw_function, strings);
		bind_text(cache, 6, f->file, strings);
		sqlite3_bind_int64(s, 7, quality ? f->line : (int64_t)symbol->start);
		sqlite3_bind_int64(s, 8, quality ? f->column : START_KNOWN);
		sqlite3_bind_int(s, 9, quality);
		if (!cache_run(s))
			cache->failed = true;
	}
}

void cache_end(struct cache *cache)
{
	if (cache->failed ||
	    sqlite3_exec(cache->database, "RELEASE heapcast_symbols", NULL, NULL, NULL))
		undo(cache);
}
