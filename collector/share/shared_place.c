/* Which collector has a recording. See shared_place.h. */
#include "collector/share/shared_place.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "collector/clickhouse/client.h"
#include "collector/clickhouse/row_binary.h"
#include "collector/clickhouse/shards.h"
#include "collector/share/collectors.h"
#include "collector/share/parts.h"
#include "collector/share/shared_snapshots.h"

#include "base/ban.h"

/* Collectors that have had a part of one stream, at most. */
#define PARTS_MAX 100

static bool is_beginning_of_id(const char *text)
{
	size_t length = strlen(text);

	return length && length < STREAM_ID_TEXT && text[strspn(text, "0123456789abcdef")] == '\0';
}

/* Reads which collector has the stream's end. */
static int read_parts(const struct buf *answer, struct shared_place *place)
{
	struct reader r = reader_of(answer->data, answer->length);
	struct stream_part latest = {0}, part;

	if (!answer->length)
		return -ENOENT;
	for (bool is_first = true; reader_more(&r); is_first = false) {
		if (stream_part_get(&r, &part) < 0)
			return -EBADMSG;
		if (!is_first && memcmp(&latest.stream, &part.stream, sizeof(part.stream)) != 0)
			return -EEXIST;
		if (is_first || stream_part_is_later(&part, &latest))
			latest = part;
	}
	place->collector = latest.collector;
	stream_id_format(place->id, &latest.stream);
	return 0;
}

static int find_stream(struct clickhouse *client, const char *id, struct shared_place *place,
		       struct err_text *err)
{
	cleanup(buf_done) struct buf answer = {.limit = CLICKHOUSE_ANSWER_MAX};
	char question[512];
	int r;

	snprintf(question, sizeof(question),
		 "SELECT " STREAM_PART_COLUMNS " FROM streams FINAL "
		 "WHERE startsWith(lower(hex(stream)), '%s') AND sent_to > 0 "
		 "ORDER BY stream, version LIMIT %d FORMAT RowBinary",
		 id, PARTS_MAX);
	r = clickhouse_ask(client, CLICKHOUSE_ANY_SHARD, question, &answer, err);
	if (!r)
		r = read_parts(&answer, place);
	if (r == -EEXIST)
		return err_set(err, r,
			       "more than one recording begins with \"%s\": give more digits", id);
	return r == -EBADMSG ? err_set(err, r, "the shared store's list of streams is cut") : r;
}

static int find_collector(struct clickhouse *client, struct shared_place *place,
			  struct err_text *err)
{
	const struct shared_collector *owner;
	struct shared_collector *list = NULL;
	size_t count = 0;
	int r = shared_collectors(client, &list, &count, err);

	if (r < 0)
		return r;
	owner = shared_collector_find(list, count, place->collector);
	place->name = strdup(owner ? owner->name : "");
	place->address = strdup(owner ? owner->address : "");
	place->away_since_ns = owner ? shared_collector_away_since(owner) : 0;
	shared_collectors_free(list, count);
	return place->name && place->address ? 0 : -ENOMEM;
}

int shared_place_find(struct clickhouse *client, const char *id, struct shared_place *ret_place,
		      struct err_text *err)
{
	int r;

	*ret_place = (struct shared_place){0};
	if (!is_beginning_of_id(id))
		return -ENOENT;
	r = find_stream(client, id, ret_place, err);
	if (!r)
		r = find_collector(client, ret_place, err);
	if (r < 0)
		shared_place_done(ret_place);
	return r;
}

int shared_place_find_snapshot(struct clickhouse *client, const char *name,
			       struct shared_place *ret_place, struct err_text *err)
{
	struct stream_id stream;
	int r;

	*ret_place = (struct shared_place){0};
	r = shared_snapshot_find(client, name, &stream, &ret_place->collector, err);
	if (r < 0)
		return r;
	stream_id_format(ret_place->id, &stream);
	r = find_collector(client, ret_place, err);
	if (r < 0)
		shared_place_done(ret_place);
	return r;
}

void shared_place_done(struct shared_place *place)
{
	free(place->name);
	free(place->address);
	*place = (struct shared_place){0};
}
