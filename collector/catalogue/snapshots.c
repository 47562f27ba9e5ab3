/* The list of snapshots, with their members: DIR/snapshots.sqlite. snapshots.h describes it. */
#include "collector/catalogue/snapshots.h"

#include <ctype.h>
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "collector/catalogue/folder.h"
#include "collector/catalogue/snapshots_file.h"
#include "collector/catalogue/store.h"
#include "collector/recording/stream_id.h"
#include "base/ban.h"

#define SNAPSHOTS_NAME	  "snapshots.sqlite"
#define SNAPSHOTS_VERSION 1
#define BUSY_MS		  10000

static const char schema[] =
	"CREATE TABLE snapshots (name TEXT PRIMARY KEY, stream BLOB NOT NULL UNIQUE, wall_ns "
	"INTEGER "
	"NOT NULL, took_ns INTEGER NOT NULL) WITHOUT ROWID;"
	"CREATE TABLE members (snapshot TEXT NOT NULL REFERENCES snapshots ON DELETE CASCADE, "
	"position "
	"INTEGER, stream BLOB, host TEXT, executable TEXT, pid INTEGER, build_id BLOB, missing "
	"TEXT, "
	"wall_ns INTEGER, mark INTEGER, time_ns INTEGER, blocks INTEGER, bytes INTEGER, samples "
	"INTEGER, blocks_error REAL, bytes_error REAL, PRIMARY KEY (snapshot, position)) WITHOUT "
	"ROWID;";
/* What came later. An older collector does not look at it. */
static const char schema_later[] =
	"CREATE TABLE IF NOT EXISTS clocks (snapshot TEXT NOT NULL REFERENCES snapshots ON DELETE "
	"CASCADE, position INTEGER, offset_ns INTEGER NOT NULL, error_ns INTEGER NOT NULL, late "
	"INTEGER NOT NULL, PRIMARY KEY (snapshot, position)) WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS incomplete (snapshot TEXT NOT NULL REFERENCES snapshots ON "
	"DELETE CASCADE, position INTEGER, why TEXT NOT NULL, PRIMARY KEY (snapshot, position)) "
	"WITHOUT ROWID;";

DEFINE_CLEANUP(sqlite3_close, sqlite3 *)
DEFINE_CLEANUP(sqlite3_finalize, sqlite3_stmt *)

void snapshot_member_done(struct snapshot_member *m)
{
	free(m->host);
	free(m->executable);
	free(m->missing);
	free(m->incomplete);
	*m = (struct snapshot_member){0};
}

void snapshot_done(struct snapshot *s)
{
	for (size_t i = 0; i < s->count; i++)
		snapshot_member_done(&s->members[i]);
	free(s->members);
	free(s->called);
	*s = (struct snapshot){0};
}

void store_snapshots_free(struct snapshot *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		snapshot_done(&list[i]);
	free(list);
}

int snapshot_name_check(const char *name, struct err_text *err)
{
	size_t length = strlen(name);
	bool good = length && length <= SNAPSHOT_NAME_MAX && isalnum((unsigned char)*name);

	for (size_t i = 0; good && i < length; i++)
		good = isalnum((unsigned char)name[i]) || strchr(".-_", name[i]);
	return good ? 0
		    : err_set(err, -EINVAL,
			      "a snapshot's name has letters, digits, '.', '-' and '_', %u at "
			      "most, and "
			      "begins with a letter or digit; '%.80s' is none",
			      SNAPSHOT_NAME_MAX, name);
}

/* ---- the file ---- */

static int snapshots_failed(sqlite3 *db, int code, struct err_text *err)
{
	int r = (code & 0xff) == SQLITE_NOMEM					    ? -ENOMEM
		: (code & 0xff) == SQLITE_FULL					    ? -ENOSPC
		: (code & 0xff) == SQLITE_BUSY					    ? -EBUSY
		: (code & 0xff) == SQLITE_CORRUPT || (code & 0xff) == SQLITE_NOTADB ? -EBADMSG
										    : -EIO;

	return err_set(err, r, "the list of snapshots (" SNAPSHOTS_NAME "): %s",
		       db ? sqlite3_errmsg(db) : sqlite3_errstr(code));
}

