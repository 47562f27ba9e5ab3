/* The tables about the process: `modules`, `threads`, `maps`, `map_usage`, `recording`. */
#include <stdio.h>
#include <string.h>

#include "collector/recording/info.h"
#include "collector/recording/recording.h"
#include "collector/recording/stream_id.h"
#include "collector/sql/facts.h"
#include "collector/sql/state.h"
#include "heapcast.pb-c.h"

#include "base/ban.h"

#define COLUMN(id, name, type, about) {name, type, about},

static void put_hex(sqlite3_context *out, const uint8_t *bytes, uint32_t length)
{
	char text[2 * 32 + 1];

	for (uint32_t i = 0; i < length && i < 32; i++)
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	if (length)
		sqlite3_result_text(out, text, -1, SQLITE_TRANSIENT);
}

/* ---- modules ---- */

#define MODULES(X)                                                                                 \
	X(MODULE, "module", "INTEGER", "number of the module")                                     \
	X(PATH, "path", "TEXT", "the program or library")                                          \
	X(BUILD_ID, "build_id", "TEXT", "hexadecimal digits")                                      \
	X(START, "start", "INTEGER", "its addresses: from")                                        \
	X(END, "end", "INTEGER", "to before")                                                      \
	X(BIAS, "bias", "INTEGER", "what is added to addresses of the file")                       \
	X(LOADED, "loaded_ns", "INTEGER", "when it was loaded")                                    \
	X(UNLOADED, "unloaded_ns", "INTEGER", "nothing: it was not")
#define ENUM(id, name, type, about) MODULES_##id,
enum { MODULES(ENUM) };
#undef ENUM
static const struct table_column modules_columns[] = {MODULES(COLUMN){0}};

static int begin_modules(struct table_cursor *c, struct err_text *err)
{
	(void)err;
	cursor_rows(c, 1, recording_modules(c->sql->recording));
	return 0;
}

static void put_modules(struct table_cursor *c, sqlite3_context *out, int column)
{
	const struct module_info *m = recording_module(c->sql->recording, (uint32_t)c->at);

	if (!m)
		return;
	switch (column) {
	case MODULES_MODULE:
		put_number(out, c->at);
		break;
	case MODULES_PATH:
		put_text(out, m->path);
		break;
	case MODULES_BUILD_ID:
		put_hex(out, m->build_id, m->build_id_length);
		break;
	case MODULES_START:
		put_number(out, m->start);
		break;
	case MODULES_END:
		put_number(out, m->end);
		break;
	case MODULES_BIAS:
		sqlite3_result_int64(out, (int64_t)m->bias); /* may be negative */
		break;
	case MODULES_LOADED:
		put_time(out, m->loaded_ns);
		break;
	case MODULES_UNLOADED:
		put_time(out, m->unloaded_ns);
		break;
	}
}

const struct table table_modules = {
	.name = "modules",
	.about = "a row a program or library whose code was seen",
	.columns = modules_columns,
	.key = MODULES_MODULE,
	.first_hidden = -1,
	.likely_rows = 50,
	.begin = begin_modules,
	.column = put_modules,
};

/* ---- threads ---- */

#define THREADS(X)                                                                                 \
	X(THREAD, "thread", "INTEGER", "number of the thread, as in allocations")                  \
	X(TID, "tid", "INTEGER", "the kernel's number")                                            \
	X(NAME, "name", "TEXT", "its name")                                                        \
	X(STARTED, "started_ns", "INTEGER", "first seen")                                          \
	X(ENDED, "ended_ns", "INTEGER", "nothing: it has not ended")                               \
	X(PRODUCED, "produced", "INTEGER", "events")                                               \
	X(STORED, "stored", "INTEGER", "of them in the recording")                                 \
	X(CULLED, "culled", "INTEGER", "of them in sums only")                                     \
	X(LOST, "lost", "INTEGER", "of them lost")
#define ENUM(id, name, type, about) THREADS_##id,
enum { THREADS(ENUM) };
#undef ENUM
static const struct table_column threads_columns[] = {THREADS(COLUMN){0}};

static int begin_threads(struct table_cursor *c, struct err_text *err)
{
	(void)err;
	cursor_rows(c, 1, recording_threads(c->sql->recording));
	return 0;
}

