/*
 * Restricts statements to reading our tables. SQLite calls the authorizer when it compiles a
 * statement, so a refused statement never runs. SQLite calls the progress handler every few steps
 * of its virtual machine, and the handler ends the statement at its limits.
 *
 * Statements do not run in a child process with limits, because the rows are in this process. The
 * server has threads, so after fork alone a child could not continue safely. A child that is
 * executed would have to open the recording again: 0.9 s of processor time and 90 MiB for 1.5
 * million allocations, where a session here takes 0.4 ms. For a running program this cost would
 * come with each question. A child would make temp.c and texts.c unnecessary (500 lines), but not
 * the authorizer, because it can read files as well. It would also need a protocol for rows, bits
 * of conditions, errors, progress and withdrawal, like that of collector/symbols (500 lines).
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/parse.h"
#include "collector/sql/state.h"

#include "base/ban.h"

#define STEPS_A_TICK 100
/* Reserve within SQLite's memory limit for the process's other databases, and for what the steps
 * between two ticks allocate. */
#define BESIDE_BYTES (256ll << 20)
/* Bytes of SQLite's cache, and of the memory that sorting uses before it continues in a file. */
#define CACHE_PRAGMA "pragma cache_size = -16384"

/* Sets the error text for all cases, because a table may notice the deadline before the next
 * tick. */
static void say_too_long(struct sql *sql)
{
	char text[32];

	err_set(&sql->why, -ETIME, "not done after %s, the limit of time (timeout)",
		format_duration(text, sql->limits.time_ns));
}

int sql_fail(struct sql *sql, int error, const struct err_text *err)
{
	if (sql->ended)
		return SQLITE_ERROR;
	sql->ended = error;
	if (error == -ETIME)
		say_too_long(sql);
	else
		err_set(&sql->why, error, "%s", err_get(err, error));
	return SQLITE_ERROR;
}

static int guard_refuse(struct sql *sql, const char *what, const char *name)
{
	struct err_text err;

	err_set(&err, -EINVAL, "statements only read the recording: %s%s%.100s%s is not allowed",
		what, name ? " '" : "", name ? name : "", name ? "'" : "");
	sql_fail(sql, -EINVAL, &err);
	return SQLITE_DENY;
}

static bool in_list(const char *const *list, const char *name)
{
	for (; *list; list++)
		if (!sqlite3_stricmp(*list, name))
			return true;
	return false;
}

/* Refuses functions that are dangerous or too slow. json_patch and unhex take time proportional to
 * the product of the lengths of their arguments; see texts.c. */
static int judge_function(struct sql *sql, const char *name)
{
	static const char *const refused[] = {"load_extension", "fts3_tokenizer", "sqlite_log",
					      "json_patch",	"unhex",	  NULL};

	return in_list(refused, name) ? guard_refuse(sql, "the function", name) : SQLITE_OK;
}

static int judge_pragma(struct sql *sql, const char *name)
{
	static const char *const harmless[] = {"table_info", "table_xinfo", "table_list",
					       "function_list", NULL};

	return in_list(harmless, name) ? SQLITE_OK : guard_refuse(sql, "the pragma", name);
}

/* Refuses SQLite's own tables, which show its internals. With an empty column the name may be that
 * of a subquery. */
static int judge_read(struct sql *sql, const char *table, const char *column)
{
	static const char *const refused[] = {
		"sqlite_dbpage", "sqlite_dbdata", "dbstat", "sqlite_stmt",
		"bytecode",	 "tables_used",	  NULL};

	return *column && in_list(refused, table) ? guard_refuse(sql, "the table", table)
						  : SQLITE_OK;
}

static const char *action_name(int action, const char *table)
{
	/* A statement that creates or drops anything begins with such a change. */
	if ((action == SQLITE_INSERT || action == SQLITE_UPDATE || action == SQLITE_DELETE) &&
	    table && !sqlite3_strnicmp(table, "sqlite_", 7))
		return "changing the schema";
	switch (action) {
	case SQLITE_ATTACH:
		return "ATTACH";
	case SQLITE_DETACH:
		return "DETACH";
	case SQLITE_INSERT:
		return "INSERT";
	case SQLITE_UPDATE:
		return "UPDATE";
	case SQLITE_DELETE:
		return "DELETE";
	case SQLITE_TRANSACTION:
	case SQLITE_SAVEPOINT:
		return "a transaction";
	case SQLITE_ALTER_TABLE:
		return "ALTER TABLE";
	default:
		return "such a statement";
	}
}

