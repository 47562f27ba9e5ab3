/*
 * Makes and migrates tables (schema.h). There is no lock between collectors, so each statement may
 * be run by several at once, and on all replicas of a table: it is left out if its result is there,
 * and if it fails, it is looked whether another has succeeded meanwhile.
 */
#include "collector/clickhouse/schema.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "collector/clickhouse/client.h"
#include "collector/clickhouse/client_parts.h"
#include "collector/clickhouse/row_binary.h"

#include "base/ban.h"

/* How often a statement is tried that another collector is in the way of, and the pause between. */
#define TRIES	    50
#define TRY_WAIT_NS 200000000

/*
 * How many of its last blocks a replicated table remembers, and for how long: it stores none of
 * them twice. ClickHouse's own default is 100.
 */
#define REMEMBER                                                                                   \
	" SETTINGS replicated_deduplication_window = 10000, "                                      \
	"replicated_deduplication_window_seconds = 604800"

/* Of ClickHouse: what is in the way goes away. */
static bool schema_is_race(int code)
{
	return code == 57      /* TABLE_ALREADY_EXISTS: being made by another */
	       || code == 82   /* DATABASE_ALREADY_EXISTS */
	       || code == 253  /* REPLICA_IS_ALREADY_EXIST */
	       || code == 517  /* CANNOT_ASSIGN_ALTER */
	       || code == 44   /* ILLEGAL_COLUMN: it is there (18.16) */
	       || code == 15   /* DUPLICATE_COLUMN */
	       || code == 60   /* UNKNOWN_TABLE: being made by another */
	       || code == 122; /* INCOMPATIBLE_COLUMNS: a replica that has not got the change yet */
}

/* Asks for one number. */
static int schema_number(struct clickhouse *c, size_t server, const char *sql, uint64_t *ret_number,
			 struct err_text *err)
{
	cleanup(buf_done) struct buf answer = {.limit = 4096};
	char host[CLICKHOUSE_HOST_TEXT];
	int r = clickhouse_query_outside(c, server, sql, &answer, err);
	struct reader reader;

	if (r < 0)
		return r;
	reader = reader_of(answer.data, answer.length);
	*ret_number = row_get_u64(&reader);
	if (reader_error(&reader) || reader_more(&reader))
		return err_set(err, -EPROTO,
			       "ClickHouse at %s: an answer of %zu bytes is no number",
			       clickhouse_host_format(&c->url.hosts[server], host), answer.length);
	return 0;
}

/* Is it there: a table, or a column of one. NULL asks for the database. */
static int schema_has(struct clickhouse *c, size_t server, const char *table, const char *column,
		      bool *ret_there, struct err_text *err)
{
	cleanup(buf_done) struct buf sql = {.data = NULL};
	uint64_t count = 0;
	int r;

	buf_printf(&sql, "SELECT toUInt64(count()) FROM system.%s WHERE %s = '%s'",
		   column  ? "columns"
		   : table ? "tables"
			   : "databases",
		   table ? "database" : "name", c->url.database);
	if (table)
		buf_printf(&sql, " AND %s = '%s'", column ? "table" : "name", table);
	if (column)
		buf_printf(&sql, " AND name = '%s'", column);
	buf_string(&sql, " FORMAT RowBinary");
	if (!buf_text(&sql))
		return -ENOMEM;
	r = schema_number(c, server, buf_text(&sql), &count, err);
	if (!r)
		*ret_there = count > 0;
	return r;
}

static void schema_wait(void)
{
	struct timespec wait = {.tv_nsec = TRY_WAIT_NS};

	nanosleep(&wait, NULL);
}

/* Runs a statement until what it makes is there. */
static int schema_run(struct clickhouse *c, size_t server, struct buf *sql, const char *table,
		      const char *column, struct err_text *err)
{
	bool there = false;

	if (!buf_text(sql))
		return -ENOMEM;
	for (unsigned tries = 1;; tries++) {
		struct err_text unused;
		int r, code, seen = schema_has(c, server, table, column, &there, err);

		if (seen < 0 || there)
			return seen;
		r = clickhouse_query_outside(c, server, buf_text(sql), NULL, err);
		code = clickhouse_code(c);
		if (!r || r == -EHOSTUNREACH || r == -EKEYREJECTED || r == -EACCES ||
		    r == -ECANCELED || r == -ENOMEM ||
		    (r == -ETIMEDOUT && !code)) /* a server that hangs is not asked 50 times */
			return r;
		if (!schema_has(c, server, table, column, &there, &unused) && there)
			return 0;
		if (tries == TRIES || (r == -EREMOTEIO && !schema_is_race(code)))
			return r;
		schema_wait();
	}
}

