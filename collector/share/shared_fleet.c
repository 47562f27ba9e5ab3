/*
 * Reads what streams had in use from the shared sums. See shared_fleet.h.
 *
 * A question is about some streams, and adds up the minutes between two moments in the data base:
 *
 *	minute	 0 1 2 3 | 4 5 6 | 7 8 9 |
 *	moment	         0       1       2
 *	slot	    0        1       2	     the changes before moment 0, and since the one before
 *
 * By age, the moments of each stream are others, so its minutes come one by one.
 */
#include "collector/share/shared_fleet.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "collector/catalogue/store.h"
#include "collector/clickhouse/client.h"
#include "collector/clickhouse/row_binary.h"
#include "collector/clickhouse/shards.h"
#include "collector/query/minutes.h"
#include "collector/share/collectors.h"
#include "collector/share/kept.h"
#include "collector/share/shared_names.h"
#include "collector/share/shared_streams.h"
#include "collector/share/shared_top.h"

#include "base/ban.h"

#define STREAMS_AT_ONCE 64
#define DAY_NS		86400000000000u

struct shared_row {
	uint32_t stream; /* index among the streams of the question */
	uint32_t slot;	 /* or, by age, the minute */
	uint64_t stack;
	int64_t bytes;
};

struct shared_loading {
	struct clickhouse *client;
	struct fleet_loading *loading;
	struct shared_names names;
	uint32_t kept;		 /* kept.h */
	bool any;		 /* there are sums */
	struct shared_row *rows; /* of one question */
	uint32_t count, capacity;
};

static uint32_t minutes_of(uint64_t ns)
{
	return (uint32_t)(ns / MINUTE_NS);
}

/* ---- a question ---- */

static void put_slot(struct buf *sql, const struct fleet_matrix *m)
{
	if (m->by_age)
		buf_string(sql, "minute");
	else
		buf_printf(sql, "if(minute < %u, 0, intDiv(minute - %u, %u) + 1)",
			   minutes_of(m->from_ns), minutes_of(m->from_ns), minutes_of(m->step_ns));
}

static void put_question(struct buf *sql, const struct fleet_matrix *m, uint32_t kept,
			 const struct stream_summary *streams, size_t count)
{
	char id[STREAM_ID_TEXT];

	buf_string(sql, "SELECT stream, toUInt32(");
	put_slot(sql, m);
	buf_string(sql, ") AS slot, stack, sum(bytes) FROM sums WHERE stream IN (");
	for (size_t i = 0; i < count; i++)
		buf_printf(sql, "%stoFixedString(unhex('%s'), 16)", i ? ", " : "",
			   stream_id_format(id, &streams[i].id));
	buf_string(sql, ")");
	if (!m->by_age)
		buf_printf(sql, " AND minute < %u",
			   minutes_of(m->from_ns + (m->moments - 1) * m->step_ns));
	kept_put(sql, kept);
	buf_string(sql, " GROUP BY stream, slot, stack ORDER BY stream, slot FORMAT RowBinary");
}

static int stream_order(const void *a, const void *b)
{
	return memcmp(&((const struct stream_summary *)a)->id,
		      &((const struct stream_summary *)b)->id, sizeof(struct stream_id));
}

static int add_shared_row(struct shared_loading *l, struct reader *r,
			  const struct stream_summary *streams, size_t count)
{
	struct stream_summary key = {0}, *found;
	struct shared_row row;

	row_get_id(r, key.id.bytes);
	row.slot = row_get_u32(r);
	row.stack = row_get_u64(r);
	row.bytes = row_get_i64(r);
	found = bsearch(&key, streams, count, sizeof(key), stream_order);
	if (reader_error(r) || !found || row.stack == MAP_NO_KEY)
		return -EBADMSG;
	if (array_reserve(&l->rows, &l->capacity, (uint64_t)l->count + 1, sizeof(row)) < 0)
		return -ENOMEM;
	row.stream = (uint32_t)(found - streams);
	l->rows[l->count++] = row;
	return 0;
}

