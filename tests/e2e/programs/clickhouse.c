/*
 * clickhouse URL COMMAND [ARG...]: what the collector's client of ClickHouse does, one call a run.
 *
 *	prepare [next]		asks the servers, makes the schema; with a made-up next version
 *	insert BATCH STREAM DAY ROWS [SHARD]	ROWS rows into sums; prints the shard
 *	many BATCH STREAM DAY ROWS COUNT	as many inserts, of batches of these numbers; prints how many
 *	find BATCH STREAM DAY [SHARD]	what is there of a batch
 *	drop DAY			drops days before
 *	sql SERVER STATEMENT		one statement to one server; prints the answer as it came
 *	ask STATEMENT			the same to the first server that can be reached
 *	pause STATEMENT STATEMENT	two on one connection, a line of standard input between
 *
 * PATIENCE_MS in the environment: how long a call waits. STREAM is 32 hexadecimal digits. Prints
 * the kind of an error, and its sentence. Exit status 1 then.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "collector/clickhouse/client.h"
#include "collector/clickhouse/row_binary.h"
#include "collector/clickhouse/schema.h"
#include "collector/clickhouse/shards.h"
#include "collector/clickhouse/upkeep.h"

#define COLUMNS                                                                                    \
	"day, batch, stream, stack, minute, allocations, allocated, blocks, bytes"

struct batch {
	uint64_t id;
	uint8_t stream[16];
	uint32_t day;
};

static struct clickhouse *client;
static struct err_text err;

static int told(int r)
{
	const char *kind = r == -EHOSTUNREACH ? "unreachable"
			   : r == -ETIMEDOUT  ? "unknown"
			   : r == -EAGAIN     ? "busy"
			   : r == -EREMOTEIO  ? "refused"
			   : r == -EACCES     ? "denied"
			   : r == -EKEYREJECTED ? "untrusted"
					      : strerrorname_np(-r);

	if (r >= 0)
		return 0;
	printf("%s %d: %s\n", kind, client ? clickhouse_code(client) : 0, err_get(&err, r));
	return 1;
}

static struct batch batch_of(char **args)
{
	struct batch b = {.id = strtoull(args[0], NULL, 10),
				     .day = (uint32_t)strtoul(args[2], NULL, 10)};

	for (size_t i = 0; i < 16; i++) {
		unsigned byte = 0;

		if (sscanf(args[1] + 2 * i, "%2x", &byte) != 1)
			abort();
		b.stream[i] = (uint8_t)byte;
	}
	return b;
}

static int insert(const struct batch *b, size_t shard, size_t rows)
{
	struct buf body = {.data = NULL};
	int r;

	for (size_t i = 0; i < rows; i++) {
		row_put_day(&body, b->day);
		row_put_u64(&body, b->id);
		row_put_id(&body, b->stream);
		row_put_u64(&body, i);
		row_put_u32(&body, b->day * 1440 + (uint32_t)(i % 1440));
		row_put_u64(&body, 2);
		row_put_i64(&body, 100);
		row_put_i64(&body, 1);
		row_put_i64(&body, -50);
	}
	r = clickhouse_insert(client, shard, "sums", COLUMNS, body.data, body.length, &err);
	buf_done(&body);
	return r;
}

static int find(const struct batch *b, size_t shard)
{
	struct clickhouse_batch_found found;
	int r = clickhouse_batch_find(client, shard, "sums", b->id, b->day, &found, &err);

	if (!r)
		printf("rows %llu, behind %d\n", (unsigned long long)found.rows, found.behind);
	return r;
}

static int many(struct batch b, size_t rows, uint64_t count)
{
	size_t shard = clickhouse_shard_of(b.stream, clickhouse_shards(client));
	uint64_t done = 0;
	int r = 0;

	for (; !r && done < count; b.id++, done += !r)
		r = insert(&b, shard, rows);
	printf("%llu\n", (unsigned long long)done);
	return r;
}

/* Commands about a batch. */
static int about_batch(const char *command, int count, char **args)
{
	bool asks = !strcmp(command, "find");
	struct batch b = batch_of(args);
	size_t rows = asks ? 0 : strtoull(args[3], NULL, 10), shard;
	int r = clickhouse_prepare(client, &err);

	if (r < 0)
		return r;
	if (!strcmp(command, "many"))
		return many(b, rows, count > 4 ? strtoull(args[4], NULL, 10) : 0);
	shard = count > (asks ? 3 : 4)
			? strtoull(args[asks ? 3 : 4], NULL, 10)
			: clickhouse_shard_of(b.stream, clickhouse_shards(client));
	if (asks)
		return find(&b, shard);
	printf("shard %zu\n", shard);
	return insert(&b, shard, rows);
}