static int authorize(void *context, int action, const char *a, const char *b, const char *database,
		     const char *inside)
{
	struct sql *sql = context;

	(void)database;
	(void)inside;
	if (!sql->evaluating)
		return SQLITE_OK;
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_RECURSIVE:
		return SQLITE_OK;
	case SQLITE_READ:
		return judge_read(sql, a, b ? b : "");
	case SQLITE_FUNCTION:
		return judge_function(sql, b ? b : "");
	case SQLITE_PRAGMA:
		return judge_pragma(sql, a ? a : "");
	default:
		return guard_refuse(sql, action_name(action, a), NULL);
	}
}

/* ---- limits ---- */

void guard_too_much(struct sql *sql)
{
	struct err_text err;
	char text[32];

	err_set(&err, -ENOBUFS,
		"it needs more than %s of memory, the limit: let it join or collect less at a time",
		format_size(text, (double)sql->limits.memory_bytes));
	sql_fail(sql, -ENOBUFS, &err);
}

bool guard_ended(struct sql *sql)
{
	int r = cancel_check(&sql->filter.cancel);

	if (r < 0)
		sql_fail(sql, r, NULL);
	if (sqlite3_memory_used() - sql->memory_before + (sqlite3_int64)sql->held_bytes >
	    (sqlite3_int64)sql->limits.memory_bytes)
		guard_too_much(sql);
	return sql->ended != 0;
}

/*
 * Changes the limit that SQLite has for the whole process. One step can nest calls whose arguments
 * are a MiB each, and thus allocate gigabytes before the next tick. So SQLite itself has a limit
 * while there are sessions. It includes room for memory that does not belong to sessions.
 */
static void allow(int64_t bytes)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static int64_t allowed;
	int64_t limit;

	pthread_mutex_lock(&lock);
	allowed += bytes;
	limit = allowed ? allowed + BESIDE_BYTES : 0;
	sqlite3_hard_heap_limit64(limit);
	sqlite3_soft_heap_limit64(limit);
	pthread_mutex_unlock(&lock);
}

void guard_done(struct sql *sql)
{
	allow(-sql->allowed_bytes);
	sql->allowed_bytes = 0;
}

static int guard_tick(void *context)
{
	return guard_ended(context);
}

void guard_begin(struct sql *sql)
{
	sql->ended = 0;
	sql->filter.cancel.deadline_ns =
		sql->limits.time_ns ? cancel_clock_ns() + sql->limits.time_ns : 0;
	sql->rows_left = sql->limits.rows;
}

static void set_limits(sqlite3 *db)
{
	static const struct {
		int what, most;
	} limits[] = {
		{SQLITE_LIMIT_LENGTH, SQL_VALUE_MAX},
		{SQLITE_LIMIT_SQL_LENGTH, SQL_TEXT_MAX},
		{SQLITE_LIMIT_COLUMN, 200},
		{SQLITE_LIMIT_EXPR_DEPTH, 200},
		{SQLITE_LIMIT_COMPOUND_SELECT, 50},
		{SQLITE_LIMIT_VDBE_OP, 100000},
		{SQLITE_LIMIT_FUNCTION_ARG, 100},
		{SQLITE_LIMIT_ATTACHED, 0},
		{SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000},
		{SQLITE_LIMIT_VARIABLE_NUMBER, 10},
		{SQLITE_LIMIT_TRIGGER_DEPTH, 1},
		{SQLITE_LIMIT_WORKER_THREADS, 0},
	};

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		sqlite3_limit(db, limits[i].what, limits[i].most);
}

int guard_connection(struct sql *sql, struct err_text *err)
{
	set_limits(sql->db);
	sqlite3_db_config(sql->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(sql->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(sql->db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
	if (sqlite3_exec(sql->db, CACHE_PRAGMA "; pragma temp_store = file", NULL, NULL, NULL) !=
		    SQLITE_OK ||
	    sqlite3_set_authorizer(sql->db, authorize, sql) != SQLITE_OK)
		return err_set(err, -EIO, "SQLite: %s", sqlite3_errmsg(sql->db));
	sql->memory_before = sqlite3_memory_used();
	sql->allowed_bytes = (int64_t)sql->limits.memory_bytes;
	allow(sql->allowed_bytes);
	sqlite3_progress_handler(sql->db, STEPS_A_TICK, guard_tick, sql);
	return 0;
}
