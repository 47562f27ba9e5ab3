/*
 * Sums up what backtraces had in use in the shared store. See shared_top.h.
 *
 *	sums	|--------------------------|
 *	   or	levels of the last hour   +|--| sums since
 *		|			   |  |
 *		0			hour  minute
 *
 * The latter reads an hour at most, however long the store reaches back. Streams that have no level
 * (levels.h) are few: old ones, those that have moved, those that lag behind.
 */
#include "collector/share/shared_top.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/intern.h"
#include "collector/catalogue/store.h"
#include "collector/clickhouse/client.h"
#include "collector/clickhouse/row_binary.h"
#include "collector/clickhouse/shards.h"
#include "collector/fleet/top_load.h"
#include "collector/query/minutes.h"
#include "collector/share/kept.h"
#include "collector/share/levels.h"
#include "collector/share/shared_names.h"
#include "collector/sums/minute_file.h"

#include "base/ban.h"

#define MINUTES_A_DAY 1440
/* A statement has 256 KiB at most, a stream 55 bytes. */
#define STREAMS_AT_ONCE 4000

struct id_list {
	struct stream_id *list;
	uint32_t count, capacity;
};

/* A question under way. */
struct top_asking {
	struct clickhouse *client;
	struct fleet_top_loading *loading;
	uint32_t kept;			/* of all sums that are asked for (kept.h) */
	uint32_t hour;			/* the minute of the levels */
	struct intern leveled;		/* streams that have one */
	struct intern moved;		/* streams of which several collectors have a part */
	struct id_list by_level, whole; /* streams that count, by how they are asked for */
	struct id_list less;		/* streams that do not count */
};

static void top_asking_done(struct top_asking *a)
{
	intern_done(&a->leveled);
	intern_done(&a->moved);
	free(a->by_level.list);
	free(a->whole.list);
	free(a->less.list);
}

static int list_id(struct id_list *ids, const struct stream_id *id)
{
	if (array_reserve(&ids->list, &ids->capacity, (uint64_t)ids->count + 1,
			  sizeof(*ids->list)) < 0)
		return -ENOMEM;
	ids->list[ids->count++] = *id;
	return 0;
}

/* ---- sums ---- */

/* What is added up: levels of the hour, or sums of some minutes. */
struct top_part {
	const char *table,
		*days;	    /* "=": the day of `from` has all; "<=": that of `end`, and before */
	uint32_t from, end; /* minutes */
};

static void put_question(struct buf *sql, const struct top_asking *a, const struct top_part *part,
			 const struct stream_id *ids, size_t count)
{
	char id[STREAM_ID_TEXT];

	buf_printf(sql,
		   "SELECT stack, sum(bytes), sum(blocks), sum(variance) FROM %s WHERE day %s "
		   "toDate(%u) AND "
		   "minute >= %u AND minute < %u",
		   part->table, part->days,
		   (*part->days == '=' ? part->from : part->end) / MINUTES_A_DAY, part->from,
		   part->end);
	for (size_t i = 0; i < count; i++)
		buf_printf(sql, "%stoFixedString(unhex('%s'), 16)", i ? ", " : " AND stream IN (",
			   stream_id_format(id, &ids[i]));
	buf_string(sql, count ? ")" : "");
	kept_put(sql, a->kept);
	buf_string(sql, " GROUP BY stack FORMAT RowBinary");
}

static int64_t get_change(struct reader *r, bool less)
{
	uint64_t value = row_get_u64(r);

	return (int64_t)(less ? 0 - value : value);
}

static int add_row(struct fleet_top_loading *l, struct reader *r, bool less)
{
	uint64_t stack = row_get_u64(r);
	struct fleet_top_use use = {0};

	use.bytes = get_change(r, less);
	use.units = get_change(r, less);
	use.variance = get_change(r, less);
	if (reader_error(r) || stack == MAP_NO_KEY)
		return -EBADMSG;
	return fleet_top_add(l, stack, 0, &use);
}

