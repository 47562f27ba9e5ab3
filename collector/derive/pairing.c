/* Pairs births and deaths into rows. pairing.h describes the rules. */
#include "collector/derive/pairing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/saturated.h"
#include "proto/columns.h"
#include "collector/columns/row_block.h"
#include "collector/derive/steps.h"
#include "collector/derive/thinned.h"
#include "base/ban.h"

/*
 * The map of live blocks exceeds the processor's caches, so slots are prefetched this many steps
 * ahead.
 */
#define FETCH_AHEAD 12

void pairing_done(struct pairing *p)
{
	map_done(&p->live);
	map_done(&p->moving);
	steps_done(&p->queue);
	steps_done(&p->spare);
	free(p->latest);
}

/* ---- doubts ---- */

static void doubt_add(struct doubts *d, const struct doubt *doubt)
{
	d->ring[d->next] = *doubt;
	d->next = (d->next + 1) % DOUBTS;
	d->latest_ns = doubt->time_ns;
}

/* Tells whether a doubt may explain an event at `time_ns`. */
static bool is_recent(const struct doubts *d, const struct pairing *p, uint64_t time_ns)
{
	return d->latest_ns && time_ns - d->latest_ns <= p->window_ns;
}

/*
 * Finds a doubt about `address` by another thread within the window before `time_ns`, and removes
 * it.
 */
static bool doubt_take(struct doubts *d, const struct pairing *p, uint64_t address, uint32_t thread,
		       uint64_t time_ns, struct doubt *ret_doubt)
{
	if (!is_recent(d, p, time_ns))
		return false;
	for (unsigned i = 0; i < DOUBTS; i++) {
		struct doubt *at = &d->ring[i];

		if (at->address != address || !address || at->thread == thread ||
		    time_ns - at->time_ns > p->window_ns)
			continue;
		*ret_doubt = *at;
		at->address = 0;
		return true;
	}
	return false;
}

/* ---- steps ---- */

static int infer_end(struct pairing *p, uint32_t row, const struct step *birth)
{
	p->info.inferred++;
	doubt_add(&p->double_births, &(struct doubt){.address = birth->address,
						     .time_ns = birth->time_ns,
						     .thread = birth->thread,
						     .row = row});
	return rows_end(p->rows, row,
			&(struct row_death){.time_ns = birth->time_ns, .end = BLOCK_INFERRED});
}

/* Returns the counter for a death without a birth. */
static uint64_t *unborn(struct pairing *p)
{
	if (p->info.rowless)
		return &p->info.rowless_frees;
	return p->forked ? &p->info.inherited_frees : &p->info.orphan_frees;
}

/* Handles a birth for which no row number is left. A live block at its address has died. */
static int leave_out(struct pairing *p, const struct step *s)
{
	uint64_t before;

	if (!p->info.rowless++)
		p->info.rowless_from_ns = s->time_ns;
	add_most(&p->info.rowless_bytes, s->weight > s->size ? s->weight : s->size);
	return map_remove(&p->live, s->address, &before) ? infer_end(p, (uint32_t)before, s) : 0;
}

static int note_latest(struct pairing *p, uint32_t thread, uint32_t row)
{
	if (thread >= p->latest_capacity &&
	    array_reserve(&p->latest, &p->latest_capacity, (uint64_t)thread + 1,
			  sizeof(*p->latest)) < 0)
		return -ENOMEM;
	p->latest[thread] = row + 1;
	return 0;
}

/* Returns the event's kind for death_kind of this row. Adds ROW_AT_ONCE if the thread's last birth
 * is this row. */
static uint8_t death_kind(const struct pairing *p, const struct step *s, uint32_t row)
{
	bool at_once =
		s->thread && s->thread < p->latest_capacity && p->latest[s->thread] == row + 1;

	return at_once ? s->kind | ROW_AT_ONCE : s->kind;
}