static int snapshots_execute(sqlite3 *db, const char *sql, struct err_text *err)
{
	int code = sqlite3_exec(db, sql, NULL, NULL, NULL);

	return code == SQLITE_OK ? 0 : snapshots_failed(db, code, err);
}

static int version_of(sqlite3 *db, int *ret_version, struct err_text *err)
{
	cleanup(cleanup_sqlite3_finalize) sqlite3_stmt *s = NULL;
	int code = sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &s, NULL);

	if (code == SQLITE_OK)
		code = sqlite3_step(s);
	if (code != SQLITE_ROW)
		return snapshots_failed(db, code, err);
	*ret_version = sqlite3_column_int(s, 0);
	return 0;
}

static int check_version(sqlite3 *db, bool write, struct err_text *err)
{
	char begin[64];
	int version = 0, r = version_of(db, &version, err);

	/* The first writer is at work, or was killed. */
	if (!r && !version && !write)
		return -ENOENT;
	if (!r && !version) {
		snprintf(begin, sizeof(begin), "PRAGMA user_version = %d", SNAPSHOTS_VERSION);
		r = snapshots_execute(db, schema, err);
		if (!r)
			r = snapshots_execute(db, begin, err);
		version = SNAPSHOTS_VERSION;
	}
	if (!r && write && version == SNAPSHOTS_VERSION)
		r = snapshots_execute(db, schema_later, err);
	if (!r && version != SNAPSHOTS_VERSION)
		r = err_set(err, -EBADMSG,
			    "the list of snapshots (" SNAPSHOTS_NAME
			    ") is of version %d, which this "
			    "collector does not know",
			    version);
	return r;
}

/*
 * Opens the file. For writing, begins an exclusive transaction. For reading, returns -ENOENT if
 * there are no snapshots.
 */
static int snapshots_open_file(const char *folder, bool write, sqlite3 **ret_db,
			       struct err_text *err)
{
	cleanup(cleanup_free) char *path = NULL;
	cleanup(cleanup_sqlite3_close) sqlite3 *db = NULL;
	int r, flags = write ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;

	if (asprintf(&path, "%s/" SNAPSHOTS_NAME, folder) < 0)
		return -ENOMEM;
	if (!write && access(path, F_OK) < 0)
		return -ENOENT;
	if (write)
		folder_make_private(path);
	r = sqlite3_open_v2(path, &db, flags, NULL);
	if (r != SQLITE_OK)
		return snapshots_failed(db, r, err);
	sqlite3_busy_timeout(db, BUSY_MS);
	r = snapshots_execute(db, "PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL", err);
	if (!r && write)
		r = snapshots_execute(db, "BEGIN IMMEDIATE", err);
	if (!r)
		r = check_version(db, write, err);
	if (r < 0)
		return r;
	*ret_db = take_ptr(db);
	return 0;
}

/* ---- reading ---- */

static char *snapshots_text_of(sqlite3_stmt *s, int column)
{
	const unsigned char *text = sqlite3_column_text(s, column);

	return strdup(text ? (const char *)text : "");
}

static uint64_t snapshots_number_of(sqlite3_stmt *s, int column)
{
	return (uint64_t)sqlite3_column_int64(s, column);
}

static bool snapshots_read_id(sqlite3_stmt *s, int column, struct stream_id *ret_id)
{
	if (sqlite3_column_bytes(s, column) != sizeof(ret_id->bytes))
		return false;
	memcpy(ret_id->bytes, sqlite3_column_blob(s, column), sizeof(ret_id->bytes));
	return true;
}

#define MEMBER_COLUMNS                                                                             \
	"stream, host, executable, pid, build_id, missing, wall_ns, mark, time_ns, blocks, "       \
	"bytes, "                                                                                  \
	"samples, blocks_error, bytes_error"

