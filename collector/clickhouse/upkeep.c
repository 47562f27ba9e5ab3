/* Asks for batches, and drops old days (upkeep.h). */
#include "collector/clickhouse/upkeep.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "collector/clickhouse/client.h"
#include "collector/clickhouse/client_parts.h"
#include "collector/clickhouse/row_binary.h"
#include "collector/clickhouse/shards.h"

#include "base/ban.h"

/* More days than Date has. */
#define DAYS_MAX 65536
/* While others send, too, a replica always has something to fetch, but rarely for long. */
#define BEHIND_TRIES   20
#define BEHIND_WAIT_NS 100000000

static int upkeep_wrong(const struct clickhouse *c, struct err_text *err)
{
	return err_set(err, -EPROTO, "ClickHouse: an answer about database %s can't be understood",
		       c->url.database);
}

/* Asks a server of the shard for a row of numbers. */
static int upkeep_numbers(struct clickhouse *c, size_t shard, struct buf *sql,
			  uint64_t *ret_numbers, size_t count, struct err_text *err)
{
	cleanup(buf_done) struct buf answer = {.limit = 4096};
	struct reader reader;
	int r;

	if (!buf_text(sql))
		return -ENOMEM;
	r = clickhouse_ask(c, shard, buf_text(sql), &answer, err);
	if (r < 0)
		return r;
	reader = reader_of(answer.data, answer.length);
	for (size_t i = 0; i < count; i++)
		ret_numbers[i] = row_get_u64(&reader);
	return reader_error(&reader) || reader_more(&reader) ? upkeep_wrong(c, err) : 0;
}

/* Whether the table lacks something, as a condition on system.replicas: it has not read all of the
 * log, or not fetched all that it has read; or it has only been started, and has not even begun.
 * (A log without an entry has 0 for both numbers.) */
#define BEHIND                                                                                     \
	"toUInt64(sum(inserts_in_queue) + sum(log_max_index >= log_pointer AND log_max_index > "   \
	"0) + sum(is_readonly) + sum(is_session_expired))"
#define UPKEEP_TABLES "('sums_local', 'levels_local', 'streams_local')"

/* Counts the entries of a log in the coordinator, where the table has this path there. */
static int upkeep_log(struct clickhouse *c, size_t shard, const char *path, size_t length,
		      uint64_t *ret_count, struct err_text *err)
{
	cleanup(buf_done) struct buf sql = {.data = NULL};

	if (memchr(path, '\'', length) || memchr(path, '\\', length))
		return upkeep_wrong(c, err);
	buf_printf(&sql,
		   "SELECT toUInt64(count()) FROM system.zookeeper WHERE path = '%.*s/log' FORMAT "
		   "RowBinary",
		   (int)length, path);
	return upkeep_numbers(c, shard, &sql, ret_count, 1, err);
}

/* A replica that has not read the first entry of its log shows the same numbers as one whose log is
 * empty. Counts such entries. */
static int upkeep_first_entries(struct clickhouse *c, size_t shard, uint64_t *ret_count,
				struct err_text *err)
{
	cleanup(buf_done) struct buf answer = {.limit = 65536}, sql = {.data = NULL};
	struct reader reader;
	int r;

	buf_printf(&sql,
		   "SELECT zookeeper_path FROM system.replicas WHERE database = '%s' AND table "
		   "IN " UPKEEP_TABLES
		   " AND log_max_index = 0 AND log_pointer = 0 FORMAT RowBinary",
		   c->url.database);
	r = buf_text(&sql) ? clickhouse_ask(c, shard, buf_text(&sql), &answer, err) : -ENOMEM;
	reader = reader_of(answer.data, answer.length);
	while (!r && reader_more(&reader)) {
		size_t length = 0;
		const char *path = row_get_bytes(&reader, PATH_MAX, &length);
		uint64_t count = 0;

		if (!path)
			return upkeep_wrong(c, err);
		r = upkeep_log(c, shard, path, length, &count, err);
		*ret_count += count;
	}
	return r;
}

/* Tells whether the replica that is asked lacks rows of `sums` or `streams` that another one has
 * accepted. */
static int upkeep_behind(struct clickhouse *client, size_t shard, bool *ret_behind,
			 struct err_text *err)
{
	cleanup(buf_done) struct buf sql = {.data = NULL};
	uint64_t missing = 0;
	int r = 0;

	if (client->replicated) {
		buf_printf(&sql,
			   "SELECT " BEHIND " FROM system.replicas WHERE "
			   "database = '%s' AND table IN " UPKEEP_TABLES " FORMAT RowBinary",
			   client->url.database);
		r = upkeep_numbers(client, shard, &sql, &missing, 1, err);
		if (!r && !missing)
			r = upkeep_first_entries(client, shard, &missing, err);
	}
	*ret_behind = missing;
	return r;
}

int clickhouse_caught_up(struct clickhouse *client, size_t shard, struct err_text *err)
{
	for (unsigned i = 0; i < BEHIND_TRIES; i++) {
		bool behind = false;
		int r = upkeep_behind(client, shard, &behind, err);

		if (r < 0 || !behind)
			return r;
		nanosleep(&(struct timespec){.tv_nsec = BEHIND_WAIT_NS}, NULL);
	}
	return err_set(err, -EAGAIN, "a replica of shard %zu has not caught up with the others yet",
		       shard + 1);
}

