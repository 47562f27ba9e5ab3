/* A stream's row. See stream_row.h. */
#include "collector/share/stream_row.h"

#include <xxhash.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "collector/clickhouse/row_binary.h"

#include "base/ban.h"

#define DAY_NS 86400000000000u

static void put_texts(struct buf *out, const struct stream_summary *s)
{
	const char *const texts[] = {
		s->name,	 s->executable,	   s->command_line, s->host,	    s->architecture,
		s->labels.board, s->labels.cgroup, s->labels.build, s->labels.tags, s->incomplete};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		row_put_text(out, texts[i]);
}

static void put_position(struct buf *out, struct stream_position position)
{
	row_put_u32(out, position.incarnation);
	row_put_u64(out, position.next);
}

static void put_figures(struct buf *out, const struct stream_summary *s, const struct mark *mark)
{
	row_put_u32(out, s->pid);
	row_put_u64(out, s->start_wall_ns);
	row_put_u64(out, mark->last_ns);
	row_put_u64(out, mark->bound.incarnation ? mark->events : s->events);
	row_put_u64(out, s->recording_bytes);
	row_put_i64(out, mark->bytes);
	row_put_i64(out, mark->units);
	row_put_u8(out, (uint8_t)s->state);
	row_put_u8(out, s->is_snapshot);
}

bool is_later_part(const struct stream_summary *s)
{
	return s->began_on && *s->began_on;
}

uint64_t stream_row_print(const struct stream_summary *s)
{
	cleanup(buf_done) struct buf row = {0};

	put_texts(&row, s);
	row_put_u8(&row, (uint8_t)s->state);
	/* While it is live, the row follows with its sums. */
	if (s->state != STREAM_LIVE)
		put_position(&row, s->position);
	return buf_error(&row) ? 0 : XXH3_64bits(row.data, row.length);
}

void stream_row_put(struct buf *rows, const struct stream_summary *s, uint64_t collector,
		    uint64_t version, const struct mark *mark)
{
	row_put_day(rows, (s->start_wall_ns + mark->last_ns) / DAY_NS);
	row_put_id(rows, s->id.bytes);
	row_put_u64(rows, collector);
	row_put_u64(rows, version);
	put_texts(rows, s);
	put_figures(rows, s, mark);
	row_put_u32(rows, mark->sent_to);
	row_put_u8(rows, mark->done);
	row_put_u64(rows, mark->print);
	row_put_u8(rows, is_later_part(s));
	put_position(rows, s->position);
	put_position(rows, mark->first);
	put_position(rows, mark->bound);
}
