/* The part of a recording's definitions about other collectors. definitions.h describes it. */
#include "collector/recording/definitions.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/saturated.h"
#include "base/words.h"
#include "base/ban.h"

static bool is_told(const struct definitions *d, const struct part_info *part)
{
	for (uint32_t i = 0; i < d->part_count; i++)
		if (d->parts[i].incarnation == part->incarnation && d->parts[i].upto == part->upto)
			return true;
	return false;
}

static struct part_info part_of(const Heapcast__Batch *batch, const Heapcast__Part *m,
				uint64_t from)
{
	struct part_info part = {.incarnation = batch->incarnation,
				 .from = from,
				 .upto = m->upto,
				 .events = m->events};

	if (m->collector.len == sizeof(part.collector.bytes))
		memcpy(part.collector.bytes, m->collector.data, sizeof(part.collector.bytes));
	words_clean(part.host, sizeof(part.host), m->host, strnlen(m->host, sizeof(part.host) - 1));
	return part;
}

int definitions_add_parts(struct definitions *d, const Heapcast__Batch *batch, uint64_t expected,
			  uint64_t *ret_events)
{
	uint64_t from = 1;

	*ret_events = 0;
	for (size_t i = 0; i < batch->n_part && d->part_count < OTHER_PARTS_MAX; i++) {
		struct part_info part = part_of(batch, batch->part[i], from);

		/* They ascend, and are before the batches that follow. */
		if (part.upto < from || part.upto >= batch->next)
			break;
		from = part.upto + 1;
		if (is_told(d, &part))
			continue;
		part.lacking = part.upto >= expected;
		if (array_reserve(&d->parts, &d->part_capacity, (uint64_t)d->part_count + 1,
				  sizeof(*d->parts)) < 0)
			return -ENOMEM;
		d->parts[d->part_count++] = part;
		if (part.lacking)
			add_most(ret_events, part.events);
	}
	return 0;
}