static int read_member(sqlite3_stmt *s, struct snapshot_member *m)
{
	size_t length = (size_t)sqlite3_column_bytes(s, 4);
	bool is_missing = sqlite3_column_type(s, 5) != SQLITE_NULL;

	*m = (struct snapshot_member){
		.host = snapshots_text_of(s, 1),
		.executable = snapshots_text_of(s, 2),
		.pid = (uint32_t)sqlite3_column_int64(s, 3),
		.wall_ns = snapshots_number_of(s, 6),
		.mark = snapshots_number_of(s, 7),
		.time_ns = snapshots_number_of(s, 8),
		.blocks = snapshots_number_of(s, 9),
		.bytes = snapshots_number_of(s, 10),
		.samples = snapshots_number_of(s, 11),
		.blocks_error = sqlite3_column_double(s, 12),
		.bytes_error = sqlite3_column_double(s, 13),
	};
	if (length && length <= sizeof(m->build_id)) {
		memcpy(m->build_id, sqlite3_column_blob(s, 4), length);
		m->build_id_length = (uint32_t)length;
	}
	if (is_missing)
		m->missing = snapshots_text_of(s, 5);
	if (!snapshots_read_id(s, 0, &m->stream))
		return -EBADMSG;
	return m->host && m->executable && (m->missing || !is_missing) ? 0 : -ENOMEM;
}

static int read_members(sqlite3 *db, struct snapshot *snapshot, struct err_text *err)
{
	cleanup(cleanup_sqlite3_finalize) sqlite3_stmt *s = NULL;
	uint32_t capacity = 0;
	int code = sqlite3_prepare_v2(
		db, "SELECT " MEMBER_COLUMNS " FROM members WHERE snapshot = ?1 ORDER BY position",
		-1, &s, NULL);

	if (code == SQLITE_OK)
		code = sqlite3_bind_text(s, 1, snapshot->name, -1, SQLITE_STATIC);
	while (code == SQLITE_OK || code == SQLITE_ROW) {
		struct snapshot_member *m;
		int r;

		code = sqlite3_step(s);
		if (code != SQLITE_ROW)
			break;
		if (array_reserve(&snapshot->members, &capacity, snapshot->count + 1,
				  sizeof(*snapshot->members)) < 0)
			return -ENOMEM;
		m = &snapshot->members[snapshot->count++];
		r = read_member(s, m);
		snapshot->missing += m->missing != NULL;
		if (r < 0)
			return snapshots_failed(NULL, r == -ENOMEM ? SQLITE_NOMEM : SQLITE_CORRUPT,
						err);
	}
	return code == SQLITE_DONE ? 0 : snapshots_failed(db, code, err);
}

static int take_clock(sqlite3_stmt *s, struct snapshot_member *m)
{
	m->clock_offset_ns = sqlite3_column_int64(s, 1);
	m->clock_error_ns = snapshots_number_of(s, 2);
	m->late = snapshots_number_of(s, 3) != 0;
	return SQLITE_OK;
}

static int take_incomplete(sqlite3_stmt *s, struct snapshot_member *m)
{
	free(m->incomplete);
	m->incomplete = snapshots_text_of(s, 1);
	return m->incomplete ? SQLITE_OK : SQLITE_NOMEM;
}

/* Takes what a table says of members. A list of an older collector has no such table. */
static int read_later(sqlite3 *db, struct snapshot *snapshot, const char *sql,
		      int (*take)(sqlite3_stmt *s, struct snapshot_member *m), struct err_text *err)
{
	cleanup(cleanup_sqlite3_finalize) sqlite3_stmt *s = NULL;
	int code = sqlite3_prepare_v2(db, sql, -1, &s, NULL);

	if (code == SQLITE_ERROR)
		return 0;
	if (code == SQLITE_OK)
		code = sqlite3_bind_text(s, 1, snapshot->name, -1, SQLITE_STATIC);
	while (code == SQLITE_OK && (code = sqlite3_step(s)) == SQLITE_ROW) {
		uint64_t position = snapshots_number_of(s, 0);

		code = position < snapshot->count ? take(s, &snapshot->members[position])
						  : SQLITE_OK;
	}
	return code == SQLITE_DONE ? 0 : snapshots_failed(db, code, err);
}

