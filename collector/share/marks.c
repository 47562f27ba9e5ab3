/* How far streams have been sent. See marks.h. */
#include "collector/share/marks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "collector/clickhouse/client.h"
#include "collector/clickhouse/row_binary.h"
#include "collector/clickhouse/shards.h"
#include "collector/clickhouse/upkeep.h"

#include "base/ban.h"

void marks_done(struct marks *m)
{
	intern_done(&m->streams);
	intern_done(&m->foreign);
	free(m->list);
	*m = (struct marks){0};
}

bool marks_foreign(const struct marks *m, const struct stream_id *stream)
{
	return intern_find(&m->foreign, stream->bytes, sizeof(stream->bytes));
}

struct mark *marks_of(struct marks *m, const struct stream_id *stream)
{
	uint32_t number = intern_bytes(&m->streams, stream->bytes, sizeof(stream->bytes));

	if (!number ||
	    array_reserve(&m->list, &m->capacity, (uint64_t)number + 1, sizeof(*m->list)) < 0)
		return NULL;
	return &m->list[number];
}

static int marks_parse(struct marks *m, const struct buf *answer)
{
	struct reader r = reader_of(answer->data, answer->length);

	while (reader_more(&r)) {
		struct stream_id stream;
		struct mark mark, *place;

		row_get_id(&r, stream.bytes);
		mark.last_ns = row_get_u64(&r);
		mark.bytes = row_get_i64(&r);
		mark.units = row_get_i64(&r);
		mark.print = row_get_u64(&r);
		mark.sent_to = row_get_u32(&r);
		mark.done = row_get_u8(&r);
		if (reader_error(&r))
			return -EBADMSG;
		place = marks_of(m, &stream);
		if (!place)
			return -ENOMEM;
		*place = mark;
	}
	return reader_error(&r);
}

static int marks_ask(struct clickhouse *client, size_t shard, uint64_t collector, const char *what,
		     const char *whose, struct buf *answer, struct err_text *err)
{
	char sql[256];

	answer->limit = CLICKHOUSE_ANSWER_MAX;
	snprintf(sql, sizeof(sql),
		 "SELECT %s FROM streams_local FINAL WHERE collector %s %" PRIu64
		 " FORMAT RowBinary",
		 what, whose, collector);
	return clickhouse_ask(client, shard, sql, answer, err);
}

static int read_foreign(struct marks *m, struct clickhouse *client, size_t shard,
			uint64_t collector, struct err_text *err)
{
	cleanup(buf_done) struct buf answer = {0};
	struct reader r;
	int e = marks_ask(client, shard, collector, "stream, part", "!=", &answer, err);

	if (e < 0)
		return e;
	intern_done(&m->foreign);
	r = reader_of(answer.data, answer.length);
	while (reader_more(&r)) {
		uint8_t stream[ROW_ID_SIZE];

		row_get_id(&r, stream);
		if (!row_get_u8(&r) && !reader_error(&r) &&
		    !intern_bytes(&m->foreign, stream, sizeof(stream)))
			return -ENOMEM;
	}
	return reader_error(&r)
		       ? err_set(err, -EBADMSG, "the shared store's list of streams is cut")
		       : 0;
}

/* Returns 1 if the shard has no stream of the collector, and there were some. */
static int marks_check(struct marks *m, struct clickhouse *client, size_t shard, uint64_t collector,
		       struct err_text *err)
{
	cleanup(buf_done) struct buf answer = {0};
	struct reader r;
	uint64_t count;
	int e = marks_ask(client, shard, collector, "count()", "=", &answer, err);

	if (e < 0)
		return e;
	r = reader_of(answer.data, answer.length);
	count = row_get_u64(&r);
	if (reader_error(&r))
		return err_set(err, -EBADMSG, "the shared store gave no number of streams");
	if (count || !m->streams.count)
		return 0;
	marks_done(m);
	m->read = true;
	return 1;
}

/* A replica that has not got all rows yet would say that less was sent than was. */
static int check_replica(struct clickhouse *client, size_t shard, struct err_text *err)
{
	bool behind = false;
	int r = clickhouse_behind(client, shard, &behind, err);

	if (r < 0 || !behind)
		return r;
	return err_set(err, -EAGAIN, "a replica of shard %zu has not caught up with the others yet",
		       shard + 1);
}

int marks_read(struct marks *m, struct clickhouse *client, size_t shard, uint64_t collector,
	       struct err_text *err)
{
	cleanup(buf_done) struct buf answer = {0};
	int r;

	r = read_foreign(m, client, shard, collector, err);
	if (r < 0 || m->read)
		return r ? r : marks_check(m, client, shard, collector, err);
	r = check_replica(client, shard, err);
	if (!r)
		r = marks_ask(client, shard, collector,
			      "stream, last_ns, in_use_bytes, in_use_blocks, print, sent_to, done",
			      "=", &answer, err);
	if (!r)
		r = check_replica(client, shard, err);
	if (!r)
		r = marks_parse(m, &answer);
	if (r < 0) {
		marks_done(m);
		return r == -EBADMSG ? err_set(err, r, "the shared store's list of streams is cut")
				     : r;
	}
	m->read = true;
	return 0;
}
