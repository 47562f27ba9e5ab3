/* Sends what is due of one stream. See send.h. */
#include "collector/share/send.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/catalogue/snapshots.h"
#include "collector/clickhouse/client.h"
#include "collector/clickhouse/row_binary.h"
#include "collector/clickhouse/shards.h"
#include "collector/clickhouse/upkeep.h"
#include "collector/query/minutes.h"
#include "collector/query/query.h"
#include "collector/recording/recording.h"
#include "collector/share/bounded.h"
#include "collector/share/due.h"
#include "collector/share/kept.h"
#include "collector/share/levels.h"
#include "collector/share/parts.h"
#include "collector/share/snapshot_rows.h"
#include "collector/sums/stack_ids.h"
#include "collector/share/stream_row.h"

#include "base/ban.h"

#define MINUTES_A_DAY  1440
#define MINUTES_A_HOUR 60
#define DAY_NS	       (MINUTES_A_DAY * (uint64_t)MINUTE_NS)
#define MINUTES_MAX    (10 * 366 * MINUTES_A_DAY) /* of one recording */
/* A day of so many rows may have too many sums for memory: it is sent by the hour. */
#define ROWS_A_DAY (4u << 20)
/* When so many rows wait in a lane, they are sent. */
#define LANE_ROWS 200000

DEFINE_CLEANUP(recording_close, struct recording *)
DEFINE_CLEANUP(view_free, struct view *)

/* A stream that is being sent. */
struct sent_stream {
	const struct sending *sending;
	const struct stream_summary *stream;
	struct recording *recording;
	struct view *view;
	struct stack_ids ids;
	struct filter filter;
	struct mark mark;
	struct levels levels;
	uint32_t first, end; /* minutes that are due */
	bool changed;	     /* the batch before which its sums end */
	bool again;    /* all that it has is compared with what was sent, and the difference sent */
	bool compares; /* `again`, or what is sent may be there already (lane.h) */
};

/* ---- rows ---- */

static uint32_t first_kept(const struct sent_stream *g)
{
	return g->sending->kept * MINUTES_A_DAY;
}

/* What is before the first day goes into its base rows. */
static uint32_t day_of(const struct sent_stream *g, uint32_t minute)
{
	uint32_t day = minute / MINUTES_A_DAY;

	return day > g->sending->kept ? day : g->sending->kept;
}

/* Base rows have the last minute before the first day, and say nothing of what was allocated. */
static void fold_base(const struct sent_stream *g, struct minutes *minutes)
{
	for (uint32_t i = 0; i < minutes->count; i++) {
		struct minute_sum *m = &minutes->list[i];

		if (m->minute >= first_kept(g))
			continue;
		m->minute = first_kept(g) - 1;
		m->allocated_units = m->allocated = 0;
	}
}

static void put_sum(struct buf *out, const struct sent_stream *g, uint64_t batch,
		    const struct minute_sum *m)
{
	row_put_day(out, day_of(g, m->minute));
	row_put_u64(out, batch);
	row_put_u64(out, g->sending->collector);
	row_put_id(out, g->stream->id.bytes);
	row_put_u32(out, m->minute);
	row_put_u64(out, m->stack);
	row_put_i64(out, m->allocated_units);
	row_put_i64(out, m->allocated);
	row_put_i64(out, m->units);
	row_put_i64(out, m->bytes);
	row_put_u8(out, m->minute < first_kept(g));
	row_put_i64(out, m->variance);
}

/* What the stream's row says is in use: of all minutes, also if only the difference to what is
 * there is put. Sums of a foreign recording may overflow, and wrap around. */
static void add_up(struct sent_stream *g, const struct minute_sum *m)
{
	(void)__builtin_add_overflow(g->mark.bytes, m->bytes, &g->mark.bytes);
	(void)__builtin_add_overflow(g->mark.units, m->units, &g->mark.units);
}

static int put_row(struct sent_stream *g, enum shipment_kind kind, const struct minute_sum *m)
{
	struct lane *lane = g->sending->lane;
	struct shipment_part *part =
		shipment_part(&lane->shipment, kind, lane->shard, day_of(g, m->minute));

	if (!part)
		return -ENOMEM;
	put_sum(&part->data, g, part->batch, m);
	shipment_row(&lane->shipment, part);
	return buf_error(&part->data);
}