/* Adds what some streams have, or takes it away. No count: all that there are. */
static int ask_some(struct top_asking *a, const struct top_part *part, const struct stream_id *ids,
		    size_t count, bool less, struct err_text *err)
{
	cleanup(buf_done) struct buf sql = {0}, answer = {.limit = CLICKHOUSE_ANSWER_MAX};
	struct reader r;
	int e = fleet_top_progress(a->loading, 0);

	if (part->from == part->end)
		return e;
	put_question(&sql, a, part, ids, count);
	if (e || !buf_text(&sql))
		return e ? e : -ENOMEM;
	e = clickhouse_ask(a->client, CLICKHOUSE_ANY_SHARD, buf_text(&sql), &answer, err);
	r = reader_of(answer.data, answer.length);
	while (!e && reader_more(&r))
		e = add_row(a->loading, &r, less);
	return e == -EBADMSG ? err_set(err, e, "the shared store's sums can't be read") : e;
}

static int ask_part(struct top_asking *a, const struct top_part *part, const struct id_list *ids,
		    bool less, struct err_text *err)
{
	int r = 0;

	for (size_t i = 0; !r && i < ids->count; i += STREAMS_AT_ONCE) {
		size_t left = ids->count - i;

		r = ask_some(a, part, ids->list + i,
			     left < STREAMS_AT_ONCE ? left : STREAMS_AT_ONCE, less, err);
	}
	return r;
}

static struct top_part part_levels(const struct top_asking *a)
{
	return (struct top_part){"levels", "=", a->hour, a->hour + 1};
}

static struct top_part part_since(const struct top_asking *a)
{
	return (struct top_part){"sums", "=", a->hour, a->loading->minute};
}

static struct top_part part_whole(const struct top_asking *a)
{
	return (struct top_part){"sums", "<=", 0, a->loading->minute};
}

/* ---- which streams ---- */

/* Reads ids into a list or a table. */
static int read_ids(struct clickhouse *client, const char *sql, struct id_list *ret_list,
		    struct intern *ret_table, struct err_text *err)
{
	cleanup(buf_done) struct buf answer = {.limit = CLICKHOUSE_ANSWER_MAX};
	struct reader r;
	int e = clickhouse_ask(client, CLICKHOUSE_ANY_SHARD, sql, &answer, err);

	r = reader_of(answer.data, answer.length);
	while (!e && reader_more(&r)) {
		struct stream_id id;

		row_get_id(&r, id.bytes);
		if (reader_error(&r))
			return err_set(err, -EBADMSG, "the shared store's list of streams is cut");
		if (ret_list)
			e = list_id(ret_list, &id);
		else if (!intern_bytes(ret_table, id.bytes, sizeof(id.bytes)))
			e = -ENOMEM;
	}
	return e;
}

/* A level of one collector does not say what a stream had before it came there. */
static int read_leveled(struct top_asking *a, struct err_text *err)
{
	char sql[256];
	int r;

	if (a->hour < a->kept * MINUTES_A_DAY)
		return 0;
	snprintf(sql, sizeof(sql),
		 "SELECT DISTINCT stream FROM levels WHERE day = toDate(%u) AND minute = %u AND "
		 "stack = %" PRIu64 " AND allocations = 1 FORMAT RowBinary",
		 a->hour / MINUTES_A_DAY, a->hour, LEVEL_WHOLE);
	r = read_ids(a->client, sql, NULL, &a->leveled, err);
	return r ? r
		 : read_ids(
			   a->client,
			   "SELECT stream FROM streams GROUP BY stream HAVING uniqExact(collector) "
			   "> 1 FORMAT RowBinary",
			   NULL, &a->moved, err);
}

/* One that began after the hour needs no level. */
static bool has_level(const struct top_asking *a, const struct stream_summary *s)
{
	return !intern_find(&a->moved, s->id.bytes, sizeof(s->id.bytes)) &&
	       (minute_of(s->start_wall_ns) >= a->hour ||
		intern_find(&a->leveled, s->id.bytes, sizeof(s->id.bytes)));
}

static int sort_streams(struct top_asking *a)
{
	const struct fleet_top_loading *l = a->loading;
	int r = 0;

	for (size_t i = 0; !r && i < l->count; i++) {
		const struct stream_id *id = &l->streams[i].id;
		bool leveled = has_level(a, &l->streams[i]);

		r = list_id(leveled ? &a->by_level : &a->whole, id);
		if (!r && !leveled)
			r = list_id(&a->less, id);
	}
	for (uint32_t i = 0; !r && i < l->other_count; i++)
		r = list_id(&a->less, &l->others[i]);
	return r;
}