static void places_put_threads(struct table_cursor *c, sqlite3_context *out, int column)
{
	const struct thread_info *t = recording_thread(c->sql->recording, (uint32_t)c->at);

	if (!t)
		return;
	switch (column) {
	case THREADS_THREAD:
		put_number(out, c->at);
		break;
	case THREADS_TID:
		put_number(out, t->tid);
		break;
	case THREADS_NAME:
		put_text(out, t->name);
		break;
	case THREADS_STARTED:
		put_time(out, t->started_ns);
		break;
	case THREADS_ENDED:
		put_time(out, t->ended_ns);
		break;
	case THREADS_PRODUCED:
		put_number(out, t->produced);
		break;
	case THREADS_STORED:
		put_number(out, t->stored);
		break;
	case THREADS_CULLED:
		put_number(out, t->culled);
		break;
	case THREADS_LOST:
		put_number(out, t->lost);
		break;
	}
}

const struct table table_threads = {
	.name = "threads",
	.about = "a row a thread",
	.columns = threads_columns,
	.key = THREADS_THREAD,
	.first_hidden = -1,
	.likely_rows = 50,
	.begin = begin_threads,
	.column = places_put_threads,
};

/* ---- maps ---- */

#define MAPS(X)                                                                                    \
	X(MAP, "map", "INTEGER", "number of the mapping, as in allocations and /data/ID/maps")     \
	X(ADDRESS, "address", "INTEGER", "where it begins")                                        \
	X(SIZE, "size", "INTEGER", "bytes, as the call had it; without a call, as last seen")      \
	X(MAPPED, "mapped_ns", "INTEGER", "when the program mapped it, or it was first seen")      \
	X(UNMAPPED, "unmapped_ns", "INTEGER", "nothing: it is there")                              \
	X(NAME, "name", "TEXT", "file or kind: /usr/lib/..., [heap], [stack]")                     \
	X(READABLE, "readable", "INTEGER", "0 or 1; nothing: no reading showed it")                \
	X(WRITABLE, "writable", "INTEGER", "the same")                                             \
	X(EXECUTABLE, "executable", "INTEGER", "the same")                                         \
	X(SHARED, "shared", "INTEGER", "the same")                                                 \
	X(PEAK_RSS, "peak_rss", "INTEGER", "most bytes of it that were in memory")                 \
	X(FILE_OFFSET, "file_offset", "INTEGER", "where in the file it begins")                    \
	X(STACK, "stack", "INTEGER",                                                               \
	  "backtrace of the call that mapped it; nothing: none is known")                          \
	X(THREAD, "thread", "INTEGER", "thread of that call")                                      \
	X(END_STACK, "end_stack", "INTEGER", "backtrace of the call that unmapped it")
#define ENUM(id, name, type, about) MAPS_##id,
enum { MAPS(ENUM) };
#undef ENUM
static const struct table_column maps_columns[] = {MAPS(COLUMN){0}};

static int begin_maps(struct table_cursor *c, struct err_text *err)
{
	const struct mappings *mappings;
	int r = facts_mappings(c->sql, &mappings, err);

	if (r < 0)
		return r;
	c->work = (void *)(uintptr_t)mappings;
	if (mappings->count)
		cursor_rows(c, 0, mappings->count - 1);
	return 0;
}

static void put_flag(sqlite3_context *out, const struct mapping *m, uint32_t flag)
{
	if (m->seen)
		sqlite3_result_int(out, (m->look.flags & flag) != 0);
}

static void put_map_call(sqlite3_context *out, const struct mapping *m, int column)
{
	const struct other_event_info *call = column == MAPS_END_STACK ? m->end : m->source;

	if (call)
		put_number(out, column == MAPS_THREAD ? call->thread : call->stack);
}

static void put_map_more(sqlite3_context *out, const struct mapping *m, int column)
{
	switch (column) {
	case MAPS_READABLE:
		put_flag(out, m, HEAPCAST__MAP_FLAG__MAP_READABLE);
		break;
	case MAPS_WRITABLE:
		put_flag(out, m, HEAPCAST__MAP_FLAG__MAP_WRITABLE);
		break;
	case MAPS_EXECUTABLE:
		put_flag(out, m, HEAPCAST__MAP_FLAG__MAP_EXECUTABLE);
		break;
	case MAPS_SHARED:
		put_flag(out, m, HEAPCAST__MAP_FLAG__MAP_SHARED);
		break;
	case MAPS_PEAK_RSS:
		put_number(out, m->peak_rss);
		break;
	case MAPS_FILE_OFFSET:
		put_number(out, m->look.offset);
		break;
	default:
		put_map_call(out, m, column);
	}
}

