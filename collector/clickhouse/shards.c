/*
 * Who has which shard (shards.h). What a server says of its cluster is not trusted: it must agree
 * with the URL, and with what the others say.
 */
#include "collector/clickhouse/shards.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "collector/clickhouse/client.h"
#include "collector/clickhouse/client_parts.h"
#include "collector/clickhouse/row_binary.h"
#include "collector/clickhouse/schema.h"

#include "base/ban.h"

/* For how long a server that could not be reached, or did not answer, is asked after all others. */
#define AVOID_NS 10000000000u

/* Exceptions of ClickHouse. */
#define UNKNOWN_TABLE	 60
#define UNKNOWN_DATABASE 81

/* Of a row of system.clusters, which is a server. */
struct shards_row {
	uint32_t shard; /* from 1 on */
	bool is_self;	/* the shard of the server that was asked. (From release 19 on: that server
			   alone.) */
	bool is_named;	/* has the name in the URL */
};

struct shards_told {
	struct shards_row rows[CLICKHOUSE_HOSTS_MAX];
	size_t count, shards;
	bool macros;
};

static int shards_wrong(struct clickhouse *c, size_t server, struct err_text *err)
{
	char host[CLICKHOUSE_HOST_TEXT];

	return err_set(err, -EPROTO, "ClickHouse at %s: what it says of itself can't be understood",
		       clickhouse_host_format(&c->url.hosts[server], host));
}

static bool shards_text(struct reader *r, char *out, size_t size)
{
	size_t length = 0;
	const char *text = row_get_bytes(r, size - 1, &length);

	if (!text || memchr(text, '\0', length))
		return false;
	memcpy(out, text, length);
	out[length] = '\0';
	return true;
}

/* "18.16.1": 18. Returns 0 if it is no version. */
static unsigned shards_major(const char *version)
{
	unsigned major = 0;

	for (size_t i = 0; i < 4 && version[i] >= '0' && version[i] <= '9'; i++)
		major = 10 * major + (unsigned)(version[i] - '0');
	return major;
}

static int shards_ask_server(struct clickhouse *c, size_t server, bool *ret_macros,
			     struct err_text *err)
{
	cleanup(buf_done) struct buf answer = {.limit = 4096};
	struct clickhouse_server *s = &c->servers[server];
	int r = clickhouse_query_outside(
		c, server,
		"SELECT version(), anyIf(substitution, macro = 'replica'), "
		"toUInt8(countIf(macro = 'shard')) FROM system.macros "
		"FORMAT RowBinary",
		&answer, err);
	struct reader reader;
	char version[64];
	uint8_t shard;

	if (r < 0)
		return r;
	reader = reader_of(answer.data, answer.length);
	if (!shards_text(&reader, version, sizeof(version)) ||
	    !shards_text(&reader, s->replica, sizeof(s->replica)))
		return shards_wrong(c, server, err);
	shard = row_get_u8(&reader);
	s->major = shards_major(version);
	if (reader_error(&reader) || reader_more(&reader) || !s->major)
		return shards_wrong(c, server, err);
	*ret_macros = shard && *s->replica;
	return 0;
}

static bool shards_take_row(struct reader *r, const char *name, struct shards_told *told)
{
	struct shards_row *row = &told->rows[told->count];
	char host[CLICKHOUSE_HOST_MAX + 1], address[CLICKHOUSE_HOST_MAX + 1];

	if (told->count == CLICKHOUSE_HOSTS_MAX)
		return false;
	row->shard = row_get_u32(r);
	row->is_self = row_get_u8(r) != 0;
	if (!shards_text(r, host, sizeof(host)) || !shards_text(r, address, sizeof(address)))
		return false;
	row->is_named = !strcmp(host, name) || !strcmp(address, name);
	if (!row->shard || row->shard > CLICKHOUSE_HOSTS_MAX)
		return false;
	if (row->shard > told->shards)
		told->shards = row->shard;
	told->count++;
	return true;
}