static int ask_rows(struct shared_loading *l, const struct stream_summary *streams, size_t count,
		    struct err_text *err)
{
	cleanup(buf_done) struct buf sql = {0}, answer = {.limit = CLICKHOUSE_ANSWER_MAX};
	struct reader r;
	int e;

	l->count = 0;
	put_question(&sql, l->loading->matrix, l->kept, streams, count);
	if (!buf_text(&sql))
		return -ENOMEM;
	e = clickhouse_ask(l->client, CLICKHOUSE_ANY_SHARD, buf_text(&sql), &answer, err);
	r = reader_of(answer.data, answer.length);
	while (!e && reader_more(&r))
		e = add_shared_row(l, &r, streams, count);
	l->any |= l->count;
	return e == -EBADMSG ? err_set(err, e, "the shared store's sums can't be read") : e;
}

static int name_rows(struct shared_loading *l, struct err_text *err)
{
	cleanup(cleanup_free) uint64_t *stacks = calloc(l->count + 1u, sizeof(*stacks));

	if (!stacks)
		return -ENOMEM;
	for (uint32_t i = 0; i < l->count; i++)
		stacks[i] = l->rows[i].stack;
	return shared_names_read(&l->names, stacks, l->count, err);
}

/* ---- a stream ---- */

/* Returns the first of the stream's moments that holds what a row changes; `count`: none does. */
static uint32_t moment_of_row(const struct fleet_matrix *m, const struct stream_summary *s,
			      const struct shared_row *row, uint32_t first, uint32_t count,
			      const uint64_t *moments)
{
	uint32_t k = 0;

	if (!m->by_age)
		return row->slot > first ? row->slot - first : 0;
	while (k < count && minutes_of(s->start_wall_ns + moments[k]) <= row->slot)
		k++;
	return k;
}

/* What the functions of one stream had in use, moment by moment. */
struct stream_courses {
	struct map of_function; /* function -> index + 1 */
	struct stream_course {
		uint32_t function;
		int64_t bytes[FLEET_MOMENTS_MAX];
	} * list;
	uint32_t count, capacity;
};

static void stream_courses_done(struct stream_courses *c)
{
	map_done(&c->of_function);
	free(c->list);
}

static struct stream_course *course_of(struct stream_courses *c, uint32_t function)
{
	uint64_t *place = map_put(&c->of_function, function, NULL);

	if (!place ||
	    array_reserve(&c->list, &c->capacity, (uint64_t)c->count + 1, sizeof(*c->list)) < 0)
		return NULL;
	if (!*place) {
		c->list[c->count].function = function;
		*place = ++c->count;
	}
	return &c->list[*place - 1];
}

/* A change holds from its moment on. */
static int add_change(struct shared_loading *l, struct stream_courses *courses, uint32_t moment,
		      uint32_t end, const struct shared_row *row)
{
	struct shared_site site = shared_names_site(&l->names, row->stack);
	uint32_t function = fleet_function_number(l->loading->matrix, site.function, site.module);
	struct stream_course *course = function ? course_of(courses, function) : NULL;

	for (; course && moment < end; moment++)
		course->bytes[moment] =
			(int64_t)((uint64_t)course->bytes[moment] + (uint64_t)row->bytes);
	return course ? 0 : -ENOMEM;
}

static int add_courses(struct shared_loading *l, uint32_t unit, uint32_t first, uint32_t end,
		       const struct stream_courses *courses)
{
	int r = 0;

	for (uint32_t i = 0; !r && i < courses->count; i++)
		for (uint32_t k = first; !r && k < end; k++)
			r = fleet_add(l->loading->matrix, unit, courses->list[i].function, k,
				      courses->list[i].bytes[k]);
	return r;
}

