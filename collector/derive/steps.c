/*
 * Lists of steps: the run of each batch is sorted and merged into the waiting steps. steps.h
 * describes the interface.
 */
#include "collector/derive/steps.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/ban.h"

/* Average moves per insertion above which a run is sorted with qsort. */
#define MOVES_A_STEP 16

int steps_reserve(struct steps *s, size_t more)
{
	size_t capacity = s->capacity ? s->capacity : 1024;
	struct step *grown;

	while (capacity < s->count + more)
		capacity *= 2;
	if (capacity == s->capacity)
		return 0;
	grown = realloc(s->list, capacity * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	s->list = grown;
	s->capacity = capacity;
	return 0;
}

void steps_done(struct steps *s)
{
	free(s->list);
	*s = (struct steps){0};
}

static int steps_by_time(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/*
 * Insertion sort, because runs are nearly sorted: usually only the calls of reallocations are out
 * of place. Equal times keep their order.
 */
static void sort(struct step *list, size_t count)
{
	size_t moves = 0, limit = count * MOVES_A_STEP;

	for (size_t i = 1; i < count; i++) {
		struct step step;
		size_t to = i;

		if (list[i - 1].time_ns <= list[i].time_ns)
			continue;
		step = list[i];
		while (to && list[to - 1].time_ns > step.time_ns && moves < limit) {
			list[to] = list[to - 1];
			to--;
			moves++;
		}
		list[to] = step;
		if (moves >= limit) {
			qsort(list, count, sizeof(*list), steps_by_time);
			return;
		}
	}
}

/*
 * Merges the run behind `middle`. The steps before `middle` that are later than the first of the
 * run move to `spare`. The gap that they leave is never shorter than the rest of them, so no step
 * is overwritten.
 */
static int steps_merge(struct steps *s, size_t middle, struct steps *spare)
{
	size_t to = middle, from = middle, left = 0;

	while (to && s->list[to - 1].time_ns > s->list[middle].time_ns)
		to--;
	spare->count = 0;
	if (steps_reserve(spare, middle - to) < 0)
		return -ENOMEM;
	spare->count = middle - to;
	memcpy(spare->list, s->list + to, spare->count * sizeof(*s->list));
	while (left < spare->count) {
		bool first = from == s->count || spare->list[left].time_ns <= s->list[from].time_ns;

		s->list[to++] = first ? spare->list[left++] : s->list[from++];
	}
	return 0;
}

int steps_sort(struct steps *s, struct steps *spare)
{
	size_t middle = s->sorted;
	int r = 0;

	if (middle == s->count)
		return 0;
	sort(s->list + middle, s->count - middle);
	if (middle && s->list[middle - 1].time_ns > s->list[middle].time_ns)
		r = steps_merge(s, middle, spare);
	s->sorted = s->count;
	return r;
}

void steps_consume(struct steps *s, size_t count)
{
	if (!count)
		return;
	s->count -= count;
	s->sorted = s->count;
	memmove(s->list, s->list + count, s->count * sizeof(*s->list));
}