/* Sets `*ret_row` to NO_BLOCK if the block gets no row. */
static int pairing_take_birth(struct pairing *p, const struct step *s, uint32_t chain_previous,
			      uint32_t *ret_row)
{
	struct row_birth birth = {.address = s->address,
				  .size = s->size,
				  .birth_ns = s->time_ns,
				  .weight = s->weight,
				  .stack = s->stack,
				  .thread = s->thread,
				  .chain_previous = chain_previous,
				  .kind = s->kind};
	struct doubt orphan;
	uint64_t *live, before;
	uint32_t row;
	bool new;
	int r;

	*ret_row = NO_BLOCK;
	if (rows_full(p->rows))
		return leave_out(p, s);
	r = rows_append(p->rows, &birth, &row);
	if (r < 0)
		return r;
	*ret_row = row;
	r = note_latest(p, s->thread, row);
	if (r < 0)
		return r;
	if (p->orphans.latest_ns && !(p->thinned.told && s->weight > s->size) &&
	    !map_get(&p->live, s->address) &&
	    doubt_take(&p->orphans, p, s->address, s->thread, s->time_ns, &orphan)) {
		(*unborn(p))--;
		p->info.repaired++;
		return rows_end(p->rows, row,
				&(struct row_death){.time_ns = s->time_ns,
						    .stack = orphan.stack,
						    .thread = orphan.thread,
						    .kind = orphan.kind,
						    .end = BLOCK_FREED});
	}
	live = map_put(&p->live, s->address, &new);
	if (!live)
		return -ENOMEM;
	before = *live;
	*live = row;
	r = new ? 0 : infer_end(p, (uint32_t)before, s);
	return r ? r : thinned_birth(p, &birth, row);
}

/*
 * Returns the row that the death at s->address ends, or NO_BLOCK if it is unknown. `ret_again`: the
 * row had an inferred end, which this death replaces.
 */
static uint32_t take_dying(struct pairing *p, const struct step *s, bool *ret_again)
{
	struct doubt doubt;
	uint64_t row;

	*ret_again = false;
	if (is_recent(&p->double_births, p, s->time_ns) && map_get(&p->live, s->address) &&
	    doubt_take(&p->double_births, p, s->address, s->thread, s->time_ns, &doubt)) {
		p->info.inferred--;
		p->info.repaired++;
		*ret_again = true;
		return doubt.row;
	}
	if (map_remove(&p->live, s->address, &row))
		return (uint32_t)row;
	(*unborn(p))++;
	return NO_BLOCK;
}

static int pairing_take_death(struct pairing *p, const struct step *s)
{
	bool again;
	uint32_t row = take_dying(p, s, &again);

	if (row != NO_BLOCK)
		return rows_end(p->rows, row,
				&(struct row_death){s->time_ns, s->stack, s->thread,
						    death_kind(p, s, row), BLOCK_FREED, again});
	doubt_add(&p->orphans, &(struct doubt){.address = s->address,
					       .time_ns = s->time_ns,
					       .thread = s->thread,
					       .stack = s->stack,
					       .kind = s->kind});
	return 0;
}

/*
 * For other threads the block dies now, because its address may be reused. Its row lives until the
 * new block is born, so that a reallocation never shows as a dip.
 */
static int take_move_death(struct pairing *p, const struct step *s)
{
	bool again;
	uint32_t row = take_dying(p, s, &again);
	uint64_t *moving = map_put(&p->moving, s->thread, NULL);

	if (!moving)
		return -ENOMEM;
	*moving = row;
	if (row == NO_BLOCK)
		return 0;
	return rows_end(p->rows, row,
			&(struct row_death){s->size /* the time */, s->stack, s->thread,
					    death_kind(p, s, row), BLOCK_REALLOCATED, again});
}

