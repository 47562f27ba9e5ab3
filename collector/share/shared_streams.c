/* Lists the streams of all collectors. See shared_streams.h. */
#include "collector/share/shared_streams.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "collector/catalogue/select.h"
#include "collector/catalogue/store.h"
#include "collector/clickhouse/client.h"
#include "collector/clickhouse/row_binary.h"
#include "collector/clickhouse/shards.h"
#include "collector/clickhouse/url.h"
#include "collector/query/minutes.h"
#include "collector/share/parts.h"

#include "base/ban.h"

#define TEXT_BYTES_MAX (1u << 20)

struct listing {
	struct stream_summary *list;
	uint64_t *owners;	   /* by stream */
	struct stream_part latest; /* of the last stream */
	uint32_t count, capacity, owners_capacity;
};

static char *get_text(struct reader *r)
{
	size_t length = 0;
	const char *bytes = row_get_bytes(r, TEXT_BYTES_MAX, &length);

	return strndup(bytes ? bytes : "", bytes ? length : 0);
}

static bool has_texts(const struct stream_summary *s)
{
	return s->name && s->executable && s->command_line && s->host && s->architecture &&
	       s->labels.board && s->labels.cgroup && s->labels.build && s->labels.tags &&
	       s->incomplete && s->began_on;
}

static void get_texts(struct reader *r, struct stream_summary *s)
{
	s->name = get_text(r);
	s->executable = get_text(r);
	s->command_line = get_text(r);
	s->host = get_text(r);
	s->architecture = get_text(r);
	s->labels.board = get_text(r);
	s->labels.cgroup = get_text(r);
	s->labels.build = get_text(r);
	s->labels.tags = get_text(r);
	s->incomplete = get_text(r);
	s->began_on = strdup("");
}

/* A stream that has moved may have freed more than one collector knows of. */
static uint64_t not_negative(int64_t value)
{
	return value > 0 ? (uint64_t)value : 0;
}

/* Rounded, as sums of estimates are elsewhere. */
static uint64_t whole_blocks(uint64_t units)
{
	return units / MINUTE_UNIT + (units % MINUTE_UNIT * 2 >= MINUTE_UNIT);
}

static int get_row(struct reader *r, struct stream_summary *s, struct stream_part *ret_part)
{
	uint8_t state;

	*s = (struct stream_summary){0};
	row_get_id(r, s->id.bytes);
	get_texts(r, s);
	s->pid = row_get_u32(r);
	s->start_wall_ns = row_get_u64(r);
	s->last_ns = row_get_u64(r);
	s->events = row_get_u64(r);
	s->recording_bytes = row_get_u64(r);
	s->in_use_bytes = not_negative(row_get_i64(r));
	s->in_use_blocks = whole_blocks(not_negative(row_get_i64(r)));
	state = row_get_u8(r);
	s->is_snapshot = row_get_u8(r);
	if (state > STREAM_INTERRUPTED || stream_part_get(r, ret_part) < 0)
		return -EBADMSG;
	s->state = state;
	return has_texts(s) ? 0 : -ENOMEM;
}

/* Takes what another collector has of the stream into the row of the one that has its end. */
static void join_rows(struct stream_summary *late, const struct stream_summary *early)
{
	uint64_t end = late->start_wall_ns + late->last_ns,
		 early_end = early->start_wall_ns + early->last_ns;

	if (early->start_wall_ns < late->start_wall_ns)
		late->start_wall_ns = early->start_wall_ns;
	late->last_ns = (end > early_end ? end : early_end) - late->start_wall_ns;
	late->events += early->events;
	late->recording_bytes += early->recording_bytes;
	late->in_use_bytes += early->in_use_bytes;
	late->in_use_blocks += early->in_use_blocks;
}

/* The last row joins the one before, of the same stream. */
static void join_last(struct listing *l, const struct stream_part *part)
{
	struct stream_summary *s = &l->list[l->count - 2];

	if (stream_part_is_later(part, &l->latest)) {
		struct stream_summary early = s[0];

		s[0] = s[1];
		s[1] = early;
		l->owners[l->count - 2] = part->collector;
		l->latest = *part;
	}
	join_rows(&s[0], &s[1]);
	store_list_drop(l->list, l->count - 1, l->count);
	l->count--;
}

static int add_row(struct listing *l, struct reader *r)
{
	struct stream_part part = {0};
	struct stream_summary *s;
	int e;

	if (array_reserve(&l->list, &l->capacity, (uint64_t)l->count + 1, sizeof(*l->list)) < 0 ||
	    array_reserve(&l->owners, &l->owners_capacity, (uint64_t)l->count + 1,
			  sizeof(*l->owners)) < 0)
		return -ENOMEM;
	s = &l->list[l->count++];
	e = get_row(r, s, &part);
	l->owners[l->count - 1] = part.collector;
	if (e < 0)
		return e;
	if (l->count > 1 && !memcmp(&s[-1].id, &s->id, sizeof(s->id)))
		join_last(l, &part);
	else
		l->latest = part;
	return 0;
}