static int read_snapshot(sqlite3 *db, sqlite3_stmt *s, struct snapshot *out, struct err_text *err)
{
	const unsigned char *name = sqlite3_column_text(s, 0);
	int r;

	*out = (struct snapshot){.wall_ns = snapshots_number_of(s, 2),
				 .took_ns = snapshots_number_of(s, 3)};
	if (!name || snapshot_name_check((const char *)name, NULL) < 0 ||
	    !snapshots_read_id(s, 1, &out->stream))
		return snapshots_failed(NULL, SQLITE_CORRUPT, err);
	snprintf(out->name, sizeof(out->name), "%s", (const char *)name);
	r = read_members(db, out, err);
	if (!r)
		r = read_later(db, out,
			       "SELECT position, offset_ns, error_ns, late FROM clocks WHERE "
			       "snapshot = ?1",
			       take_clock, err);
	if (!r)
		r = read_later(db, out, "SELECT position, why FROM incomplete WHERE snapshot = ?1",
			       take_incomplete, err);
	return r;
}

/* Reads the snapshot with this name, or of this stream; all if both are NULL. */
static int read_snapshots(const char *folder, const char *name, const struct stream_id *stream,
			  struct snapshot **ret_list, size_t *ret_count, struct err_text *err)
{
	cleanup(cleanup_sqlite3_close) sqlite3 *db = NULL;
	cleanup(cleanup_sqlite3_finalize) sqlite3_stmt *s = NULL;
	struct snapshot *list = NULL;
	uint32_t capacity = 0;
	size_t count = 0;
	int code, r = snapshots_open_file(folder, false, &db, err);

	if (r < 0)
		return r;
	code = sqlite3_prepare_v2(
		db,
		"SELECT name, stream, wall_ns, took_ns FROM snapshots WHERE (?1 IS NULL OR name = "
		"?1) AND (?2 IS NULL OR stream = ?2) ORDER BY wall_ns, name",
		-1, &s, NULL);
	if (code == SQLITE_OK && name)
		code = sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC);
	if (code == SQLITE_OK && stream)
		code = sqlite3_bind_blob(s, 2, stream->bytes, sizeof(stream->bytes), SQLITE_STATIC);
	while (!r && code == SQLITE_OK && (code = sqlite3_step(s)) == SQLITE_ROW) {
		r = array_reserve(&list, &capacity, count + 1, sizeof(*list));
		if (!r)
			r = read_snapshot(db, s, &list[count++], err);
		code = SQLITE_OK;
	}
	if (!r && code != SQLITE_DONE)
		r = snapshots_failed(db, code, err);
	if (r < 0) {
		store_snapshots_free(list, count);
		return r;
	}
	*ret_list = list;
	*ret_count = count;
	return 0;
}

int store_snapshots(struct store *store, struct snapshot **ret_list, size_t *ret_count,
		    struct err_text *err)
{
	int r = read_snapshots(store->path, NULL, NULL, ret_list, ret_count, err);

	if (r != -ENOENT)
		return r;
	*ret_list = NULL;
	*ret_count = 0;
	return 0;
}

int store_snapshot_get(struct store *store, const char *name, struct snapshot *ret_snapshot,
		       struct err_text *err)
{
	struct snapshot *list = NULL;
	size_t count = 0;
	int r = read_snapshots(store->path, name, NULL, &list, &count, err);

	if (r == -ENOENT || (!r && !count))
		return err_set(
			err, -ENOENT,
			"no snapshot in %s is called '%.80s': 'collector snapshot list' shows "
			"what there is",
			store->path, name);
	if (r < 0)
		return r;
	*ret_snapshot = list[0];
	free(list);
	return 0;
}

