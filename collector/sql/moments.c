/* The tables of events over time: `timeline`, `marks`, `figures`, `gaps` and `calls`. The table
 * `culled` has the sums of blocks that have no rows. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "collector/columns/row_block.h"
#include "collector/sql/state.h"
#include "collector/recording/culled.h"
#include "collector/recording/info.h"
#include "collector/recording/recording.h"
#include "heapcast.pb-c.h"
#include "proto/culled.h"
#include "proto/event.h"

#include "base/ban.h"

#define COLUMN(id, name, type, about) {name, type, about},

/* ---- timeline ---- */

#define BUCKETS	    1000
#define BUCKETS_MAX 100000

#define TIMELINE(X)                                                                                \
	X(START, "start_ns", "INTEGER", "when the bucket begins")                                  \
	X(BYTES, "bytes", "INTEGER", "in use at its end")                                          \
	X(BYTES_MIN, "bytes_min", "INTEGER", "least that was in use in it")                        \
	X(BYTES_MAX, "bytes_max", "INTEGER", "most")                                               \
	X(BLOCKS, "blocks", "INTEGER", "in use at its end")                                        \
	X(BLOCKS_MIN, "blocks_min", "INTEGER", "least that were in use in it")                     \
	X(BLOCKS_MAX, "blocks_max", "INTEGER", "most")                                             \
	X(ALLOCATIONS, "allocations", "INTEGER", "made in it")                                     \
	X(FREES, "frees", "INTEGER", "made in it")                                                 \
	X(ALLOCATED, "allocated_bytes", "INTEGER", "by these allocations")                         \
	X(FREED, "freed_bytes", "INTEGER", "by these frees")                                       \
	X(BUCKETS, "buckets", "INTEGER HIDDEN", "parameter: at most so many buckets (1000)")       \
	X(FROM, "from_ns", "INTEGER HIDDEN", "parameter: where it begins (0)")                     \
	X(TO, "to_ns", "INTEGER HIDDEN", "parameter: where it ends (the end)")                     \
	X(LEAKED, "leaked_only", "INTEGER HIDDEN", "parameter: 1: only blocks that were not freed")
#define ENUM(id, name, type, about) TIMELINE_##id,
enum { TIMELINE(ENUM) };
#undef ENUM
static const struct table_column timeline_columns[] = {TIMELINE(COLUMN){0}};

static uint64_t argument(const struct table_cursor *c, int column, uint64_t otherwise)
{
	sqlite3_value *value = c->arguments[column - TIMELINE_BUCKETS];
	int kind = value ? sqlite3_value_numeric_type(value) : SQLITE_NULL;

	if (kind != SQLITE_INTEGER && kind != SQLITE_FLOAT)
		return otherwise;
	return sqlite3_value_int64(value) < 0 ? 0 : (uint64_t)sqlite3_value_int64(value);
}

static void done_timeline(struct table_cursor *c)
{
	if (c->work)
		timeline_done(c->work);
	free(c->work);
}

static int begin_timeline(struct table_cursor *c, struct err_text *err)
{
	struct timeline_question question = {.from_ns = argument(c, TIMELINE_FROM, 0),
					     .to_ns = argument(c, TIMELINE_TO, NO_TIME),
					     .leaked_only = argument(c, TIMELINE_LEAKED, 0)};
	uint64_t buckets = argument(c, TIMELINE_BUCKETS, BUCKETS);
	struct timeline *timeline;
	int r;

	if (!buckets || buckets > BUCKETS_MAX)
		return err_set(err, -EINVAL, "timeline has 1 to %d buckets", BUCKETS_MAX);
	question.buckets = (uint32_t)buckets;
	timeline = calloc(1, sizeof(*timeline));
	if (!timeline)
		return err_set(err, -ENOMEM, "out of memory");
	r = query_timeline(c->sql->view, &c->sql->filter, &question, timeline, err);
	if (r < 0) {
		free(timeline);
		return r;
	}
	c->work = timeline;
	c->end = timeline->count;
	return cursor_holds(c, timeline->count * sizeof(*timeline->list));
}

static void put_timeline(struct table_cursor *c, sqlite3_context *out, int column)
{
	const struct timeline *t = c->work;
	const struct timeline_bucket *b = &t->list[c->at];
	const uint64_t values[] = {
		[TIMELINE_START] = b->start_ns,	       [TIMELINE_BYTES] = b->bytes,
		[TIMELINE_BYTES_MIN] = b->bytes_min,   [TIMELINE_BYTES_MAX] = b->bytes_max,
		[TIMELINE_BLOCKS] = b->blocks,	       [TIMELINE_BLOCKS_MIN] = b->blocks_min,
		[TIMELINE_BLOCKS_MAX] = b->blocks_max, [TIMELINE_ALLOCATIONS] = b->allocations,
		[TIMELINE_FREES] = b->deallocations,   [TIMELINE_ALLOCATED] = b->allocated_bytes,
		[TIMELINE_FREED] = b->freed_bytes,
	};

	if (column <= TIMELINE_FREED)
		put_number(out, values[column]);
}

