/* See map_spans.h. */
#include "collector/query/match/map_spans.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "collector/query/match/mappings.h"

#include "base/ban.h"

/* ---- pieces of addresses ---- */

static int map_spans_compare_numbers(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static uint64_t map_spans_end_of(const struct mapping_region *m)
{
	return m->size > UINT64_MAX - m->address ? UINT64_MAX : m->address + m->size;
}

static int list_bounds(struct map_spans *s, const struct mappings *mappings)
{
	s->bounds = calloc(2 * mappings->region_count + 1, sizeof(*s->bounds));
	if (!s->bounds)
		return -ENOMEM;
	for (size_t i = 0; i < mappings->region_count; i++) {
		s->bounds[2 * i] = mappings->regions[i].address;
		s->bounds[2 * i + 1] = map_spans_end_of(&mappings->regions[i]);
	}
	qsort(s->bounds, 2 * mappings->region_count, sizeof(*s->bounds), map_spans_compare_numbers);
	for (size_t i = 0; i < 2 * mappings->region_count; i++)
		if (!i || s->bounds[i] != s->bounds[i - 1])
			s->bounds[s->bound_count++] = s->bounds[i];
	for (s->leaves = 1; s->leaves < s->bound_count;)
		s->leaves *= 2;
	return 0;
}

/* Returns the number of bounds below the address, which is the number of the piece that begins
 * there. */
static uint32_t below(const struct map_spans *s, uint64_t address)
{
	return (uint32_t)numbers_below(s->bounds, s->bound_count, address);
}

struct nodes {
	uint32_t list[2 * 32], count;
};

/* Returns the nodes that make up a region's addresses. */
static struct nodes nodes_of(const struct map_spans *s, const struct mapping_region *m)
{
	uint32_t low = below(s, m->address) + s->leaves,
		 high = below(s, map_spans_end_of(m)) + s->leaves;
	struct nodes nodes = {.count = 0};

	for (; low < high; low /= 2, high /= 2) {
		if (low & 1)
			nodes.list[nodes.count++] = low++;
		if (high & 1)
			nodes.list[nodes.count++] = --high;
	}
	return nodes;
}

/* ---- start of the spans ---- */

struct order {
	uint64_t time_ns;
	uint32_t region;
};

static int map_spans_by_time(const void *a, const void *b)
{
	const struct order *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->region < y->region ? -1 : x->region > y->region;
}

/* By node: when a region last ended that covered all of the node, and one that covered a part of
 * it. */
struct gone {
	uint64_t all_ns, some_ns;
};

static void map_spans_leave(const struct map_spans *s, struct gone *gone,
			    const struct mapping_region *m)
{
	struct nodes nodes = nodes_of(s, m);

	for (uint32_t i = 0; i < nodes.count; i++) {
		gone[nodes.list[i]].all_ns = m->to_ns; /* calls come in ascending order of to_ns */
		for (uint32_t n = nodes.list[i]; n; n /= 2)
			gone[n].some_ns = m->to_ns;
	}
}

/* Returns when the last of the previous regions at these addresses ended. */
static uint64_t begun(const struct map_spans *s, const struct gone *gone,
		      const struct mapping_region *m)
{
	struct nodes nodes = nodes_of(s, m);
	uint64_t from_ns = 0;

	for (uint32_t i = 0; i < nodes.count; i++) {
		uint32_t node = nodes.list[i];

		from_ns = gone[node].some_ns > from_ns ? gone[node].some_ns : from_ns;
		for (; node; node /= 2)
			from_ns = gone[node].all_ns > from_ns ? gone[node].all_ns : from_ns;
	}
	return from_ns;
}

/* A region that ended at the moment of its start must not count as its own predecessor. The start
 * time that was found before its end stays. */
static void set_begun(struct map_span *span, uint64_t from_ns)
{
	if (from_ns != span->to_ns)
		span->from_ns = from_ns;
}

/* Goes through the regions in order of time. When a region begins, all regions that had ended by
 * then have been passed to map_spans_leave(). */
static int find_begun(struct map_spans *s, const struct mappings *mappings)
{
	cleanup(cleanup_free) struct gone *gone = calloc(2 * (size_t)s->leaves, sizeof(*gone));
	cleanup(cleanup_free) struct order *born = calloc(s->count + 1, sizeof(*born));
	cleanup(cleanup_free) struct order *died = calloc(s->count + 1, sizeof(*died));
	uint32_t next = 0;

	if (!gone || !born || !died)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->count; i++) {
		born[i] = (struct order){mappings->regions[i].from_ns, i};
		died[i] = (struct order){mappings->regions[i].to_ns, i};
	}
	qsort(born, s->count, sizeof(*born), map_spans_by_time);
	qsort(died, s->count, sizeof(*died), map_spans_by_time);
	for (uint32_t i = 0; i < s->count; i++) {
		for (; next < s->count && died[next].time_ns <= born[i].time_ns; next++) {
			const struct mapping_region *m = &mappings->regions[died[next].region];

			if (m->to_ns <= m->from_ns)
				s->list[died[next].region].from_ns = begun(s, gone, m);
			map_spans_leave(s, gone, m);
		}
		set_begun(&s->list[born[i].region],
			  begun(s, gone, &mappings->regions[born[i].region]));
	}
	return 0;
}