static int shards_ask_cluster(struct clickhouse *c, size_t server, struct shards_told *told,
			      struct err_text *err)
{
	cleanup(buf_done) struct buf answer = {.limit = 65536}, sql = {.data = NULL};
	char host[CLICKHOUSE_HOST_TEXT];
	struct reader reader;
	int r;

	buf_printf(&sql,
		   "SELECT toUInt32(shard_num), toUInt8(is_local), host_name, host_address FROM "
		   "system.clusters WHERE cluster = '%s' FORMAT RowBinary",
		   c->url.cluster);
	if (!buf_text(&sql))
		return -ENOMEM;
	r = clickhouse_query_outside(c, server, buf_text(&sql), &answer, err);
	if (r < 0)
		return r;
	for (reader = reader_of(answer.data, answer.length); reader_more(&reader);)
		if (!shards_take_row(&reader, c->url.hosts[server].name, told))
			return shards_wrong(c, server, err);
	if (!told->count)
		return err_set(
			err, -EINVAL,
			"ClickHouse at %s knows no cluster %s (SELECT * FROM system.clusters)",
			clickhouse_host_format(&c->url.hosts[server], host), c->url.cluster);
	return 0;
}

/* The one shard of all rows that are itself, or have its name. Returns 0 if it can't be told. */
static uint32_t shards_one(const struct shards_told *told, bool named)
{
	uint32_t shard = 0;

	for (size_t i = 0; i < told->count; i++) {
		const struct shards_row *row = &told->rows[i];

		if (!(named ? row->is_named : row->is_self))
			continue;
		if (shard && shard != row->shard)
			return 0;
		shard = row->shard;
	}
	return shard;
}

static int shards_settle(struct clickhouse *c, size_t server, const struct shards_told *told,
			 struct err_text *err)
{
	uint32_t self = shards_one(told, false);
	size_t replicas = 0;
	char host[CLICKHOUSE_HOST_TEXT];

	clickhouse_host_format(&c->url.hosts[server], host);
	if (!self)
		self = shards_one(told, true);
	if (!self)
		return err_set(err, -EINVAL,
			       "ClickHouse at %s: cluster %s does not say which of its shards this "
			       "server has; name it in the URL as in system.clusters",
			       host, c->url.cluster);
	for (size_t i = 0; i < told->count; i++)
		replicas += told->rows[i].shard == self;
	if (replicas > 1 && !told->macros)
		return err_set(
			err, -EINVAL,
			"ClickHouse at %s: its shard of cluster %s has %zu replicas, but the "
			"server lacks the macros shard and replica, which replicated tables "
			"need",
			host, c->url.cluster, replicas);
	if (c->shards &&
	    (c->shards != told->shards || c->rows != told->count || c->replicated != told->macros))
		return err_set(
			err, -EINVAL,
			"ClickHouse at %s does not agree with other servers of cluster %s on "
			"the number of shards or servers, or on macros",
			host, c->url.cluster);
	c->shards = told->shards;
	c->replicated = told->macros;
	c->rows = told->count;
	c->servers[server].shard = self - 1;
	return 0;
}

/* Asks a server who it is. */
static int shards_identify(struct clickhouse *c, size_t server, struct err_text *err)
{
	struct shards_told told = {.count = 0};
	int r = shards_ask_server(c, server, &told.macros, err);

	if (r < 0)
		return r;
	if (!*c->url.cluster) {
		c->shards = c->rows = 1;
		c->servers[server].shard = 0;
		return 0;
	}
	r = shards_ask_cluster(c, server, &told, err);
	return r < 0 ? r : shards_settle(c, server, &told, err);
}

