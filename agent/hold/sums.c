/* Sums of events that are not sent. See sums.h. */
#include "agent/hold/sums.h"

#include <errno.h>
#include <string.h>

#include "agent/core/clock.h"
#include "base/places.h"
#include "proto/culled.h"
#include "base/ban.h"

int sums_init(struct sums *s, struct arena *arena, size_t message)
{
	size_t rows = arena->size / 4 / (sizeof(*s->row) + 4 * sizeof(*s->index));

	*s = (struct sums){.wait_ns = SUMS_NS};
	s->max = (uint32_t)(rows < message / CULLED_ROW_MAX ? rows : message / CULLED_ROW_MAX);
	if (s->max < SUMS_ROWS_LEAST)
		return -ENOMEM;
	/* At least twice as many entries as rows. */
	s->places = 1u << (33 - (unsigned)__builtin_clz(s->max));
	s->row = arena_take(arena, s->max * sizeof(*s->row));
	s->index = arena_take(arena, s->places * sizeof(*s->index));
	return s->row && s->index ? 0 : -ENOMEM;
}

void sums_clear(struct sums *s)
{
	if (!s->index)
		return;
	memset(s->index, 0, s->places * sizeof(*s->index));
	s->count = 0;
	s->blocks = s->bytes = s->frees = s->early = 0;
}

static void has_news(struct sums *s)
{
	if (!s->blocks && !s->early)
		s->since_ns = clock_monotonic_ns();
}

static unsigned bits_of(uint64_t size)
{
	return size ? 64 - (unsigned)__builtin_clzll(size) : 0;
}

static bool is_row_of(const struct sums_row *row, const struct sums_row *key)
{
	return row->node == key->node && row->thread == key->thread &&
	       row->lifetime == key->lifetime && row->size_bits == key->size_bits &&
	       row->weight == key->weight && (!key->weight || row->size_least == key->size_least) &&
	       row->blocks < UINT32_MAX;
}

/* Returns the row of the key, and adds it if it is new. The caller has checked that there is
 * room. */
static struct sums_row *sums_find_row(struct sums *s, const struct sums_row *key)
{
	uint64_t hash =
		places_hash((uint64_t)key->node << 32 | key->thread) ^
		places_hash(key->weight << 16 | (uint64_t)key->lifetime << 8 | key->size_bits);
	uint32_t i = places_home(places_hash(hash), s->places);

	while (s->index[i] && !is_row_of(&s->row[s->index[i] - 1], key))
		i = places_next(i, s->places);
	if (!s->index[i]) {
		s->row[s->count] = *key;
		s->index[i] = ++s->count;
	}
	return &s->row[s->index[i] - 1];
}

void sums_add(struct sums *s, const struct sums_block *b)
{
	const struct sums_row key = {
		.thread = b->thread,
		.node = b->node,
		.lifetime = culled_lifetime(b->lived_ns),
		.size_bits = (uint8_t)bits_of(b->size),
		.size_least = b->size,
		.size_most = b->size,
		.weight = b->weight && b->weight != b->size ? b->weight : 0,
		.first_ns = b->time_ns,
		.last_ns = b->time_ns,
	};
	struct sums_row *row = sums_find_row(s, &key);

	row->blocks++;
	row->reallocated += !b->freed;
	row->bytes += b->size;
	row->size_least = b->size < row->size_least ? b->size : row->size_least;
	row->size_most = b->size > row->size_most ? b->size : row->size_most;
	row->first_ns = b->time_ns < row->first_ns ? b->time_ns : row->first_ns;
	row->last_ns = b->time_ns > row->last_ns ? b->time_ns : row->last_ns;
	has_news(s);
	s->blocks++;
	s->bytes += b->size;
}

void sums_add_early(struct sums *s)
{
	has_news(s);
	s->early++;
}

/* ---- sending ---- */

static uint64_t oldest_birth(const struct sums *s)
{
	uint64_t oldest = s->count ? UINT64_MAX : 0;

	for (uint32_t i = 0; i < s->count; i++)
		oldest = s->row[i].first_ns < oldest ? s->row[i].first_ns : oldest;
	return oldest;
}

static void put_row(const struct stacks *stacks, const struct sums_row *row,
		    struct culled_encoder *encoder)
{
	culled_encoder_put(encoder, &(struct culled_row){.thread = row->thread,
							 .stack = stacks_number(stacks, row->node),
							 .lifetime = row->lifetime,
							 .blocks = row->blocks,
							 .bytes = row->bytes,
							 .reallocated = row->reallocated,
							 .size_least = row->size_least,
							 .size_most = row->size_most,
							 .weight = row->weight,
							 .first_ns = row->first_ns,
							 .last_ns = row->last_ns});
}

uint64_t sums_put(struct sums *s, const struct stacks *stacks, struct arena *scratch, bool must,
		  Heapcast__Batch *batch)
{
	const uint64_t events = sums_events(s);
	struct culled_encoder encoder;

	if (!(s->blocks || s->early) ||
	    (!must && s->count < s->max / 4 * 3 && s->bytes < SUMS_BYTES_MOST &&
	     !sums_due(s, clock_monotonic_ns())))
		return 0;
	culled_encoder_init(&encoder, arena_take(scratch, (size_t)s->count * CULLED_ROW_MAX + 1),
			    s->count, oldest_birth(s));
	for (uint32_t i = 0; i < s->count; i++)
		put_row(stacks, &s->row[i], &encoder);
	batch->culled = arena_take(scratch, sizeof(*batch->culled));
	culled_encoder_fill(&encoder, batch->culled);
	batch->culled->early = s->early;
	sums_clear(s);
	return events;
}
