/* See pairing.h. */
#include "collector/store/pairing.h"

#include <errno.h>
#include <string.h>

#include "collector/store/steps.h"
#include "base/ban.h"

void pairing_done(struct pairing *p)
{
	map_done(&p->live);
	map_done(&p->moving);
	steps_done(&p->run);
	steps_done(&p->queue);
	steps_done(&p->merged);
}

/* ---- doubts ---- */

static void doubt_add(struct doubts *d, const struct doubt *doubt)
{
	d->ring[d->next] = *doubt;
	d->next = (d->next + 1) % DOUBTS;
	d->latest_ns = doubt->time_ns;
}

/* The doubt about `address` by another thread within the window before `time_ns`; it is taken out.
 */
static bool doubt_take(struct doubts *d, const struct pairing *p, uint64_t address, uint32_t thread,
		       uint64_t time_ns, struct doubt *ret_doubt)
{
	if (!d->latest_ns || time_ns - d->latest_ns > p->window_ns)
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

static void infer_end(struct pairing *p, uint32_t row, const struct step *birth)
{
	rows_end(p->rows, row,
		 &(struct row_death){.time_ns = birth->time_ns, .end = BLOCK_INFERRED});
	p->info.inferred++;
	doubt_add(&p->double_births, &(struct doubt){.address = birth->address,
						     .time_ns = birth->time_ns,
						     .thread = birth->thread,
						     .row = row});
}

/* Deaths without a birth are counted here. */
static uint64_t *unborn(struct pairing *p)
{
	return p->forked ? &p->info.inherited_frees : &p->info.orphan_frees;
}

static int take_birth(struct pairing *p, const struct step *s, uint32_t chain_previous,
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
	uint64_t *live;
	uint32_t row;
	bool new;
	int r;

	r = rows_append(p->rows, &birth, &row);
	if (r < 0)
		return r;
	*ret_row = row;
	if (p->orphans.latest_ns && !map_get(&p->live, s->address) &&
	    doubt_take(&p->orphans, p, s->address, s->thread, s->time_ns, &orphan)) {
		rows_end(p->rows, row,
			 &(struct row_death){s->time_ns, orphan.stack, orphan.thread, orphan.kind,
					     BLOCK_FREED});
		(*unborn(p))--;
		p->info.repaired++;
		return 0;
	}
	live = map_put(&p->live, s->address, &new);
	if (!live)
		return -ENOMEM;
	if (!new)
		infer_end(p, (uint32_t)*live, s);
	*live = row;
	return 0;
}

/* The row that the death at s->address ends; NO_BLOCK: none is known. */
static uint32_t take_dying(struct pairing *p, const struct step *s)
{
	struct doubt doubt;
	uint64_t *live = map_get(&p->live, s->address), row;

	if (live && doubt_take(&p->double_births, p, s->address, s->thread, s->time_ns, &doubt)) {
		p->info.inferred--;
		p->info.repaired++;
		return doubt.row;
	}
	if (!live) {
		(*unborn(p))++;
		return NO_BLOCK;
	}
	map_remove(&p->live, s->address, &row);
	return (uint32_t)row;
}

static void take_death(struct pairing *p, const struct step *s)
{
	uint32_t row = take_dying(p, s);

	if (row == NO_BLOCK)
		doubt_add(&p->orphans, &(struct doubt){.address = s->address,
						       .time_ns = s->time_ns,
						       .thread = s->thread,
						       .stack = s->stack,
						       .kind = s->kind});
	else
		rows_end(
			p->rows, row,
			&(struct row_death){s->time_ns, s->stack, s->thread, s->kind, BLOCK_FREED});
}

/* The block dies for the others now (its address may come again), but counts as alive until the new
 * one is born: a reallocation never shows as a dip. */
static int take_move_death(struct pairing *p, const struct step *s)
{
	uint32_t row = take_dying(p, s);
	uint64_t *moving = map_put(&p->moving, s->thread, NULL);

	if (!moving)
		return -ENOMEM;
	*moving = row;
	if (row != NO_BLOCK)
		rows_end(p->rows, row,
			 &(struct row_death){s->size, s->stack, s->thread, s->kind,
					     BLOCK_REALLOCATED});
	return 0;
}

static int take_move_birth(struct pairing *p, const struct step *s)
{
	uint64_t previous = NO_BLOCK;
	uint32_t row, i;
	int r;

	map_remove(&p->moving, s->thread, &previous);
	r = take_birth(p, s, (uint32_t)previous, &row);
	if (!r && previous != NO_BLOCK) {
		struct rows_block *b = rows_at(p->rows, (uint32_t)previous, &i);

		b->chain_next[i] = row;
	}
	return r;
}

void pairing_exec(struct pairing *p, uint64_t time_ns)
{
	if (p->live.count)
		map_each(&p->live, e)
		{
			rows_end(p->rows, (uint32_t)e->value,
				 &(struct row_death){.time_ns = time_ns, .end = BLOCK_EXEC});
		}
	/* A file made to be slow has many of these. */
	if (p->live.count)
		map_clear(&p->live);
	if (p->moving.count)
		map_clear(&p->moving);
	p->double_births.latest_ns = 0;
	p->orphans.latest_ns = 0;
	p->lost_frees = p->lost_frees_to_ns = 0;
	p->forked = false;
}

static int take_step(struct pairing *p, const struct step *s)
{
	uint32_t row;

	if (s->time_ns > p->last_ns)
		p->last_ns = s->time_ns;
	switch (s->what) {
	case STEP_BIRTH:
		return take_birth(p, s, NO_BLOCK, &row);
	case STEP_DEATH:
		take_death(p, s);
		return 0;
	case STEP_MOVE_DEATH:
		return take_move_death(p, s);
	case STEP_EXEC:
		pairing_exec(p, s->time_ns);
		return 0;
	default:
		return take_move_birth(p, s);
	}
}

/* ---- in and out ---- */

static int add_step(struct pairing *p, const struct event *e, enum step_what what, uint64_t time_ns,
		    uint64_t address, uint64_t size)
{
	struct step *s;

	/* No allocator hands these out, and the map can't hold them. */
	if (!address || address == MAP_NO_KEY)
		return 0;
	if (p->run.count == p->run.capacity && steps_reserve(&p->run, 1) < 0)
		return -ENOMEM;
	s = &p->run.list[p->run.count];
	*s = (struct step){
		.time_ns = time_ns,
		.address = address,
		.size = size,
		.weight = e->weight,
		.thread = e->thread,
		.stack = e->stack,
		.kind = e->kind,
		.what = (uint8_t)what,
		.order = (uint32_t)p->run.count++,
	};
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
		return 0; /* rows are blocks of the heap */
	if (e->class == EVENT_CLASS_FREE)
		return add_step(p, e, STEP_DEATH, e->time_ns, e->address, 0);
	if (!e->address)
		return 0; /* it failed; a reallocation's old block lives on */
	if (e->class == EVENT_CLASS_REALLOCATION)
		return add_reallocation(p, e);
	return add_step(p, e, STEP_BIRTH, e->time_ns, e->address, e->size);
}

int pairing_add_exec(struct pairing *p, uint64_t time_ns)
{
	static const struct event none;

	return add_step(p, &none, STEP_EXEC, time_ns, 1, 0);
}

int pairing_advance(struct pairing *p, uint64_t watermark_ns)
{
	size_t done = 0;
	int r;

	steps_sort(&p->run);
	r = steps_merge(&p->queue, &p->run, &p->merged);
	while (!r && done < p->queue.count &&
	       (p->queue.list[done].time_ns < watermark_ns || watermark_ns == UINT64_MAX ||
		p->queue.count - done > QUEUE_MAX))
		r = take_step(p, &p->queue.list[done++]);
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

static uint64_t born_before_gap(const struct pairing *p)
{
	uint64_t count = 0;

	map_each(&p->live, e)
	{
		uint32_t i;
		const struct rows_block *b = rows_at(p->rows, (uint32_t)e->value, &i);

		count += b->birth_ns[i] <= p->lost_frees_to_ns;
	}
	return count;
}

void pairing_censor(struct pairing *p)
{
	uint64_t candidates;
	bool all;

	if (!p->lost_frees)
		return;
	candidates = born_before_gap(p);
	all = p->lost_frees >= candidates / CENSOR_SHARE + (candidates % CENSOR_SHARE != 0);
	p->info.censored = all ? candidates : 0;
	map_each(&p->live, e)
	{
		uint32_t i;
		const struct rows_block *b = rows_at(p->rows, (uint32_t)e->value, &i);
		bool censored = all && b->birth_ns[i] <= p->lost_frees_to_ns;

		rows_end(p->rows, (uint32_t)e->value,
			 &(struct row_death){.time_ns = censored ? p->lost_frees_from_ns : NO_TIME,
					     .end = censored ? BLOCK_CENSORED : BLOCK_IN_USE});
	}
}