const struct table table_timeline = {
	.name = "timeline",
	.about = "what was in use over time, a row a bucket: timeline(BUCKETS, FROM_NS, TO_NS, "
		 "LEAKED_ONLY)",
	.columns = timeline_columns,
	.key = -1,
	.first_hidden = TIMELINE_BUCKETS,
	.likely_rows = BUCKETS,
	.begin = begin_timeline,
	.column = put_timeline,
	.done = done_timeline,
};

/* ---- marks ---- */

#define MARKS(X)                                                                                   \
	X(TIME, "time_ns", "INTEGER", "when it was said")                                          \
	X(KIND, "kind", "TEXT",                                                                    \
	  "number, label, text... (heapcast_mark, heapcast_label, from outside)")                  \
	X(THREAD, "thread", "INTEGER", "who said it")                                              \
	X(VALUE, "value", "INTEGER", "the number")                                                 \
	X(TEXT_, "text", "TEXT", "the text")                                                       \
	X(BY, "by", "TEXT", "from outside: who wanted it")
#define ENUM(id, name, type, about) MARKS_##id,
enum { MARKS(ENUM) };
#undef ENUM
static const struct table_column marks_columns[] = {MARKS(COLUMN){0}};

static int begin_marks(struct table_cursor *c, struct err_text *err)
{
	(void)err;
	c->end = recording_marks(c->sql->recording);
	return 0;
}

/* Removes the prefix: "MARK_NUMBER" of the protocol becomes "NUMBER". */
static void put_mark_kind(sqlite3_context *out, uint32_t kind)
{
	const ProtobufCEnumValue *value =
		protobuf_c_enum_descriptor_get_value(&heapcast__mark_kind__descriptor, (int)kind);
	const char *name = value ? value->name : NULL;

	put_text(out, name && !strncmp(name, "MARK_", 5) ? name + 5 : name);
}

static void put_marks(struct table_cursor *c, sqlite3_context *out, int column)
{
	const struct mark_info *m = recording_mark(c->sql->recording, (uint32_t)c->at);

	switch (column) {
	case MARKS_TIME:
		put_time(out, m->time_ns);
		break;
	case MARKS_KIND:
		put_mark_kind(out, m->kind);
		break;
	case MARKS_THREAD:
		put_reference(out, m->thread);
		break;
	case MARKS_VALUE:
		put_number(out, m->value);
		break;
	case MARKS_TEXT_:
		put_text(out, m->text);
		break;
	case MARKS_BY:
		put_text(out, m->by);
		break;
	}
}

const struct table table_marks = {
	.name = "marks",
	.about = "a row a mark: what the program or somebody outside said",
	.columns = marks_columns,
	.key = -1,
	.first_hidden = -1,
	.likely_rows = 1000,
	.begin = begin_marks,
	.column = put_marks,
};

/* ---- culled ---- */

#define CULLED_SUMS(X)                                                                             \
	X(THREAD, "thread", "INTEGER", "who allocated; 0: not known")                              \
	X(STACK, "stack", "INTEGER", "backtrace; 0: not known")                                    \
	X(BLOCKS, "blocks", "INTEGER",                                                             \
	  "how many blocks it is the sum of; a sampled one counts once")                           \
	X(BYTES, "bytes", "INTEGER", "of them together")                                           \
	X(REALLOCATED, "reallocated", "INTEGER",                                                   \
	  "of the blocks: ended by a realloc, the others by a free")                               \
	X(WEIGHT, "weight", "INTEGER",                                                             \
	  "bytes that each stands for where it was sampled; nothing: itself")                      \
	X(SIZE_MIN, "size_min", "INTEGER", "the smallest")                                         \
	X(SIZE_MAX, "size_max", "INTEGER", "the largest")                                          \
	X(LIFETIME_MIN, "lifetime_min_ns", "INTEGER", "each lived so long or longer")              \
	X(LIFETIME_MAX, "lifetime_max_ns", "INTEGER", "or shorter; nothing: no bound")             \
	X(FIRST, "first_ns", "INTEGER", "birth of the first, to a millisecond")                    \
	X(LAST, "last_ns", "INTEGER", "and of the last")
#define ENUM(id, name, type, about) CULLED_SUMS_##id,
enum { CULLED_SUMS(ENUM) };
#undef ENUM
static const struct table_column culled_columns[] = {CULLED_SUMS(COLUMN){0}};

static int begin_culled(struct table_cursor *c, struct err_text *err)
{
	(void)err;
	c->end = recording_culled_count(c->sql->recording);
	return 0;
}