/* Makes a server usable; one that can't be reached is avoided for a while. */
static int shards_ready(struct clickhouse *c, size_t server, struct err_text *err)
{
	struct clickhouse_server *s = &c->servers[server];
	int r = 0;

	if (s->shard == SHARD_UNKNOWN)
		r = shards_identify(c, server, err);
	if (!r && !s->ready)
		r = schema_apply(c, server, schema_steps, schema_step_count, err);
	s->ready = !r;
	if (r == -EHOSTUNREACH || r == -EKEYREJECTED)
		s->avoid_until_ns = cancel_clock_ns() + AVOID_NS;
	return r;
}

/* No two hosts of the URL may be one server, and the URL must name all of them. */
static int shards_check(const struct clickhouse *c, size_t unreached, struct err_text *err)
{
	char a[CLICKHOUSE_HOST_TEXT], b[CLICKHOUSE_HOST_TEXT];
	size_t known = 0;

	for (size_t i = 0; i < c->url.count; i++) {
		if (c->servers[i].shard == SHARD_UNKNOWN)
			continue;
		known++;
		for (size_t k = 0; k < i; k++)
			if (c->servers[k].shard == c->servers[i].shard &&
			    !strcmp(c->servers[k].replica, c->servers[i].replica))
				return err_set(err, -EINVAL,
					       "the ClickHouse servers %s and %s are the same one",
					       clickhouse_host_format(&c->url.hosts[k], a),
					       clickhouse_host_format(&c->url.hosts[i], b));
	}
	if (known + unreached < c->rows)
		return err_set(
			err, -EINVAL,
			"cluster %s has %zu servers, and the URL names %zu of them; name all",
			c->url.cluster, c->rows, known + unreached);
	return 0;
}

/* Servers that can't be used now, while others can. */
struct shards_away {
	size_t count;
	int error; /* of one of them: of one whose certificate is refused, if there is one */
	struct err_text why;
};

static void shards_note_away(struct shards_away *away, int error, const struct err_text *why)
{
	away->count++;
	if (away->error == -EKEYREJECTED)
		return;
	away->error = error;
	away->why = *why;
}

/* Calls for each server. Those that can't be reached are counted; another error ends it. */
static int shards_each(struct clickhouse *c,
		       int (*call)(struct clickhouse *c, size_t server, struct err_text *err),
		       struct shards_away *away, struct err_text *err)
{
	away->count = 0;
	for (size_t i = 0; i < c->url.count; i++) {
		struct err_text why = {{0}};
		int r = call(c, i, &why);

		if (r == -EHOSTUNREACH || r == -EKEYREJECTED)
			shards_note_away(away, r, &why);
		else if (r < 0)
			return err_set(err, r, "%s", why.text);
	}
	return 0;
}

static int shards_identify_new(struct clickhouse *c, size_t server, struct err_text *err)
{
	return c->servers[server].shard == SHARD_UNKNOWN ? shards_identify(c, server, err) : 0;
}

static int shards_ready_known(struct clickhouse *c, size_t server, struct err_text *err)
{
	return c->servers[server].shard == SHARD_UNKNOWN ? 0 : shards_ready(c, server, err);
}

static bool shards_has_ready(const struct clickhouse *c)
{
	for (size_t i = 0; i < c->url.count; i++)
		if (c->servers[i].ready)
			return true;
	return false;
}

int clickhouse_prepare(struct clickhouse *client, struct err_text *err)
{
	struct shards_away away = {0};
	int r = shards_each(client, shards_identify_new, &away, err);

	if (!r && client->shards)
		r = shards_check(client, away.count, err);
	if (!r)
		r = shards_each(client, shards_ready_known, &away, err);
	if (r < 0)
		return r;
	return shards_has_ready(client) ? 0 : err_set(err, away.error, "%s", away.why.text);
}

size_t clickhouse_shards(const struct clickhouse *client)
{
	return client->shards;
}

size_t clickhouse_shard_of(const uint8_t stream[16], size_t shards)
{
	struct reader r = reader_of(stream, 16);
	uint64_t mixed = reader_u64le(&r);

	/* The ids are random; multiplying makes up for those that are not. */
	mixed = (mixed ^ reader_u64le(&r)) * UINT64_C(0x9e3779b97f4a7c15);
	return shards ? (size_t)((mixed >> 32) % shards) : 0;
}

