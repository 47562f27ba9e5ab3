/*
 * Reads shared snapshots. See shared_snapshots.h.
 *
 * A snapshot is there once its stream's row says that all of it was sent. Its members come in
 * questions of about MEMBERS_AT_ONCE rows, so that many large snapshots need no large answer.
 */
#include "collector/share/shared_snapshots.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/saturated.h"
#include "collector/clickhouse/client.h"
#include "collector/clickhouse/row_binary.h"
#include "collector/clickhouse/shards.h"
#include "collector/query/minutes.h"
#include "collector/share/kept.h"

#include "base/ban.h"

#define TEXT_BYTES_MAX	(1u << 20)
#define MEMBERS_AT_ONCE 20000
#define MEMBER_BYTES	100 /* a row has more */
/* Snapshots in one question: a statement has 256 KiB at most, an id 60 bytes. */
#define ASKED_AT_ONCE 2000

struct reading {
	struct clickhouse *client;
	uint32_t kept; /* kept.h */
	struct shared_snapshots snapshots;
	uint32_t *members; /* of each, as its rows say */
	uint32_t list_capacity, owners_capacity, members_capacity;
};

static void reading_done(struct reading *r)
{
	shared_snapshots_done(&r->snapshots);
	free(r->members);
}

void shared_snapshots_done(struct shared_snapshots *s)
{
	store_snapshots_free(s->list, s->count);
	free(s->owners);
	*s = (struct shared_snapshots){0};
}

static char *get_text(struct reader *r)
{
	size_t length = 0;
	const char *bytes = row_get_bytes(r, TEXT_BYTES_MAX, &length);

	return strndup(bytes ? bytes : "", bytes ? length : 0);
}

static void put_id(struct buf *sql, const struct stream_id *id)
{
	char text[STREAM_ID_TEXT];

	buf_printf(sql, "toFixedString(unhex('%s'), 16)", stream_id_format(text, id));
}

/* ---- which there are ---- */

static int reserve_head(struct reading *g)
{
	uint64_t count = g->snapshots.count + 1;
	int r = array_reserve(&g->snapshots.list, &g->list_capacity, count,
			      sizeof(*g->snapshots.list));

	if (!r)
		r = array_reserve(&g->snapshots.owners, &g->owners_capacity, count,
				  sizeof(*g->snapshots.owners));
	return r ? r : array_reserve(&g->members, &g->members_capacity, count, sizeof(*g->members));
}

static int head_row(struct reading *g, struct reader *r)
{
	size_t i = g->snapshots.count, length = 0;
	struct snapshot s = {0};
	const char *name;

	if (reserve_head(g) < 0)
		return -ENOMEM;
	row_get_id(r, s.stream.bytes);
	g->snapshots.owners[i] = row_get_u64(r);
	g->members[i] = row_get_u32(r);
	name = row_get_bytes(r, SNAPSHOT_NAME_MAX, &length);
	s.wall_ns = row_get_u64(r);
	s.took_ns = row_get_u64(r);
	if (reader_error(r))
		return -EBADMSG;
	memcpy(s.name, name, length);
	if (strlen(s.name) != length || snapshot_name_check(s.name, NULL) < 0)
		return -EBADMSG;
	g->snapshots.list[g->snapshots.count++] = s;
	return 0;
}

static int read_heads(struct reading *g, struct err_text *err)
{
	cleanup(buf_done) struct buf sql = {0}, answer = {.limit = CLICKHOUSE_ANSWER_MAX};
	struct reader r;
	int e = kept_read(g->client, &g->kept, err);

	if (e < 0)
		return e;
	buf_printf(&sql,
		   "SELECT snapshot, collector, members, name, wall_ns, took_ns FROM snapshots "
		   "FINAL WHERE position = 0 AND day >= toDate(%u) AND snapshot GLOBAL IN (SELECT "
		   "stream FROM streams FINAL WHERE is_snapshot = 1 AND done = 1) ORDER BY "
		   "wall_ns, name, snapshot, collector FORMAT RowBinary",
		   g->kept);
	if (!buf_text(&sql))
		return -ENOMEM;
	e = clickhouse_ask(g->client, CLICKHOUSE_ANY_SHARD, buf_text(&sql), &answer, err);
	r = reader_of(answer.data, answer.length);
	while (!e && reader_more(&r))
		e = head_row(g, &r);
	return e == -EBADMSG ? err_set(err, e, "the shared store's list of snapshots can't be read")
			     : e;
}

