/* The catalogue in SQLite. catalogue.h describes it. */
#include "collector/catalogue/catalogue.h"

#include <errno.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/catalogue/folder.h"
#include "collector/recording/stream_id.h"
#include "base/ban.h"

#define CATALOGUE_VERSION 6
#define BUSY_MS		  5000

#define COLUMNS                                                                                    \
	"name, executable, command_line, host, architecture, pid, start_wall_ns, last_ns, "        \
	"events, "                                                                                 \
	"recording_bytes, "                                                                        \
	"incarnation, next_batch, ended, in_use_bytes, in_use_blocks, incomplete, summed_bytes, "  \
	"board, cgroup, build, tags, began_on, checksum"

static const char schema[] =
	"CREATE TABLE streams (id BLOB PRIMARY KEY, name TEXT, executable TEXT, "
	"command_line TEXT, host TEXT, architecture TEXT,"
	" pid INTEGER, start_wall_ns INTEGER, last_ns INTEGER, events "
	"INTEGER, recording_bytes INTEGER,"
	" incarnation INTEGER, next_batch INTEGER, ended INTEGER, "
	"in_use_bytes INTEGER, in_use_blocks INTEGER, incomplete TEXT, summed_bytes INTEGER, "
	"board TEXT, cgroup TEXT, build TEXT, tags TEXT, began_on TEXT, "
	"checksum INTEGER"
	") WITHOUT ROWID;"
	"CREATE INDEX by_start ON streams (start_wall_ns);";

struct catalogue {
	sqlite3 *db;
	sqlite3_stmt *get, *put;
	pthread_mutex_t mutex;
	/*
	 * For a catalogue that is written: its path and inode, and how often the file was missing.
	 */
	char *path;
	dev_t device;
	ino_t inode;
	_Atomic unsigned lost;
};

static int sqlite_errno(int code)
{
	switch (code & 0xff) {
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_READONLY:
	case SQLITE_PERM:
	case SQLITE_CANTOPEN:
		return -EACCES;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return -EBADMSG;
	default:
		return -EIO;
	}
}

void catalogue_close(struct catalogue *c)
{
	if (!c)
		return;
	sqlite3_finalize(c->get);
	sqlite3_finalize(c->put);
	sqlite3_close(c->db);
	pthread_mutex_destroy(&c->mutex);
	free(c->path);
	free(c);
}

DEFINE_CLEANUP(catalogue_close, struct catalogue *)

static struct catalogue *catalogue_new(const char *path, int flags, int *ret_error)
{
	struct catalogue *c = calloc(1, sizeof(*c));
	int r;

	*ret_error = -ENOMEM;
	if (!c)
		return NULL;
	pthread_mutex_init(&c->mutex, NULL);
	if (flags & SQLITE_OPEN_CREATE)
		folder_make_private(path);
	r = sqlite3_open_v2(path, &c->db, flags | SQLITE_OPEN_FULLMUTEX, NULL);
	if (r != SQLITE_OK) {
		*ret_error = sqlite_errno(r);
		catalogue_close(c);
		return NULL;
	}
	sqlite3_busy_timeout(c->db, BUSY_MS);
	return c;
}

/* Returns the number that a statement yields, or `otherwise`. */
static int64_t single(sqlite3 *db, const char *sql, int64_t otherwise)
{
	sqlite3_stmt *statement = NULL;
	int64_t value = otherwise;

	if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK &&
	    sqlite3_step(statement) == SQLITE_ROW)
		value = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	return value;
}

static bool sound(sqlite3 *db)
{
	return single(db, "PRAGMA user_version", -1) == CATALOGUE_VERSION &&
	       single(db, "SELECT quick_check = 'ok' FROM pragma_quick_check(1)", 0) == 1;
}

static int catalogue_prepare(struct catalogue *c)
{
	int r = sqlite3_prepare_v3(c->db, "SELECT " COLUMNS " FROM streams WHERE id = ?1", -1,
				   SQLITE_PREPARE_PERSISTENT, &c->get, NULL);

	if (r == SQLITE_OK)
		r = sqlite3_prepare_v3(
			c->db,
			"INSERT OR REPLACE INTO streams (id, " COLUMNS
			") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, "
			"?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24)",
			-1, SQLITE_PREPARE_PERSISTENT, &c->put, NULL);
	return r == SQLITE_OK ? 0 : sqlite_errno(r);
}

static int create(sqlite3 *db)
{
	char *sql = sqlite3_mprintf("BEGIN; %s PRAGMA user_version = %d; COMMIT;", schema,
				    CATALOGUE_VERSION);
	int r = sql ? sqlite3_exec(db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;

	sqlite3_free(sql);
	return r == SQLITE_OK ? 0 : sqlite_errno(r);
}

static void remove_files(const char *path)
{
	static const char *const suffixes[] = {"", "-wal", "-shm", "-journal"};

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		char name[4096];

		if (snprintf(name, sizeof(name), "%s%s", path, suffixes[i]) < (int)sizeof(name))
			unlink(name);
	}
}

