/* Computes bands at moments. See bands.h. */
#include "collector/query/time/bands.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "collector/columns/row_block.h"
#include "collector/query/time/history_parts.h"
#include "collector/query/sweep/sweep.h"

#include "base/ban.h"

/* Adds with wrap-around: the sums of a foreign recording may overflow. */
static void bands_add(int64_t *sum, int64_t more)
{
	*sum = (int64_t)((uint64_t)*sum + (uint64_t)more);
}

struct bands {
	const struct history_of *of;
	const struct bands_question *question;
	/* Changes from the previous moment to this one, at [moment * count + band]. */
	int64_t *changes;
};

static size_t values_of(const struct bands_question *q)
{
	return (size_t)q->moment_count * q->count;
}

static bool bands_skip(const void *context, const struct row_block *zone)
{
	const struct bands_question *q = ((const struct bands *)context)->question;

	return zone->min.birth_ns > q->moments[q->moment_count - 1];
}

static int bands_new(void *context, void **ret_part)
{
	const struct bands *whole = context;
	struct bands *part = calloc(1, sizeof(*part));

	if (!part)
		return -ENOMEM;
	*part = (struct bands){whole->of, whole->question,
			       calloc(values_of(whole->question), sizeof(*part->changes))};
	*ret_part = part;
	return part->changes ? 0 : -ENOMEM;
}

static void bands_free(void *part)
{
	free(((struct bands *)part)->changes);
	free(part);
}

/* Returns the number of the first moment at or after `time_ns`; it is known to be `low` or
 * later. */
static uint32_t moment_from(const struct bands_question *q, uint32_t low, uint64_t time_ns)
{
	uint32_t high = q->moment_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (q->moments[middle] < time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Rows are nearly in the order of birth, so `near`, the previous row's result, is tried first. */
static uint32_t first_moment(const struct bands_question *q, uint32_t near, uint64_t birth_ns)
{
	if ((near == q->moment_count || q->moments[near] >= birth_ns) &&
	    (!near || q->moments[near - 1] < birth_ns))
		return near;
	return moment_from(q, 0, birth_ns);
}

static void bands_add_row(const struct bands *b, const struct row_block *block, uint32_t i,
			  uint32_t first, uint32_t end)
{
	const struct bands_question *q = b->question;
	struct history_event e = named_birth_of(b->of, block, i);
	uint32_t band = !q->of_node ? e.node : q->of_node[e.node > q->nodes ? 0 : e.node];
	int64_t value = q->blocks ? e.units : e.bytes;

	bands_add(&b->changes[(size_t)first * q->count + band], value);
	if (end < q->moment_count)
		bands_add(&b->changes[(size_t)end * q->count + band],
			  (int64_t)(0 - (uint64_t)value));
}

static int bands_rows(void *part, const struct row_block *block, const struct row_set *rows)
{
	const struct bands *b = part;
	const struct bands_question *q = b->question;
	uint32_t first = 0;

	for (uint32_t k = 0; k < rows->count; k++) {
		uint32_t i = row_at(rows, k);
		uint64_t death = death_time(block, i);

		first = first_moment(q, first, birth_time(block, i));
		if (first == q->moment_count || death <= q->moments[first])
			continue;
		bands_add_row(b, block, i, first, moment_from(q, first, death));
	}
	return 0;
}

static int bands_merge(void *context, void *part)
{
	const struct bands *whole = context, *b = part;

	for (size_t i = 0; i < values_of(whole->question); i++)
		bands_add(&whole->changes[i], b->changes[i]);
	return 0;
}

int bands_at(const struct history_of *of, const struct bands_question *q, int64_t *values,
	     struct err_text *err)
{
	struct bands whole = {of, q, values};
	int r = sweep_run(&(struct sweep){.matcher = of->matcher,
					  .columns = history_columns(of),
					  .context = &whole,
					  .skips = bands_skip,
					  .part_new = bands_new,
					  .part_rows = bands_rows,
					  .part_merge = bands_merge,
					  .part_free = bands_free},
			  err);

	for (size_t i = q->count; !r && i < values_of(q); i++)
		bands_add(&values[i], values[i - q->count]);
	return r;
}