/* ---- their members ---- */

static void get_build_id(struct reader *r, struct snapshot_member *m)
{
	size_t length = 0;
	const char *bytes = row_get_bytes(r, sizeof(m->build_id), &length);

	if (!bytes)
		return;
	memcpy(m->build_id, bytes, length);
	m->build_id_length = (uint32_t)length;
}

static void get_figures(struct reader *r, struct snapshot_member *m)
{
	m->wall_ns = row_get_u64(r);
	m->mark = row_get_u64(r);
	m->time_ns = row_get_u64(r);
	m->clock_offset_ns = row_get_i64(r);
	m->clock_error_ns = row_get_u64(r);
	m->late = row_get_u8(r);
	m->blocks = row_get_u64(r);
	m->bytes = row_get_u64(r);
	m->samples = row_get_u64(r);
	m->blocks_error = row_get_f64(r);
	m->bytes_error = row_get_f64(r);
}

static int get_member(struct reader *r, struct snapshot_member *m)
{
	bool is_missing;

	row_get_id(r, m->stream.bytes);
	m->host = get_text(r);
	m->executable = get_text(r);
	m->pid = row_get_u32(r);
	get_build_id(r, m);
	is_missing = row_get_u8(r);
	m->missing = get_text(r);
	if (!m->host || !m->executable || !m->missing)
		return -ENOMEM;
	if (!is_missing) {
		free(m->missing);
		m->missing = NULL;
	}
	get_figures(r, m);
	m->incomplete = get_text(r);
	if (!m->incomplete)
		return -ENOMEM;
	if (!*m->incomplete)
		free(take_ptr(m->incomplete));
	return reader_error(r) ? -EBADMSG : 0;
}

/* The rows of a snapshot follow each other, in order. */
static int read_members_of(struct reader *r, struct snapshot *s, uint64_t owner, uint32_t members)
{
	int e = 0;

	s->members = calloc((size_t)members + 1, sizeof(*s->members));
	if (!s->members)
		return -ENOMEM;
	for (uint32_t i = 0; !e && i < members; i++) {
		struct stream_id id;

		row_get_id(r, id.bytes);
		if (row_get_u64(r) != owner || row_get_u32(r) != i ||
		    memcmp(&id, &s->stream, sizeof(id)) != 0)
			return -EBADMSG;
		s->count++;
		e = get_member(r, &s->members[i]);
		s->missing += s->members[i].missing != NULL;
	}
	return e;
}

static void put_members_question(struct buf *sql, const struct reading *g, size_t from, size_t end)
{
	buf_string(sql, "SELECT snapshot, collector, position, member, host, executable, pid, "
			"build_id, is_missing, missing, member_wall_ns, mark, time_ns, "
			"clock_offset_ns, clock_error_ns, late, blocks, bytes, samples, "
			"blocks_error, bytes_error, incomplete FROM snapshots FINAL WHERE position "
			"< members "
			"AND (snapshot, collector) IN (");
	for (size_t i = from; i < end; i++) {
		buf_string(sql, i > from ? ", (" : "(");
		put_id(sql, &g->snapshots.list[i].stream);
		buf_printf(sql, ", toUInt64(%" PRIu64 "))", g->snapshots.owners[i]);
	}
	buf_string(sql, ") ORDER BY wall_ns, name, snapshot, collector, position FORMAT "
			"RowBinary");
}

static int read_some_members(struct reading *g, size_t from, size_t end, struct err_text *err)
{
	cleanup(buf_done) struct buf sql = {0}, answer = {.limit = CLICKHOUSE_ANSWER_MAX};
	struct reader r;
	int e;

	put_members_question(&sql, g, from, end);
	if (!buf_text(&sql))
		return -ENOMEM;
	e = clickhouse_ask(g->client, CLICKHOUSE_ANY_SHARD, buf_text(&sql), &answer, err);
	r = reader_of(answer.data, answer.length);
	/* A count that is more than the answer has room for takes no memory. */
	for (size_t i = from; !e && i < end; i++)
		e = g->members[i] <= reader_left(&r) / MEMBER_BYTES
			    ? read_members_of(&r, &g->snapshots.list[i], g->snapshots.owners[i],
					      g->members[i])
			    : -EBADMSG;
	if (!e && reader_more(&r))
		e = -EBADMSG;
	return e == -EBADMSG
		       ? err_set(err, e,
				 "members of snapshot %s can't be read, or are missing in the "
				 "shared store",
				 g->snapshots.list[from].name)
		       : e;
}