static int schema_make_database(struct clickhouse *c, size_t server, struct err_text *err)
{
	cleanup(buf_done) struct buf sql = {.data = NULL};

	buf_printf(&sql, "CREATE DATABASE IF NOT EXISTS `%s`", c->url.database);
	return schema_run(c, server, &sql, NULL, NULL, err);
}

static int schema_make_versions(struct clickhouse *c, size_t server, struct err_text *err)
{
	cleanup(buf_done) struct buf sql = {.data = NULL};

	buf_printf(&sql,
		   "CREATE TABLE IF NOT EXISTS `%s`.schema_versions (version UInt32, at DateTime) "
		   "ENGINE = MergeTree ORDER BY version",
		   c->url.database);
	return schema_run(c, server, &sql, "schema_versions", NULL, err);
}

static int schema_version(struct clickhouse *c, size_t server, uint64_t *ret_version,
			  struct err_text *err)
{
	cleanup(buf_done) struct buf sql = {.data = NULL};

	buf_printf(&sql, "SELECT toUInt64(max(version)) FROM `%s`.schema_versions FORMAT RowBinary",
		   c->url.database);
	return buf_text(&sql) ? schema_number(c, server, buf_text(&sql), ret_version, err)
			      : -ENOMEM;
}

static int schema_note_version(struct clickhouse *c, size_t server, unsigned version,
			       struct err_text *err)
{
	cleanup(buf_done) struct buf sql = {.data = NULL};

	buf_printf(&sql,
		   "INSERT INTO `%s`.schema_versions (version, at) SELECT toUInt32(%u), now()",
		   c->url.database, version);
	return buf_text(&sql) ? clickhouse_query_outside(c, server, buf_text(&sql), NULL, err)
			      : -ENOMEM;
}

static void schema_local_engine(const struct clickhouse *c, const struct schema_step *step,
				struct buf *sql)
{
	const char *version = step->replacing ? step->replacing : "";

	buf_printf(sql, " ENGINE = %s%sMergeTree(", c->replicated ? "Replicated" : "",
		   step->replacing ? "Replacing" : "");
	if (c->replicated)
		buf_printf(sql, "'/clickhouse/tables/{shard}/%s/%s', '{replica}'%s",
			   c->url.database, step->table, *version ? ", " : "");
	buf_printf(sql, "%s) %s%s", version, step->order, c->replicated ? REMEMBER : "");
}

/* A new table has the columns of all steps: a replica is refused whose columns are other than those
 * that the first one has by now. `left` steps follow this one. */
static void schema_put_columns(struct buf *sql, const struct schema_step *step, size_t left)
{
	buf_string(sql, step->columns);
	for (size_t i = 1; i <= left; i++)
		if (step[i].add && !strcmp(step[i].table, step->table))
			buf_printf(sql, ", %s", step[i].add);
}

static int schema_make_local(struct clickhouse *c, size_t server, const struct schema_step *step,
			     size_t left, struct err_text *err)
{
	cleanup(buf_done) struct buf sql = {.data = NULL};
	char name[CLICKHOUSE_NAME_MAX + 8];

	snprintf(name, sizeof(name), "%s_local", step->table);
	buf_printf(&sql, "CREATE TABLE IF NOT EXISTS `%s`.%s (", c->url.database, name);
	schema_put_columns(&sql, step, left);
	buf_string(&sql, ")");
	schema_local_engine(c, step, &sql);
	return schema_run(c, server, &sql, name, NULL, err);
}

static int schema_make_read(struct clickhouse *c, size_t server, const struct schema_step *step,
			    struct err_text *err)
{
	cleanup(buf_done) struct buf sql = {.data = NULL};
	const char *database = c->url.database, *table = step->table;

	buf_printf(&sql, "CREATE TABLE IF NOT EXISTS `%s`.%s AS `%s`.%s_local ENGINE = ", database,
		   table, database, table);
	if (*c->url.cluster)
		buf_printf(&sql, "Distributed('%s', '%s', '%s_local')", c->url.cluster, database,
			   table);
	else
		buf_printf(&sql, "Merge('%s', '^%s_local$')", database, table);
	return schema_run(c, server, &sql, table, NULL, err);
}

static int schema_add_to(struct clickhouse *c, size_t server, const struct schema_step *step,
			 const char *suffix, struct err_text *err)
{
	cleanup(buf_done) struct buf sql = {.data = NULL};
	char table[CLICKHOUSE_NAME_MAX + 8], column[CLICKHOUSE_NAME_MAX + 1];

	snprintf(table, sizeof(table), "%s%s", step->table, suffix);
	snprintf(column, sizeof(column), "%.*s", (int)strcspn(step->add, " "), step->add);
	buf_printf(&sql, "ALTER TABLE `%s`.%s ADD COLUMN %s", c->url.database, table, step->add);
	return schema_run(c, server, &sql, table, column, err);
}

