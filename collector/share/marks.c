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

#include "base/ban.h"

void marks_done(struct marks *m)
{
	intern_done(&m->streams);
	free(m->list);
	*m = (struct marks){0};
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
		     const char *from, struct buf *answer, struct err_text *err)
{
	char sql[256];

	answer->limit = CLICKHOUSE_ANSWER_MAX;
	snprintf(sql, sizeof(sql),
		 "SELECT %s FROM %s WHERE collector = %" PRIu64 " FORMAT RowBinary", what, from,
		 collector);
	return clickhouse_ask(client, shard, sql, answer, err);
}

/* Returns 1 if the shard has no stream of the collector, and there were some. */
static int marks_check(struct marks *m, struct clickhouse *client, size_t shard, uint64_t collector,
		       struct err_text *err)
{
	cleanup(buf_done) struct buf answer = {0};
	struct reader r;
	uint64_t count;
	int e = marks_ask(client, shard, collector, "count()", "streams_local", &answer, err);

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

int marks_read(struct marks *m, struct clickhouse *client, size_t shard, uint64_t collector,
	       struct err_text *err)
{
	cleanup(buf_done) struct buf answer = {0};
	int r;

	if (m->read)
		return marks_check(m, client, shard, collector, err);
	r = marks_ask(client, shard, collector,
		      "stream, last_ns, in_use_bytes, in_use_blocks, print, sent_to, done",
		      "streams_local FINAL", &answer, err);
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
