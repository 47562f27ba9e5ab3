/* Births and deaths in order. See events.h. */
#include "collector/query/sweep/events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/map.h"
#include "collector/columns/row_block.h"
#include "collector/query/match/matcher.h"
#include "collector/query/match/view.h"
#include "collector/recording/recording.h"
#include "collector/recording/row_reader.h"

#include "base/ban.h"

DEFINE_CLEANUP(row_reader_free, struct row_reader *)

#define BUCKETS 4096

/* A part of the time, both ends included. */
struct window {
	uint64_t from, to, events;
};

struct query_events {
	struct matcher matcher;
	struct window *todo; /* a stack: the next one is last */
	size_t todo_count, todo_capacity;
	struct block_event *list; /* events of the current window, sorted */
	size_t count, at, capacity, at_once;
};

/* ---- passes ---- */

struct pass {
	struct query_events *events;
	struct window window;
	uint64_t *buckets; /* NULL: the pass gathers events; else it counts them */
	uint64_t width;
};

static uint64_t death_of(const struct row_block *block, uint32_t i)
{
	uint64_t death = block->death_ns[i];

	return death < block->birth_ns[i] ? block->birth_ns[i] : death;
}

static uint64_t link_of(uint32_t row)
{
	return row == NO_BLOCK ? NO_TIME : row;
}

static int events_keep(struct query_events *e, struct block_event event)
{
	if (e->count == e->capacity) {
		size_t capacity = e->capacity ? e->capacity * 2 : 4096;
		struct block_event *list = reallocarray(e->list, capacity, sizeof(*list));

		if (!list)
			return -ENOMEM;
		e->list = list;
		e->capacity = capacity;
	}
	e->list[e->count++] = event;
	return 0;
}

static struct block_event event_of(const struct row_block *block, uint32_t i, bool is_death)
{
	uint64_t weight = row_weight(block, i);

	return (struct block_event){
		.time_ns = is_death ? death_of(block, i) : block->birth_ns[i],
		.row = block->first_row + i,
		.chain = link_of(is_death ? block->chain_next[i] : block->chain_previous[i]),
		.address = block->address[i],
		.size = block->size[i],
		.weight = weight > block->size[i] ? weight : block->size[i],
		.stack = is_death ? block->death_stack[i] : block->stack[i],
		.thread = is_death ? block->death_thread[i] : block->thread[i],
		.is_death = is_death,
	};
}

static int events_take(struct pass *pass, const struct row_block *block, uint32_t i, bool is_death)
{
	uint64_t time = is_death ? death_of(block, i) : block->birth_ns[i];

	if (time < pass->window.from || time > pass->window.to)
		return 0;
	if (pass->buckets) {
		pass->buckets[(time - pass->window.from) / pass->width]++;
		return 0;
	}
	return events_keep(pass->events, event_of(block, i, is_death));
}

static int run_pass(struct pass *pass, struct err_text *err)
{
	const struct matcher *m = &pass->events->matcher;
	cleanup(cleanup_row_reader_free) struct row_reader *reader = NULL;
	int r = row_reader_new(m->recording, &reader);

	for (uint32_t b = 0; !r && b < recording_blocks(m->recording); b++) {
		const struct row_block *block = recording_zone(m->recording, b);
		uint32_t count = matcher_block_rows(m, block);

		r = matcher_cancelled(m, err);
		if (r < 0)
			return r;
		if (!count || block->min.birth_ns > pass->window.to)
			continue;
		block = row_reader_block(reader, b, ROWS_ALL, err);
		if (!block)
			return -EIO;
		for (uint32_t i = 0; !r && i < count; i++) {
			if (!matcher_row(m, block, i))
				continue;
			r = events_take(pass, block, i, false);
			if (!r && block->death_ns[i] != NO_TIME)
				r = events_take(pass, block, i, true);
		}
	}
	return r;
}

/* ---- windows ---- */

static int events_push(struct query_events *e, struct window window)
{
	if (e->todo_count == e->todo_capacity) {
		size_t capacity = e->todo_capacity ? e->todo_capacity * 2 : 64;
		struct window *todo = reallocarray(e->todo, capacity, sizeof(*todo));

		if (!todo)
			return -ENOMEM;
		e->todo = todo;
		e->todo_capacity = capacity;
	}
	e->todo[e->todo_count++] = window;
	return 0;
}

/* Divides a window into parts with at most `at_once` events. A single bucket with more events
 * becomes a part of its own, to be divided again. The last part is pushed first. */
static int events_cut(struct query_events *e, struct window whole, struct err_text *err)
{
	cleanup(cleanup_free) uint64_t *buckets = calloc(BUCKETS, sizeof(*buckets));
	struct pass pass = {e, whole, buckets, (whole.to - whole.from) / BUCKETS + 1};
	struct window part = {0};
	int r = buckets ? run_pass(&pass, err) : -ENOMEM;

	for (uint32_t b = (uint32_t)((whole.to - whole.from) / pass.width) + 1; !r && b-- > 0;) {
		uint64_t from = whole.from + b * pass.width;

		if (!buckets[b])
			continue;
		if (part.events && part.events + buckets[b] > e->at_once) {
			r = events_push(e, part);
			part.events = 0;
		}
		if (!part.events)
			part.to = whole.to - from < pass.width ? whole.to : from + pass.width - 1;
		part.from = from;
		part.events += buckets[b];
	}
	return r || !part.events ? r : events_push(e, part);
}

/* ---- one moment ---- */

