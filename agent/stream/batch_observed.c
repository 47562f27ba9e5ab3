/*
 * Adds what the observer has read to a batch. Each part is added as a whole, if the batch has room
 * left for its definitions. Otherwise it goes into the next batch, which starts empty. Before the
 * last batch, the stream checks whether another one is needed (batch_fits_observed).
 */
#include <assert.h>

#include "agent/stream/batch.h"
#include "agent/stream/stream.h"
#include "heapcast.pb-c.h"
#include "base/ban.h"

/* Largest packed size. */
#define FIGURES_BYTES	(2 + 11 * (1 + VARINT_MAX) + 2)
#define ALLOCATOR_BYTES (3 + 11 * (1 + VARINT_MAX))

/* The packer's scratch memory is large enough for the fullest batch. */
static void *batch_observed_take(struct packer *p, size_t size)
{
	void *memory = arena_take(&p->scratch, size);

	assert(memory);
	return memory;
}

static void put_figures(struct stream *s, struct packer *p, Heapcast__Batch *batch)
{
	uint32_t count = s->figures_count;

	if (!count || !batch_take(&s->batch, count * FIGURES_BYTES))
		return;
	batch->n_figures = count;
	batch->figures = batch_observed_take(p, count * sizeof(*batch->figures));
	for (uint32_t i = 0; i < count; i++) {
		const struct figures *from = &s->figures[i];
		Heapcast__Figures *m = batch_observed_take(p, sizeof(*m));

		batch->figures[i] = m;
		heapcast__figures__init(m);
		m->time_ns = from->time_ns;
		m->rss = from->rss;
		m->pss = from->pss;
		m->anonymous = from->anonymous;
		m->swap = from->swap;
		m->minor_faults = from->minor_faults;
		m->major_faults = from->major_faults;
		m->address_space = from->address_space;
		m->dirty = from->dirty;
		m->clean = from->clean;
		m->rss_peak = from->rss_peak;
		m->detailed = from->detailed;
	}
	s->figures_count = 0;
}

static void put_maps(struct stream *s, struct packer *p, Heapcast__Batch *batch)
{
	if (!s->maps_ready || !batch_take(&s->batch, s->maps.step_max))
		return;
	batch->maps = batch_observed_take(p, sizeof(*batch->maps));
	maps_fill(&s->maps, batch->maps);
	s->maps_ready = false;
}

/* Adds the allocator's last answer if it is new. */
static void put_allocator(struct stream *s, struct packer *p, Heapcast__Batch *batch)
{
	const struct capture_ops *ops = s->source->ops;
	struct capture_allocator a;
	uint32_t number = ops->answer ? ops->answer(s->source, s->allocator_told, &a) : 0;
	Heapcast__Allocator *m;

	if (!number || !batch_take(&s->batch, ALLOCATOR_BYTES))
		return;
	m = batch_observed_take(p, sizeof(*m));
	heapcast__allocator__init(m);
	m->time_ns = a.time_ns;
	m->took_ns = a.took_ns;
	m->arena = a.figure[0];
	m->ordblks = a.figure[1];
	m->smblks = a.figure[2];
	m->hblks = a.figure[3];
	m->hblkhd = a.figure[4];
	m->fsmblks = a.figure[6]; /* figure[5] is usmblks, which is always 0 */
	m->uordblks = a.figure[7];
	m->fordblks = a.figure[8];
	m->keepcost = a.figure[9];
	batch->allocator = m;
	s->allocator_told = number;
	s->allocator_took_ns = m->took_ns;
}

bool batch_fits_observed(const struct stream *s)
{
	const struct batch *b = &s->batch;
	size_t bytes = s->figures_count * FIGURES_BYTES + (s->maps_ready ? s->maps.step_max : 0) +
		       ALLOCATOR_BYTES;

	return !b->definition_bytes || b->definition_bytes + bytes <= b->definition_bytes_max;
}

void batch_put_observed(struct stream *s, struct packer *p, Heapcast__Batch *batch)
{
	put_figures(s, p, batch);
	put_maps(s, p, batch);
	put_allocator(s, p, batch);
}