static int note_place(struct catalogue *c, const char *path)
{
	struct stat st;

	c->path = strdup(path);
	if (!c->path)
		return -ENOMEM;
	if (stat(path, &st) < 0)
		return -errno;
	c->device = st.st_dev;
	c->inode = st.st_ino;
	return 0;
}

static int open_write(const char *path, bool fresh, struct catalogue **ret_catalogue)
{
	cleanup(cleanup_catalogue_close) struct catalogue *c = NULL;
	int r;

	c = catalogue_new(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &r);
	if (!c)
		return r;
	sqlite3_exec(c->db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL", NULL, NULL,
		     NULL);
	if (fresh)
		r = create(c->db);
	else
		r = sound(c->db) ? 0 : -EBADMSG;
	if (!r)
		r = catalogue_prepare(c);
	if (!r)
		r = note_place(c, path);
	if (r < 0)
		return r;
	*ret_catalogue = take_ptr(c);
	return 0;
}

int catalogue_open_write(const char *path, struct catalogue **ret_catalogue, bool *ret_rebuilt,
			 struct err_text *err)
{
	bool exists = !access(path, F_OK);
	int r = exists ? open_write(path, false, ret_catalogue) : -ENOENT;

	*ret_rebuilt = false;
	if (r == -ENOENT || r == -EBADMSG || r == -EIO) {
		remove_files(path);
		*ret_rebuilt = exists;
		r = open_write(path, true, ret_catalogue);
	}
	if (r < 0)
		return err_set(err, r, "cannot open %s: %s", path, strerror(-r));
	return 0;
}

static int open_beside(const char *path, int flags, struct catalogue **ret_catalogue)
{
	cleanup(cleanup_catalogue_close) struct catalogue *c = NULL;
	int r;

	c = catalogue_new(path, flags, &r);
	if (!c)
		return r;
	if (single(c->db, "PRAGMA user_version", -1) != CATALOGUE_VERSION)
		return -EBADMSG;
	r = catalogue_prepare(c);
	if (r < 0)
		return r;
	*ret_catalogue = take_ptr(c);
	return 0;
}

int catalogue_open_add(const char *path, struct catalogue **ret_catalogue)
{
	return access(path, F_OK) < 0 ? open_write(path, true, ret_catalogue)
				      : open_beside(path, SQLITE_OPEN_READWRITE, ret_catalogue);
}

int catalogue_open_read(const char *path, struct catalogue **ret_catalogue)
{
	return open_beside(path, SQLITE_OPEN_READONLY, ret_catalogue);
}

static uint64_t add_text(uint64_t checksum, const char *text)
{
	return XXH3_64bits_withSeed(text ? text : "", text ? strlen(text) + 1 : 0, checksum);
}

/*
 * Returns a checksum of the row's numbers. SQLite checks only the structure of its file, so numbers
 * that a faulty disk has changed would look valid, and a recording would be cut accordingly.
 */
static uint64_t checksum_of(const struct stream_id *id, const struct totals *t)
{
	const uint64_t numbers[] = {t->pid,
				    t->start_wall_ns,
				    t->last_ns,
				    t->events,
				    t->bytes,
				    t->position.incarnation,
				    t->position.next,
				    t->ended,
				    t->summed_up,
				    t->summed_up ? t->in_use_bytes : 0,
				    t->summed_up ? t->in_use_blocks : 0,
				    t->summed_up ? t->summed_bytes : 0};
	uint64_t checksum = XXH3_64bits(id->bytes, sizeof(id->bytes));

	checksum = XXH3_64bits_withSeed(numbers, sizeof(numbers), checksum);
	checksum = add_text(add_text(checksum, t->executable), t->command_line);
	checksum = add_text(add_text(checksum, t->host), t->architecture);
	checksum = add_text(add_text(checksum, t->labels.board), t->labels.cgroup);
	checksum = add_text(add_text(checksum, t->labels.build), t->labels.tags);
	checksum = add_text(checksum, t->began_on);
	return add_text(add_text(checksum, t->name), t->summed_up ? t->incomplete : NULL);
}

static char *column_text(sqlite3_stmt *s, int column)
{
	const unsigned char *text = sqlite3_column_text(s, column);

	return text ? strdup((const char *)text) : NULL;
}

static uint64_t column_u64(sqlite3_stmt *s, int column)
{
	return (uint64_t)sqlite3_column_int64(s, column);
}