int store_snapshot_of(struct store *store, const struct stream_id *stream,
		      struct snapshot *ret_snapshot, struct err_text *err)
{
	struct snapshot *list = NULL;
	size_t count = 0;
	char id[STREAM_ID_TEXT];
	int r = read_snapshots(store->path, NULL, stream, &list, &count, err);

	if (r == -ENOENT || (!r && !count))
		return err_set(err, -ENOENT, "no snapshot in %s is stream %s", store->path,
			       stream_id_format(id, stream));
	if (r < 0)
		return r;
	*ret_snapshot = list[0];
	free(list);
	return 0;
}

static int read_ids(sqlite3 *db, struct stream_id **list, size_t *count, struct err_text *err)
{
	cleanup(cleanup_sqlite3_finalize) sqlite3_stmt *s = NULL;
	uint32_t capacity = 0;
	int code = sqlite3_prepare_v2(db, "SELECT stream FROM snapshots", -1, &s, NULL);

	while (code == SQLITE_OK && (code = sqlite3_step(s)) == SQLITE_ROW) {
		if (array_reserve(list, &capacity, *count + 1, sizeof(**list)) < 0)
			return err_set(err, -ENOMEM, "out of memory");
		if (!snapshots_read_id(s, 0, &(*list)[*count]))
			return snapshots_failed(NULL, SQLITE_CORRUPT, err);
		++*count;
		code = SQLITE_OK;
	}
	return code == SQLITE_DONE ? 0 : snapshots_failed(db, code, err);
}

int store_snapshot_ids(const struct store *store, struct stream_id **ret_ids, size_t *ret_count,
		       struct err_text *err)
{
	cleanup(cleanup_sqlite3_close) sqlite3 *db = NULL;
	cleanup(cleanup_free) struct stream_id *list = NULL;
	size_t count = 0;
	int r = snapshots_open_file(store->path, false, &db, err);

	if (!r)
		r = read_ids(db, &list, &count, err);
	if (r < 0 && r != -ENOENT)
		return r;
	*ret_ids = take_ptr(list);
	*ret_count = count;
	return 0;
}

bool stream_id_among(const struct stream_id *id, const struct stream_id *ids, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!memcmp(id->bytes, ids[i].bytes, sizeof(id->bytes)))
			return true;
	return false;
}

/* ---- writing ---- */

static void bind_number(sqlite3_stmt *s, int index, uint64_t number)
{
	sqlite3_bind_int64(s, index, (sqlite3_int64)number);
}

static bool bind_member(sqlite3_stmt *s, const struct snapshot_member *m)
{
	sqlite3_bind_blob(s, 3, m->stream.bytes, sizeof(m->stream.bytes), SQLITE_STATIC);
	sqlite3_bind_text(s, 4, m->host, -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 5, m->executable, -1, SQLITE_STATIC);
	bind_number(s, 6, m->pid);
	sqlite3_bind_blob(s, 7, m->build_id, (int)m->build_id_length, SQLITE_STATIC);
	sqlite3_bind_text(s, 8, m->missing, -1, SQLITE_STATIC);
	bind_number(s, 9, m->wall_ns);
	bind_number(s, 10, m->mark);
	bind_number(s, 11, m->time_ns);
	bind_number(s, 12, m->blocks);
	bind_number(s, 13, m->bytes);
	bind_number(s, 14, m->samples);
	sqlite3_bind_double(s, 15, m->blocks_error);
	sqlite3_bind_double(s, 16, m->bytes_error);
	return true;
}

static bool bind_clock(sqlite3_stmt *s, const struct snapshot_member *m)
{
	sqlite3_bind_int64(s, 3, m->clock_offset_ns);
	bind_number(s, 4, m->clock_error_ns);
	bind_number(s, 5, m->late);
	return true;
}

static bool bind_incomplete(sqlite3_stmt *s, const struct snapshot_member *m)
{
	sqlite3_bind_text(s, 3, m->incomplete, -1, SQLITE_STATIC);
	return m->incomplete;
}