static uint64_t next_version(const struct sending *sending)
{
	struct timespec now;
	uint64_t ns;

	clock_gettime(CLOCK_REALTIME, &now);
	ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	*sending->version = ns > *sending->version ? ns : *sending->version + 1;
	return *sending->version;
}

/* The members of a snapshot precede the row that says that all of it was sent. */
static int put_snapshot(const struct sent_stream *g, struct err_text *err)
{
	cleanup(snapshot_done) struct snapshot snapshot = {0};
	struct lane *lane = g->sending->lane;
	uint32_t day = (uint32_t)((g->stream->start_wall_ns + g->stream->last_ns) / DAY_NS);
	struct shipment_part *part;
	int r = store_snapshot_of(g->sending->store, &g->stream->id, &snapshot, err);

	if (r < 0)
		return r;
	part = shipment_part(&lane->shipment, SHIPMENT_SNAPSHOTS, lane->shard, day);
	if (!part)
		return -ENOMEM;
	snapshot_rows_put(&part->data, &snapshot, day, g->sending->collector,
			  next_version(g->sending));
	for (size_t i = 0; i < snapshot.count; i++)
		shipment_row(&lane->shipment, part);
	return buf_error(&part->data);
}

/* The stream's row says how far its sums have come, and follows them. */
static int put_stream(struct sent_stream *g)
{
	struct lane *lane = g->sending->lane;
	struct shipment_part *part =
		shipment_part(&lane->shipment, SHIPMENT_STREAMS, lane->shard, 0);
	struct mark *mark = marks_of(&lane->marks, &g->stream->id);

	if (!part || !mark)
		return -ENOMEM;
	g->mark.next = g->stream->position;
	g->mark.recording_bytes = g->stream->recording_bytes;
	stream_row_put(&part->data, g->stream, g->sending->collector, next_version(g->sending),
		       &g->mark);
	shipment_row(&lane->shipment, part);
	*mark = g->mark;
	return buf_error(&part->data);
}

/* What the stream's row says after the minutes before `end` were sent. */
static void move_mark(struct sent_stream *g, uint32_t end)
{
	uint64_t to = minute_start_ns(end), start = g->stream->start_wall_ns;
	bool live = g->stream->state == STREAM_LIVE;

	g->mark.sent_to = end;
	g->mark.done = !live && end == g->end;
	g->mark.last_ns = to > start ? to - start : 0;
	if (g->mark.done || g->mark.last_ns > g->stream->last_ns)
		g->mark.last_ns = g->stream->last_ns;
	g->mark.print = stream_row_print(g->stream);
}

/* What is long is sent in parts. With `row`, the stream's row follows, up to minute `end`. While
 * all is compared, it must not say that less was sent than before; and between minutes that are
 * compared, what is in use is added up further. */
static int send_full(struct sent_stream *g, uint32_t end, bool row)
{
	struct lane *lane = g->sending->lane;
	int r = 0;

	if (lane->shipment.rows < LANE_ROWS)
		return 0;
	if (row) {
		move_mark(g, end);
		r = put_stream(g);
	}
	return r ? r : lane_send(lane);
}

/* Puts the levels up to a minute, from *at on. */
static int put_levels(struct sent_stream *g, const struct minutes *levels, uint32_t minute,
		      uint32_t *at)
{
	int r = 0;

	while (!r && *at < levels->count && levels->list[*at].minute <= minute)
		r = put_row(g, SHIPMENT_LEVELS, &levels->list[(*at)++]);
	return r;
}

/* Puts sums and levels up to minute `end`. Where the stream's row follows in between, it says of
 * both how far they have come. */
static int put_minutes(struct sent_stream *g, const struct minutes *minutes,
		       const struct minutes *levels, uint32_t end)
{
	uint32_t at = 0;
	int r = 0;

	for (uint32_t i = 0; !r && i < minutes->count; i++) {
		const struct minute_sum *m = &minutes->list[i];
		bool next_minute = i + 1 < minutes->count && m[1].minute != m->minute;

		r = put_row(g, SHIPMENT_SUMS, m);
		if (!r && !g->compares)
			add_up(g, m);
		if (!r && next_minute)
			r = put_levels(g, levels, m->minute + 1, &at);
		if (!r && next_minute)
			r = send_full(g, m->minute + 1, !g->compares);
	}
	return r ? r : put_levels(g, levels, end, &at);
}

/* ---- what was sent before ---- */

