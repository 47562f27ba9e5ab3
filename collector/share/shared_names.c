/*
 * Names of shared backtraces (shared_names.h). All questions are about many numbers at once:
 *
 *	backtraces -> their inner frames -> names of the innermost ones
 *				 ^			  | those that are hidden
 *				 +- one frame further ----+
 *
 * Most backtraces count for one of their first frames, and many share these. So few names are read,
 * and strings are most of the work.
 */
#include "collector/share/shared_names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "collector/clickhouse/client.h"
#include "collector/clickhouse/row_binary.h"
#include "collector/clickhouse/shards.h"
#include "collector/query/match/sites.h"

#include "base/ban.h"

/* Numbers in one question. If the answer is too large, they are asked for in halves. */
#define ASKED_AT_ONCE  50000
#define NAME_BYTES_MAX (1u << 20)
/* Of a backtrace, these are asked for first, and their names one by one. */
#define INNER_FRAMES	  4
#define INNER_FRAMES_TEXT "4"
#define FRAMES_MAX	  (1u << 20) /* of a backtrace */

/* A frame: functions, innermost first, in lines that follow each other. */
struct name_line {
	const char *function, *module, *file;
	uint32_t line;
	bool known, hidden, last;
};

/* Backtraces whose frames are known, and that have not got a line yet. */
struct asked_stacks {
	struct asked_stack {
		uint64_t stack;
		uint32_t first, count; /* of its frames */
	} * list;
	uint64_t *frames;
	uint32_t count, capacity, frame_count, frames_capacity;
};

static void asked_stacks_done(struct asked_stacks *a)
{
	free(a->list);
	free(a->frames);
}

void shared_names_done(struct shared_names *n)
{
	intern_done(&n->texts);
	map_done(&n->stacks);
	map_done(&n->frames);
	free(n->lines);
	*n = (struct shared_names){0};
}

/* ---- frames ---- */

static const char *get_name(struct shared_names *n, struct reader *r)
{
	size_t length = 0;
	const char *bytes = row_get_bytes(r, NAME_BYTES_MAX, &length);

	return bytes ? intern_get(&n->texts, intern_bytes(&n->texts, bytes, length)) : NULL;
}

static int add_line(struct shared_names *n, uint64_t frame, struct reader *r)
{
	struct name_line line = {.last = true};
	uint64_t *place;

	line.function = get_name(n, r);
	line.module = get_name(n, r);
	line.file = get_name(n, r);
	line.line = row_get_u32(r);
	line.known = row_get_u64(r);
	if (!line.function || !line.module || !line.file || reader_error(r))
		return reader_error(r) ? -EBADMSG : -ENOMEM;
	line.hidden = !n->innermost && site_is_allocator(n->rules, line.function);
	place = map_put(&n->frames, frame, NULL);
	if (!place ||
	    array_reserve(&n->lines, &n->capacity, (uint64_t)n->count + 1, sizeof(line)) < 0)
		return -ENOMEM;
	if (!*place)
		*place = (uint64_t)n->count + 1;
	else
		n->lines[n->count - 1].last = false; /* lines of a frame follow each other */
	n->lines[n->count++] = line;
	return 0;
}

/* A question about `numbers`, and what is done with each row of the answer. */
struct names_question {
	const char *sql;
	int (*row)(struct shared_names *n, struct reader *r, struct asked_stacks *ret);
};

static int ask_some(struct shared_names *n, const struct names_question *q, const uint64_t *numbers,
		    size_t count, struct asked_stacks *ret, struct err_text *err)
{
	cleanup(buf_done) struct buf answer = {.limit = CLICKHOUSE_ANSWER_MAX};
	int e = clickhouse_ask_about(n->client, q->sql, numbers, count, &answer, err);
	struct reader r = reader_of(answer.data, answer.length);

	if (e == -EMSGSIZE && count > 1) {
		buf_done(&answer);
		e = ask_some(n, q, numbers, count / 2, ret, err);
		return e ? e : ask_some(n, q, numbers + count / 2, count - count / 2, ret, err);
	}
	while (!e && reader_more(&r))
		e = q->row(n, &r, ret);
	if (e == -EBADMSG || (!e && reader_error(&r)))
		return err_set(err, -EBADMSG, "the shared store's names can't be read");
	return e;
}

static int ask_all(struct shared_names *n, const struct names_question *q, const uint64_t *numbers,
		   size_t count, struct asked_stacks *ret, struct err_text *err)
{
	int r = 0;

	for (size_t i = 0; !r && i < count; i += ASKED_AT_ONCE)
		r = ask_some(n, q, numbers + i,
			     count - i < ASKED_AT_ONCE ? count - i : ASKED_AT_ONCE, ret, err);
	return r;
}

static int frame_row(struct shared_names *n, struct reader *r, struct asked_stacks *unused)
{
	uint64_t frame = row_get_u64(r);

	(void)unused;
	return reader_error(r) || frame == MAP_NO_KEY ? -EBADMSG : add_line(n, frame, r);
}

/* The same frame may lie on several shards; the best known names count. */
static const struct names_question frames_question = {
	"SELECT frame, argMax(function, version), argMax(module, version), argMax(file, version), "
	"argMax(line, version), max(version) FROM frames WHERE frame IN numbers "
	"GROUP BY frame, place ORDER BY frame, place FORMAT RowBinary",
	frame_row};

/* ---- stacks ---- */

