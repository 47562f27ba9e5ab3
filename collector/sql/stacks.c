/* The tables `stacks`, with one row per backtrace and its sums, and `frames`, with one row per
 * frame. */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "proto/stack_columns.h"
#include "collector/recording/recording.h"
#include "collector/query/hidden.h"
#include "collector/sql/facts.h"
#include "collector/sql/state.h"
#include "collector/sql/stack_text.h"

#include "base/ban.h"

/* ---- stacks ---- */

#define STACKS(X)                                                                                  \
	X(STACK, "stack", "INTEGER", "number of the backtrace; 0: those that have none")           \
	X(DEPTH, "depth", "INTEGER", "frames, inlined ones not counted")                           \
	X(TEXT_, "text", "TEXT", "its functions, the outermost first, with ; between them")        \
	X(FUNCTION, "function", "TEXT",                                                            \
	  "call site: the innermost function that is not an allocator's own")                      \
	X(FILE_, "file", "TEXT", "source file of the call site")                                   \
	X(LINE, "line", "INTEGER", "line in it")                                                   \
	X(MODULE, "module", "TEXT", "path of the program or library of the call site")             \
	X(ALLOCATED_BYTES, "allocated_bytes", "INTEGER",                                           \
	  "of all its blocks, short-lived ones too; estimated where sampled")                      \
	X(ALLOCATED_BLOCKS, "allocated_blocks", "INTEGER", "how many")                             \
	X(LEAKED_BYTES, "leaked_bytes", "INTEGER", "of those that were not freed")                 \
	X(LEAKED_BLOCKS, "leaked_blocks", "INTEGER", "how many")                                   \
	X(TEMPORARY_BYTES, "temporary_bytes", "INTEGER", "of those that were freed")               \
	X(TEMPORARY_BLOCKS, "temporary_blocks", "INTEGER", "how many")                             \
	X(BYTES_ERROR, "allocated_bytes_error", "REAL",                                            \
	  "half the 95 % interval of allocated_bytes; 0: exact")                                   \
	X(BLOCKS_ERROR, "allocated_blocks_error", "REAL", "the same of allocated_blocks")          \
	X(ROW_BLOCKS, "row_blocks", "INTEGER",                                                     \
	  "its blocks as group filters count them, short-lived ones too")                          \
	X(MIN_SIZE, "min_size", "INTEGER", "smallest of these blocks")                             \
	X(MAX_SIZE, "max_size", "INTEGER", "largest one")                                          \
	X(FIRST, "first_ns", "INTEGER", "birth of the first of them")                              \
	X(LAST, "last_ns", "INTEGER", "and of the last")                                           \
	X(PEAK, "peak_ns", "INTEGER", "when most of their bytes were in use, first seen")

#define ENUM(id, name, type, about) STACKS_##id,
enum { STACKS(ENUM) };
#undef ENUM
#define COLUMN(id, name, type, about) {name, type, about},
static const struct table_column stacks_columns[] = {STACKS(COLUMN){0}};

static int begin_stacks(struct table_cursor *c, struct err_text *err)
{
	const uint32_t *list;
	uint32_t count;
	int r = facts_stacks(c->sql, &list, &count, err);

	if (r < 0)
		return r;
	c->work = (void *)(uintptr_t)list;
	if (!c->keyed) {
		c->end = count;
		return 0;
	}
	c->node = (uint32_t)c->key;
	c->end = c->key <= UINT32_MAX && facts_has_stack(c->sql, c->node);
	return 0;
}

static uint32_t stack_at(const struct table_cursor *c)
{
	return c->keyed ? c->node : ((const uint32_t *)c->work)[c->at];
}

static uint64_t stack_number(const struct table_cursor *c)
{
	return stack_at(c);
}

static void put_site(struct table_cursor *c, sqlite3_context *out, int column)
{
	struct view_frame site;

	if (!facts_site(c->sql, stack_at(c), &site))
		return;
	if (column == STACKS_FUNCTION)
		put_text(out, site.name);
	else if (column == STACKS_FILE_)
		put_text(out, site.file);
	else if (column == STACKS_LINE)
		put_reference(out, site.line);
	else
		put_text(out, site.module);
}

/* Returns the sums, or NULL if nothing was allocated there. Also returns NULL on failure, which it
 * reports to `out`. */