static int prepare(bool next)
{
	struct schema_step steps[32];
	int r = clickhouse_prepare(client, &err);

	if (next && r == -EPROTO) /* another was quicker; the servers are known by now */
		r = 0;
	memcpy(steps, schema_steps, schema_step_count * sizeof(*steps));
	steps[schema_step_count] = (struct schema_step){
		.version = schema_steps[schema_step_count - 1].version + 1,
		.table = "sums",
		.add = "moved UInt64"};
	for (size_t i = 0; next && !r && i < clickhouse_servers(client); i++)
		r = schema_apply(client, i, steps, schema_step_count + 1, &err);
	if (!r)
		printf("shards %zu\n", clickhouse_shards(client));
	return r;
}

static int drop(uint32_t day)
{
	size_t dropped;
	int r = clickhouse_prepare(client, &err);

	if (!r)
		r = clickhouse_drop_before(client, day, &dropped, &err);
	if (!r)
		printf("dropped %zu\n", dropped);
	return r;
}

static int sql(size_t server, const char *text)
{
	struct buf answer = {.limit = 65536};
	int r = clickhouse_query_outside(client, server, text, &answer, &err);

	if (!r)
		fwrite(answer.data, 1, answer.length, stdout);
	buf_done(&answer);
	return r;
}

static int ask(const char *text)
{
	struct buf answer = {.limit = 65536};
	int r = clickhouse_prepare(client, &err);

	if (!r)
		r = clickhouse_ask(client, CLICKHOUSE_ANY_SHARD, text, &answer, &err);
	if (!r)
		fwrite(answer.data, 1, answer.length, stdout);
	buf_done(&answer);
	return r;
}

static int pause_between(const char *first, const char *second)
{
	int r = sql(0, first);

	fflush(stdout);
	while (!r && getchar() != '\n')
		;
	return r ? r : sql(0, second);
}

static int run(const char *command, int count, char **args)
{
	if (!strcmp(command, "prepare"))
		return prepare(count > 0);
	if (!strcmp(command, "drop") && count == 1)
		return drop((uint32_t)strtoul(args[0], NULL, 10));
	if (!strcmp(command, "sql") && count == 2)
		return sql(strtoull(args[0], NULL, 10), args[1]);
	if (!strcmp(command, "ask") && count == 1)
		return ask(args[0]);
	if (!strcmp(command, "pause") && count == 2)
		return pause_between(args[0], args[1]);
	if (count >= 3)
		return about_batch(command, count, args);
	return err_set(&err, -EINVAL, "unknown command");
}

int main(int argc, char **argv)
{
	struct clickhouse_url url;
	int r;

	if (argc < 3)
		return 2;
	r = clickhouse_url_parse(argv[1], &url, &err);
	if (!r)
		r = clickhouse_url_password(&url, getenv(CLICKHOUSE_PASSWORD_VARIABLE), &err);
	if (!r)
		r = clickhouse_open(&url, &client, &err);
	if (!r && getenv("PATIENCE_MS"))
		clickhouse_set_patience(client, strtoull(getenv("PATIENCE_MS"), NULL, 10),
					strtoull(getenv("PATIENCE_MS"), NULL, 10));
	if (!r)
		r = run(argv[2], argc - 3, argv + 3);
	r = told(r);
	clickhouse_close(client);
	return r;
}
