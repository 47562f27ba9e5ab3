/* The collectors that share a data base. See collectors.h. */
#include "collector/share/collectors.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "collector/clickhouse/client.h"
#include "collector/clickhouse/row_binary.h"
#include "collector/clickhouse/shards.h"

#include "base/ban.h"

#define TEXT_BYTES_MAX 4096
#define SECOND_NS      1000000000u
/* now() of the server that is asked, in seconds since the epoch. */
#define SERVER_CLOCK "toUInt32(now())"

int shared_clock(struct clickhouse *client, size_t shard, uint64_t *ret_ns, struct err_text *err)
{
	cleanup(buf_done) struct buf answer = {.limit = 64};
	struct reader r;
	int e = clickhouse_ask(client, shard, "SELECT " SERVER_CLOCK " FORMAT RowBinary", &answer,
			       err);

	if (e < 0)
		return e;
	r = reader_of(answer.data, answer.length);
	*ret_ns = (uint64_t)row_get_u32(&r) * SECOND_NS;
	return reader_error(&r) ? err_set(err, -EBADMSG, "the shared store's clock is cut") : 0;
}

int collector_put(struct clickhouse *client, const struct shared_collector *c, struct err_text *err)
{
	cleanup(buf_done) struct buf row = {0};

	row_put_u64(&row, c->number);
	row_put_u64(&row, c->seen_ns);
	row_put_text(&row, c->name);
	row_put_text(&row, c->address);
	row_put_u32(&row, c->keep_days);
	if (buf_error(&row))
		return buf_error(&row);
	return clickhouse_insert(client, c->number % clickhouse_shards(client), "collectors",
				 "collector, version, name, address, keep_days", row.data,
				 row.length, err);
}

static char *get_text(struct reader *r)
{
	size_t length = 0;
	const char *bytes = row_get_bytes(r, TEXT_BYTES_MAX, &length);
	char *text = strndup(bytes ? bytes : "", bytes ? length : 0);

	/* Names are in messages, too: nothing may reach the terminal as a control character. */
	for (char *c = text; c && *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	return text;
}

bool collector_address_is_valid(const char *address)
{
	size_t length = strlen(address);
	const char *host = NULL;

	if (!strncmp(address, "http://", 7))
		host = address + 7;
	else if (!strncmp(address, "https://", 8))
		host = address + 8;
	if (!host || !*host || *host == '/' || *host == ':' || length > COLLECTOR_ADDRESS_MAX ||
	    address[length - 1] == '/')
		return false;
	/* No user, query or fragment, and nothing that ends an attribute or a header. */
	for (; *host; host++)
		if (!isalnum((unsigned char)*host) && !strchr("-._~:/[]%", *host))
			return false;
	return true;
}

static int read_collectors(const struct buf *answer, struct shared_collector **list,
			   uint32_t *count)
{
	struct reader r = reader_of(answer->data, answer->length);
	uint32_t capacity = 0;

	while (reader_more(&r)) {
		struct shared_collector *c;

		if (array_reserve(list, &capacity, (uint64_t)*count + 1, sizeof(**list)) < 0)
			return -ENOMEM;
		c = &(*list)[(*count)++];
		c->number = row_get_u64(&r);
		c->seen_ns = row_get_u64(&r);
		c->name = get_text(&r);
		c->address = get_text(&r);
		if (c->address && !collector_address_is_valid(c->address))
			c->address[0] = '\0';
		c->keep_days = row_get_u32(&r);
		c->asked_ns = (uint64_t)row_get_u32(&r) * SECOND_NS;
		if (!c->name || !c->address)
			return -ENOMEM;
	}
	return reader_error(&r);
}

int shared_collectors(struct clickhouse *client, struct shared_collector **ret_list,
		      size_t *ret_count, struct err_text *err)
{
	cleanup(buf_done) struct buf answer = {.limit = CLICKHOUSE_ANSWER_MAX};
	struct shared_collector *list = NULL;
	uint32_t count = 0;
	int r = clickhouse_ask(client, CLICKHOUSE_ANY_SHARD,
			       "SELECT collector, version, name, address, keep_days, " SERVER_CLOCK
			       " FROM collectors FINAL ORDER BY collector FORMAT RowBinary",
			       &answer, err);

	if (!r)
		r = read_collectors(&answer, &list, &count);
	if (r < 0) {
		shared_collectors_free(list, count);
		return r == -EBADMSG
			       ? err_set(err, r, "the shared store's list of collectors is cut")
			       : r;
	}
	*ret_list = list;
	*ret_count = count;
	return 0;
}

void shared_collectors_free(struct shared_collector *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(list[i].name);
		free(list[i].address);
	}
	free(list);
}

const struct shared_collector *shared_collector_find(const struct shared_collector *list,
						     size_t count, uint64_t number)
{
	for (size_t i = 0; i < count; i++)
		if (list[i].number == number)
			return &list[i];
	return NULL;
}

uint64_t shared_collector_away_since(const struct shared_collector *c)
{
	return c->seen_ns < c->asked_ns && c->asked_ns - c->seen_ns > COLLECTOR_AWAY_NS ? c->seen_ns
											: 0;
}