static const struct stack_sums *sums_at(const struct table_cursor *c, sqlite3_context *out)
{
	const struct stack_sums *sums = NULL;
	struct err_text err = {0};
	int r = facts_sums(c->sql, stack_at(c), &sums, &err);

	if (r < 0) {
		sql_fail(c->sql, r, &err);
		sqlite3_result_error(out, "no sums", -1);
	}
	return sums;
}

static void stacks_put_sums(struct table_cursor *c, sqlite3_context *out, int column)
{
	static const struct stack_sums nothing;
	const struct stack_sums *s = sums_at(c, out);

	s = s ? s : &nothing;
	switch (column) {
	case STACKS_ALLOCATED_BYTES:
		put_number(out, s->allocated.bytes);
		break;
	case STACKS_ALLOCATED_BLOCKS:
		put_number(out, s->allocated.blocks);
		break;
	case STACKS_LEAKED_BYTES:
		put_number(out, s->leaked.bytes);
		break;
	case STACKS_LEAKED_BLOCKS:
		put_number(out, s->leaked.blocks);
		break;
	case STACKS_TEMPORARY_BYTES:
		put_number(out, s->freed.bytes);
		break;
	case STACKS_TEMPORARY_BLOCKS:
		put_number(out, s->freed.blocks);
		break;
	case STACKS_BYTES_ERROR:
		sqlite3_result_double(out, s->allocated.bytes_error);
		break;
	case STACKS_BLOCKS_ERROR:
		sqlite3_result_double(out, s->allocated.blocks_error);
		break;
	case STACKS_ROW_BLOCKS:
		put_number(out, s->rows.allocated.blocks);
		break;
	}
}

/* Sets columns that are NULL for a stack without rows. */
static void put_range(struct table_cursor *c, sqlite3_context *out, int column)
{
	const struct stack_sums *s = sums_at(c, out);

	if (!s || !s->rows.allocated.blocks)
		return;
	switch (column) {
	case STACKS_MIN_SIZE:
		put_number(out, s->rows.min_size);
		break;
	case STACKS_MAX_SIZE:
		put_number(out, s->rows.max_size);
		break;
	case STACKS_FIRST:
		put_number(out, s->rows.first_ns);
		break;
	case STACKS_LAST:
		put_number(out, s->rows.last_ns);
		break;
	case STACKS_PEAK:
		put_number(out, s->peak_ns);
		break;
	}
}

static void stacks_put_stacks(struct table_cursor *c, sqlite3_context *out, int column)
{
	switch (column) {
	case STACKS_STACK:
		put_number(out, stack_at(c));
		break;
	case STACKS_DEPTH:
		put_number(out, facts_depth(c->sql, stack_at(c)));
		break;
	case STACKS_TEXT_:
		stack_text_result(c->sql, stack_at(c), ";", out);
		break;
	case STACKS_FUNCTION:
	case STACKS_FILE_:
	case STACKS_LINE:
	case STACKS_MODULE:
		put_site(c, out, column);
		break;
	case STACKS_MIN_SIZE:
	case STACKS_MAX_SIZE:
	case STACKS_FIRST:
	case STACKS_LAST:
	case STACKS_PEAK:
		put_range(c, out, column);
		break;
	default:
		stacks_put_sums(c, out, column);
	}
}

const struct table table_stacks = {
	.name = "stacks",
	.about = "a row a backtrace that an allocation or a free has, with its sums",
	.columns = stacks_columns,
	.key = STACKS_STACK,
	.first_hidden = -1,
	.likely_rows = 20000,
	.begin = begin_stacks,
	.column = stacks_put_stacks,
	.number = stack_number,
};

/* ---- frames ---- */

#define FRAMES(X)                                                                                  \
	X(STACK, "stack", "INTEGER", "number of the backtrace")                                    \
	X(POSITION, "position", "INTEGER", "0: the innermost; inlined functions count")            \
	X(NAME, "name", "TEXT",                                                                    \
	  "the function, else [module+0xoffset], as all other commands show it")                   \
	X(FUNCTION, "function", "TEXT", "the function, demangled; nothing if it is not known")     \
	X(RAW, "raw_function", "TEXT", "as its file has it")                                       \
	X(MODULE, "module", "TEXT", "path of the program or library")                              \
	X(FILE_, "file", "TEXT", "source file")                                                    \
	X(LINE, "line", "INTEGER", "line in it")                                                   \
	X(COLUMN_, "column", "INTEGER", "column in it")                                            \
	X(ADDRESS, "address", "INTEGER", "return address in the process")                          \
	X(INLINED, "inlined", "INTEGER", "1: inlined into the next one")                           \
	X(ALLOCATOR, "allocator", "INTEGER", "1: it only passes allocations on")