/* Reads columns from `first` on. Returns false if the row is damaged. */
static bool read_row(sqlite3_stmt *s, int first, const struct stream_id *id,
		     struct totals *ret_totals)
{
	*ret_totals = (struct totals){
		.name = column_text(s, first),
		.executable = column_text(s, first + 1),
		.command_line = column_text(s, first + 2),
		.host = column_text(s, first + 3),
		.architecture = column_text(s, first + 4),
		.pid = (uint32_t)sqlite3_column_int64(s, first + 5),
		.start_wall_ns = column_u64(s, first + 6),
		.last_ns = column_u64(s, first + 7),
		.events = column_u64(s, first + 8),
		.bytes = column_u64(s, first + 9),
		.position = {(uint32_t)sqlite3_column_int64(s, first + 10),
			     column_u64(s, first + 11)},
		.ended = sqlite3_column_int64(s, first + 12) != 0,
		.summed_up = sqlite3_column_type(s, first + 13) != SQLITE_NULL,
		.in_use_bytes = column_u64(s, first + 13),
		.in_use_blocks = column_u64(s, first + 14),
		.incomplete = column_text(s, first + 15),
		.summed_bytes = column_u64(s, first + 16),
		.labels = {column_text(s, first + 17), column_text(s, first + 18),
			   column_text(s, first + 19), column_text(s, first + 20)},
		.began_on = column_text(s, first + 21),
	};
	if (column_u64(s, first + 22) == checksum_of(id, ret_totals))
		return true;
	totals_done(ret_totals);
	return false;
}

int catalogue_get(struct catalogue *c, const struct stream_id *id, struct totals *ret_totals)
{
	int found = 0;

	if (!c)
		return 0;
	pthread_mutex_lock(&c->mutex);
	sqlite3_bind_blob(c->get, 1, id->bytes, sizeof(id->bytes), SQLITE_STATIC);
	if (sqlite3_step(c->get) == SQLITE_ROW)
		found = read_row(c->get, 0, id, ret_totals);
	sqlite3_reset(c->get);
	sqlite3_clear_bindings(c->get);
	pthread_mutex_unlock(&c->mutex);
	return found;
}

static void bind_text(sqlite3_stmt *s, int index, const char *text)
{
	if (text)
		sqlite3_bind_text(s, index, text, -1, SQLITE_STATIC);
	else
		sqlite3_bind_null(s, index);
}

/*
 * If the file was removed, writes would be lost, so a new file is created. Lists read what it does
 * not contain from the recordings.
 */
static void look_after_file(struct catalogue *c)
{
	struct catalogue *anew = NULL;
	struct stat st;

	if (!c->path || (stat(c->path, &st) == 0 ? st.st_dev == c->device && st.st_ino == c->inode
						 : errno != ENOENT))
		return;
	remove_files(c->path);
	if (open_write(c->path, true, &anew) < 0)
		return;
	sqlite3_finalize(c->get);
	sqlite3_finalize(c->put);
	sqlite3_close(c->db);
	c->db = take_ptr(anew->db);
	c->get = take_ptr(anew->get);
	c->put = take_ptr(anew->put);
	c->device = anew->device;
	c->inode = anew->inode;
	c->lost++;
	catalogue_close(anew);
}

unsigned catalogue_lost(const struct catalogue *c)
{
	return c ? c->lost : 0;
}

int catalogue_put(struct catalogue *c, const struct stream_id *id, const struct totals *t,
		  struct err_text *err)
{
	const uint64_t numbers[] = {t->pid,   t->start_wall_ns,	       t->last_ns,	 t->events,
				    t->bytes, t->position.incarnation, t->position.next, t->ended};
	int r;

	if (!c)
		return 0;
	pthread_mutex_lock(&c->mutex);
	look_after_file(c);
	sqlite3_bind_blob(c->put, 1, id->bytes, sizeof(id->bytes), SQLITE_STATIC);
	bind_text(c->put, 2, t->name);
	bind_text(c->put, 3, t->executable);
	bind_text(c->put, 4, t->command_line);
	bind_text(c->put, 5, t->host);
	bind_text(c->put, 6, t->architecture);
	for (int i = 0; i < 8; i++)
		sqlite3_bind_int64(c->put, 7 + i, (sqlite3_int64)numbers[i]);
	if (t->summed_up) {
		sqlite3_bind_int64(c->put, 15, (sqlite3_int64)t->in_use_bytes);
		sqlite3_bind_int64(c->put, 16, (sqlite3_int64)t->in_use_blocks);
		bind_text(c->put, 17, t->incomplete);
		sqlite3_bind_int64(c->put, 18, (sqlite3_int64)t->summed_bytes);
	}
	bind_text(c->put, 19, t->labels.board);
	bind_text(c->put, 20, t->labels.cgroup);
	bind_text(c->put, 21, t->labels.build);
	bind_text(c->put, 22, t->labels.tags);
	bind_text(c->put, 23, t->began_on);
	sqlite3_bind_int64(c->put, 24, (sqlite3_int64)checksum_of(id, t));
	r = sqlite3_step(c->put);
	sqlite3_reset(c->put);
	sqlite3_clear_bindings(c->put);
	pthread_mutex_unlock(&c->mutex);
	if (r != SQLITE_DONE)
		return err_set(err, sqlite_errno(r), "cannot write the catalogue: %s",
			       sqlite3_errstr(r));
	return 0;
}