static int parse_sent(const struct buf *answer, struct minutes *ret)
{
	struct reader r = reader_of(answer->data, answer->length);
	int e = 0;

	while (!e && reader_more(&r)) {
		struct minute_sum sum = {.minute = row_get_u32(&r)};

		sum.stack = row_get_u64(&r);
		sum.allocated_units = row_get_i64(&r);
		sum.allocated = row_get_i64(&r);
		sum.units = row_get_i64(&r);
		sum.bytes = row_get_i64(&r);
		sum.variance = row_get_i64(&r);
		e = reader_error(&r) ? reader_error(&r) : minutes_add(ret, &sum);
	}
	return e;
}

static int read_sent(const struct sent_stream *g, const char *table, uint32_t first, uint32_t end,
		     struct minutes *ret, struct err_text *err)
{
	cleanup(buf_done) struct buf answer = {.limit = CLICKHOUSE_ANSWER_MAX};
	cleanup(buf_done) struct buf sql = {0};
	struct lane *lane = g->sending->lane;
	char id[STREAM_ID_TEXT];
	int r;

	/* By the day, too: other partitions are not looked at. */
	buf_printf(&sql,
		   "SELECT minute, stack, sum(allocations), sum(allocated), sum(blocks), "
		   "sum(bytes), sum(variance) FROM %s_local WHERE stream = "
		   "toFixedString(unhex('%s'), 16) AND "
		   "collector = %" PRIu64 " AND minute >= %u AND minute < %u AND "
		   "day >= toDate(%u) AND day <= toDate(%u)",
		   table, stream_id_format(id, &g->stream->id), g->sending->collector, first, end,
		   day_of(g, first), day_of(g, end - 1));
	kept_put(&sql, g->sending->kept);
	buf_string(&sql, " GROUP BY minute, stack FORMAT RowBinary");
	if (!buf_text(&sql))
		return -ENOMEM;
	r = clickhouse_caught_up(lane->client, lane->shard, err);
	if (!r)
		r = clickhouse_ask(lane->client, lane->shard, buf_text(&sql), &answer, err);
	if (!r)
		r = clickhouse_caught_up(lane->client, lane->shard, err);
	if (r < 0)
		return lane_failed(lane, r, err);
	r = parse_sent(&answer, ret);
	return r == -EBADMSG ? err_set(err, r, "the shared store's sums are cut") : r;
}

/* Asks up to which minute sums of a stream are there, or in a level, from the one on that its mark
 * says. */
static int ask_arrived(const struct sent_stream *g, uint32_t *ret_to, struct err_text *err)
{
	cleanup(buf_done) struct buf answer = {.limit = 64};
	char id[STREAM_ID_TEXT], of_stream[128], sql[512];
	struct lane *lane = g->sending->lane;
	struct reader reader;
	int r;

	snprintf(of_stream, sizeof(of_stream),
		 "stream = toFixedString(unhex('%s'), 16) AND collector = %" PRIu64,
		 stream_id_format(id, &g->stream->id), g->sending->collector);
	snprintf(sql, sizeof(sql),
		 "SELECT toUInt32(max(t)) FROM (SELECT toUInt64(if(count() = 0, 0, max(minute) + "
		 "1)) AS t FROM sums_local WHERE %s AND minute >= %u UNION ALL SELECT "
		 "toUInt64(if(count() = 0, 0, max(minute))) AS t FROM levels_local WHERE %s AND "
		 "minute > %u) FORMAT RowBinary",
		 of_stream, g->mark.sent_to, of_stream, g->mark.sent_to);
	r = clickhouse_caught_up(lane->client, lane->shard, err);
	if (!r)
		r = clickhouse_ask(lane->client, lane->shard, sql, &answer, err);
	if (!r)
		r = clickhouse_caught_up(lane->client, lane->shard, err);
	if (r < 0)
		return lane_failed(lane, r, err);
	reader = reader_of(answer.data, answer.length);
	*ret_to = row_get_u32(&reader);
	return reader_error(&reader) ? err_set(err, -EBADMSG, "the shared store's sums are cut")
				     : 0;
}

/* Where the lane is in doubt, what is there of the stream is asked once. */
static int settle_doubt(struct sent_stream *g, struct err_text *err)
{
	int r = 0;

	if (!g->sending->lane->in_doubt)
		return 0;
	if (!g->mark.asked)
		r = ask_arrived(g, &g->mark.arrived_to, err);
	g->mark.asked = !r;
	g->compares |= g->mark.arrived_to > g->first;
	return r;
}

/* ---- the stream ---- */