static int read_rows(struct listing *l, const struct buf *answer)
{
	struct reader r = reader_of(answer->data, answer->length);
	int e = 0;

	while (!e && reader_more(&r))
		e = add_row(l, &r);
	return e ? e : reader_error(&r);
}

static void choose(struct listing *l, const struct selector *selector)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < l->count; i++) {
		struct stream_summary s = l->list[i];

		if (!selector_matches(selector, &s))
			continue;
		l->list[i] = l->list[kept];
		l->owners[kept] = l->owners[i];
		l->list[kept++] = s;
	}
	store_list_drop(l->list, kept, l->count);
	l->count = kept;
}

/*
 * Of rows of the same stream, the one that has the stream's end says what it is (parts.h). Without
 * FINAL, which takes memory by the number of days (marks.c). The same row may be there twice. All
 * of a stream is on one shard, which finds the last row by itself.
 */
static int listing_ask(struct clickhouse *client, const char *which, struct buf *answer,
		       struct err_text *err)
{
	cleanup(buf_done) struct buf sql = {0};

	buf_printf(&sql,
		   "SELECT stream, name, executable, command_line, host, architecture, board, "
		   "cgroup, build, tags, incomplete, pid, start_wall_ns, last_ns, events, "
		   "recording_bytes, in_use_bytes, in_use_blocks, state, "
		   "is_snapshot, " STREAM_PART_COLUMNS
		   " FROM streams WHERE %s AND (stream, collector, version) IN (SELECT "
		   "stream, collector, max(version) FROM `%s`.streams_local GROUP BY stream, "
		   "collector) ORDER BY stream, version LIMIT 1 BY stream, collector "
		   "FORMAT RowBinary",
		   which, clickhouse_url_of(client)->database);
	return buf_text(&sql)
		       ? clickhouse_ask(client, CLICKHOUSE_ANY_SHARD, buf_text(&sql), answer, err)
		       : -ENOMEM;
}

struct owned_stream {
	struct stream_summary s;
	uint64_t owner;
};

static int by_start(const void *a, const void *b)
{
	const struct owned_stream *x = a, *y = b;

	if (x->s.start_wall_ns != y->s.start_wall_ns)
		return x->s.start_wall_ns < y->s.start_wall_ns ? -1 : 1;
	return memcmp(&x->s.id, &y->s.id, sizeof(x->s.id));
}

static int sort_by_start(struct listing *l)
{
	cleanup(cleanup_free) struct owned_stream *sorted = calloc(l->count + 1u, sizeof(*sorted));

	if (!sorted)
		return -ENOMEM;
	for (uint32_t i = 0; i < l->count; i++)
		sorted[i] = (struct owned_stream){l->list[i], l->owners[i]};
	qsort(sorted, l->count, sizeof(*sorted), by_start);
	for (uint32_t i = 0; i < l->count; i++) {
		l->list[i] = sorted[i].s;
		l->owners[i] = sorted[i].owner;
	}
	return 0;
}

static void listing_done(struct listing *l)
{
	store_list_free(l->list, l->count);
	free(l->owners);
}

/* Lists the streams that `select` chooses of those for which `which` holds. */
static int listing_read(struct clickhouse *client, const char *select, const char *which,
			struct listing *l, struct err_text *err)
{
	cleanup(buf_done) struct buf answer = {.limit = CLICKHOUSE_ANSWER_MAX};
	struct selector *selector = NULL;
	int r = select ? selector_parse(select, &selector, err) : 0;

	if (!r)
		r = listing_ask(client, which, &answer, err);
	if (!r)
		r = read_rows(l, &answer);
	if (!r && selector)
		choose(l, selector);
	selector_free(selector);
	return r == -EBADMSG ? err_set(err, r, "the shared store's list of streams is cut") : r;
}

int shared_streams_owned(struct clickhouse *client, const char *select,
			 struct stream_summary **ret_list, uint64_t **ret_owners, size_t *ret_count,
			 struct err_text *err)
{
	struct listing l = {0};
	int r = listing_read(client, select, "sent_to > 0", &l, err);

	if (!r)
		r = sort_by_start(&l);
	if (r < 0) {
		listing_done(&l);
		return r;
	}
	*ret_list = l.list;
	*ret_owners = l.owners;
	*ret_count = l.count;
	return 0;
}

int shared_streams_waiting(struct clickhouse *client, const char *select, size_t *ret_count,
			   struct err_text *err)
{
	struct listing l = {0};
	int r = listing_read(client, select,
			     "sent_to = 0 AND is_snapshot = 0 AND stream GLOBAL NOT IN (SELECT "
			     "stream FROM streams WHERE sent_to > 0)",
			     &l, err);

	*ret_count = l.count;
	listing_done(&l);
	return r;
}

int shared_streams(struct clickhouse *client, const char *select, struct stream_summary **ret_list,
		   size_t *ret_count, struct err_text *err)
{
	uint64_t *owners = NULL;
	int r = shared_streams_owned(client, select, ret_list, &owners, ret_count, err);

	free(owners);
	return r;
}
