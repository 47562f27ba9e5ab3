/*
 * Writes the program's requests to its allocator, for programs that repeat them. The file consists
 * of 64-bit numbers in the byte order of this machine:
 *
 *	SLOTS OPERATIONS			maximum number of blocks at a time, number of
 *						records that follow
 *	1 SLOT US SIZE				an allocation into a slot
 *	2 SLOT US 0				it is freed
 *	3 SLOT US SIZE				it is reallocated
 *
 * US is in microseconds since the epoch. The end of a block releases its slot. The events are
 * walked twice: once to count them, and once to write the records in steps.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/map.h"
#include "collector/columns/row_block.h"
#include "collector/formats/write/writer.h"
#include "collector/query/sweep/events.h"
#include "collector/query/query.h"
#include "collector/recording/recording.h"

#include "base/ban.h"

enum operation { REPLAY_ALLOCATE = 1, REPLAY_FREE = 2, REPLAY_REALLOCATE = 3 };

struct replay_export {
	struct view *view;
	const struct filter *filter;
	uint64_t start_us, end_ns;
	struct query_events *events;
	/* Row -> slot. A block whose realloc is in progress stays in the map until its successor is
	 * born. */
	struct map slots;
	struct map moving; /* row -> 1: its realloc is in progress */
	uint64_t *unused;  /* a stack of free slots */
	size_t unused_count, unused_capacity;
	uint64_t slot_count, operations;
	bool counted;
	struct buf *out; /* NULL: the first walk, which only counts */
	int error;
};

static void replay_clear(struct replay_export *e)
{
	query_events_free(e->events);
	e->events = NULL;
	map_clear(&e->slots);
	map_clear(&e->moving);
	e->unused_count = 0;
	e->slot_count = 0;
}

static void replay_end(void *state)
{
	struct replay_export *e = state;

	if (!e)
		return;
	replay_clear(e);
	map_done(&e->slots);
	map_done(&e->moving);
	free(e->unused);
	free(e);
}

/* ---- slots ---- */

static uint64_t take_slot(struct replay_export *e)
{
	return e->unused_count ? e->unused[--e->unused_count] : e->slot_count++;
}

static void give_slot(struct replay_export *e, uint64_t slot)
{
	if (e->unused_count == e->unused_capacity) {
		size_t capacity = e->unused_capacity ? e->unused_capacity * 2 : 1024;
		uint64_t *unused = reallocarray(e->unused, capacity, sizeof(*unused));

		if (!unused) {
			e->error = -ENOMEM;
			return;
		}
		e->unused = unused;
		e->unused_capacity = capacity;
	}
	e->unused[e->unused_count++] = slot;
}

static void replay_put(struct replay_export *e, enum operation operation, uint64_t slot,
		       uint64_t time_ns, uint64_t size)
{
	uint64_t record[4] = {operation, slot, e->start_us + time_ns / 1000, size};

	if (e->out)
		buf_append(e->out, record, sizeof(record));
	else
		e->operations++;
}

static void replay_set(struct replay_export *e, struct map *map, uint64_t row, uint64_t value)
{
	bool is_new;
	uint64_t *place = map_put(map, row, &is_new);

	if (place)
		*place = value;
	else
		e->error = -ENOMEM;
}

/* ---- events ---- */

static void on_birth(struct replay_export *e, const struct block_event *event)
{
	uint64_t slot;

	if (event->chain != NO_TIME && map_remove(&e->moving, event->chain, NULL) &&
	    map_remove(&e->slots, event->chain, &slot)) {
		replay_put(e, REPLAY_REALLOCATE, slot, event->time_ns, event->weight);
	} else {
		slot = take_slot(e);
		replay_put(e, REPLAY_ALLOCATE, slot, event->time_ns, event->weight);
	}
	replay_set(e, &e->slots, event->row, slot);
}

/* Keeps a death by realloc until the birth of the new block. If that block does not match the
 * filter, the death is written at the end. */
static void on_death(struct replay_export *e, const struct block_event *event)
{
	uint64_t slot;

	if (event->chain != NO_TIME) {
		replay_set(e, &e->moving, event->row, 1);
	} else if (map_remove(&e->slots, event->row, &slot)) {
		replay_put(e, REPLAY_FREE, slot, event->time_ns, 0);
		give_slot(e, slot);
	}
}

static void free_moving(struct replay_export *e)
{
	map_each(&e->moving, entry)
	{
		uint64_t slot;

		if (map_remove(&e->slots, entry->key, &slot))
			replay_put(e, REPLAY_FREE, slot, e->end_ns, 0);
	}
	map_clear(&e->moving);
}

/* Walks until `out` has `bytes`, or to the end. Returns 1 if there is more, 0 at the end, or a
 * negative errno. */
static int replay_walk(struct replay_export *e, size_t bytes, struct err_text *err)
{
	struct block_event event;
	int r = 1;

	if (!e->events)
		r = query_events_new(e->view, e->filter, 0, &e->events, err);
	while (r >= 0 && !e->error && (!e->out || (e->out->length < bytes && !buf_error(e->out)))) {
		r = query_events_next(e->events, &event, err);
		if (r <= 0)
			break;
		if (event.is_death)
			on_death(e, &event);
		else
			on_birth(e, &event);
	}
	if (!r)
		free_moving(e);
	if (!e->error && e->out)
		e->error = buf_error(e->out);
	return e->error ? err_set(err, e->error, "out of memory") : r;
}

static int replay_begin(const struct writing *w, void **ret_state, struct err_text *err)
{
	struct replay_export *e;
	int r = filter_narrow(w->filter, w->view, w->value, w->at_ns, err);

	if (r < 0)
		return r;
	e = calloc(1, sizeof(*e));
	if (!e)
		return err_set(err, -ENOMEM, "out of memory");
	e->view = w->view;
	e->filter = w->filter;
	e->start_us = recording_process(view_recording(w->view))->start_wall_ns / 1000;
	e->end_ns = recording_end_ns(view_recording(w->view));
	*ret_state = e;
	return 0;
}

static int some(void *state, size_t bytes, struct buf *out, struct err_text *err)
{
	struct replay_export *e = state;
	uint64_t head[2];
	int r;

	if (!e->counted) {
		r = replay_walk(e, 0, err);
		if (r < 0)
			return r;
		head[0] = e->slot_count;
		head[1] = e->operations;
		buf_append(out, head, sizeof(head));
		replay_clear(e);
		e->counted = true;
	}
	e->out = out;
	return replay_walk(e, bytes, err);
}

const struct format_writer replay_writer = {
	.begin = replay_begin, .some = some, .free = replay_end};
