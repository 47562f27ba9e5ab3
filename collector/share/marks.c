/* How far streams have been sent. See marks.h. */
#include "collector/share/marks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	free(m->others);
	free(m->list);
	*m = (struct marks){0};
}

static int by_stream(const void *a, const void *b)
{
	const struct stream_part *x = a, *y = b;

	return memcmp(&x->stream, &y->stream, sizeof(x->stream));
}

const struct stream_part *marks_others(const struct marks *m, const struct stream_id *stream,
				       size_t *ret_count)
{
	const struct stream_part key = {.stream = *stream}, *end = m->others + m->other_count;
	const struct stream_part *found =
		m->other_count ? bsearch(&key, m->others, m->other_count, sizeof(key), by_stream)
			       : NULL;

	*ret_count = 0;
	if (!found)
		return NULL;
	while (found > m->others && !by_stream(found - 1, &key))
		found--;
	while (found + *ret_count < end && !by_stream(found + *ret_count, &key))
		++*ret_count;
	return found;
}

struct mark *marks_of(struct marks *m, const struct stream_id *stream)
{
	uint32_t number = intern_bytes(&m->streams, stream->bytes, sizeof(stream->bytes));

	if (!number ||
	    array_reserve(&m->list, &m->capacity, (uint64_t)number + 1, sizeof(*m->list)) < 0)
		return NULL;
	return &m->list[number];
}

static void get_position(struct reader *r, struct stream_position *ret)
{
	ret->incarnation = row_get_u32(r);
	ret->next = row_get_u64(r);
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
		mark.recording_bytes = row_get_u64(&r);
		mark.events = row_get_u64(&r);
		get_position(&r, &mark.first);
		get_position(&r, &mark.next);
		get_position(&r, &mark.bound);
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
	cleanup(buf_done) struct buf sql = {0};

	answer->limit = CLICKHOUSE_ANSWER_MAX;
	buf_printf(&sql,
		   "SELECT %s FROM streams_local WHERE collector %s %" PRIu64
		   " %s FORMAT RowBinary",
		   what, whose, collector, rest);
	return buf_text(&sql) ? clickhouse_ask(client, shard, buf_text(&sql), answer, err)
			      : -ENOMEM;
}

static int parse_others(struct marks *m, const struct buf *answer)
{
	struct reader r = reader_of(answer->data, answer->length);
	int e = 0;

	m->other_count = 0;
	while (!e && reader_more(&r)) {
		if (array_reserve(&m->others, &m->other_capacity, (uint64_t)m->other_count + 1,
				  sizeof(*m->others)) < 0)
			e = -ENOMEM;
		else
			e = stream_part_get(&r, &m->others[m->other_count++]);
	}
	if (e < 0)
		m->other_count = 0;
	else if (m->other_count)
		qsort(m->others, m->other_count, sizeof(*m->others), by_stream);
	return e;
}

/* `which`: a condition for streams. */
static int read_others(struct marks *m, struct clickhouse *client, size_t shard, uint64_t collector,
		       const char *which, struct err_text *err)
{
	cleanup(buf_done) struct buf answer = {0};
	char rest[256];
	int r;

	snprintf(rest, sizeof(rest), "%s GROUP BY stream, collector", which);
	r = marks_ask(client, shard, STREAM_PART_LATEST, "!=", collector, rest, &answer, err);
	if (!r)
		r = parse_others(m, &answer);
	return r == -EBADMSG ? err_set(err, r, "the shared store's list of streams is cut") : r;
}

/* Of the streams that several collectors have, which are few. */
static int read_shared(struct marks *m, struct clickhouse *client, size_t shard, uint64_t collector,
		       struct err_text *err)
{
	char which[128];

	m->others_complete = false;
	snprintf(which, sizeof(which),
		 "AND stream IN (SELECT stream FROM streams_local WHERE collector = %" PRIu64 ")",
		 collector);
	return read_others(m, client, shard, collector, which, err);
}

int marks_read_others(struct marks *m, struct clickhouse *client, size_t shard, uint64_t collector,
		      struct err_text *err)
{
	int r = m->others_complete ? 0 : read_others(m, client, shard, collector, "", err);

	m->others_complete |= !r;
	return r;
}

int marks_there(struct clickhouse *client, size_t shard, uint64_t collector, bool *ret_there,
		struct err_text *err)
{
	cleanup(buf_done) struct buf answer = {0};
	int r = marks_ask(client, shard, "collector", "=", collector, "LIMIT 1", &answer, err);

	*ret_there = answer.length;
	return r || *ret_there ? r : clickhouse_caught_up(client, shard, err);
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

static int read_own(struct marks *m, struct clickhouse *client, size_t shard, uint64_t collector,
		    struct err_text *err)
{
	cleanup(buf_done) struct buf answer = {0};
	int r = clickhouse_caught_up(client, shard, err);

	if (!r)
		r = marks_ask(client, shard,
			      "stream, argMax(last_ns, version), argMax(in_use_bytes, version), "
			      "argMax(in_use_blocks, version), argMax(print, version), "
			      "argMax(recording_bytes, version), argMax(events, version), "
			      "argMax(first_incarnation, version), argMax(first_batch, version), "
			      "argMax(incarnation, version), argMax(next_batch, version), "
			      "argMax(bound_incarnation, version), argMax(bound_batch, version), "
			      "argMax(sent_to, version), argMax(done, version)",
			      "=", collector, "GROUP BY stream", &answer, err);
	if (!r)
		r = clickhouse_caught_up(client, shard, err);
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

int marks_read(struct marks *m, struct clickhouse *client, size_t shard, uint64_t collector,
	       struct err_text *err)
{
	int result = m->read ? marks_check(m, client, shard, collector, err)
			     : read_own(m, client, shard, collector, err);
	int r = result < 0 ? result : read_shared(m, client, shard, collector, err);

	return r < 0 ? r : result;
}