int clickhouse_batch_find(struct clickhouse *client, size_t shard, const char *table,
			  uint64_t batch, uint32_t day, struct clickhouse_batch_found *ret_found,
			  struct err_text *err)
{
	cleanup(buf_done) struct buf sql = {.data = NULL};
	uint64_t found[3] = {0};
	int r;

	/* Whether it runs is asked first: one that has ended by then has left its rows. So has what
	 * a replica has fetched by then. */
	buf_printf(&sql,
		   "SELECT toUInt64((SELECT count() FROM system.processes WHERE query_id = "
		   "'" BATCH_QUERY "')), toUInt64(",
		   batch);
	if (client->replicated)
		buf_printf(&sql,
			   "(SELECT " BEHIND " FROM system.replicas WHERE database = '%s' AND "
			   "table = '%s_local')",
			   client->url.database, table);
	else
		buf_string(&sql, "0");
	buf_printf(&sql,
		   "), toUInt64((SELECT count() FROM %s_local WHERE day = toDate(%u) AND "
		   "batch = %" PRIu64 ")) FORMAT RowBinary",
		   table, day, batch);
	r = upkeep_numbers(client, shard, &sql, found, 3, err);
	if (!r)
		*ret_found = (struct clickhouse_batch_found){
			.running = found[0] > 0, .behind = found[1] > 0, .rows = found[2]};
	return r;
}

/* Asks one server. */
static int upkeep_inserts(struct clickhouse *c, size_t server, uint64_t seconds,
			  uint64_t *ret_count, struct err_text *err)
{
	cleanup(buf_done) struct buf answer = {.limit = 4096};
	struct reader reader;
	char sql[160];
	int r;

	snprintf(sql, sizeof(sql),
		 "SELECT toUInt64(count()) FROM system.processes WHERE query_id LIKE '" BATCH_PREFIX
		 "%%' AND elapsed >= %" PRIu64 " FORMAT RowBinary",
		 seconds);
	r = clickhouse_query_outside(c, server, sql, &answer, err);
	if (r < 0)
		return r;
	reader = reader_of(answer.data, answer.length);
	*ret_count = row_get_u64(&reader);
	return reader_error(&reader) ? upkeep_wrong(c, err) : 0;
}

int clickhouse_inserts_since(struct clickhouse *client, size_t shard, uint64_t seconds,
			     bool *ret_running, struct err_text *err)
{
	uint64_t all = 0;

	for (size_t i = 0; i < client->url.count; i++) {
		uint64_t count = 0;
		int r = client->servers[i].shard == shard
				? upkeep_inserts(client, i, seconds, &count, err)
				: 0;

		if (r < 0 && r != -EHOSTUNREACH)
			return r;
		all += count;
	}
	*ret_running = all;
	return 0;
}

/* A partition is a day, YYYYMMDD. */
static uint32_t upkeep_partition(uint32_t day)
{
	time_t seconds = (time_t)day * 86400;
	struct tm tm;

	gmtime_r(&seconds, &tm);
	return (uint32_t)((tm.tm_year + 1900) * 10000 + (tm.tm_mon + 1) * 100 + tm.tm_mday);
}

/* Partitions of a table before this one. */
static int upkeep_old(struct clickhouse *c, size_t shard, const char *table, uint32_t before,
		      struct buf *answer, struct err_text *err)
{
	cleanup(buf_done) struct buf sql = {.data = NULL};

	buf_printf(&sql,
		   "SELECT DISTINCT toUInt32OrZero(partition) AS day FROM system.parts WHERE "
		   "database = '%s' AND table = '%s_local' AND active AND day > 0 AND day < %u "
		   "ORDER BY day FORMAT RowBinary",
		   c->url.database, table, before);
	return buf_text(&sql) ? clickhouse_ask(c, shard, buf_text(&sql), answer, err) : -ENOMEM;
}

static int upkeep_drop(struct clickhouse *c, size_t shard, const char *table, uint32_t partition,
		       struct err_text *err)
{
	char sql[128];

	snprintf(sql, sizeof(sql), "ALTER TABLE %s_local DROP PARTITION %u", table, partition);
	return clickhouse_ask(c, shard, sql, NULL, err);
}

static int upkeep_drop_table(struct clickhouse *c, size_t shard, const char *table, uint32_t before,
			     size_t *dropped, struct err_text *err)
{
	cleanup(buf_done) struct buf answer = {.limit = DAYS_MAX * sizeof(uint32_t)};
	int r = upkeep_old(c, shard, table, before, &answer, err);
	struct reader reader;

	if (r < 0)
		return r;
	for (reader = reader_of(answer.data, answer.length); reader_more(&reader); ++*dropped) {
		uint32_t partition = row_get_u32(&reader);

		if (reader_error(&reader) || partition >= before)
			return upkeep_wrong(c, err);
		r = upkeep_drop(c, shard, table, partition, err);
		if (r < 0)
			return r;
	}
	return 0;
}

int clickhouse_drop_before(struct clickhouse *client, uint32_t day, size_t *ret_dropped,
			   struct err_text *err)
{
	uint32_t before = upkeep_partition(day);
	static const char *const tables[] = {"sums", "levels", "streams", "snapshots"};
	size_t dropped = 0;
	int result = 0;

	for (size_t shard = 0; shard < client->shards; shard++) {
		for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
			struct err_text why = {{0}};
			int r = upkeep_drop_table(client, shard, tables[i], before, &dropped, &why);

			if (r < 0 && !result)
				result = err_set(err, r, "%s", why.text);
		}
	}
	if (ret_dropped)
		*ret_dropped = dropped;
	return result;
}