static int read_all_members(struct reading *g, struct err_text *err)
{
	size_t from = 0;
	int r = 0;

	while (!r && from < g->snapshots.count) {
		uint64_t rows = g->members[from];
		size_t end = from + 1;

		while (end < g->snapshots.count && end - from < ASKED_AT_ONCE &&
		       rows + g->members[end] <= MEMBERS_AT_ONCE)
			rows += g->members[end++];
		r = read_some_members(g, from, end, err);
		from = end;
	}
	return r;
}

int shared_snapshots(struct clickhouse *client, struct shared_snapshots *ret_snapshots,
		     struct err_text *err)
{
	cleanup(reading_done) struct reading g = {.client = client};
	int r = read_heads(&g, err);

	if (!r)
		r = read_all_members(&g, err);
	if (!r)
		r = shared_snapshots_call(client, &g.snapshots, err);
	if (r < 0)
		return r;
	*ret_snapshots = g.snapshots;
	g.snapshots = (struct shared_snapshots){0};
	return 0;
}

int shared_snapshot_get(struct clickhouse *client, const char *name, struct snapshot *ret_snapshot,
			uint64_t *ret_owner, struct err_text *err)
{
	cleanup(reading_done) struct reading g = {.client = client};
	size_t found = 0;
	int r = read_heads(&g, err);

	if (!r)
		r = shared_snapshots_find(client, &g.snapshots, name, &found, err);
	if (!r)
		r = read_some_members(&g, found, found + 1, err);
	if (r < 0)
		return r;
	*ret_owner = g.snapshots.owners[found];
	*ret_snapshot = g.snapshots.list[found];
	g.snapshots.list[found] = (struct snapshot){0};
	return 0;
}

int shared_snapshot_find(struct clickhouse *client, const char *name, struct stream_id *ret_stream,
			 uint64_t *ret_owner, struct err_text *err)
{
	cleanup(reading_done) struct reading g = {.client = client};
	size_t found = 0;
	int r = read_heads(&g, err);

	if (!r)
		r = shared_snapshots_find(client, &g.snapshots, name, &found, err);
	if (r < 0)
		return r;
	*ret_stream = g.snapshots.list[found].stream;
	*ret_owner = g.snapshots.owners[found];
	return 0;
}

/* ---- what was in use ---- */

/* What a backtrace had in use. */
struct shared_use {
	uint64_t stack;
	int64_t units, bytes;
};

struct uses {
	struct shared_use *list;
	uint32_t count, capacity;
};

static void uses_done(struct uses *u)
{
	free(u->list);
}

static int add_use(struct uses *u, struct reader *r)
{
	struct shared_use use = {.stack = row_get_u64(r)};

	use.units = row_get_i64(r);
	use.bytes = row_get_i64(r);
	if (reader_error(r) || use.stack == MAP_NO_KEY)
		return -EBADMSG;
	if (array_reserve(&u->list, &u->capacity, (uint64_t)u->count + 1, sizeof(use)) < 0)
		return -ENOMEM;
	u->list[u->count++] = use;
	return 0;
}

static int ask_uses(struct clickhouse *client, const struct snapshot *s, uint64_t owner,
		    struct uses *ret, struct err_text *err)
{
	cleanup(buf_done) struct buf sql = {0}, answer = {.limit = CLICKHOUSE_ANSWER_MAX};
	uint32_t kept = 0;
	struct reader r;
	int e = kept_read(client, &kept, err);

	if (e < 0)
		return e;
	buf_string(&sql,
		   "SELECT stack, sum(blocks) AS b, sum(bytes) AS n FROM sums WHERE stream = ");
	put_id(&sql, &s->stream);
	buf_printf(&sql, " AND collector = %" PRIu64, owner);
	kept_put(&sql, kept);
	buf_string(&sql, " GROUP BY stack HAVING b > 0 OR n > 0 ORDER BY stack FORMAT RowBinary");
	if (!buf_text(&sql))
		return -ENOMEM;
	e = clickhouse_ask(client, CLICKHOUSE_ANY_SHARD, buf_text(&sql), &answer, err);
	r = reader_of(answer.data, answer.length);
	while (!e && reader_more(&r))
		e = add_use(ret, &r);
	return e == -EBADMSG ? err_set(err, e, "the shared store's sums can't be read") : e;
}