/* Adds the meaning of each backtrace, and puts its shared number in the place of its node. */
static int name_stacks(const struct sent_stream *g, struct minutes *minutes)
{
	int r = 0;

	for (uint32_t i = 0; !r && i < minutes->count; i++) {
		uint32_t node = (uint32_t)minutes->list[i].stack;

		r = dictionary_add(&g->sending->lane->dictionary, g->view, &g->ids, node);
		minutes->list[i].stack = stack_id_of(&g->ids, node);
	}
	return r;
}

static int read_minutes(struct sent_stream *g, uint32_t first, uint32_t end, struct minutes *ret,
			struct err_text *err)
{
	int r = 0;

	if (g->view)
		r = query_minutes(g->view, &g->filter, g->stream->start_wall_ns, first, end, ret,
				  err);
	if (!r && g->view && !g->ids.count)
		r = stack_ids_init(&g->ids, g->view);
	return r ? r : name_stacks(g, ret);
}

static uint32_t chunk_end(const struct sent_stream *g, uint32_t from, uint32_t end)
{
	bool large = g->recording && recording_rows(g->recording) > ROWS_A_DAY;
	uint32_t chunk = large ? MINUTES_A_HOUR : MINUTES_A_DAY;
	uint64_t next = ((uint64_t)from / chunk + 1) * chunk;

	if (from < first_kept(g))
		next = first_kept(g);
	return next < end ? (uint32_t)next : end;
}

/* What is in use before a minute is not remembered from one pass to the next: once an hour the
 * recording is read from its beginning. */
static int read_levels_before(struct sent_stream *g, uint32_t end, struct err_text *err)
{
	int r = 0;

	for (uint32_t from = stream_first_minute(g->stream); !r && from < end;) {
		cleanup(minutes_done) struct minutes minutes = {0};
		uint32_t to = chunk_end(g, from, end);

		r = read_minutes(g, from, to, &minutes, err);
		if (!r)
			r = levels_add(&g->levels, &minutes, from, to, 0, NULL);
		from = to;
	}
	g->levels.to = end;
	return r;
}

/* Makes the levels behind `first`, up to `end`, whose sums these are; or what they lack of them
 * there. */
static int make_levels(struct sent_stream *g, const struct minutes *minutes, uint32_t first,
		       uint32_t end, struct minutes *ret, struct err_text *err)
{
	cleanup(minutes_done) struct minutes before = {0};
	bool begins = first == stream_first_minute(g->stream);
	int r = 0;

	if (g->stream->is_snapshot ||
	    (!begins && g->levels.to != first && !levels_between(first, end)))
		return 0;
	if (!begins && g->levels.to != first)
		r = read_levels_before(g, first, err);
	if (!r)
		r = levels_add(&g->levels, minutes, first, end, first_kept(g), ret);
	if (!r && (g->compares || g->sending->lane->in_doubt))
		r = read_sent(g, "levels", first + 1, end + 1, &before, err);
	if (!r)
		r = minutes_subtract(ret, &before);
	minutes_sort(ret);
	return r;
}

static int send_minutes(struct sent_stream *g, uint32_t first, uint32_t end, struct err_text *err)
{
	cleanup(minutes_done) struct minutes minutes = {0}, before = {0}, levels = {0};
	int r = read_minutes(g, first, end, &minutes, err);

	if (!r)
		r = make_levels(g, &minutes, first, end, &levels, err);
	if (!r)
		fold_base(g, &minutes);
	for (uint32_t i = 0; !r && g->compares && i < minutes.count; i++)
		add_up(g, &minutes.list[i]);
	if (!r && g->compares)
		r = read_sent(g, "sums", first, end, &before, err);
	if (!r)
		r = minutes_subtract(&minutes, &before);
	if (r < 0)
		return r;
	minutes_sort(&minutes);
	return put_minutes(g, &minutes, &levels, end);
}

/* The row that follows the last sums, also if more of them can't be read. */
static int end_chunks(struct sent_stream *g, int result, struct err_text *err)
{
	int r = 0;

	if (g->sending->lane->error)
		return result;
	if (!result && g->mark.done && g->stream->is_snapshot)
		r = put_snapshot(g, err);
	if (r < 0)
		g->mark.done = false;
	result = result ? result : r;
	r = put_stream(g);
	return result ? result : r;
}

