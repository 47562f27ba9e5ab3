/* Sums of culled blocks. culled.h describes them. */
#include "collector/recording/culled.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "proto/culled.h"
#include "collector/recording/definitions.h"
#include "base/ban.h"

void culled_done(struct culled *c)
{
	free(c->list);
	free(c->next);
	map_done(&c->by_hash);
	*c = (struct culled){0};
}

int culled_check(const Heapcast__Culled *from, struct err_text *err)
{
	struct culled_decoder decoder;
	struct culled_row row;
	int r = culled_decoder_init(&decoder, from, err);

	while (!r && (r = culled_decoder_next(&decoder, &row, err)) == 1)
		r = 0;
	return r;
}

static unsigned bits_of(uint64_t size)
{
	return size ? 64 - (unsigned)__builtin_clzll(size) : 0;
}

static uint64_t culled_mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 32;
}

/* Never returns MAP_NO_KEY. */
static uint64_t hash_of(const struct culled_row *row)
{
	uint64_t hash = culled_mix(row->thread, (uint64_t)row->stack << 32 | row->lifetime);

	hash = culled_mix(hash, row->weight ? row->size_least : bits_of(row->size_least));
	return culled_mix(hash, row->weight) >> 1;
}

static bool culled_is_same(const struct culled_row *a, const struct culled_row *b)
{
	return a->thread == b->thread && a->stack == b->stack && a->lifetime == b->lifetime &&
	       a->weight == b->weight &&
	       (a->weight ? a->size_least == b->size_least
			  : bits_of(a->size_least) == bits_of(b->size_least));
}

static void add(uint64_t *to, uint64_t value)
{
	if (__builtin_add_overflow(*to, value, to))
		*to = UINT64_MAX;
}

static void culled_merge(struct culled_row *into, const struct culled_row *row)
{
	add(&into->blocks, row->blocks);
	add(&into->bytes, row->bytes);
	add(&into->reallocated, row->reallocated);
	if (row->size_least < into->size_least)
		into->size_least = row->size_least;
	if (row->size_most > into->size_most)
		into->size_most = row->size_most;
	if (row->first_ns < into->first_ns)
		into->first_ns = row->first_ns;
	if (row->last_ns > into->last_ns)
		into->last_ns = row->last_ns;
}

static int culled_append(struct culled *c, const struct culled_row *row, uint64_t hash)
{
	uint64_t *last;

	if (array_reserve(&c->list, &c->capacity, (uint64_t)c->count + 1, sizeof(*c->list)) < 0 ||
	    array_reserve(&c->next, &c->next_capacity, (uint64_t)c->count + 1, sizeof(*c->next)) <
		    0)
		return -ENOMEM;
	last = map_put(&c->by_hash, hash, NULL);
	if (!last)
		return -ENOMEM;
	c->list[c->count] = *row;
	c->next[c->count] = (uint32_t)*last;
	*last = ++c->count;
	return 0;
}

int culled_restore(struct culled *c, const struct culled_row *row)
{
	return culled_append(c, row, hash_of(row));
}

/* Returns 0, -ENOMEM, or -ENOSPC if there are `most` rows. */
static int culled_put(struct culled *c, const struct culled_row *row, uint32_t most)
{
	uint64_t hash = hash_of(row), *last = map_get(&c->by_hash, hash);

	for (uint32_t i = last ? (uint32_t)*last : 0; i; i = c->next[i - 1]) {
		if (!culled_is_same(&c->list[i - 1], row))
			continue;
		culled_merge(&c->list[i - 1], row);
		return 0;
	}
	return c->count < most ? culled_append(c, row, hash) : -ENOSPC;
}

int culled_add(struct culled *c, const struct culled_row *row)
{
	return culled_put(c, row, CULLED_SUMS_MAX);
}

static int put_bounded(struct culled *c, struct culled_row *row)
{
	int r = culled_put(c, row, CULLED_SUMS_MAX);

	if (r != -ENOSPC)
		return r;
	row->thread = row->stack = 0;
	r = culled_put(c, row, CULLED_SUMS_MAX + CULLED_REST_MAX);
	if (r != -ENOSPC)
		return r;
	add(&c->totals.left_out, row->blocks);
	return 0;
}

int culled_take(struct culled *c, const Heapcast__Culled *from, struct definitions *d)
{
	struct culled_decoder decoder;
	struct culled_row row;
	struct thread_info *thread;
	int r = culled_decoder_init(&decoder, from, NULL);

	while (!r && (r = culled_decoder_next(&decoder, &row, NULL)) == 1) {
		row.stack = nodes_of_wire(&d->nodes, row.stack);
		r = definitions_thread(d, row.thread, &thread);
		if (r == -ENOMEM)
			return r;
		row.thread = r < 0 ? 0 : row.thread;
		r = put_bounded(c, &row);
	}
	if (r < 0)
		return r;
	add(&c->totals.blocks, from->allocations);
	add(&c->totals.bytes, from->bytes);
	add(&c->totals.frees, from->frees);
	add(&c->totals.early, from->early);
	return 0;
}
