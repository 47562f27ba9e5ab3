/*
 * The tables of the schema, step by step (schema.h). A step that was released is never changed: a
 * change is a new step of the next version. Types and engines are those that ClickHouse 18.16 and
 * today's releases share.
 */
#include "collector/clickhouse/schema.h"

#include "base/ban.h"

const struct schema_step schema_steps[] = {
	{1, "sums",
	 "day Date, batch UInt64, collector UInt64, stream FixedString(16), minute UInt32, "
	 "stack UInt64, allocations Int64, allocated Int64, blocks Int64, bytes Int64, "
	 "base UInt8",
	 NULL, "PARTITION BY toYYYYMMDD(day) ORDER BY (stream, minute, stack)", NULL},
	{1, "streams",
	 "day Date, stream FixedString(16), collector UInt64, version UInt64, name String, "
	 "executable String, command_line String, host String, architecture String, "
	 "board String, cgroup String, build String, tags String, incomplete String, pid UInt32, "
	 "start_wall_ns UInt64, last_ns UInt64, events UInt64, recording_bytes UInt64, "
	 "in_use_bytes Int64, in_use_blocks Int64, state UInt8, is_snapshot UInt8, "
	 "sent_to UInt32, done UInt8, print UInt64, part UInt8",
	 "version", "PARTITION BY toYYYYMMDD(day) ORDER BY (stream, collector)", NULL},
	{1, "kept", "first Date", "", "ORDER BY first", NULL},
	{1, "stacks", "stack UInt64, frames Array(UInt64)", "", "ORDER BY stack", NULL},
	{1, "frames",
	 "frame UInt64, place UInt32, function String, module String, file String, line UInt32, "
	 "version UInt64",
	 "version", "ORDER BY (frame, place)", NULL},
	{1, "collectors",
	 "collector UInt64, version UInt64, name String, address String, keep_days UInt32",
	 "version", "ORDER BY collector", NULL},
	{1, "snapshots",
	 "day Date, snapshot FixedString(16), collector UInt64, version UInt64, position UInt32, "
	 "members UInt32, name String, wall_ns UInt64, took_ns UInt64, member FixedString(16), "
	 "host String, executable String, pid UInt32, build_id String, is_missing UInt8, "
	 "missing String, member_wall_ns UInt64, mark UInt64, time_ns UInt64, "
	 "clock_offset_ns Int64, clock_error_ns UInt64, late UInt8, blocks UInt64, bytes UInt64, "
	 "samples UInt64, blocks_error Float64, bytes_error Float64",
	 "version", "PARTITION BY toYYYYMMDD(day) ORDER BY (snapshot, collector, position)", NULL},
	{.version = 2, .table = "streams", .add = "incarnation UInt32"},
	{.version = 2, .table = "streams", .add = "next_batch UInt64"},
	{.version = 2, .table = "streams", .add = "first_incarnation UInt32"},
	{.version = 2, .table = "streams", .add = "first_batch UInt64"},
	{.version = 2, .table = "streams", .add = "bound_incarnation UInt32"},
	{.version = 2, .table = "streams", .add = "bound_batch UInt64"},
	{.version = 3, .table = "snapshots", .add = "incomplete String"},
	{4, "levels",
	 "day Date, batch UInt64, collector UInt64, stream FixedString(16), minute UInt32, "
	 "stack UInt64, allocations Int64, allocated Int64, blocks Int64, bytes Int64, "
	 "base UInt8",
	 NULL, "PARTITION BY toYYYYMMDD(day) ORDER BY (minute, stream, stack)", NULL},
	{.version = 5, .table = "sums", .add = "variance Int64"},
	{.version = 5, .table = "levels", .add = "variance Int64"},
};
const size_t schema_step_count = sizeof(schema_steps) / sizeof(*schema_steps);