static void put_culled_range(const struct culled_row *row, sqlite3_context *out, int column)
{
	switch (column) {
	case CULLED_SUMS_SIZE_MIN:
		put_number(out, row->size_least);
		break;
	case CULLED_SUMS_SIZE_MAX:
		put_number(out, row->size_most);
		break;
	case CULLED_SUMS_LIFETIME_MIN:
		put_number(out, culled_lifetime_least(row->lifetime));
		break;
	case CULLED_SUMS_LIFETIME_MAX:
		put_time(out, culled_lifetime_most(row->lifetime));
		break;
	case CULLED_SUMS_FIRST:
		put_time(out, row->first_ns);
		break;
	case CULLED_SUMS_LAST:
		put_time(out, row->last_ns);
		break;
	}
}

static void put_culled(struct table_cursor *c, sqlite3_context *out, int column)
{
	const struct culled_row *row = recording_culled(c->sql->recording, (uint32_t)c->at);

	switch (column) {
	case CULLED_SUMS_THREAD:
		put_number(out, row->thread);
		break;
	case CULLED_SUMS_STACK:
		put_number(out, row->stack);
		break;
	case CULLED_SUMS_BLOCKS:
		put_number(out, row->blocks);
		break;
	case CULLED_SUMS_BYTES:
		put_number(out, row->bytes);
		break;
	case CULLED_SUMS_REALLOCATED:
		put_number(out, row->reallocated);
		break;
	case CULLED_SUMS_WEIGHT:
		if (row->weight)
			put_number(out, row->weight);
		break;
	default:
		put_culled_range(row, out, column);
	}
}

const struct table table_culled = {
	.name = "culled",
	.about = "a row is a sum over short-lived blocks, which have no rows in allocations",
	.columns = culled_columns,
	.key = -1,
	.first_hidden = -1,
	.likely_rows = 10000,
	.begin = begin_culled,
	.column = put_culled,
};

/* ---- figures ---- */

#define FIGURES(X)                                                                                 \
	X(TIME, "time_ns", "INTEGER", "when the kernel was asked")                                 \
	X(RSS, "rss", "INTEGER", "bytes in memory")                                                \
	X(RSS_PEAK, "rss_peak", "INTEGER", "most until then")                                      \
	X(PSS, "pss", "INTEGER", "its own share")                                                  \
	X(ANONYMOUS, "anonymous", "INTEGER", "of no file")                                         \
	X(SWAP, "swap", "INTEGER", "swapped out")                                                  \
	X(ADDRESS_SPACE, "address_space", "INTEGER", "mapped")                                     \
	X(DIRTY, "dirty", "INTEGER", "changed")                                                    \
	X(CLEAN, "clean", "INTEGER", "as the file has it")                                         \
	X(MINOR_FAULTS, "minor_faults", "INTEGER", "page faults since it began")                   \
	X(MAJOR_FAULTS, "major_faults", "INTEGER", "those that had to read")
#define ENUM(id, name, type, about) FIGURES_##id,
enum { FIGURES(ENUM) };
#undef ENUM
static const struct table_column figures_columns[] = {FIGURES(COLUMN){0}};

static void done_figures(struct table_cursor *c)
{
	if (c->work)
		figures_history_done(c->work);
	free(c->work);
}

static int begin_figures(struct table_cursor *c, struct err_text *err)
{
	struct figures_history *history = calloc(1, sizeof(*history));
	int r = history ? figures_over_time(recording_path(c->sql->recording),
					    &c->sql->filter.cancel, history, err)
			: err_set(err, -ENOMEM, "out of memory");

	if (r < 0) {
		free(history);
		return r;
	}
	c->work = history;
	c->end = history->figures_count;
	return cursor_holds(c, history->figures_count * sizeof(*history->figures) +
				       history->allocator_count * sizeof(*history->allocator));
}

static void put_figures(struct table_cursor *c, sqlite3_context *out, int column)
{
	const struct figures_history *h = c->work;
	const struct figures_info *f = &h->figures[c->at];
	const uint64_t values[] = {
		[FIGURES_TIME] = f->time_ns,
		[FIGURES_RSS] = f->rss,
		[FIGURES_RSS_PEAK] = f->rss_peak,
		[FIGURES_PSS] = f->pss,
		[FIGURES_ANONYMOUS] = f->anonymous,
		[FIGURES_SWAP] = f->swap,
		[FIGURES_ADDRESS_SPACE] = f->address_space,
		[FIGURES_DIRTY] = f->dirty,
		[FIGURES_CLEAN] = f->clean,
		[FIGURES_MINOR_FAULTS] = f->minor_faults,
		[FIGURES_MAJOR_FAULTS] = f->major_faults,
	};

	put_number(out, values[column]);
}