static int add_rows(struct shared_loading *l, const struct stream_summary *s,
		    const struct shared_row *rows, size_t row_count, uint32_t first, uint32_t count,
		    const uint64_t *moments)
{
	cleanup(stream_courses_done) struct stream_courses courses = {0};
	int64_t unit = fleet_stream_add(l->loading, s, first, count);
	int r = unit < 0 ? (int)unit : 0;

	for (size_t i = 0; !r && i < row_count; i++) {
		uint32_t k = moment_of_row(l->loading->matrix, s, &rows[i], first, count, moments);

		if (k < count)
			r = add_change(l, &courses, first + k, first + count, &rows[i]);
	}
	return r ? r : add_courses(l, (uint32_t)unit, first, first + count, &courses);
}

static int add_stream(struct shared_loading *l, const struct stream_summary *s,
		      const struct shared_row *rows, size_t row_count)
{
	uint64_t moments[FLEET_MOMENTS_MAX];
	uint32_t first = 0, count = fleet_stream_moments(l->loading, s, &first, moments);

	return count ? add_rows(l, s, rows, row_count, first, count, moments) : 0;
}

static int load_some(struct shared_loading *l, size_t from, size_t count, struct err_text *err)
{
	const struct stream_summary *streams = l->loading->streams + from;
	uint32_t at = 0;
	int r = ask_rows(l, streams, count, err);

	/* Too much for one answer: in halves. */
	if (r == -EMSGSIZE && count > 1) {
		*err = (struct err_text){0};
		r = load_some(l, from, count / 2, err);
		return r ? r : load_some(l, from + count / 2, count - count / 2, err);
	}
	if (!r)
		r = name_rows(l, err);
	for (size_t i = 0; !r && i < count; i++) {
		uint32_t begin = at;

		while (at < l->count && l->rows[at].stream == i)
			at++;
		r = add_stream(l, &streams[i], l->rows + begin, at - begin);
	}
	return r;
}

static int shared_load(void *context, struct fleet_loading *loading, struct err_text *err)
{
	struct shared_loading l = {
		.client = context,
		.loading = loading,
		.names = {.client = context, .rules = loading->question->rules},
	};
	int r = kept_read(context, &l.kept, err);

	for (size_t i = 0; !r && i < loading->count; i += STREAMS_AT_ONCE) {
		size_t left = loading->count - i;

		r = fleet_loading_progress(loading, i);
		if (!r)
			r = load_some(&l, i, left < STREAMS_AT_ONCE ? left : STREAMS_AT_ONCE, err);
	}
	if (!r && loading->count && !l.any)
		r = err_set(
			err, -EBADMSG,
			"the shared store lists %zu stream%s, and has no sums of them: were rows "
			"removed?",
			loading->count, loading->count == 1 ? "" : "s");
	shared_names_done(&l.names);
	free(l.rows);
	return r ? r : fleet_loading_progress(loading, loading->count);
}

static int shared_list(void *context, const char *select, struct stream_summary **ret_list,
		       size_t *ret_count, size_t *ret_left_out, struct err_text *err)
{
	*ret_left_out = 0;
	return shared_streams(context, select, ret_list, ret_count, err);
}

static int shared_waiting(void *context, const char *select, size_t *ret_count,
			  struct err_text *err)
{
	return shared_streams_waiting(context, select, ret_count, err);
}

/* What was in use before the first day that is kept is known at its beginning. */
static int shared_reach(void *context, uint64_t *ret_from_ns, struct err_text *err)
{
	uint32_t day = 0;
	int r = kept_read(context, &day, err);

	*ret_from_ns = day * DAY_NS;
	return r;
}

static int shared_now(void *context, uint64_t *ret_ns, struct err_text *err)
{
	return shared_clock(context, CLICKHOUSE_ANY_SHARD, ret_ns, err);
}

struct fleet_source fleet_source_shared(struct clickhouse *client)
{
	return (struct fleet_source){.context = client,
				     .reach = shared_reach,
				     .now = shared_now,
				     .minutes_only = true,
				     .list = shared_list,
				     .waiting = shared_waiting,
				     .load = shared_load,
				     .top = shared_top};
}