static int send_chunks(struct sent_stream *g, struct err_text *err)
{
	bool moved = false;
	int r = 0;

	for (uint32_t from = g->first; !r && from < g->end;) {
		uint32_t end = chunk_end(g, from, g->end);

		r = send_minutes(g, from, end, err);
		if (!r && (!g->again || end == g->end)) {
			move_mark(g, end);
			moved = true;
		}
		if (!r && end < g->end)
			r = send_full(g, end, !g->again);
		from = end;
	}
	return moved ? end_chunks(g, r, err) : r;
}

/* Finds the minutes that are due. */
static int find_minutes(struct sent_stream *g, struct err_text *err)
{
	uint64_t start = g->stream->start_wall_ns;

	if (g->stream->state == STREAM_LIVE) {
		uint64_t watermark = g->recording ? recording_watermark_ns(g->recording) : 0;

		if (watermark > g->stream->last_ns)
			watermark = g->stream->last_ns;
		g->end = minute_of(start + watermark);
		g->again = g->mark.sent_to && g->changed;
	} else {
		g->end = minute_of(start + g->stream->last_ns) + 1;
		g->again = g->mark.sent_to;
	}
	if (g->again && g->end < g->mark.sent_to)
		g->end = g->mark.sent_to;
	g->first = g->mark.sent_to && !g->again ? g->mark.sent_to : stream_first_minute(g->stream);
	if (g->first > g->end)
		g->first = g->end;
	if (g->again) /* all is added up anew */
		g->mark.bytes = g->mark.units = 0;
	g->compares = g->again;
	if (g->end - g->first > MINUTES_MAX)
		return err_set(err, -EINVAL, "it says that it took longer than ten years");
	return settle_doubt(g, err);
}

/* Puts the beginning of the recording in its place. */
static int open_beginning(struct sent_stream *g, const char *path, struct err_text *err)
{
	cleanup(cleanup_free) char *copy = NULL;
	uint64_t bytes;
	int r;

	recording_close(g->recording);
	g->recording = NULL;
	g->mark.events = 0;
	if (asprintf(&copy, "%s/beginning", g->sending->folder) < 0) {
		copy = NULL;
		return -ENOMEM;
	}
	r = bounded_copy(path, copy, g->mark.bound, &bytes, err);
	if (!r && bytes)
		r = recording_open(copy, NULL, NULL, &g->recording, err);
	if (!r && bytes)
		g->mark.events = recording_ledger(g->recording)->stored;
	unlink(copy);
	return r;
}

/* Opens what counts of the recording; nothing, if nothing does. */
static int open_recording(struct sent_stream *g, struct err_text *err)
{
	cleanup(cleanup_free) char *path = stream_recording_path(g->sending->store, &g->stream->id);
	const struct marks *marks = &g->sending->lane->marks;
	bool search = g->stream->state != STREAM_LIVE && stream_has_others(g->stream, marks);
	struct stream_position bound;
	int r = path ? recording_open(path, NULL, NULL, &g->recording, err) : -ENOMEM;

	if (!r)
		r = bounded_first(g->recording, search, &g->mark.first, err);
	if (r < 0)
		return r;
	bound = stream_bound(g->stream, &g->mark, marks, g->sending->collector);
	g->changed = position_compare(bound, g->mark.bound) != 0;
	g->mark.bound = bound;
	return bound.incarnation ? open_beginning(g, path, err) : 0;
}

static int read_and_send(struct sent_stream *g, struct err_text *err)
{
	int r = open_recording(g, err);

	if (!r && g->recording)
		r = view_new(g->recording, g->sending->symbols, &g->view, err);
	if (r < 0)
		return r;
	filter_init(&g->filter);
	g->filter.cancel.asked = g->sending->stopped;
	r = find_minutes(g, err);
	return r ? r : send_chunks(g, err);
}

int stream_send(const struct sending *sending, const struct stream_summary *stream,
		struct err_text *err)
{
	struct mark *mark = marks_of(&sending->lane->marks, &stream->id);
	struct sent_stream g = {.sending = sending, .stream = stream};
	bool sums;
	int r = 0;

	if (!mark)
		return -ENOMEM;
	g.mark = *mark;
	sums = stream_sums_are_due(stream, mark, &sending->lane->marks, sending->collector);
	if (sums)
		r = read_and_send(&g, err);
	if (!r && (!sums || g.first == g.end)) {
		g.mark.print = stream_row_print(stream);
		r = put_stream(&g);
	}
	view_free(g.view);
	recording_close(g.recording);
	stack_ids_done(&g.ids);
	levels_done(&g.levels);
	return r;
}