static void put_maps(struct table_cursor *c, sqlite3_context *out, int column)
{
	const struct mappings *mappings = c->work;
	const struct mapping *m = &mappings->list[c->at];

	switch (column) {
	case MAPS_MAP:
		put_number(out, c->at);
		break;
	case MAPS_ADDRESS:
		put_number(out, m->address);
		break;
	case MAPS_SIZE:
		put_number(out, m->size);
		break;
	case MAPS_MAPPED:
		put_time(out, m->mapped_ns);
		break;
	case MAPS_UNMAPPED:
		put_time(out, m->unmapped_ns);
		break;
	case MAPS_NAME:
		put_text(out, m->look.name);
		break;
	default:
		put_map_more(out, m, column);
	}
}

const struct table table_maps = {
	.name = "maps",
	.about = "a row a mapping: what a call of the program mapped, and where maps were "
		 "gathered what else there was",
	.columns = maps_columns,
	.key = MAPS_MAP,
	.first_hidden = -1,
	.likely_rows = 500,
	.begin = begin_maps,
	.column = put_maps,
};

/* ---- map_usage ---- */

#define USAGE(X)                                                                                   \
	X(MAP, "map", "INTEGER", "number of the mapping")                                          \
	X(TIME, "time_ns", "INTEGER", "when it was read")                                          \
	X(SIZE, "size", "INTEGER", "bytes of it then")                                             \
	X(RSS, "rss", "INTEGER", "bytes in memory")                                                \
	X(PSS, "pss", "INTEGER", "its own share of them")                                          \
	X(SHARED_CLEAN, "shared_clean", "INTEGER", "of them shared, as the file has them")         \
	X(SHARED_DIRTY, "shared_dirty", "INTEGER", "shared, changed")                              \
	X(PRIVATE_CLEAN, "private_clean", "INTEGER", "private, as the file has them")              \
	X(PRIVATE_DIRTY, "private_dirty", "INTEGER", "private, changed")                           \
	X(ANONYMOUS, "anonymous", "INTEGER", "of no file")                                         \
	X(SWAP, "swap", "INTEGER", "swapped out")                                                  \
	X(ESTIMATED, "estimated", "INTEGER",                                                       \
	  "1: its part of a reading of several mappings that the kernel has joined")
#define ENUM(id, name, type, about) USAGE_##id,
enum { USAGE(ENUM) };
#undef ENUM
static const struct table_column usage_columns[] = {USAGE(COLUMN){0}};

static int begin_usage(struct table_cursor *c, struct err_text *err)
{
	const struct mappings *mappings;
	int r = facts_mappings(c->sql, &mappings, err);

	if (r < 0)
		return r;
	c->work = (void *)(uintptr_t)mappings;
	c->end = mappings->usage_count;
	return 0;
}

static void places_put_usage(struct table_cursor *c, sqlite3_context *out, int column)
{
	const struct mappings *mappings = c->work;
	const struct mapping_usage *u = &mappings->usage[c->at];
	const uint64_t kib[] = {u->usage.rss,		u->usage.pss,
				u->usage.shared_clean,	u->usage.shared_dirty,
				u->usage.private_clean, u->usage.private_dirty,
				u->usage.anonymous,	u->usage.swap};

	if (column == USAGE_MAP)
		put_number(out, u->mapping);
	else if (column == USAGE_TIME)
		put_number(out, u->time_ns);
	else if (column == USAGE_SIZE)
		put_number(out, u->size_bytes);
	else if (column == USAGE_ESTIMATED)
		sqlite3_result_int(out, u->estimated);
	else if (u->read)
		put_number(out, kib[column - USAGE_RSS] * 1024);
}

const struct table table_map_usage = {
	.name = "map_usage",
	.about = "a row a reading of a mapping's usage, where maps were gathered, else a change of "
		 "its size",
	.columns = usage_columns,
	.key = -1,
	.first_hidden = -1,
	.likely_rows = 10000,
	.begin = begin_usage,
	.column = places_put_usage,
};

/* ---- recording ---- */