/* ---- attaching regions to nodes ---- */

static int map_spans_hang(struct map_spans *s, const struct mappings *mappings)
{
	cleanup(cleanup_free) struct order *order = calloc(s->count + 1, sizeof(*order));
	cleanup(cleanup_free) uint32_t *next = calloc(2 * (size_t)s->leaves + 1, sizeof(*next));

	s->first = calloc(2 * (size_t)s->leaves + 1, sizeof(*s->first));
	if (!order || !next || !s->first)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->count; i++) {
		struct nodes nodes = nodes_of(s, &mappings->regions[i]);

		order[i] = (struct order){s->list[i].from_ns, i};
		for (uint32_t k = 0; k < nodes.count; k++)
			s->first[nodes.list[k] + 1]++;
	}
	for (uint32_t n = 0; n < 2 * s->leaves; n++)
		next[n + 1] = s->first[n + 1] += s->first[n];
	s->at = calloc((size_t)s->first[2 * s->leaves] + 1, sizeof(*s->at));
	if (!s->at)
		return -ENOMEM;
	qsort(order, s->count, sizeof(*order), map_spans_by_time);
	for (uint32_t i = 0; i < s->count; i++) {
		struct nodes nodes = nodes_of(s, &mappings->regions[order[i].region]);

		for (uint32_t k = 0; k < nodes.count; k++) {
			uint32_t node = nodes.list[k], region = order[i].region,
				 place = next[node]++;
			uint32_t before =
				place > s->first[node] ? s->at[place - 1].longest : region;
			bool longer = s->list[region].to_ns > s->list[before].to_ns;

			s->at[place] = (struct map_spans_at){region, longer ? region : before};
		}
	}
	return 0;
}

int map_spans_init(struct map_spans *spans, const struct mappings *mappings)
{
	int r;

	*spans =
		(struct map_spans){.list = calloc(mappings->region_count + 1, sizeof(*spans->list)),
				   .count = mappings->region_count};
	if (!spans->list)
		return -ENOMEM;
	for (uint32_t i = 0; i < spans->count; i++) {
		spans->list[i].map = mappings->regions[i].mapping;
		spans->list[i].to_ns = mappings->regions[i].to_ns;
	}
	r = list_bounds(spans, mappings);
	if (!r)
		r = find_begun(spans, mappings);
	if (!r)
		r = map_spans_hang(spans, mappings);
	if (r < 0)
		map_spans_done(spans);
	return r;
}

void map_spans_done(struct map_spans *spans)
{
	free(spans->list);
	free(spans->bounds);
	free(spans->first);
	free(spans->at);
	*spans = (struct map_spans){0};
}

/* Returns the end of the node's entries whose spans had started by then. */
static uint32_t begun_by(const struct map_spans *s, uint32_t node, uint64_t birth_ns)
{
	uint32_t low = s->first[node], high = s->first[node + 1];

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (s->list[s->at[middle].region].from_ns <= birth_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool map_spans_find(const struct map_spans *spans, uint64_t address, uint64_t birth_ns,
		    uint64_t *ret_map)
{
	uint32_t piece = spans->count ? below(spans, address) : 0;
	bool found = false;

	if (piece == spans->bound_count || spans->bounds[piece] > address)
		piece--; /* wraps around if the address lies before all pieces */
	if (piece >= spans->bound_count)
		return false;
	for (uint32_t node = piece + spans->leaves; node; node /= 2) {
		for (uint32_t i = begun_by(spans, node, birth_ns);
		     i-- > spans->first[node] &&
		     spans->list[spans->at[i].longest].to_ns >= birth_ns;) {
			const struct map_span *span = &spans->list[spans->at[i].region];

			if (span->to_ns >= birth_ns && (!found || span->map > *ret_map)) {
				*ret_map = span->map;
				found = true;
			}
		}
	}
	return found;
}
