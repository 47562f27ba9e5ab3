/* Names of shared backtraces. See shared_names.h. */
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

/* Numbers in one question: a statement has 256 KiB at most, a number 21 bytes. */
#define ASKED_AT_ONCE  8000
#define NAME_BYTES_MAX (1u << 20)
/* Of a backtrace, these are asked for first. */
#define INNER_FRAMES	  4
#define INNER_FRAMES_TEXT "4"
#define FRAMES_MAX	  (1u << 20) /* of a backtrace */

/* A frame: functions, innermost first, in lines that follow each other. */
struct name_line {
	const char *function, *module, *file;
	uint32_t line;
	bool known, hidden, last;
};

/* Backtraces of a part of the answer, until their frames are known. */
struct asked_stacks {
	struct buf frames; /* for each: stack, count, frames; as numbers of 8 bytes */
	struct map wanted; /* frames that are not known yet */
};

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
	bool new;
	uint64_t *place;

	line.function = get_name(n, r);
	line.module = get_name(n, r);
	line.file = get_name(n, r);
	line.line = row_get_u32(r);
	line.known = row_get_u64(r);
	if (!line.function || !line.module || !line.file || reader_error(r))
		return reader_error(r) ? -EBADMSG : -ENOMEM;
	line.hidden = !n->innermost && site_is_allocator(n->rules, line.function);
	place = map_put(&n->frames, frame, &new);
	if (!place ||
	    array_reserve(&n->lines, &n->capacity, (uint64_t)n->count + 1, sizeof(line)) < 0)
		return -ENOMEM;
	if (new)
		*place = (uint64_t)n->count + 1;
	else
		n->lines[n->count - 1].last = false; /* lines of a frame follow each other */
	n->lines[n->count++] = line;
	return 0;
}

static void append_numbers(struct buf *sql, const uint64_t *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++)
		buf_printf(sql, "%s%" PRIu64, i ? "," : "", numbers[i]);
}

/* Asks for rows about numbers, and calls `row` at each. */
static int ask_numbers(struct shared_names *n, const char *before, const char *after,
		       const uint64_t *numbers, size_t count,
		       int (*row)(struct shared_names *n, struct reader *r, void *context),
		       void *context, struct err_text *err)
{
	cleanup(buf_done) struct buf answer = {.limit = CLICKHOUSE_ANSWER_MAX}, sql = {0};
	struct reader r;
	int e;

	buf_string(&sql, before);
	append_numbers(&sql, numbers, count);
	buf_string(&sql, after);
	if (!buf_text(&sql))
		return -ENOMEM;
	e = clickhouse_ask(n->client, CLICKHOUSE_ANY_SHARD, buf_text(&sql), &answer, err);
	r = reader_of(answer.data, answer.length);
	while (!e && reader_more(&r))
		e = row(n, &r, context);
	if (e == -EBADMSG || (!e && reader_error(&r)))
		return err_set(err, -EBADMSG, "the shared store's names can't be read");
	return e;
}

static int frame_row(struct shared_names *n, struct reader *r, void *context)
{
	uint64_t frame = row_get_u64(r);

	(void)context;
	return reader_error(r) || frame == MAP_NO_KEY ? -EBADMSG : add_line(n, frame, r);
}

static int read_frames(struct shared_names *n, const struct map *wanted, struct err_text *err)
{
	cleanup(cleanup_free) uint64_t *list = calloc(wanted->count + 1, sizeof(*list));
	size_t count = 0;
	int r = 0;

	if (!list)
		return -ENOMEM;
	map_each(wanted, e) list[count++] = e->key;
	/* The same frame may lie on several shards; the best known names count. */
	for (size_t i = 0; !r && i < count; i += ASKED_AT_ONCE)
		r = ask_numbers(n,
				"SELECT frame, argMax(function, version), argMax(module, version), "
				"argMax(file, version), argMax(line, version), max(version) "
				"FROM frames WHERE frame IN (",
				") GROUP BY frame, place ORDER BY frame, place FORMAT RowBinary",
				list + i, count - i < ASKED_AT_ONCE ? count - i : ASKED_AT_ONCE,
				frame_row, NULL, err);
	return r;
}

/* ---- stacks ---- */