#define RECORDING(X)                                                                               \
	X(ID, "id", "TEXT", "of the stream: 32 hexadecimal digits")                                \
	X(EXECUTABLE, "executable", "TEXT", "path of the program")                                 \
	X(COMMAND_LINE, "command_line", "TEXT", "its arguments")                                   \
	X(HOST, "host", "TEXT", "where it ran")                                                    \
	X(ARCHITECTURE, "architecture", "TEXT", "x86_64, aarch64...")                              \
	X(BOARD, "board", "TEXT", "the machine's model; empty: not known")                         \
	X(CGROUP, "cgroup", "TEXT", "path of the program's control group")                         \
	X(BUILD_ID, "build_id", "TEXT", "of the program's file, in hexadecimal digits")            \
	X(TAGS, "tags", "TEXT", "KEY=VALUE, separated by commas")                                  \
	X(BITS, "pointer_bits", "INTEGER", "how wide its addresses are: 32 or 64; 0: not known")   \
	X(PAGE, "page_size", "INTEGER", "bytes; 0: not known")                                     \
	X(PID, "pid", "INTEGER", "of the process")                                                 \
	X(START, "start_wall_ns", "INTEGER",                                                       \
	  "when it began, nanoseconds since 1970: other times count from here")                    \
	X(END, "end_ns", "INTEGER", "how long it is")                                              \
	X(ENDED, "ended", "INTEGER", "1: the program has ended")                                   \
	X(SAMPLE, "sample_interval", "INTEGER", "bytes, where it was sampled; 0: it was not")      \
	X(CULL, "cull_ns", "INTEGER",                                                              \
	  "short-lived blocks, which lived less than this, are in the sums of culled only")
#define ENUM(id, name, type, about) RECORDING_##id,
enum { RECORDING(ENUM) };
#undef ENUM
static const struct table_column recording_columns[] = {RECORDING(COLUMN){0}};

static int begin_recording(struct table_cursor *c, struct err_text *err)
{
	(void)err;
	c->end = 1;
	return 0;
}

static void put_process_number(struct table_cursor *c, sqlite3_context *out,
			       const struct process_info *p, int column)
{
	switch (column) {
	case RECORDING_PID:
		put_number(out, p->pid);
		break;
	case RECORDING_BITS:
		put_number(out, p->pointer_bits);
		break;
	case RECORDING_PAGE:
		put_number(out, p->page_size);
		break;
	case RECORDING_START:
		put_number(out, p->start_wall_ns);
		break;
	case RECORDING_END:
		put_number(out, recording_end_ns(c->sql->recording));
		break;
	case RECORDING_ENDED:
		sqlite3_result_int(out, p->ended);
		break;
	case RECORDING_SAMPLE:
		put_number(out, p->mode == HEAPCAST__MODE__MODE_SAMPLE ? p->sample_interval : 0);
		break;
	case RECORDING_CULL:
		put_number(out, p->cull_ns);
		break;
	}
}

static void put_recording(struct table_cursor *c, sqlite3_context *out, int column)
{
	const struct process_info *p = recording_process(c->sql->recording);
	char id[STREAM_ID_TEXT];

	switch (column) {
	case RECORDING_ID:
		sqlite3_result_text(out, stream_id_format(id, recording_id(c->sql->recording)), -1,
				    SQLITE_TRANSIENT);
		break;
	case RECORDING_EXECUTABLE:
		put_text(out, p->executable);
		break;
	case RECORDING_COMMAND_LINE:
		put_text(out, p->command_line);
		break;
	case RECORDING_HOST:
		put_text(out, p->host);
		break;
	case RECORDING_ARCHITECTURE:
		put_text(out, p->architecture);
		break;
	case RECORDING_BOARD:
		put_text(out, p->labels.board);
		break;
	case RECORDING_CGROUP:
		put_text(out, p->labels.cgroup);
		break;
	case RECORDING_BUILD_ID:
		put_text(out, p->labels.build);
		break;
	case RECORDING_TAGS:
		put_text(out, p->labels.tags);
		break;
	default:
		put_process_number(c, out, p, column);
	}
}

const struct table table_recording = {
	.name = "recording",
	.about = "one row: the process",
	.columns = recording_columns,
	.key = -1,
	.first_hidden = -1,
	.likely_rows = 1,
	.begin = begin_recording,
	.column = put_recording,
};
