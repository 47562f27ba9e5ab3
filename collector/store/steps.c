/* Rows of steps in time: a run for each batch, merged into the queue. See pairing.h. */
#include "collector/store/steps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/ban.h"

/* Moves that an insertion may cost on the average before a run is sorted in general. */
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

static int by_time(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* Nearly sorted as a rule: only the calls of reallocations are out of place. Equal times keep their
 * order. */
void steps_sort(struct steps *s)
{
	size_t moves = 0, limit = s->count * MOVES_A_STEP;

	for (size_t i = 1; i < s->count; i++) {
		struct step step;
		size_t to = i;

		if (s->list[i - 1].time_ns <= s->list[i].time_ns)
			continue;
		step = s->list[i];
		while (to && s->list[to - 1].time_ns > step.time_ns && moves < limit) {
			s->list[to] = s->list[to - 1];
			to--;
			moves++;
		}
		s->list[to] = step;
		if (moves >= limit) {
			qsort(s->list, s->count, sizeof(*s->list), by_time);
			return;
		}
	}
}

int steps_merge(struct steps *queue, struct steps *run, struct steps *spare)
{
	size_t i = 0, j = 0;
	struct steps old;

	if (!run->count)
		return 0;
	if (!queue->count || queue->list[queue->count - 1].time_ns <= run->list[0].time_ns) {
		if (steps_reserve(queue, run->count) < 0)
			return -ENOMEM;
		memcpy(queue->list + queue->count, run->list, run->count * sizeof(*run->list));
		queue->count += run->count;
		run->count = 0;
		return 0;
	}
	spare->count = 0;
	if (steps_reserve(spare, queue->count + run->count) < 0)
		return -ENOMEM;
	while (i < queue->count || j < run->count) {
		if (j == run->count ||
		    (i < queue->count && queue->list[i].time_ns <= run->list[j].time_ns))
			spare->list[spare->count++] = queue->list[i++];
		else
			spare->list[spare->count++] = run->list[j++];
	}
	old = *queue;
	*queue = *spare;
	*spare = old;
	spare->count = 0;
	run->count = 0;
	return 0;
}

void steps_consume(struct steps *s, size_t count)
{
	if (!count)
		return;
	s->count -= count;
	memmove(s->list, s->list + count, s->count * sizeof(*s->list));
}
