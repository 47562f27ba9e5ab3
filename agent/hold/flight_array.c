/* Manages the array of the flight recorder. See flight_array.h. */
#include "agent/hold/flight_array.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/places.h"
#include "base/ban.h"

#define INIT_SLACK  1024 /* for alignment */
#define SLOTS_MIN   64
#define THREADS_MAX (1u << 14)
#define TICKS_MAX   ((uint64_t)1 << 48)

static_assert(sizeof(struct flight_record) == 20 &&
		      sizeof(struct flight_more) == sizeof(struct flight_record),
	      "one follows the other");

int flight_init(struct flight *f, const struct flight_settings *settings,
		const struct hold_host *host, struct arena *arena, struct stacks_path *path)
{
	size_t rest = arena->size - arena->used - INIT_SLACK;

	*f = (struct flight){.host = *host,
			     .window_ns = settings->window_ns,
			     .after_ns = settings->after_ns,
			     .path = path};
	/* The index has four entries for each three records. */
	f->slots = (uint32_t)(rest /
			      (3 * (sizeof(*f->record) + sizeof(*path->node)) +
			       4 * sizeof(*f->index)) *
			      3);
	f->places = f->slots / 3 * 4;
	f->record = arena_take(arena, f->slots * sizeof(*f->record));
	f->index = arena_take(arena, f->places * sizeof(*f->index));
	path->node = arena_take(arena, f->slots * sizeof(*path->node));
	if (f->slots < SLOTS_MIN || !f->record || !f->index || !path->node)
		return -ENOMEM;
	path->most = f->slots;
	flight_clear(f, 0);
	return 0;
}

static void empty(struct flight *f)
{
	f->first = f->cursor = f->head = f->holes = f->ahead = 0;
	f->newest_ns = 0;
	f->path->depth = 0;
	f->has_late = false;
}

void flight_clear(struct flight *f, uint64_t whole_ns)
{
	if (!f->window_ns)
		return;
	empty(f);
	memset(f->index, 0, f->places * sizeof(*f->index));
	f->held = 0;
	f->shrink = false;
	f->now_ns = f->until_ns = 0;
	f->whole_ns = whole_ns;
	f->state = FLIGHT_ARMED;
	f->wanted = FLIGHT_NONE;
}

/* ---- records ---- */

static bool kind_fits(uint8_t kind)
{
	return event_space(kind) == EVENT_SPACE_HEAP &&
	       (kind < FLIGHT_FREES_FROM / 2 ||
		(kind >= FLIGHT_FREES_FROM && kind < FLIGHT_FREES_FROM * 3 / 2));
}

static bool address_fits(uint64_t address)
{
	return !(address & 7) && address < (uint64_t)1 << 48;
}

bool flight_fits(const struct event *e, uint32_t thread)
{
	return kind_fits(e->kind) && e->address && address_fits(e->address) &&
	       address_fits(e->old_address) && thread < THREADS_MAX && e->size <= UINT32_MAX &&
	       e->weight < (uint64_t)1 << 48 && e->time_ns / RUN_TICK_NS < TICKS_MAX;
}

struct event flight_event_of(const struct flight *f, uint32_t i)
{
	const struct flight_record *x = &f->record[i];
	const struct flight_more *more = flight_more_of(f, i);
	uint8_t kind = flight_kind_of(x);

	return (struct event){
		.kind = kind,
		.class = (enum event_class)event_traits[kind].class,
		.thread = f->host.threads->entry[x->thread].number,
		.time_ns = flight_time_of(f, i),
		.address = flight_address_of(f, i),
		.size = x->size,
		.stack = stacks_number(f->host.stacks, f->path->node[i]),
		.old_address = more ? more->old_address : 0,
		.call_time_ns = more ? (uint64_t)more->call_ticks * RUN_TICK_NS : 0,
		.weight = more ? more->weight : 0,
	};
}

/* ---- the index of live blocks ---- */

static uint32_t home_of(const struct flight *f, uint64_t address)
{
	return places_home(places_hash(address), f->places);
}

/* Returns the entry of the address, or the free entry for it. */
uint32_t *flight_place_of(const struct flight *f, uint64_t address)
{
	uint32_t place = home_of(f, address);

	while (f->index[place] && flight_address_of(f, f->index[place] - 1) != address)
		place = places_next(place, f->places);
	return &f->index[place];
}

void flight_index_put(struct flight *f, uint32_t i)
{
	*flight_place_of(f, flight_address_of(f, i)) = i + 1;
	f->record[i].indexed = 1;
}

