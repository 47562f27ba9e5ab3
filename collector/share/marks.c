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
#include "collector/share/caught_up.h"

#include "base/ban.h"

void marks_done(struct marks *m)
{
	intern_done(&m->streams);
	intern_done(&m->foreign);
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
		struct mark mark = {0}, *place;

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

/*
 * The highest version of a row counts. FINAL would read all parts of the table side by side, with
 * a megabyte for each part and column: years of days are hundreds of parts.
 */
static int marks_ask(struct clickhouse *client, size_t shard, const char *what, const char *whose,
		     uint64_t collector, const char *rest, struct buf *answer, struct err_text *err)
{
	char sql[512];

	answer->limit = CLICKHOUSE_ANSWER_MAX;
	snprintf(sql, sizeof(sql),
		 "SELECT %s FROM streams_local WHERE collector %s %" PRIu64 " %s FORMAT RowBinary",
		 what, whose, collector, rest);
	return clickhouse_ask(client, shard, sql, answer, err);
}

static int read_foreign(struct marks *m, struct clickhouse *client, size_t shard,
			uint64_t collector, struct err_text *err)
{
	cleanup(buf_done) struct buf answer = {0};
	struct reader r;
	int e = marks_ask(client, shard, "DISTINCT stream", "!=", collector, "AND part = 0",
			  &answer, err);

	if (e < 0)
		return e;
	intern_done(&m->foreign);
	r = reader_of(answer.data, answer.length);
	while (reader_more(&r)) {
		uint8_t stream[ROW_ID_SIZE];

		row_get_id(&r, stream);
		if (!reader_error(&r) && !intern_bytes(&m->foreign, stream, sizeof(stream)))
			return -ENOMEM;
	}
	if (reader_error(&r))
		return err_set(err, -EBADMSG, "the shared store's list of streams is cut");
	m->foreign_read = true;
	return 0;
}

bool marks_is_foreign(const struct marks *m, const struct stream_id *stream)
{
	return intern_find(&m->foreign, stream->bytes, sizeof(stream->bytes));
}

int marks_foreign(struct marks *m, struct clickhouse *client, size_t shard, uint64_t collector,
		  const struct stream_id *stream, bool *ret_foreign, struct err_text *err)
{
	int r = m->foreign_read ? 0 : read_foreign(m, client, shard, collector, err);

	*ret_foreign = !r && marks_is_foreign(m, stream);
	return r;
}

int marks_there(struct clickhouse *client, size_t shard, uint64_t collector, bool *ret_there,
		struct err_text *err)
{
	cleanup(buf_done) struct buf answer = {0};
	int r = marks_ask(client, shard, "collector", "=", collector, "LIMIT 1", &answer, err);

	*ret_there = answer.length;
	return r || *ret_there ? r : caught_up(client, shard, err);
}

/* Returns 1 if the shard has no stream of the collector, and there were some. */
static int marks_check(struct marks *m, struct clickhouse *client, size_t shard, uint64_t collector,
		       struct err_text *err)
{
	bool there;
	int r = m->streams.count ? marks_there(client, shard, collector, &there, err) : 0;

	if (r < 0 || !m->streams.count || there)
		return r;
	marks_done(m);
	m->read = true;
	return 1;
}

int marks_read(struct marks *m, struct clickhouse *client, size_t shard, uint64_t collector,
	       struct err_text *err)
{
	cleanup(buf_done) struct buf answer = {0};
	int r;

	m->foreign_read = false;
	if (m->read)
		return marks_check(m, client, shard, collector, err);
	r = caught_up(client, shard, err);
	if (!r)
		r = marks_ask(client, shard,
			      "stream, argMax(last_ns, version), argMax(in_use_bytes, version), "
			      "argMax(in_use_blocks, version), argMax(print, version), "
			      "argMax(sent_to, version), argMax(done, version)",
			      "=", collector, "GROUP BY stream", &answer, err);
	if (!r)
		r = caught_up(client, shard, err);
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
