/* Sums up what backtraces had in use in the shared store. See shared_top.h. */
#include "collector/share/shared_top.h"

#include <errno.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "collector/catalogue/store.h"
#include "collector/clickhouse/client.h"
#include "collector/clickhouse/row_binary.h"
#include "collector/clickhouse/shards.h"
#include "collector/fleet/top_load.h"
#include "collector/share/kept.h"
#include "collector/share/shared_names.h"
#include "collector/sums/minute_file.h"

#include "base/ban.h"

/* A statement has 256 KiB at most, a stream 55 bytes. */
#define STREAMS_AT_ONCE 4000

/* Ids of streams, of which a statement names some at once. */
struct id_list {
	uint32_t kept; /* of all sums that are asked for (kept.h) */
	const struct stream_id *first;
	size_t count, stride; /* bytes from one to the next */
};

static const struct stream_id *id_of(const struct id_list *ids, size_t i)
{
	return (const void *)((const char *)ids->first + i * ids->stride);
}

static void put_question(struct buf *sql, uint32_t minute, const struct id_list *ids, size_t from,
			 size_t count)
{
	char id[STREAM_ID_TEXT];

	buf_printf(sql, "SELECT stack, sum(bytes), sum(blocks) FROM sums WHERE minute < %u",
		   minute);
	for (size_t i = from; i < from + count; i++)
		buf_printf(sql, "%stoFixedString(unhex('%s'), 16)",
			   i > from ? ", " : " AND stream IN (",
			   stream_id_format(id, id_of(ids, i)));
	buf_string(sql, count ? ")" : "");
	kept_put(sql, ids->kept);
	buf_string(sql, " GROUP BY stack FORMAT RowBinary");
}

static int add_row(struct fleet_top_loading *l, struct reader *r, bool less)
{
	uint64_t stack = row_get_u64(r), bytes = row_get_u64(r), units = row_get_u64(r);

	if (reader_error(r) || stack == MAP_NO_KEY)
		return -EBADMSG;
	return fleet_top_add(l, stack, 0, (int64_t)(less ? 0 - bytes : bytes),
			     (int64_t)(less ? 0 - units : units));
}

/* Adds what some streams have, or takes it away. No count: all that there are. */
static int ask_sums(struct clickhouse *client, struct fleet_top_loading *l,
		    const struct id_list *ids, size_t from, size_t count, bool less,
		    struct err_text *err)
{
	cleanup(buf_done) struct buf sql = {0}, answer = {.limit = CLICKHOUSE_ANSWER_MAX};
	struct reader r;
	int e;

	put_question(&sql, l->minute, ids, from, count);
	if (!buf_text(&sql))
		return -ENOMEM;
	e = clickhouse_ask(client, CLICKHOUSE_ANY_SHARD, buf_text(&sql), &answer, err);
	r = reader_of(answer.data, answer.length);
	while (!e && reader_more(&r))
		e = add_row(l, &r, less);
	return e == -EBADMSG ? err_set(err, e, "the shared store's sums can't be read") : e;
}

static int ask_streams(struct clickhouse *client, struct fleet_top_loading *l,
		       const struct id_list *ids, bool less, struct err_text *err)
{
	int r = 0;

	for (size_t i = 0; !r && i < ids->count; i += STREAMS_AT_ONCE) {
		size_t left = ids->count - i;

		r = fleet_top_progress(l, less ? l->count : i);
		if (!r)
			r = ask_sums(client, l, ids, i,
				     left < STREAMS_AT_ONCE ? left : STREAMS_AT_ONCE, less, err);
	}
	return r;
}

/* Lists the snapshots, whose sums are those of other streams once more. The caller frees the list.
 */
static int list_snapshots(struct clickhouse *client, struct stream_id **ret_list, size_t *ret_count,
			  struct err_text *err)
{
	cleanup(buf_done) struct buf answer = {.limit = CLICKHOUSE_ANSWER_MAX};
	struct reader r;
	int e = clickhouse_ask(client, CLICKHOUSE_ANY_SHARD,
			       "SELECT DISTINCT stream FROM streams WHERE is_snapshot = 1 "
			       "FORMAT RowBinary",
			       &answer, err);

	if (e < 0)
		return e;
	*ret_count = 0;
	*ret_list = calloc(answer.length / sizeof(**ret_list) + 1, sizeof(**ret_list));
	if (!*ret_list)
		return -ENOMEM;
	r = reader_of(answer.data, answer.length);
	while (reader_left(&r) >= sizeof(**ret_list))
		row_get_id(&r, (*ret_list)[(*ret_count)++].bytes);
	return 0;
}

/*
 * To look up the stream of each row takes as long as to add the rows up. So if most streams are
 * asked for, all are added up, and the others, which the table's order finds quickly, are taken
 * away. (A stream that is being sent for the first time, and is not listed yet, counts then.)
 */
static int add_streams(struct clickhouse *client, struct fleet_top_loading *l, struct err_text *err)
{
	struct id_list chosen = {0, &l->streams->id, l->count, sizeof(*l->streams)},
		       others = {0, l->others, l->other_count, sizeof(*l->others)},
		       snapshots = {.stride = sizeof(struct stream_id)};
	cleanup(cleanup_free) struct stream_id *list = NULL;
	int r = kept_read(client, &chosen.kept, err);

	others.kept = chosen.kept;
	if (r < 0)
		return r;
	if (l->question->select || l->other_count > l->count / 4)
		return ask_streams(client, l, &chosen, false, err);
	r = fleet_top_progress(l, 0);
	if (!r)
		r = ask_sums(client, l, &others, 0, 0, false, err);
	if (!r)
		r = ask_streams(client, l, &others, true, err);
	if (!r)
		r = list_snapshots(client, &list, &snapshots.count, err);
	snapshots.first = list;
	snapshots.kept = others.kept;
	return r ? r : ask_streams(client, l, &snapshots, true, err);
}

/* ---- names ---- */

/* The order of top.c, as far as it is known without names. */
static int stack_order(const void *a, const void *b)
{
	const struct fleet_top_stack *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	if (x->units != y->units)
		return x->units > y->units ? -1 : 1;
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
		last = l->stacks[q->count - 1].bytes;
	for (uint32_t i = 0; i < l->stack_count; i++)
		if ((l->stacks[i].bytes || l->stacks[i].units) && l->stacks[i].bytes >= last)
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