static int take_move_birth(struct pairing *p, const struct step *s)
{
	uint64_t previous = NO_BLOCK;
	uint32_t row;
	int r;

	map_remove(&p->moving, s->thread, &previous);
	r = pairing_take_birth(p, s, (uint32_t)previous, &row);
	return r || previous == NO_BLOCK || row == NO_BLOCK
		       ? r
		       : rows_link(p->rows, (uint32_t)previous, row);
}

int pairing_exec(struct pairing *p, uint64_t time_ns)
{
	int r = 0;

	if (p->live.count)
		map_each(&p->live, e)
		{
			if (!r)
				r = rows_end(
					p->rows, (uint32_t)e->value,
					&(struct row_death){.time_ns = time_ns, .end = BLOCK_EXEC});
		}
	/* The checks are for speed: a crafted file may contain many execs. */
	if (p->live.count)
		map_clear(&p->live);
	if (p->moving.count)
		map_clear(&p->moving);
	p->double_births = (struct doubts){0};
	p->orphans = (struct doubts){0};
	p->lost_frees = p->lost_frees_to_ns = 0;
	p->forked = false;
	thinned_exec(p);
	return r;
}

static int pairing_take_step(struct pairing *p, const struct step *s)
{
	uint32_t row;

	if (s->time_ns > p->last_ns)
		p->last_ns = s->time_ns;
	switch (s->what) {
	case STEP_BIRTH:
		return pairing_take_birth(p, s, NO_BLOCK, &row);
	case STEP_DEATH:
		return pairing_take_death(p, s);
	case STEP_MOVE_DEATH:
		return take_move_death(p, s);
	case STEP_EXEC:
		return pairing_exec(p, s->time_ns);
	case STEP_THINNED:
		return thinned_take(p, s);
	default:
		return take_move_birth(p, s);
	}
}

/* ---- input and output ---- */

static int add_step(struct pairing *p, const struct event *e, enum step_what what, uint64_t time_ns,
		    uint64_t address, uint64_t size)
{
	struct step *s;

	/* No allocator returns these addresses, and the map cannot hold MAP_NO_KEY. */
	if (!address || address == MAP_NO_KEY)
		return 0;
	if (p->queue.count == p->queue.capacity && steps_reserve(&p->queue, 1) < 0)
		return -ENOMEM;
	s = &p->queue.list[p->queue.count];
	*s = (struct step){
		.time_ns = time_ns,
		.address = address,
		.size = size,
		.weight = e->weight,
		.thread = e->thread,
		.stack = e->stack,
		.kind = e->kind,
		.what = (uint8_t)what,
		.order = (uint32_t)(p->queue.count - p->queue.sorted),
	};
	p->queue.count++;
	return 0;
}

static int add_reallocation(struct pairing *p, const struct event *e)
{
	uint64_t call = e->time_ns > e->call_time_ns ? e->time_ns - e->call_time_ns : 0;
	int r = 0;

	if (!e->old_address)
		return add_step(p, e, STEP_BIRTH, e->time_ns, e->address, e->size);
	r = add_step(p, e, STEP_MOVE_DEATH, call, e->old_address, e->time_ns);
	return r ? r : add_step(p, e, STEP_MOVE_BIRTH, e->time_ns, e->address, e->size);
}

int pairing_add(struct pairing *p, const struct event *e)
{
	if (event_space(e->kind) != EVENT_SPACE_HEAP)
		return 0; /* rows are only for blocks of the heap */
	if (e->class == EVENT_CLASS_FREE)
		return add_step(p, e, STEP_DEATH, e->time_ns, e->address, 0);
	if (!e->address)
		return 0; /* the allocation failed; a reallocation's old block stays alive */
	if (e->class == EVENT_CLASS_REALLOCATION)
		return add_reallocation(p, e);
	return add_step(p, e, STEP_BIRTH, e->time_ns, e->address, e->size);
}

int pairing_add_exec(struct pairing *p, uint64_t time_ns)
{
	static const struct event none;

	return add_step(p, &none, STEP_EXEC, time_ns, 1, 0);
}