static int name_uses(struct shared_names *names, const struct uses *uses, struct err_text *err)
{
	cleanup(cleanup_free) uint64_t *stacks = calloc(uses->count + 1u, sizeof(*stacks));

	if (!stacks)
		return -ENOMEM;
	for (uint32_t i = 0; i < uses->count; i++)
		stacks[i] = uses->list[i].stack;
	return shared_names_read(names, stacks, uses->count, err);
}

struct grouping_functions {
	struct intern texts, keys;
	struct map places;  /* (function, module) -> index in the groups + 1 */
	uint64_t *heaviest; /* bytes of the group's heaviest backtrace, whose file is shown */
	uint32_t capacity, heaviest_capacity;
};

static void grouping_done(struct grouping_functions *g)
{
	intern_done(&g->texts);
	intern_done(&g->keys);
	map_done(&g->places);
	free(g->heaviest);
}

static const char *or_null(const char *text)
{
	return text && *text ? text : NULL;
}

/* Returns the index of the site's group, or -ENOMEM. */
static int64_t group_of(struct grouping_functions *g, struct groups *groups,
			const struct shared_site *site)
{
	uint32_t function = intern_text(&g->texts, site->function),
		 module = intern_text(&g->texts, site->module),
		 key = function && module ? intern_pair(&g->keys, function, module) : 0;
	uint64_t *place = key ? map_put(&g->places, key, NULL) : NULL;

	if (!place ||
	    array_reserve(&groups->list, &g->capacity, groups->count + 1, sizeof(*groups->list)) <
		    0 ||
	    array_reserve(&g->heaviest, &g->heaviest_capacity, groups->count + 1,
			  sizeof(*g->heaviest)) < 0)
		return -ENOMEM;
	if (!*place) {
		groups->list[groups->count] = (struct group){.node = NO_NODE,
							     .function = site->function,
							     .module = or_null(site->module),
							     .file = or_null(site->file)};
		g->heaviest[groups->count] = 0;
		*place = ++groups->count;
	}
	return (int64_t)*place - 1;
}

static uint64_t not_negative(int64_t value)
{
	return value > 0 ? (uint64_t)value : 0;
}

static void add_in_use(struct usage *to, const struct shared_use *use)
{
	/* Blocks are rounded at the end. */
	add_most(&to->blocks, not_negative(use->units));
	add_most(&to->bytes, not_negative(use->bytes));
}

static void round_blocks(struct usage *usage)
{
	usage->blocks =
		usage->blocks / MINUTE_UNIT + (usage->blocks % MINUTE_UNIT * 2 >= MINUTE_UNIT);
}

static int group_uses(struct groups *groups, const struct shared_names *names,
		      const struct uses *uses)
{
	cleanup(grouping_done) struct grouping_functions g = {0};

	for (uint32_t i = 0; i < uses->count; i++) {
		const struct shared_use *use = &uses->list[i];
		struct shared_site site = shared_names_site(names, use->stack);
		int64_t n = group_of(&g, groups, &site);

		if (n < 0)
			return (int)n;
		if (not_negative(use->bytes) > g.heaviest[n]) {
			g.heaviest[n] = (uint64_t)use->bytes;
			groups->list[n].file = or_null(site.file);
		}
		add_in_use(&groups->list[n].value, use);
		add_in_use(&groups->total, use);
	}
	for (size_t i = 0; i < groups->count; i++)
		round_blocks(&groups->list[i].value);
	round_blocks(&groups->total);
	return 0;
}

int shared_snapshot_functions(struct clickhouse *client, const struct snapshot *snapshot,
			      uint64_t owner, enum filter_hide hide,
			      struct shared_functions *ret_functions, struct err_text *err)
{
	cleanup(uses_done) struct uses uses = {0};
	int r = ask_uses(client, snapshot, owner, &uses, err);

	*ret_functions = (struct shared_functions){
		.names = {.client = client, .innermost = hide == HIDE_NONE}};
	ret_functions->groups.hide = hide;
	if (!r)
		r = name_uses(&ret_functions->names, &uses, err);
	if (!r)
		r = group_uses(&ret_functions->groups, &ret_functions->names, &uses);
	if (r < 0)
		shared_functions_done(ret_functions);
	return r;
}

void shared_functions_done(struct shared_functions *f)
{
	groups_done(&f->groups);
	shared_names_done(&f->names);
}