static int stack_row(struct shared_names *n, struct reader *r, void *context)
{
	struct asked_stacks *a = context;
	uint64_t stack = row_get_u64(r);
	size_t count = row_get_count(r, FRAMES_MAX);

	if (reader_error(r) || stack == MAP_NO_KEY)
		return -EBADMSG;
	buf_u64le(&a->frames, stack);
	buf_u64le(&a->frames, count);
	for (size_t i = 0; i < count; i++) {
		uint64_t frame = row_get_u64(r);

		if (frame == MAP_NO_KEY)
			return -EBADMSG;
		buf_u64le(&a->frames, frame);
		if (!map_get(&n->frames, frame) && !map_put(&a->wanted, frame, NULL))
			return -ENOMEM;
	}
	return buf_error(&a->frames);
}

/* Returns the index + 1 of the line that a backtrace counts for; 0: its innermost frame is not
 * known. */
static uint64_t site_of(const struct shared_names *n, struct reader *r, uint64_t count,
			bool *ret_found)
{
	uint64_t first = 0, found = 0;

	for (uint64_t i = 0; i < count; i++) {
		const uint64_t *line = map_get(&n->frames, row_get_u64(r));

		if (!i && line)
			first = *line;
		for (uint64_t k = line && !found ? *line : 0; k; k++) {
			if (!n->lines[k - 1].hidden)
				found = k;
			if (found || n->lines[k - 1].last)
				break;
		}
	}
	*ret_found = found;
	return found ? found : first;
}

/* `cut`: more frames may follow the last one. Lists the backtraces of which these are all hidden.
 */
static int choose_sites(struct shared_names *n, const struct asked_stacks *a, bool cut,
			struct buf *ret_hidden)
{
	struct reader r = reader_of(a->frames.data, a->frames.length);

	while (reader_more(&r)) {
		uint64_t stack = row_get_u64(&r), count = row_get_u64(&r);
		bool found = false;
		uint64_t line = site_of(n, &r, count, &found),
			 *place = map_put(&n->stacks, stack, NULL);

		if (!place)
			return -ENOMEM;
		*place = line;
		if (cut && !found && count >= INNER_FRAMES)
			buf_append(ret_hidden, &stack, sizeof(stack));
	}
	return buf_error(ret_hidden);
}

static int read_frames_of(struct shared_names *n, const char *question, const uint64_t *list,
			  size_t count, bool cut, struct buf *ret_hidden, struct err_text *err)
{
	struct asked_stacks a = {0};
	int r = ask_numbers(n, question, ") GROUP BY stack FORMAT RowBinary", list, count,
			    stack_row, &a, err);

	if (!r && a.wanted.count)
		r = read_frames(n, &a.wanted, err);
	if (!r)
		r = choose_sites(n, &a, cut, ret_hidden);
	buf_done(&a.frames);
	map_done(&a.wanted);
	return r;
}

/* The innermost frames decide, nearly always: a third of the work. */
static int read_stacks(struct shared_names *n, const uint64_t *list, size_t count,
		       struct err_text *err)
{
	cleanup(buf_done) struct buf hidden = {0}, none = {0};
	int r = read_frames_of(n,
			       "SELECT stack, any(arraySlice(frames, 1, " INNER_FRAMES_TEXT
			       ")) FROM stacks WHERE stack IN (",
			       list, count, true, &hidden, err);

	if (r || !hidden.length)
		return r;
	return read_frames_of(n, "SELECT stack, any(frames) FROM stacks WHERE stack IN (",
			      (const uint64_t *)(const void *)hidden.data,
			      hidden.length / sizeof(uint64_t), false, &none, err);
}

int shared_names_read(struct shared_names *n, const uint64_t *stacks, size_t count,
		      struct err_text *err)
{
	cleanup(cleanup_free) uint64_t *list = calloc(count + 1, sizeof(*list));
	size_t new = 0;
	int r = 0;

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		bool is_new = false;

		if (stacks[i] && !map_put(&n->stacks, stacks[i], &is_new))
			return -ENOMEM;
		if (is_new)
			list[new ++] = stacks[i];
	}
	for (size_t i = 0; !r && i < new; i += ASKED_AT_ONCE)
		r = read_stacks(n, list + i, new - i < ASKED_AT_ONCE ? new - i : ASKED_AT_ONCE,
				err);
	return r;
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
