#pragma once
/*
 * Asks ClickHouse servers over HTTP, by libcurl. Calls block: they belong into a worker thread. A
 * client is used by one thread at a time; only clickhouse_stop may come from another. Connections
 * stay open between calls.
 *
 *	url.h	 where the servers are		client.h   one request to one server
 *	shards.h which server has which shard	schema.h   tables, made and migrated
 *	upkeep.h batches that are there, old days
 *
 * A failed request is one of the errors of failure.h, or -ECANCELED (clickhouse_stop; rows may have
 * been taken), -EMSGSIZE (the answer is larger than its buffer's limit), -EPROTO (what answers is
 *no ClickHouse server) or -ENOMEM. The sentence names the server.
 */
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/clickhouse/url.h"

struct buf;
struct clickhouse;
struct err_text;

/* For buf.limit, where nothing better is known. */
#define CLICKHOUSE_ANSWER_MAX (64u << 20)

/*
 * Makes a client of these servers, without asking them yet. Copies the URL, whose password must be
 * there (clickhouse_url_password). Returns 0, -ENOENT if libcurl can't be loaded (a sentence says
 * so), or -ENOMEM.
 */
int clickhouse_open(const struct clickhouse_url *url, struct clickhouse **ret_client,
		    struct err_text *err);
void clickhouse_close(struct clickhouse *client);
/* Ends the call that is waiting, within about a second, and every later one, with -ECANCELED. */
void clickhouse_stop(struct clickhouse *client);
/* How long a call waits for a connection, and in all. Without it: 5 s and 60 s. */
void clickhouse_set_patience(struct clickhouse *client, uint64_t connect_ms, uint64_t all_ms);

/* Calls end within about a second with -ECANCELED once this becomes true; NULL: they do not. */
void clickhouse_set_cancelled(struct clickhouse *client, const atomic_bool *cancelled);
/* From now on nothing is made: a database without our tables is an error (-ENOENT). */
void clickhouse_set_looking(struct clickhouse *client);
/* Gives INSERTs from now on the number of a batch, by which clickhouse_batch_find sees that one is
 * still under way. 0: none. */
void clickhouse_set_batch(struct clickhouse *client, uint64_t batch);

const struct clickhouse_url *clickhouse_url_of(const struct clickhouse *client);
/* Number of servers; their numbers are those of url.hosts. */
size_t clickhouse_servers(const struct clickhouse *client);
/* Number of the exception that the last failed call got from a server; 0 if it got none. */
int clickhouse_code(const struct clickhouse *client);

/*
 * Sends one statement to one server. If `body` is NULL, `sql` is any statement. Else `sql` is an
 * INSERT that ends with its FORMAT, and `body` has its rows; it is sent at most once. Names without
 * a database are in the URL's. The body of the answer is appended to `answer`, which stays as it
 * was after an error; it may be NULL, and its limit must be set.
 */
int clickhouse_query(struct clickhouse *client, size_t server, const char *sql, const void *body,
		     size_t length, struct buf *answer, struct err_text *err);
/*
 * The same for a question about many numbers, which `sql` calls `numbers`: "... WHERE stack IN
 * numbers". They travel beside it as a table, which servers share with other shards. A server reads
 * 8,000 of them in 10 ms so, and in 50 ms if they stand in the statement.
 */
int clickhouse_query_about(struct clickhouse *client, size_t server, const char *sql,
			   const uint64_t *numbers, size_t count, struct buf *answer,
			   struct err_text *err);
/* The same where the database need not exist yet: names need theirs. */
int clickhouse_query_outside(struct clickhouse *client, size_t server, const char *sql,
			     struct buf *answer, struct err_text *err);
