#pragma once
/*
 * Which server has which shard. Without ?cluster= there is one server, which is shard 0. With it,
 * the servers themselves say which shards and replicas the cluster has (system.clusters), and which
 * of them each one is. Tables are replicated if the servers have the macros {shard} and {replica}.
 *
 * Rows of a stream lie on one shard, which every collector computes in the same way. Rows are
 * written to a server of that shard, never through a Distributed table: a server would keep them in
 * a queue of its own. Questions go to any server, whose tables show all shards.
 */
#include <stddef.h>
#include <stdint.h>

struct buf;
struct clickhouse;
struct err_text;

/*
 * Asks the servers who they are, and makes or migrates the schema on each (schema.h). Call it
 * before anything below. Servers that can't be reached are left out, and asked when they are first
 * needed, if each shard has one that can be reached. Returns 0, an error of client.h, or -EINVAL
 * with a sentence: servers and URL don't agree. May be called again.
 */
int clickhouse_prepare(struct clickhouse *client, struct err_text *err);
/* Number of shards; 0 before clickhouse_prepare. */
size_t clickhouse_shards(const struct clickhouse *client);
/*
 * The shard of a stream's rows. It depends on nothing but the id and the number of shards: whoever
 * adds shards to a cluster has to move the streams.
 */
size_t clickhouse_shard_of(const uint8_t stream[16], size_t shards);

/*
 * Sends rows to the table TABLE_local of a shard, in RowBinary with these columns ("day, batch").
 * Tries the replicas of the shard in turn, while nothing was sent. Rows of one call become one
 * block and are kept whole or not at all, if they are of one day and less than a million.
 */
int clickhouse_insert(struct clickhouse *client, size_t shard, const char *table,
		      const char *columns, const void *rows, size_t length, struct err_text *err);
/* Sends a question to a server of a shard, or of any shard (CLICKHOUSE_ANY_SHARD): to the first
 * that can be reached. */
#define CLICKHOUSE_ANY_SHARD SIZE_MAX
int clickhouse_ask(struct clickhouse *client, size_t shard, const char *sql, struct buf *answer,
		   struct err_text *err);
/* The same about many numbers, which `sql` calls `numbers` (clickhouse_query_about). */
int clickhouse_ask_about(struct clickhouse *client, const char *sql, const uint64_t *numbers,
			 size_t count, struct buf *answer, struct err_text *err);