static int stack_row(struct shared_names *n, struct reader *r, struct asked_stacks *a)
{
	uint64_t stack = row_get_u64(r);
	size_t count = row_get_count(r, FRAMES_MAX);

	(void)n;
	if (reader_error(r) || stack == MAP_NO_KEY)
		return -EBADMSG;
	if (array_reserve(&a->list, &a->capacity, (uint64_t)a->count + 1, sizeof(*a->list)) < 0 ||
	    array_reserve(&a->frames, &a->frames_capacity, (uint64_t)a->frame_count + count,
			  sizeof(*a->frames)) < 0)
		return -ENOMEM;
	a->list[a->count++] =
		(struct asked_stack){stack, .first = a->frame_count, .count = (uint32_t)count};
	for (size_t i = 0; i < count; i++) {
		uint64_t frame = row_get_u64(r);

		if (frame == MAP_NO_KEY)
			return -EBADMSG;
		a->frames[a->frame_count++] = frame;
	}
	return 0;
}

/* Reads the names of these frames of each backtrace. No number is asked for twice: one that is
 * not there stays 0. */
static int read_frames(struct shared_names *n, const struct asked_stacks *a, uint32_t from,
		       uint32_t end, struct err_text *err)
{
	cleanup(cleanup_free) uint64_t *list = calloc(a->frame_count + 1u, sizeof(*list));
	size_t count = 0;

	if (!list)
		return -ENOMEM;
	for (uint32_t i = 0; i < a->count; i++) {
		const struct asked_stack *s = &a->list[i];

		for (uint32_t k = from; k < end && k < s->count; k++) {
			bool new = false;

			if (!map_put(&n->frames, a->frames[s->first + k], &new))
				return -ENOMEM;
			if (new)
				list[count++] = a->frames[s->first + k];
		}
	}
	return ask_all(n, &frames_question, list, count, NULL, err);
}

/* Returns the first line of a frame that is not hidden, as index + 1; 0: there is none. */
static uint64_t line_of(const struct shared_names *n, uint64_t frame)
{
	const uint64_t *place = map_get(&n->frames, frame);

	for (uint64_t k = place ? *place : 0; k; k++) {
		if (!n->lines[k - 1].hidden)
			return k;
		if (n->lines[k - 1].last)
			break;
	}
	return 0;
}

/* Gives backtraces one of these frames of theirs, and keeps those that have none so far. They count
 * for the innermost one, unless another one follows. */
static int choose_lines(struct shared_names *n, struct asked_stacks *a, uint32_t from, uint32_t end)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < a->count; i++) {
		const struct asked_stack s = a->list[i];
		uint64_t *place = map_put(&n->stacks, s.stack, NULL), line = 0;
		const uint64_t *innermost =
			s.count ? map_get(&n->frames, a->frames[s.first]) : NULL;

		if (!place)
			return -ENOMEM;
		for (uint32_t k = from; !line && k < end && k < s.count; k++)
			line = line_of(n, a->frames[s.first + k]);
		*place = line ? line : innermost ? *innermost : 0;
		if (!line)
			a->list[kept++] = s;
	}
	a->count = kept;
	return 0;
}

static int name_stacks(struct shared_names *n, struct asked_stacks *a, uint32_t from, uint32_t end,
		       struct err_text *err)
{
	int r = read_frames(n, a, from, end, err);

	return r ? r : choose_lines(n, a, from, end);
}

static const struct names_question inner_question = {
	"SELECT stack, any(arraySlice(frames, 1, " INNER_FRAMES_TEXT
	")) FROM stacks WHERE stack IN numbers GROUP BY stack FORMAT RowBinary",
	stack_row};
static const struct names_question stacks_question = {
	"SELECT stack, any(frames) FROM stacks WHERE stack IN numbers GROUP BY stack "
	"FORMAT RowBinary",
	stack_row};

/* Reads the backtraces whose inner frames are all hidden. */
static int read_deep(struct shared_names *n, const struct asked_stacks *hidden,
		     struct err_text *err)
{
	cleanup(asked_stacks_done) struct asked_stacks deep = {0};
	cleanup(cleanup_free) uint64_t *list = calloc(hidden->count + 1u, sizeof(*list));
	size_t count = 0;
	int r;

	if (!list)
		return -ENOMEM;
	for (uint32_t i = 0; i < hidden->count; i++)
		if (hidden->list[i].count >= INNER_FRAMES)
			list[count++] = hidden->list[i].stack;
	r = ask_all(n, &stacks_question, list, count, &deep, err);
	return r ? r : name_stacks(n, &deep, 0, UINT32_MAX, err);
}

static int read_stacks(struct shared_names *n, const uint64_t *list, size_t count,
		       struct err_text *err)
{
	cleanup(asked_stacks_done) struct asked_stacks inner = {0};
	int r = ask_all(n, &inner_question, list, count, &inner, err);

	for (uint32_t depth = 0; !r && inner.count && depth < INNER_FRAMES; depth++)
		r = name_stacks(n, &inner, depth, depth + 1, err);
	return r || !inner.count ? r : read_deep(n, &inner, err);
}

int shared_names_read(struct shared_names *n, const uint64_t *stacks, size_t count,
		      struct err_text *err)
{
	cleanup(cleanup_free) uint64_t *list = calloc(count + 1, sizeof(*list));
	size_t new = 0;

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		bool is_new = false;

		if (stacks[i] && !map_put(&n->stacks, stacks[i], &is_new))
			return -ENOMEM;
		if (is_new)
			list[new ++] = stacks[i];
	}
	return read_stacks(n, list, new, err);
}

struct shared_site shared_names_site(const struct shared_names *n, uint64_t stack)
{
	static const struct shared_site unknown = {
		.function = "[unknown]", .module = "", .file = ""};
	const uint64_t *place = map_get(&n->stacks, stack);
	const struct name_line *line = place && *place ? &n->lines[*place - 1] : NULL;

	return line ? (struct shared_site){.function = line->function,
					   .module = line->module,
					   .file = line->file,
					   .line = line->line,
					   .known = line->known}
		    : unknown;
}