/* By time; births before deaths; births by row, deaths by address, then row. */
static int events_in_order(const void *a, const void *b)
{
	const struct block_event *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	if (x->is_death != y->is_death)
		return (int)x->is_death - (int)y->is_death;
	if (x->is_death && x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

#define MOVED (UINT64_C(1) << 63) /* with a row: key of a death by realloc */

/* The events of one time, `births` births followed by deaths, while they are put in order. */
struct moment {
	struct block_event *list, *out;
	size_t births, count, done;
	/* Address -> the first death there that is not written yet; row | MOVED -> its death. */
	struct map deaths;
};

static int index_deaths(struct moment *m)
{
	for (size_t i = m->births; i < m->count; i++) {
		bool is_new;
		uint64_t *at = map_put(&m->deaths, m->list[i].address & ~MOVED, &is_new);

		if (!at)
			return -ENOMEM;
		if (is_new)
			*at = i;
		if (m->list[i].chain == NO_TIME)
			continue;
		at = map_put(&m->deaths, m->list[i].row | MOVED, &is_new);
		if (!at)
			return -ENOMEM;
		*at = i;
	}
	return 0;
}

static void put_out(struct moment *m, size_t i)
{
	if (m->list[i].row == NO_TIME)
		return;
	m->out[m->done++] = m->list[i];
	m->list[i].row = NO_TIME;
}

static void put_birth(struct moment *m, size_t i)
{
	const struct block_event *birth = &m->list[i];
	uint64_t *at = birth->chain == NO_TIME ? NULL : map_get(&m->deaths, birth->chain | MOVED);

	if (at)
		put_out(m, *at);
	at = map_get(&m->deaths, birth->address & ~MOVED);
	for (; at && *at < m->count && m->list[*at].address == birth->address &&
	       (m->list[*at].row == NO_TIME || m->list[*at].row < birth->row);
	     ++*at)
		put_out(m, *at);
	put_out(m, i);
}

/* Writes the death of the last block born first: if no allocation came between, the block was freed
 * at once. */
static void put_last_born(struct moment *m)
{
	const struct block_event *last = &m->out[m->done - 1];

	for (size_t i = m->births; i < m->count; i++)
		if (m->list[i].row == last->row)
			put_out(m, i);
}

static int order_moment(struct moment *m)
{
	int r = index_deaths(m);

	for (size_t i = 0; !r && i < m->count; i++) {
		if (i < m->births)
			put_birth(m, i);
		else
			put_out(m, i);
		if (i + 1 == m->births)
			put_last_born(m);
	}
	if (!r)
		memcpy(m->list, m->out, m->count * sizeof(*m->list));
	return r;
}

/* Orders the events `from` to `to`, which have the same time. */
static int order_one(struct query_events *e, size_t from, size_t to, struct moment *m)
{
	m->list = e->list + from;
	m->count = to - from;
	m->births = m->done = 0;
	while (m->births < m->count && !m->list[m->births].is_death)
		m->births++;
	if (!m->births || m->births == m->count)
		return 0;
	/* Clearing costs as much as the largest moment so far, so a table that is far too large is
	 * freed. */
	if (m->deaths.capacity > 16 * m->count + 1024)
		map_done(&m->deaths);
	else
		map_clear(&m->deaths);
	return order_moment(m);
}

static int order(struct query_events *e)
{
	struct moment m = {.out = calloc(e->count + 1, sizeof(*m.out))};
	int r = m.out ? 0 : -ENOMEM;

	qsort(e->list, e->count, sizeof(*e->list), events_in_order);
	for (size_t from = 0, to; !r && from < e->count; from = to) {
		for (to = from + 1; to < e->count && e->list[to].time_ns == e->list[from].time_ns;
		     to++)
			;
		r = order_one(e, from, to, &m);
	}
	map_done(&m.deaths);
	free(m.out);
	return r;
}

/* Gathers the next window. Returns 1, 0 if there is none, or a negative errno. */
static int events_load(struct query_events *e, struct err_text *err)
{
	e->count = e->at = 0;
	while (e->todo_count && !e->count) {
		struct window window = e->todo[--e->todo_count];
		struct pass pass = {.events = e, .window = window};
		int r;

		if (!window.events)
			continue;
		if (window.events > e->at_once && window.to > window.from) {
			r = events_cut(e, window, err);
		} else {
			r = run_pass(&pass, err);
			if (!r && e->count)
				r = order(e);
		}
		if (r < 0)
			return r;
	}
	return e->count > 0;
}

/* ---- public ---- */

int query_events_new(struct view *view, const struct filter *filter, size_t at_once,
		     struct query_events **ret_events, struct err_text *err)
{
	struct query_events *e = calloc(1, sizeof(*e));
	int r;

	if (!e)
		return err_set(err, -ENOMEM, "out of memory");
	r = matcher_init(&e->matcher, view, filter, err);
	if (r < 0) {
		free(e);
		return r;
	}
	e->at_once = at_once ? at_once : EVENTS_AT_ONCE;
	r = events_push(e, (struct window){0, e->matcher.end_ns, 2 * e->matcher.rows});
	if (r < 0) {
		query_events_free(e);
		return err_set(err, r, "out of memory");
	}
	*ret_events = e;
	return 0;
}

void query_events_free(struct query_events *e)
{
	if (!e)
		return;
	matcher_done(&e->matcher);
	free(e->todo);
	free(e->list);
	free(e);
}

int query_events_next(struct query_events *e, struct block_event *ret_event, struct err_text *err)
{
	if (e->at == e->count) {
		int r = events_load(e, err);

		if (r <= 0)
			return r == -ENOMEM ? err_set(err, r, "out of memory") : r;
	}
	*ret_event = e->list[e->at++];
	return 1;
}