/* What is sent to one server of a shard. */
struct shards_call {
	const char *sql;
	const void *body; /* rows of an INSERT */
	size_t length;
	const uint64_t *numbers; /* of a question */
	size_t count;
	struct buf *answer;
};

/* Whether another server may be asked after this error of `call`. An INSERT may be in the table
 * already, if anything of it was sent. */
static bool shards_may_go_on(const struct shards_call *call, int error)
{
	return error == -EHOSTUNREACH || error == -EKEYREJECTED ||
	       (!call->body && (error == -ETIMEDOUT || error == -EAGAIN || error == -EPROTO));
}

static int shards_call_one(struct clickhouse *c, size_t server, const struct shards_call *call,
			   struct err_text *err)
{
	struct clickhouse_server *s = &c->servers[server];
	int r = call->numbers ? clickhouse_query_about(c, server, call->sql, call->numbers,
						       call->count, call->answer, err)
			      : clickhouse_query(c, server, call->sql, call->body, call->length,
						 call->answer, err);

	if (r == -EHOSTUNREACH || r == -EKEYREJECTED || (r == -ETIMEDOUT && !c->code))
		s->avoid_until_ns = cancel_clock_ns() + AVOID_NS;
	if (r == -EREMOTEIO && (c->code == UNKNOWN_TABLE || c->code == UNKNOWN_DATABASE))
		s->ready = false; /* somebody removed it; it is made again */
	return r;
}

/* Sends it to the first server of the shard that can be reached: first those that could be lately.
 */
static int shards_call(struct clickhouse *c, size_t shard, const struct shards_call *call,
		       struct err_text *err)
{
	uint64_t now = cancel_clock_ns();
	bool tried[CLICKHOUSE_HOSTS_MAX] = {false};
	int r = err_set(err, -EINVAL, "no ClickHouse server has shard %zu of %zu", shard + 1,
			c->shards);

	for (size_t i = 0; i < 2 * c->url.count; i++) {
		size_t server = i % c->url.count;
		struct clickhouse_server *s = &c->servers[server];

		if (tried[server] || (i < c->url.count && s->avoid_until_ns > now) ||
		    (shard != CLICKHOUSE_ANY_SHARD && s->shard != SHARD_UNKNOWN &&
		     s->shard != shard))
			continue;
		tried[server] = true;
		if (!s->ready) {
			int ready = shards_ready(c, server, err);

			if (ready < 0) {
				r = ready;
				continue;
			}
			if (shard != CLICKHOUSE_ANY_SHARD && s->shard != shard)
				continue;
		}
		r = shards_call_one(c, server, call, err);
		if (!shards_may_go_on(call, r))
			return r;
	}
	return r;
}

int clickhouse_insert(struct clickhouse *client, size_t shard, const char *table,
		      const char *columns, const void *rows, size_t length, struct err_text *err)
{
	cleanup(buf_done) struct buf sql = {.data = NULL};
	struct shards_call call = {.body = rows, .length = length};

	if (!length)
		return 0;
	buf_printf(&sql, "INSERT INTO %s_local (%s) FORMAT RowBinary", table, columns);
	call.sql = buf_text(&sql);
	return call.sql ? shards_call(client, shard, &call, err) : -ENOMEM;
}

int clickhouse_ask(struct clickhouse *client, size_t shard, const char *sql, struct buf *answer,
		   struct err_text *err)
{
	struct shards_call call = {.sql = sql, .answer = answer};

	return shards_call(client, shard, &call, err);
}

int clickhouse_ask_about(struct clickhouse *client, const char *sql, const uint64_t *numbers,
			 size_t count, struct buf *answer, struct err_text *err)
{
	struct shards_call call = {
		.sql = sql, .numbers = numbers, .count = count, .answer = answer};

	return shards_call(client, CLICKHOUSE_ANY_SHARD, &call, err);
}