/*
 * To look up the stream of each row takes as long as to add the rows up. So if most streams are
 * asked for, all are added up, and the others, which the table's order finds quickly, are taken
 * away. Sums of snapshots are those of other streams once more. (A stream that is being sent for
 * the first time, and is not listed yet, counts then.)
 */
static int ask_all_but_some(struct top_asking *a, struct err_text *err)
{
	struct top_part parts[] = {part_levels(a), part_since(a)};
	int r = read_ids(a->client,
			 "SELECT DISTINCT stream FROM streams WHERE is_snapshot = 1 FORMAT "
			 "RowBinary",
			 &a->less, NULL, err);

	for (size_t i = 0; !r && i < sizeof(parts) / sizeof(*parts); i++) {
		r = ask_some(a, &parts[i], NULL, 0, false, err);
		if (!r)
			r = ask_part(a, &parts[i], &a->less, true, err);
	}
	return r;
}

static int ask_these(struct top_asking *a, struct err_text *err)
{
	struct top_part levels = part_levels(a), since = part_since(a);
	int r = ask_part(a, &levels, &a->by_level, false, err);

	return r ? r : ask_part(a, &since, &a->by_level, false, err);
}

static int add_streams(struct clickhouse *client, struct fleet_top_loading *l, struct err_text *err)
{
	cleanup(top_asking_done) struct top_asking a = {
		.client = client, .loading = l, .hour = l->minute / LEVEL_MINUTES * LEVEL_MINUTES};
	struct top_part whole;
	int r = kept_read(client, &a.kept, err);

	if (!r)
		r = read_leveled(&a, err);
	if (!r)
		r = sort_streams(&a);
	if (r < 0)
		return r;
	whole = part_whole(&a);
	r = l->question->select || a.less.count > a.by_level.count / 4 ? ask_these(&a, err)
								       : ask_all_but_some(&a, err);
	return r ? r : ask_part(&a, &whole, &a.whole, false, err);
}

/* ---- names ---- */

/* The order of top.c, as far as it is known without names. */
static int stack_order(const void *a, const void *b)
{
	const struct fleet_top_stack *x = a, *y = b;

	if (x->use.bytes != y->use.bytes)
		return x->use.bytes > y->use.bytes ? -1 : 1;
	if (x->use.units != y->use.units)
		return x->use.units > y->use.units ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

/* Lists the backtraces whose names decide. By backtrace, those of the rows are enough; blocks are
 * rounded, so equal ones may stand in another order: some more. */
static size_t list_wanted(struct fleet_top_loading *l, uint64_t *list)
{
	const struct fleet_top_question *q = l->question;
	size_t count = 0;
	int64_t last = INT64_MIN;

	if (q->by == FLEET_TOP_BACKTRACE && l->stack_count)
		qsort(l->stacks, l->stack_count, sizeof(*l->stacks), stack_order);
	if (q->by == FLEET_TOP_BACKTRACE && q->count && q->count < l->stack_count)
		last = l->stacks[q->count - 1].use.bytes;
	for (uint32_t i = 0; i < l->stack_count; i++)
		if (!fleet_top_is_none(&l->stacks[i].use) && l->stacks[i].use.bytes >= last)
			list[count++] = l->stacks[i].id;
	return count;
}

static int set_site(struct fleet_top_loading *l, struct fleet_top_stack *stack,
		    const struct shared_site *site)
{
	stack->site = fleet_top_site(l, &(struct sums_site){.function = site->function,
							    .module = site->module,
							    .file = site->file,
							    .line = site->line,
							    .known = site->known});
	return stack->site ? 0 : -ENOMEM;
}

static int name_stacks(struct clickhouse *client, struct fleet_top_loading *l, struct err_text *err)
{
	struct shared_names names = {.client = client, .rules = l->question->rules};
	cleanup(cleanup_free) uint64_t *list = calloc(l->stack_count + 1u, sizeof(*list));
	int r = list ? shared_names_read(&names, list, list_wanted(l, list), err) : -ENOMEM;

	for (uint32_t i = 0; !r && i < l->stack_count; i++) {
		struct shared_site site = shared_names_site(&names, l->stacks[i].id);

		r = set_site(l, &l->stacks[i], &site);
	}
	shared_names_done(&names);
	return r;
}

int shared_top(void *client, struct fleet_top_loading *l, struct err_text *err)
{
	int r = add_streams(client, l, err);

	if (!r)
		r = name_stacks(client, l, err);
	return r ? r : fleet_top_progress(l, l->count);
}