int pairing_add_thinned(struct pairing *p, uint64_t time_ns, const struct thinning *law)
{
	const struct event mark = {.weight = thinned_pack(law)};

	return add_step(p, &mark, STEP_THINNED, time_ns, 1, law->seed);
}

int pairing_advance(struct pairing *p, uint64_t watermark_ns)
{
	size_t done = 0;
	int r = steps_sort(&p->queue, &p->spare);

	while (!r && done < p->queue.count &&
	       (p->queue.list[done].time_ns < watermark_ns || watermark_ns == UINT64_MAX ||
		p->queue.count - done > QUEUE_MAX)) {
		if (done + FETCH_AHEAD < p->queue.count)
			map_prefetch(&p->live, p->queue.list[done + FETCH_AHEAD].address);
		r = pairing_take_step(p, &p->queue.list[done++]);
	}
	steps_consume(&p->queue, done);
	return r;
}

int pairing_flush(struct pairing *p)
{
	return pairing_advance(p, UINT64_MAX);
}

void pairing_lost(struct pairing *p, uint64_t frees, uint64_t from_ns, uint64_t to_ns)
{
	if (!frees)
		return;
	if (__builtin_add_overflow(p->lost_frees, frees, &p->lost_frees))
		p->lost_frees = UINT64_MAX;
	if (to_ns >= p->lost_frees_to_ns) {
		p->lost_frees_to_ns = to_ns;
		p->lost_frees_from_ns = from_ns;
	}
}

/* Counts the rows in use of a block that were born before the end of the gap. */
static int count_candidates(const struct pairing *p, uint32_t index, struct rows_block **block,
			    const struct block_limits *limits, struct buf *spare, uint64_t *count)
{
	const struct row_block *zone = rows_zone(p->rows, index), *v;
	int r;

	if (!rows_in_use(p->rows, index) || zone->min.birth_ns > p->lost_frees_to_ns)
		return 0;
	if (zone->max.birth_ns <= p->lost_frees_to_ns) {
		*count += rows_in_use(p->rows, index);
		return 0;
	}
	v = zone;
	if (!p->rows->slots[index].open) {
		if (!*block && !(*block = block_new(0)))
			return -ENOMEM;
		r = rows_read(p->rows, index, ROWS_BIRTH | ROWS_END, limits, *block, spare, NULL);
		if (r < 0)
			return r;
		v = &(*block)->view;
	}
	for (uint32_t i = 0; i < v->count; i++)
		*count += v->end[i] == BLOCK_IN_USE && v->birth_ns[i] <= p->lost_frees_to_ns;
	return 0;
}

int pairing_censor(struct pairing *p, const struct block_limits *limits)
{
	struct rows_block *block = NULL;
	struct buf spare = {0};
	uint64_t candidates = 0;
	int r = 0;

	p->censored = false;
	if (!p->lost_frees)
		return 0;
	for (uint32_t i = 0; !r && i < p->rows->slot_count; i++)
		r = count_candidates(p, i, &block, limits, &spare, &candidates);
	block_free(block);
	buf_done(&spare);
	p->censored = p->lost_frees >= candidates / CENSOR_SHARE + (candidates % CENSOR_SHARE != 0);
	p->info.censored = p->censored ? candidates : 0;
	return r;
}

void pairing_show_censored(const struct pairing *p, struct rows_block *b)
{
	uint64_t time_ns =
		p->lost_frees_from_ns < ROWS_TIME_MAX ? p->lost_frees_from_ns : ROWS_TIME_MAX;

	for (uint32_t i = 0; i < b->view.count; i++) {
		if (b->end[i] != BLOCK_IN_USE || b->birth_ns[i] > p->lost_frees_to_ns)
			continue;
		b->end[i] = BLOCK_CENSORED;
		b->death_ns[i] = time_ns > b->birth_ns[i] ? time_ns : b->birth_ns[i];
	}
}