static bool column_id(sqlite3_stmt *s, struct stream_id *ret_id)
{
	const void *id = sqlite3_column_blob(s, 0);

	if (!id || sqlite3_column_bytes(s, 0) != sizeof(ret_id->bytes))
		return false;
	memcpy(ret_id->bytes, id, sizeof(ret_id->bytes));
	return true;
}

int catalogue_each(struct catalogue *c,
		   int (*each)(void *, const struct stream_id *, struct totals *), void *context)
{
	sqlite3_stmt *s = NULL;
	int r = 0;

	if (!c)
		return 0;
	pthread_mutex_lock(&c->mutex);
	if (sqlite3_prepare_v2(c->db, "SELECT id, " COLUMNS " FROM streams ORDER BY id", -1, &s,
			       NULL) == SQLITE_OK) {
		while (!r && sqlite3_step(s) == SQLITE_ROW) {
			struct totals totals = {0};
			struct stream_id id;

			if (column_id(s, &id) && read_row(s, 1, &id, &totals))
				r = each(context, &id, &totals);
			totals_done(&totals);
		}
	}
	sqlite3_finalize(s);
	pthread_mutex_unlock(&c->mutex);
	return r;
}

/* Reads the ids that a statement yields. */
static size_t read_ids(sqlite3_stmt *s, struct stream_id *ret_ids, size_t most)
{
	size_t count = 0;

	while (count < most && sqlite3_step(s) == SQLITE_ROW)
		count += column_id(s, &ret_ids[count]);
	return count;
}

/* Returns the lowest id with this prefix (`fill` 0), or the highest (15). */
static void bound(const char *prefix, unsigned fill, struct stream_id *ret_id)
{
	char text[STREAM_ID_TEXT];

	memset(text, fill ? 'f' : '0', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	memcpy(text, prefix, strlen(prefix));
	if (!stream_id_parse(text, ret_id))
		memset(ret_id, 0, sizeof(*ret_id));
}

size_t catalogue_find(struct catalogue *c, const char *prefix, struct stream_id *ret_ids,
		      size_t most)
{
	struct stream_id low, high;
	sqlite3_stmt *s = NULL;
	size_t count = 0;

	if (!c || strlen(prefix) >= STREAM_ID_TEXT)
		return 0;
	bound(prefix, 0, &low);
	bound(prefix, 15, &high);
	pthread_mutex_lock(&c->mutex);
	if (sqlite3_prepare_v2(c->db, "SELECT id FROM streams WHERE id BETWEEN ?1 AND ?2", -1, &s,
			       NULL) == SQLITE_OK) {
		sqlite3_bind_blob(s, 1, low.bytes, sizeof(low.bytes), SQLITE_STATIC);
		sqlite3_bind_blob(s, 2, high.bytes, sizeof(high.bytes), SQLITE_STATIC);
		count = read_ids(s, ret_ids, most);
	}
	sqlite3_finalize(s);
	pthread_mutex_unlock(&c->mutex);
	return count;
}

size_t catalogue_newest(struct catalogue *c, struct stream_id *ret_ids, size_t most)
{
	sqlite3_stmt *s = NULL;
	size_t count = 0;

	if (!c)
		return 0;
	pthread_mutex_lock(&c->mutex);
	if (sqlite3_prepare_v2(
		    c->db, "SELECT id FROM streams ORDER BY start_wall_ns DESC, id DESC LIMIT ?1",
		    -1, &s, NULL) == SQLITE_OK) {
		sqlite3_bind_int64(s, 1, (sqlite3_int64)most);
		count = read_ids(s, ret_ids, most);
	}
	sqlite3_finalize(s);
	pthread_mutex_unlock(&c->mutex);
	return count;
}

/* Rarely called, so the statement is not kept. */
void catalogue_remove(struct catalogue *c, const struct stream_id *id)
{
	sqlite3_stmt *statement;

	if (!c)
		return;
	pthread_mutex_lock(&c->mutex);
	if (sqlite3_prepare_v2(c->db, "DELETE FROM streams WHERE id = ?1", -1, &statement, NULL) ==
	    SQLITE_OK) {
		sqlite3_bind_blob(statement, 1, id->bytes, sizeof(id->bytes), SQLITE_STATIC);
		sqlite3_step(statement);
		sqlite3_finalize(statement);
	}
	pthread_mutex_unlock(&c->mutex);
}
