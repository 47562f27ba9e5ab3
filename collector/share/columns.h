#pragma once
/* The columns of the tables (collector/clickhouse/schema.h) in the order of the rows that we
 * write. */

/* `allocations` and `blocks` are in MINUTE_UNIT-ths; `blocks` and `bytes` are changes of what is in
 * use, and so is `variance` of their bytes. */
#define SUMS_COLUMNS                                                                               \
	"day, batch, collector, stream, minute, stack, allocations, allocated, blocks, bytes, "    \
	"base, variance"
#define STACKS_COLUMNS "stack, frames"
#define FRAMES_COLUMNS "frame, place, function, module, file, line, version"
/* The first rows of a snapshot are the members that are in it; the columns up to took_ns are the
 * same in all. */
#define SNAPSHOTS_COLUMNS                                                                          \
	"day, snapshot, collector, version, position, members, name, wall_ns, took_ns, member, "   \
	"host, executable, pid, build_id, is_missing, missing, member_wall_ns, mark, time_ns, "    \
	"clock_offset_ns, clock_error_ns, late, blocks, bytes, samples, blocks_error, "            \
	"bytes_error, "                                                                            \
	"incomplete"
/* part: it began at another collector. incarnation, next_batch: behind its last batch; first_...:
 * from there on it has all batches; bound_...: the sums end before it (parts.h).
 * sent_to: the minutes before it have been sent; done: all have. print: a hash of the other
 * columns. */
#define STREAMS_COLUMNS                                                                            \
	"day, stream, collector, version, name, executable, command_line, host, architecture, "    \
	"board, "                                                                                  \
	"cgroup, build, tags, incomplete, pid, start_wall_ns, last_ns, events, recording_bytes, "  \
	"in_use_bytes, in_use_blocks, state, is_snapshot, sent_to, done, print, part, "            \
	"incarnation, next_batch, first_incarnation, first_batch, bound_incarnation, bound_batch"
