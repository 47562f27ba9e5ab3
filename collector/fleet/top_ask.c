/* Answers what a fleet has in use. See top.h. */
#include "collector/fleet/top.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "collector/catalogue/store.h"
#include "collector/fleet/clocks.h"
#include "collector/fleet/source.h"
#include "collector/fleet/top_load.h"
#include "collector/query/minutes.h"

#include "base/ban.h"

#define LAST_MINUTES 10 /* of which the last one is chosen */

static int64_t wrapped(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

/* ---- the minute ---- */

static bool is_there(const struct stream_summary *s, uint32_t minute)
{
	uint64_t at = minute_start_ns(minute);

	return at >= s->start_wall_ns && at - s->start_wall_ns <= s->last_ns;
}

static uint64_t count_there(const struct fleet_top_loading *l, uint32_t minute)
{
	uint64_t count = 0;

	for (size_t i = 0; i < l->count; i++)
		count += is_there(&l->streams[i], minute);
	return count;
}

/* Streams that are recorded now have come to different minutes. The last one at which most are
 * there tells of the fleet; at the very last there may be one stream alone. */
static uint32_t last_minute(const struct fleet_top_loading *l)
{
	uint64_t last = 0, most = 0;
	uint32_t chosen = 0;

	for (size_t i = 0; i < l->count; i++) {
		uint64_t end = (l->streams[i].start_wall_ns + l->streams[i].last_ns) / MINUTE_NS;

		if (is_there(&l->streams[i], (uint32_t)end))
			last = end > last ? end : last;
	}
	for (uint64_t back = 0; back < LAST_MINUTES && back < last; back++) {
		uint64_t there = count_there(l, (uint32_t)(last - back));

		if (there > most) {
			most = there;
			chosen = (uint32_t)(last - back);
		}
	}
	return chosen;
}

/* Drops streams. The list frees them; their ids stay. */
static int drop_streams(struct fleet_top_loading *l, const bool *drop)
{
	size_t kept = 0;

	for (size_t i = 0; i < l->count; i++) {
		struct stream_summary s = l->streams[i];

		if (drop[i]) {
			if (array_reserve(&l->others, &l->others_capacity,
					  (uint64_t)l->other_count + 1, sizeof(*l->others)) < 0)
				return -ENOMEM;
			l->others[l->other_count++] = s.id;
			continue;
		}
		l->streams[i] = l->streams[kept];
		l->streams[kept++] = s;
	}
	store_list_drop(l->streams, kept, l->count);
	l->count = kept;
	return 0;
}

/* Leaves out streams that can't be placed in time. */
static int leave_out(struct fleet_top_loading *l, const struct fleet_source *source,
		     struct err_text *err)
{
	cleanup(cleanup_free) bool *wrong = calloc(l->count + 1, sizeof(*wrong));
	uint64_t now = 0;
	int r = wrong ? 0 : -ENOMEM;

	if (!r && !l->question->at_ns)
		r = fleet_source_now(source, &now, err);
	if (!r)
		r = fleet_clocks_judge(l->streams, l->count, now, wrong, &l->top->left_out);
	for (uint64_t i = 0; !r && i < l->top->left_out.timeless; i++)
		r = fleet_top_unread(l, FLEET_TIMELESS);
	return r ? r : drop_streams(l, wrong);
}

static int keep_minute(struct fleet_top_loading *l)
{
	cleanup(cleanup_free) bool *absent = calloc(l->count + 1, sizeof(*absent));

	for (size_t i = 0; absent && i < l->count; i++)
		absent[i] = !is_there(&l->streams[i], l->minute);
	return absent ? drop_streams(l, absent) : -ENOMEM;
}

static int say_no_data(const struct fleet_top_loading *l, struct err_text *err)
{
	const struct fleet_clocks *clocks = &l->top->left_out;
	const char *when = l->question->at_ns ? "that minute" : "the beginning of a minute";

	if (!clocks->count)
		return err_set(err, -ENODATA, "no stream was recorded at %s%s%s", when,
			       l->top->unread ? ": " : "",
			       l->top->unread ? l->top->unread_why : "");
	return err_set(err, -ENODATA,
		       "no stream was recorded at %s. Of %u board%s the clock is wrong: %s", when,
		       clocks->count, clocks->count == 1 ? "" : "s", clocks->list[0].why);
}

static int choose_minute(struct fleet_top_loading *l, const struct fleet_source *source,
			 struct err_text *err)
{
	int r = leave_out(l, source, err);

	l->minute =
		l->question->at_ns ? (uint32_t)(l->question->at_ns / MINUTE_NS) : last_minute(l);
	l->top->at_ns = minute_start_ns(l->minute);
	l->top->by = l->question->by;
	if (!r)
		r = keep_minute(l);
	return r || l->count ? r : say_no_data(l, err);
}

/* ---- the groups ---- */

/* Rows under way: the group of a row is its index. */
struct top_groups {
	struct fleet_top_row *rows;
	uint32_t *site;		   /* a call site, by row */
	struct fleet_top_use *use; /* by row: its blocks, and what of it is estimated */
	uint32_t count, capacity, sites_capacity, use_capacity;
	struct map numbers; /* key -> index + 1 */
};

static void top_groups_done(struct top_groups *g)
{
	free(g->rows);
	free(g->site);
	free(g->use);
	map_done(&g->numbers);
}

static uint64_t key_of(const struct fleet_top_loading *l, const struct fleet_top_stack *s)
{
	const struct fleet_top_site *site = &l->sites[s->site];

	switch (l->question->by) {
	case FLEET_TOP_BACKTRACE:
		return s->id;
	case FLEET_TOP_SITE:
		return s->site;
	default:
		return (uint64_t)site->function << 32 | site->module;
	}
}

static int64_t group_of(struct top_groups *g, uint64_t key)
{
	uint64_t *place = map_put(&g->numbers, key, NULL);
	uint64_t wanted = (uint64_t)g->count + 1;

	if (!place || array_reserve(&g->rows, &g->capacity, wanted, sizeof(*g->rows)) < 0 ||
	    array_reserve(&g->site, &g->sites_capacity, wanted, sizeof(*g->site)) < 0 ||
	    array_reserve(&g->use, &g->use_capacity, wanted, sizeof(*g->use)) < 0)
		return -ENOMEM;
	if (!*place)
		*place = ++g->count;
	return (int64_t)*place - 1;
}

static int64_t blocks_of(int64_t units)
{
	return (wrapped(units, MINUTE_UNIT / 2)) >> 20;
}
static_assert(MINUTE_UNIT == 1 << 20, "");

/* Of bytes, those of backtraces that have an error are added up: the error is theirs. */
static void add_use(struct fleet_top_use *to, const struct fleet_top_use *more)
{
	to->units = wrapped(to->units, more->units);
	to->variance = wrapped(to->variance, more->variance);
	if (more->variance)
		to->bytes = wrapped(to->bytes, more->bytes);
}

static int add_to_group(struct fleet_top_loading *l, struct top_groups *g,
			const struct fleet_top_stack *s, struct fleet_top_use *all)
{
	int64_t group = group_of(g, key_of(l, s));
	struct fleet_top_row *row;

	if (group < 0)
		return (int)group;
	row = &g->rows[group];
	row->bytes = wrapped(row->bytes, s->use.bytes);
	row->backtraces++;
	row->backtrace = l->question->by == FLEET_TOP_BACKTRACE ? s->id : 0;
	add_use(&g->use[group], &s->use);
	g->site[group] = s->site;
	l->top->bytes = wrapped(l->top->bytes, s->use.bytes);
	l->top->backtraces++;
	add_use(all, &s->use);
	return 0;
}

static const char *text_of(const struct fleet_top_loading *l, uint32_t text)
{
	const char *bytes = intern_get(&l->texts, text);

	return bytes && *bytes ? bytes : NULL;
}

static void name_row(const struct fleet_top_loading *l, struct fleet_top_row *row, uint32_t number)
{
	const struct fleet_top_site *site = &l->sites[number];

	row->function = text_of(l, site->function);
	row->module = text_of(l, site->module);
	if (l->question->by == FLEET_TOP_FUNCTION)
		return;
	row->file = text_of(l, site->file);
	row->line = site->line;
}

static int compare_texts(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

static int row_order(const void *a, const void *b)
{
	const struct fleet_top_row *x = a, *y = b;
	int r;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	if (x->blocks != y->blocks)
		return x->blocks > y->blocks ? -1 : 1;
	if (x->backtrace != y->backtrace)
		return x->backtrace < y->backtrace ? -1 : 1;
	r = compare_texts(x->function, y->function);
	r = r ? r : compare_texts(x->module, y->module);
	r = r ? r : compare_texts(x->file, y->file);
	return r ? r : x->line < y->line ? -1 : x->line > y->line;
}

static uint64_t share_of(int64_t bytes, int64_t all)
{
	return bytes > 0 && all >= bytes ? (uint64_t)((__int128)bytes * 1000 / all) : 0;
}

static int make_groups(struct fleet_top_loading *l, struct top_groups *g)
{
	struct fleet_top_use all = {0};
	int r = 0;

	for (uint32_t i = 0; !r && i < l->stack_count; i++)
		if (!fleet_top_is_none(&l->stacks[i].use))
			r = add_to_group(l, g, &l->stacks[i], &all);
	l->top->blocks = blocks_of(all.units);
	l->top->bytes_error = minutes_error(all.bytes, all.variance);
	for (uint32_t i = 0; i < g->count; i++) {
		g->rows[i].blocks = blocks_of(g->use[i].units);
		g->rows[i].bytes_error = minutes_error(g->use[i].bytes, g->use[i].variance);
		g->rows[i].share = share_of(g->rows[i].bytes, l->top->bytes);
		name_row(l, &g->rows[i], g->site[i]);
	}
	if (g->count)
		qsort(g->rows, g->count, sizeof(*g->rows), row_order);
	l->top->groups = g->count;
	l->top->row_count = g->count < l->question->count ? g->count : (size_t)l->question->count;
	l->top->rows = take_ptr(g->rows);
	return r;
}

/* ---- all ---- */

static void loading_done(struct fleet_top_loading *l)
{
	store_list_free(l->streams, l->count);
	intern_done(&l->site_keys);
	map_done(&l->numbers);
	free(l->others);
	free(l->sites);
	free(l->stacks);
}

static int load(struct fleet_top_loading *l, const struct fleet_source *source,
		struct err_text *err)
{
	size_t left_out = 0;
	int r = array_reserve(&l->sites, &l->sites_capacity, 1, sizeof(*l->sites));

	if (!r)
		r = fleet_source_streams(source, l->question->select, &l->streams, &l->count,
					 &left_out, err);
	l->top->unread = left_out;
	if (left_out)
		l->top->unread_why = FLEET_LEFT_OUT;
	if (!r)
		r = choose_minute(l, source, err);
	if (r)
		return r;
	l->top->streams = l->count;
	return source->top(source->context, l, err);
}

int fleet_top_ask(const struct fleet_source *source, const struct fleet_top_question *question,
		  struct fleet_top *ret_top, struct err_text *err)
{
	struct intern *texts = calloc(1, sizeof(*texts));
	cleanup(top_groups_done) struct top_groups groups = {0};
	struct fleet_top_loading l = {.question = question, .top = ret_top};
	int r = texts ? 0 : -ENOMEM;

	*ret_top = (struct fleet_top){.owned = texts};
	if (!r)
		r = load(&l, source, err);
	if (!r)
		r = make_groups(&l, &groups);
	loading_done(&l);
	if (texts)
		*texts = l.texts;
	if (r < 0)
		fleet_top_done(ret_top);
	return r == -ENOMEM ? err_set(err, r, "out of memory") : r;
}

void fleet_top_done(struct fleet_top *top)
{
	free(top->rows);
	fleet_clocks_done(&top->left_out);
	if (top->owned)
		intern_done(top->owned);
	free(top->owned);
	*top = (struct fleet_top){0};
}