const struct table table_figures = {
	.name = "figures",
	.about = "a row a reading of the process as the kernel counts it",
	.columns = figures_columns,
	.key = -1,
	.first_hidden = -1,
	.likely_rows = 1000,
	.begin = begin_figures,
	.column = put_figures,
	.done = done_figures,
};

/* ---- gaps ---- */

#define GAPS(X)                                                                                    \
	X(THREAD, "thread", "INTEGER", "whose events are missing; 0: of several")                  \
	X(REASON, "reason", "TEXT", "why")                                                         \
	X(FROM, "from_ns", "INTEGER", "when it began")                                             \
	X(TO, "to_ns", "INTEGER", "when it ended")                                                 \
	X(EVENTS, "events", "INTEGER", "how many are missing")                                     \
	X(ALLOCATIONS, "allocations", "INTEGER", "of them allocations")                            \
	X(FREES, "frees", "INTEGER", "of them frees")                                              \
	X(BYTES, "bytes", "INTEGER", "of the allocations")
#define ENUM(id, name, type, about) GAPS_##id,
enum { GAPS(ENUM) };
#undef ENUM
static const struct table_column gaps_columns[] = {GAPS(COLUMN){0}};

static int begin_gaps(struct table_cursor *c, struct err_text *err)
{
	(void)err;
	c->end = recording_gaps(c->sql->recording);
	return 0;
}

static void put_gap_reason(sqlite3_context *out, uint32_t reason)
{
	const ProtobufCEnumValue *value =
		protobuf_c_enum_descriptor_get_value(&heapcast__reason__descriptor, (int)reason);

	put_text(out, value ? value->name : NULL);
}

static void put_gaps(struct table_cursor *c, sqlite3_context *out, int column)
{
	const struct gap_info *g = recording_gap(c->sql->recording, (uint32_t)c->at);

	switch (column) {
	case GAPS_THREAD:
		put_number(out, g->thread);
		break;
	case GAPS_REASON:
		put_gap_reason(out, g->reason);
		break;
	case GAPS_FROM:
		put_time(out, g->from_ns);
		break;
	case GAPS_TO:
		put_time(out, g->to_ns);
		break;
	case GAPS_EVENTS:
		put_number(out, g->events);
		break;
	case GAPS_ALLOCATIONS:
		put_number(out, g->allocations);
		break;
	case GAPS_FREES:
		put_number(out, g->frees);
		break;
	case GAPS_BYTES:
		put_number(out, g->bytes);
		break;
	}
}

const struct table table_gaps = {
	.name = "gaps",
	.about = "a row a loss of events",
	.columns = gaps_columns,
	.key = -1,
	.first_hidden = -1,
	.likely_rows = 10,
	.begin = begin_gaps,
	.column = put_gaps,
};

/* ---- calls ---- */

#define CALLS(X)                                                                                   \
	X(TIME, "time_ns", "INTEGER", "when it was made")                                          \
	X(KIND, "kind", "TEXT", "mmap, munmap, mremap, sbrk, mallopt, a pool's...")                \
	X(ADDRESS, "address", "INTEGER", "of the mapping or pool")                                 \
	X(OLD_ADDRESS, "old_address", "INTEGER", "where mremap found it")                          \
	X(SIZE, "size", "INTEGER", "bytes")                                                        \
	X(THREAD, "thread", "INTEGER", "who called")                                               \
	X(STACK, "stack", "INTEGER", "backtrace; 0: none")
#define ENUM(id, name, type, about) CALLS_##id,
enum { CALLS(ENUM) };
#undef ENUM
static const struct table_column calls_columns[] = {CALLS(COLUMN){0}};

static int begin_calls(struct table_cursor *c, struct err_text *err)
{
	(void)err;
	c->end = recording_other_events(c->sql->recording);
	return 0;
}

static void put_calls(struct table_cursor *c, sqlite3_context *out, int column)
{
	const struct other_event_info *a =
		recording_other_event(c->sql->recording, (uint32_t)c->at);

	switch (column) {
	case CALLS_TIME:
		put_time(out, a->time_ns);
		break;
	case CALLS_KIND:
		put_text(out, event_kind_name(a->kind));
		break;
	case CALLS_ADDRESS:
		put_number(out, a->address);
		break;
	case CALLS_OLD_ADDRESS:
		if (a->old_address)
			put_number(out, a->old_address);
		break;
	case CALLS_SIZE:
		put_number(out, a->size);
		break;
	case CALLS_THREAD:
		put_reference(out, a->thread);
		break;
	case CALLS_STACK:
		put_number(out, a->stack);
		break;
	}
}

const struct table table_calls = {
	.name = "calls",
	.about = "a row a call that is no block of the heap: mappings and pools of the program's "
		 "own, settings of its allocator",
	.columns = calls_columns,
	.key = -1,
	.first_hidden = -1,
	.likely_rows = 1000,
	.begin = begin_calls,
	.column = put_calls,
};