/* Moves the following entries of the same probe sequence into the hole. */
static void index_remove(struct flight *f, uint32_t i)
{
	uint32_t hole = (uint32_t)(flight_place_of(f, flight_address_of(f, i)) - f->index);

	for (uint32_t p = places_next(hole, f->places); f->index[p];
	     p = places_next(p, f->places)) {
		uint32_t home = home_of(f, flight_address_of(f, f->index[p] - 1));

		if (!places_may_fill(hole, p, home, f->places))
			continue;
		f->index[hole] = f->index[p];
		hole = p;
	}
	f->index[hole] = 0;
}

/* ---- in and out ---- */

void flight_remove_more(struct flight *f, uint32_t i)
{
	f->record[i].more = 0;
	memset(&f->record[i + 1], 0, sizeof(f->record[i + 1]));
	f->holes++;
}

void flight_unhold(struct flight *f, uint32_t i)
{
	struct flight_record *x = &f->record[i];

	if (x->indexed)
		index_remove(f, i);
	if (x->more)
		flight_remove_more(f, i);
	f->host.threads->entry[x->thread].held--;
	memset(x, 0, sizeof(*x));
	f->path->node[i] = 0;
	f->holes++;
	f->held--;
	while (f->first < f->head && !f->record[f->first].kind)
		f->first++;
}

static void note_late(struct flight *f, uint32_t i, uint64_t time_ns)
{
	if (!f->has_late || f->late < f->first || time_ns < f->late_ns)
		f->late_ns = time_ns;
	f->late = i;
	f->has_late = true;
}

void flight_append(struct flight *f, uint32_t thread, const struct event *e, uint32_t node)
{
	bool moves = e->class == EVENT_CLASS_REALLOCATION && e->old_address;
	uint64_t call_ticks = e->call_time_ns / RUN_TICK_NS;
	uint32_t i;

	if (!f->held)
		empty(f);
	i = f->head;
	f->record[i] = (struct flight_record){
		.address = e->address >> 3,
		.thread = thread,
		.kind = e->kind < FLIGHT_FREES_FROM ? e->kind
						    : (unsigned)e->kind - FLIGHT_FREES_FROM / 2,
		.ticks = e->time_ns / RUN_TICK_NS,
		.more = moves || e->weight,
		.size = (uint32_t)e->size,
	};
	f->path->node[i] = node;
	f->head += flight_length_of(f, i);
	if (f->record[i].more) {
		*flight_more_of(f, i) = (struct flight_more){
			.old_address = e->old_address,
			.weight = e->weight,
			.call_ticks = call_ticks < UINT32_MAX ? (uint32_t)call_ticks : UINT32_MAX,
		};
		f->path->node[i + 1] = 0;
	}
	f->path->depth = f->head;
	if (flight_time_of(f, i) < f->newest_ns)
		note_late(f, i, flight_time_of(f, i));
	else
		f->newest_ns = flight_time_of(f, i);
	f->held++;
	f->host.threads->entry[thread].held++;
}

uint64_t flight_watermark(const struct flight *f, uint64_t watermark_ns)
{
	if (!f->window_ns || !f->held)
		return watermark_ns;
	if (flight_time_of(f, f->first) < watermark_ns)
		watermark_ns = flight_time_of(f, f->first);
	if (f->has_late && f->late >= f->first && f->late_ns < watermark_ns)
		watermark_ns = f->late_ns;
	return watermark_ns;
}

static void index_again(struct flight *f)
{
	memset(f->index, 0, f->places * sizeof(*f->index));
	for (uint32_t i = 0; i < f->cursor; i += flight_length_of(f, i))
		if (f->record[i].kind && f->record[i].indexed)
			flight_index_put(f, i);
}

/* Also updates `first`, `cursor`, `late` and the index. */
void flight_close_holes(struct flight *f)
{
	uint32_t to = 0, cursor = f->cursor, late = f->late;

	f->has_late &= late >= f->first;
	for (uint32_t i = 0, length; i < f->head; i += length) {
		length = flight_length_of(f, i);
		if (!f->record[i].kind)
			continue;
		memmove(&f->record[to], &f->record[i], length * sizeof(*f->record));
		memmove(&f->path->node[to], &f->path->node[i], length * sizeof(*f->path->node));
		if (i < cursor)
			f->cursor = to + length;
		if (i <= late)
			f->late = to;
		to += length;
	}
	if (f->first >= cursor)
		f->cursor = 0;
	f->first = f->holes = 0;
	f->head = f->path->depth = to;
	index_again(f);
}
