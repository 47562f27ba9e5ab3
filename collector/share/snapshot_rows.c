/* A snapshot in the shared store. See snapshot_rows.h. */
#include "collector/share/snapshot_rows.h"

#include "collector/catalogue/snapshots.h"
#include "collector/clickhouse/row_binary.h"

#include "base/ban.h"

static void put_member(struct buf *rows, const struct snapshot_member *m)
{
	row_put_id(rows, m->stream.bytes);
	row_put_text(rows, m->host);
	row_put_text(rows, m->executable);
	row_put_u32(rows, m->pid);
	row_put_bytes(rows, m->build_id, m->build_id_length);
	row_put_u8(rows, m->missing != NULL);
	row_put_text(rows, m->missing);
	row_put_u64(rows, m->wall_ns);
	row_put_u64(rows, m->mark);
	row_put_u64(rows, m->time_ns);
	row_put_i64(rows, m->clock_offset_ns);
	row_put_u64(rows, m->clock_error_ns);
	row_put_u8(rows, m->late);
	row_put_u64(rows, m->blocks);
	row_put_u64(rows, m->bytes);
	row_put_u64(rows, m->samples);
	row_put_f64(rows, m->blocks_error);
	row_put_f64(rows, m->bytes_error);
	row_put_text(rows, m->incomplete);
}

void snapshot_rows_put(struct buf *rows, const struct snapshot *s, uint32_t day, uint64_t collector,
		       uint64_t version)
{
	for (size_t i = 0; i < s->count; i++) {
		row_put_day(rows, day);
		row_put_id(rows, s->stream.bytes);
		row_put_u64(rows, collector);
		row_put_u64(rows, version);
		row_put_u32(rows, (uint32_t)i);
		row_put_u32(rows, (uint32_t)s->count);
		row_put_text(rows, s->name);
		row_put_u64(rows, s->wall_ns);
		row_put_u64(rows, s->took_ns);
		put_member(rows, &s->members[i]);
	}
}