#define ENUM(id, name, type, about) FRAMES_##id,
enum { FRAMES(ENUM) };
#undef ENUM
static const struct table_column frames_columns[] = {FRAMES(COLUMN){0}};
#undef COLUMN

/* Moves to the first row of the next stack that has frames. `at` counts stacks; node, frame and
 * position count the rows of a stack. */
static int begin_stack(struct table_cursor *c)
{
	for (; c->at < c->end; c->at++) {
		c->node = c->keyed ? (uint32_t)c->key : ((const uint32_t *)c->work)[c->at];
		c->frame = c->position = 0;
		if (view_frame_count(c->sql->view, c->node))
			return 0;
	}
	return 0;
}

static int begin_frames(struct table_cursor *c, struct err_text *err)
{
	const uint32_t *list;
	uint32_t count;
	int r = query_find_wrappers(c->sql->view, &c->sql->filter, err);

	if (r < 0)
		return r;
	if (c->keyed) {
		c->end = c->key > 0 && c->key <= recording_nodes(c->sql->recording);
		return begin_stack(c);
	}
	r = facts_stacks(c->sql, &list, &count, err);
	if (r < 0)
		return r;
	c->work = (void *)(uintptr_t)list;
	c->end = count;
	return begin_stack(c);
}

static int next_frame(struct table_cursor *c, struct err_text *err)
{
	const struct stack_node *node;

	(void)err;
	c->position++;
	if (++c->frame < view_frame_count(c->sql->view, c->node))
		return 0;
	node = recording_node(c->sql->recording, c->node);
	c->node = node && node->parent < c->node ? node->parent : 0;
	c->frame = 0;
	if (c->node && view_frame_count(c->sql->view, c->node))
		return 0;
	c->at++;
	return begin_stack(c);
}

static uint64_t frame_stack(const struct table_cursor *c)
{
	return c->keyed ? (uint64_t)c->key : ((const uint32_t *)c->work)[c->at];
}

static uint64_t stacks_frame_number(const struct table_cursor *c)
{
	return frame_stack(c) << 31 | c->position;
}

static void stacks_put_frames(struct table_cursor *c, sqlite3_context *out, int column)
{
	struct view_frame frame = view_frame(c->sql->view, c->node, c->frame);

	switch (column) {
	case FRAMES_STACK:
		put_number(out, frame_stack(c));
		break;
	case FRAMES_POSITION:
		put_number(out, c->position);
		break;
	case FRAMES_NAME:
		put_text(out, frame.name);
		break;
	case FRAMES_FUNCTION:
		put_text(out, frame.function);
		break;
	case FRAMES_RAW:
		put_text(out, frame.raw_function);
		break;
	case FRAMES_MODULE:
		put_text(out, frame.module);
		break;
	case FRAMES_FILE_:
		put_text(out, frame.file);
		break;
	case FRAMES_LINE:
		put_reference(out, frame.line);
		break;
	case FRAMES_COLUMN_:
		put_reference(out, frame.column);
		break;
	case FRAMES_ADDRESS:
		if (frame.address)
			put_number(out, frame.address);
		break;
	case FRAMES_INLINED:
		sqlite3_result_int(out, frame.is_inline);
		break;
	case FRAMES_ALLOCATOR:
		sqlite3_result_int(out, view_frame_hidden(&frame, HIDE_AUTO));
		break;
	}
}

const struct table table_frames = {
	.name = "frames",
	.about = "a row a frame of a backtrace, the innermost first",
	.columns = frames_columns,
	.key = FRAMES_STACK,
	.first_hidden = -1,
	.likely_rows = 400000,
	.begin = begin_frames,
	.next = next_frame,
	.column = stacks_put_frames,
	.number = stacks_frame_number,
};
