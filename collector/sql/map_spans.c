/* See map_spans.h. */
#include "collector/sql/map_spans.h"

#include <errno.h>
#include <stdlib.h>

#include "collector/query/mappings.h"

#include "base/ban.h"

static int by_start(const void *a, const void *b)
{
	const struct map_span *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->map < y->map ? -1 : x->map > y->map;
}

/* How many of the list begin before the address. */
static uint32_t before(const struct map_spans *s, uint64_t address)
{
	uint32_t low = 0, high = s->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (s->list[middle].start < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* When the last of those that lay there before was gone. */
static uint64_t begun(const struct map_spans *s, const struct map_span *span,
		      const struct mappings *mappings)
{
	uint64_t from_ns = 0, mapped_ns = mappings->list[span->map].mapped_ns;

	for (uint32_t i = before(s, span->end); i-- > 0 && s->list[i].reach > span->start;) {
		const struct map_span *other = &s->list[i];

		if (other != span && other->end > span->start && other->to_ns <= mapped_ns &&
		    other->to_ns > from_ns)
			from_ns = other->to_ns;
	}
	return from_ns;
}

int map_spans_init(struct map_spans *spans, const struct mappings *mappings)
{
	uint64_t reach = 0;

	*spans = (struct map_spans){.list = calloc(mappings->count + 1, sizeof(*spans->list))};
	if (!spans->list)
		return -ENOMEM;
	for (; spans->count < mappings->count; spans->count++) {
		const struct mapping *m = &mappings->list[spans->count];

		spans->list[spans->count] = (struct map_span){.start = m->address,
							      .end = m->address + m->size,
							      .to_ns = m->unmapped_ns,
							      .map = spans->count};
	}
	qsort(spans->list, spans->count, sizeof(*spans->list), by_start);
	for (uint32_t i = 0; i < spans->count; i++) {
		reach = spans->list[i].end > reach ? spans->list[i].end : reach;
		spans->list[i].reach = reach;
	}
	for (uint32_t i = 0; i < spans->count; i++)
		spans->list[i].from_ns = begun(spans, &spans->list[i], mappings);
	return 0;
}

void map_spans_done(struct map_spans *spans)
{
	free(spans->list);
	*spans = (struct map_spans){0};
}

bool map_spans_find(const struct map_spans *spans, uint64_t address, uint64_t birth_ns,
		    uint64_t *ret_map)
{
	bool found = false;

	for (uint32_t i = before(spans, address + 1); i-- > 0 && spans->list[i].reach > address;) {
		const struct map_span *s = &spans->list[i];

		if (address < s->end && birth_ns >= s->from_ns && birth_ns <= s->to_ns &&
		    (!found || s->map > *ret_map)) {
			*ret_map = s->map;
			found = true;
		}
	}
	return found;
}
