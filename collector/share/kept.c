/* How far back the shared store reaches. See kept.h. */
#include "collector/share/kept.h"

#include <errno.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "collector/clickhouse/row_binary.h"
#include "collector/clickhouse/client.h"
#include "collector/clickhouse/shards.h"
#include "collector/clickhouse/upkeep.h"

#include "base/ban.h"

#define MINUTES_A_DAY 1440

int kept_read(struct clickhouse *client, uint32_t *ret_day, struct err_text *err)
{
	cleanup(buf_done) struct buf answer = {.limit = 64};
	struct reader r;
	int e = clickhouse_ask(client, CLICKHOUSE_ANY_SHARD,
			       "SELECT toUInt32(max(first)) FROM kept_local FORMAT RowBinary",
			       &answer, err);

	if (e < 0)
		return e;
	r = reader_of(answer.data, answer.length);
	*ret_day = row_get_u32(&r);
	return reader_error(&r) ? err_set(err, -EBADMSG, "the shared store's first day is cut") : 0;
}

void kept_put(struct buf *sql, uint32_t day)
{
	if (day)
		buf_printf(sql, " AND day >= toDate(%u) AND (base = 0 OR day = toDate(%u))", day,
			   day);
}

/* The number of the batch of base rows of a day: the same for everybody, so that it is seen whether
 * they are there. */
static uint64_t base_batch(uint32_t day)
{
	return UINT64_MAX - day;
}

/* Sums up a shard's rows before a day, unless that was done. */
static int sum_up(struct clickhouse *client, size_t shard, uint32_t from, uint32_t day,
		  struct err_text *err)
{
	struct clickhouse_batch_found found = {0};
	cleanup(buf_done) struct buf sql = {0};
	int r = clickhouse_batch_find(client, shard, "sums", base_batch(day), day, &found, err);

	if (r < 0 || found.rows)
		return r;
	buf_printf(&sql,
		   "INSERT INTO sums_local (day, batch, collector, stream, minute, stack, "
		   "allocations, allocated, blocks, bytes, base, variance) SELECT toDate(%u), "
		   "toUInt64(%llu), collector, stream, toUInt32(%u), stack, toInt64(0), "
		   "toInt64(0), sum(blocks) AS b, sum(bytes) AS n, toUInt8(1), "
		   "sum(variance) AS v FROM sums_local "
		   "WHERE day < toDate(%u)",
		   day, (unsigned long long)base_batch(day), day * MINUTES_A_DAY - 1, day);
	kept_put(&sql, from);
	/* What snapshots had in use goes with them. */
	buf_printf(&sql,
		   " AND stream NOT IN (SELECT snapshot FROM snapshots_local WHERE day < "
		   "toDate(%u))",
		   day);
	buf_string(&sql, " GROUP BY collector, stream, stack HAVING b != 0 OR n != 0 OR v != 0 "
			 "ORDER BY stream, stack, collector");
	return buf_text(&sql) ? clickhouse_ask(client, shard, buf_text(&sql), NULL, err) : -ENOMEM;
}

/* Each shard says it, so that it is known while others are away. */
static int say_first_day(struct clickhouse *client, uint32_t day, struct err_text *err)
{
	cleanup(buf_done) struct buf row = {0};
	int r;

	row_put_day(&row, day);
	r = buf_error(&row);
	for (size_t shard = 0; !r && shard < clickhouse_shards(client); shard++)
		r = clickhouse_insert(client, shard, "kept", "first", row.data, row.length, err);
	return r;
}

int kept_move(struct clickhouse *client, uint32_t from, uint32_t day, struct err_text *err)
{
	int r = 0;

	for (size_t shard = 0; !r && shard < clickhouse_shards(client); shard++)
		r = sum_up(client, shard, from, day, err);
	if (!r)
		r = say_first_day(client, day, err);
	return r ? r : clickhouse_drop_before(client, day, NULL, err);
}
