/* Sums values by label, and ranks the labels. See parts.h. */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "collector/analyze/parts.h"

#include "base/ban.h"

int sums_add(struct sums *sums, uint32_t label, uint64_t stack, uint64_t value, uint64_t grown)
{
	struct label_sum *sum;

	if (array_reserve(&sums->list, &sums->capacity, (uint64_t)label + 1, sizeof(*sums->list)) <
	    0)
		return -ENOMEM;
	sum = &sums->list[label];
	if (!sum->first) {
		sum->first = stack;
		sums->count++;
	}
	add_capped(&sum->value, value);
	add_capped(&sum->grown, grown);
	sum->traces++;
	return 0;
}

static int sums_heaviest_first(const void *left, const void *right, void *context)
{
	const struct label_sum *list = context, *a = &list[*(const uint32_t *)left],
			       *b = &list[*(const uint32_t *)right];

	if (a->value != b->value)
		return a->value > b->value ? -1 : 1;
	return a->first < b->first ? -1 : a->first > b->first;
}

int sums_rank(const struct sums *sums, const struct frames *frames, uint32_t most,
	      struct analysis_functions *ret_functions)
{
	uint32_t *order = calloc((size_t)sums->count + 1, sizeof(*order)), n = 0;
	struct analysis_functions f = {.of = sums->count};

	f.count = sums->count < most ? sums->count : most;
	f.list = calloc((size_t)f.count + 1, sizeof(*f.list));
	if (!order || !f.list) {
		free(order);
		free(f.list);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < sums->capacity; i++)
		if (sums->list[i].first)
			order[n++] = i;
	qsort_r(order, n, sizeof(*order), sums_heaviest_first, sums->list);
	for (uint32_t i = 0; i < f.count; i++) {
		const struct label_sum *sum = &sums->list[order[i]];

		f.list[i] = (struct analysis_function){intern_get(&frames->labels, order[i]),
						       sum->value, sum->traces, sum->grown};
	}
	free(order);
	*ret_functions = f;
	return 0;
}

void sums_done(struct sums *sums)
{
	free(sums->list);
	*sums = (struct sums){0};
}