/* Rows first, then what shows them. */
static int schema_step_run(struct clickhouse *c, size_t server, const struct schema_step *step,
			   size_t left, struct err_text *err)
{
	int r = step->add ? schema_add_to(c, server, step, "_local", err)
			  : schema_make_local(c, server, step, left, err);

	if (r < 0)
		return r;
	return step->add ? schema_add_to(c, server, step, "", err)
			 : schema_make_read(c, server, step, err);
}

/* Whether tables that are there belong to this kind of installation. */
static int schema_check_kind(struct clickhouse *c, size_t server, struct err_text *err)
{
	cleanup(buf_done) struct buf sql = {.data = NULL};
	const char *read = *c->url.cluster ? "Distributed" : "Merge";
	char host[CLICKHOUSE_HOST_TEXT];
	uint64_t others = 0;
	int r;

	buf_printf(&sql,
		   "SELECT toUInt64(count()) FROM system.tables WHERE database = '%s' AND "
		   "(name = 'sums' AND engine != '%s' OR "
		   "name = 'sums_local' AND engine != '%sMergeTree') FORMAT RowBinary",
		   c->url.database, read, c->replicated ? "Replicated" : "");
	if (!buf_text(&sql))
		return -ENOMEM;
	r = schema_number(c, server, buf_text(&sql), &others, err);
	if (r < 0 || !others)
		return r;
	return err_set(err, -EINVAL,
		       "ClickHouse at %s: the tables of database %s were made for another kind of "
		       "installation (one server, a cluster, replicas); name another database",
		       clickhouse_host_format(&c->url.hosts[server], host), c->url.database);
}

static int schema_migrate(struct clickhouse *c, size_t server, uint64_t from,
			  const struct schema_step *steps, size_t count, struct err_text *err)
{
	for (size_t i = 0; i < count; i++) {
		int r;

		if (steps[i].version <= from)
			continue;
		r = schema_step_run(c, server, &steps[i], count - i - 1, err);
		if (!r && (i + 1 == count || steps[i + 1].version != steps[i].version))
			r = schema_note_version(c, server, steps[i].version, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Returns -ENOENT if the database has no tables of ours. */
static int schema_look(struct clickhouse *c, size_t server, struct err_text *err)
{
	cleanup(buf_done) struct buf sql = {.data = NULL};
	char host[CLICKHOUSE_HOST_TEXT];
	uint64_t count = 0;
	int r;

	buf_printf(&sql,
		   "SELECT toUInt64(count()) FROM system.tables WHERE database = '%s' AND name = "
		   "'schema_versions' FORMAT RowBinary",
		   c->url.database);
	r = buf_text(&sql) ? schema_number(c, server, buf_text(&sql), &count, err) : -ENOMEM;
	if (r < 0 || count)
		return r;
	return err_set(
		err, -ENOENT,
		"ClickHouse at %s has nothing of heapcast in database %s: is the name right? "
		"'heapcast share' or 'gather --store' makes it",
		clickhouse_host_format(&c->url.hosts[server], host), c->url.database);
}

int schema_apply(struct clickhouse *client, size_t server, const struct schema_step *steps,
		 size_t count, struct err_text *err)
{
	unsigned known = steps[count - 1].version;
	char host[CLICKHOUSE_HOST_TEXT];
	uint64_t version = 0;
	int r = client->looks ? schema_look(client, server, err)
			      : schema_make_database(client, server, err);

	if (!r && !client->looks)
		r = schema_make_versions(client, server, err);
	if (!r)
		r = schema_check_kind(client, server, err);
	if (!r)
		r = schema_version(client, server, &version, err);
	if (r < 0)
		return r;
	if (version > known)
		return err_set(err, -EPROTO,
			       "ClickHouse at %s: database %s has tables of a newer heapcast "
			       "(schema %llu, this one knows %u); update this collector",
			       clickhouse_host_format(&client->url.hosts[server], host),
			       client->url.database, (unsigned long long)version, known);
	if (version < known && client->looks)
		return err_set(
			err, -ENOENT,
			"ClickHouse at %s: the tables of database %s are of an older heapcast: "
			"'heapcast share' or 'gather --store' brings them up to date",
			clickhouse_host_format(&client->url.hosts[server], host),
			client->url.database);
	return schema_migrate(client, server, version, steps, count, err);
}