/* Adds a row for each member for which `bind` returns true. */
static int put_rows(sqlite3 *db, const struct snapshot *snapshot, const char *sql,
		    bool (*bind)(sqlite3_stmt *s, const struct snapshot_member *m),
		    struct err_text *err)
{
	cleanup(cleanup_sqlite3_finalize) sqlite3_stmt *s = NULL;
	int code = sqlite3_prepare_v2(db, sql, -1, &s, NULL);

	if (code != SQLITE_OK)
		return snapshots_failed(db, code, err);
	sqlite3_bind_text(s, 1, snapshot->name, -1, SQLITE_STATIC);
	for (size_t i = 0; i < snapshot->count; i++) {
		bind_number(s, 2, i);
		if (!bind(s, &snapshot->members[i]))
			continue;
		code = sqlite3_step(s);
		if (code != SQLITE_DONE)
			return snapshots_failed(db, code, err);
		sqlite3_reset(s);
	}
	return 0;
}

static int put_members(sqlite3 *db, const struct snapshot *snapshot, struct err_text *err)
{
	int r = put_rows(db, snapshot,
			 "INSERT INTO members (snapshot, position, " MEMBER_COLUMNS
			 ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, "
			 "?15, ?16)",
			 bind_member, err);

	if (!r)
		r = put_rows(db, snapshot, "INSERT INTO clocks VALUES (?1, ?2, ?3, ?4, ?5)",
			     bind_clock, err);
	if (!r)
		r = put_rows(db, snapshot, "INSERT INTO incomplete VALUES (?1, ?2, ?3)",
			     bind_incomplete, err);
	return r;
}

static int snapshots_put_name(sqlite3 *db, const struct snapshot *snapshot, struct err_text *err)
{
	cleanup(cleanup_sqlite3_finalize) sqlite3_stmt *s = NULL;
	int code = sqlite3_prepare_v2(db, "INSERT INTO snapshots VALUES (?1, ?2, ?3, ?4)", -1, &s,
				      NULL);

	if (code != SQLITE_OK)
		return snapshots_failed(db, code, err);
	sqlite3_bind_text(s, 1, snapshot->name, -1, SQLITE_STATIC);
	sqlite3_bind_blob(s, 2, snapshot->stream.bytes, sizeof(snapshot->stream.bytes),
			  SQLITE_STATIC);
	bind_number(s, 3, snapshot->wall_ns);
	bind_number(s, 4, snapshot->took_ns);
	code = sqlite3_step(s);
	if (code == SQLITE_CONSTRAINT)
		return err_set(
			err, -EEXIST,
			"there is a snapshot called '%s' already: take another name, or remove "
			"that one first ('collector snapshot remove %s')",
			snapshot->name, snapshot->name);
	return code == SQLITE_DONE ? 0 : snapshots_failed(db, code, err);
}

int snapshots_file_put(const char *folder, const struct snapshot *snapshot,
		       int (*within)(void *context, struct err_text *err), void *context,
		       struct err_text *err)
{
	cleanup(cleanup_sqlite3_close) sqlite3 *db = NULL;
	int r = snapshots_open_file(folder, true, &db, err);

	if (!r)
		r = snapshots_put_name(db, snapshot, err);
	if (!r)
		r = put_members(db, snapshot, err);
	if (!r)
		r = within(context, err);
	return r ? r : snapshots_execute(db, "COMMIT", err);
}

int snapshots_file_remove(const char *folder, const char *name, struct err_text *err)
{
	cleanup(cleanup_sqlite3_close) sqlite3 *db = NULL;
	cleanup(cleanup_sqlite3_finalize) sqlite3_stmt *s = NULL;
	int code, r = snapshots_open_file(folder, true, &db, err);

	if (r < 0)
		return r;
	code = sqlite3_prepare_v2(db, "DELETE FROM snapshots WHERE name = ?1", -1, &s, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC);
	if (code == SQLITE_OK)
		code = sqlite3_step(s);
	return code == SQLITE_DONE ? snapshots_execute(db, "COMMIT", err)
				   : snapshots_failed(db, code, err);
}
