#pragma once
/*
 * Sending again without duplicates, and retention. A batch is rows of one day under one number. It
 * goes to `sums` in one insert, and is there as a whole or not at all. A sender whose insert failed
 * with an unknown outcome asks here whether it is there.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clickhouse;
struct err_text;

struct clickhouse_batch_found {
	uint64_t rows; /* that are in the table */
	bool running;  /* an INSERT of the batch runs on the server that was asked: look again */
	bool behind;   /* the replica that was asked has not got everything yet: rows that it does
			  not know of may be there. If they are among the last 10,000 blocks, the
			  same bytes are not stored twice */
};

/* Waits until the replica that answers for the shard has all rows of `sums` and `streams` that the
 * others of the shard have accepted, for two seconds at most. What one that has not says of sums
 * and streams must not be believed: what it lacks would be sent again. Returns 0; -EAGAIN with a
 * sentence; or another error of client.h. Who reads something asks before and after it: another
 * replica may have answered meanwhile. */
int clickhouse_caught_up(struct clickhouse *client, size_t shard, struct err_text *err);
/* Asks a server of the shard. `table`: sums or levels; `day`: days since the epoch. Returns 0 or an
 * error of client.h. */
int clickhouse_batch_find(struct clickhouse *client, size_t shard, const char *table,
			  uint64_t batch, uint32_t day, struct clickhouse_batch_found *ret_found,
			  struct err_text *err);
/* Tells whether an INSERT of any batch that began `seconds` ago or earlier still runs on a server
 * of the shard that can be reached. Returns 0 or an error of client.h. */
int clickhouse_inserts_since(struct clickhouse *client, size_t shard, uint64_t seconds,
			     bool *ret_running, struct err_text *err);
/*
 * Removes all days before `day` from `sums`, `levels`, `streams` and `snapshots`, on every shard.
 * Returns 0 or the first error, after it tried the other shards. `ret_dropped` (may be NULL) is the
 * number of partitions that were dropped.
 */
int clickhouse_drop_before(struct clickhouse *client, uint32_t day, size_t *ret_dropped,
			   struct err_text *err);
