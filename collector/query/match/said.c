/* See said.h. */
#include "collector/query/match/said.h"

#include <errno.h>
#include <stdlib.h>

#include "collector/recording/info.h"
#include "collector/recording/recording.h"
#include "heapcast.pb-c.h"

#include "base/ban.h"

static int said_in_order(const void *a, const void *b)
{
	const struct said_mark *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->mark < y->mark ? -1 : x->mark > y->mark;
}

static void list_marks(struct said *said, const struct recording *recording)
{
	for (uint32_t i = 0; i < recording_marks(recording); i++) {
		const struct mark_info *mark = recording_mark(recording, i);

		if (mark->kind == HEAPCAST__MARK_KIND__MARK_NUMBER)
			said->numbers[said->number_count++] =
				(struct said_mark){mark->time_ns, 0, i};
		else if (mark->kind == HEAPCAST__MARK_KIND__MARK_LABEL)
			said->labels[said->label_count++] =
				(struct said_mark){mark->time_ns, mark->thread, i};
	}
	qsort(said->numbers, said->number_count, sizeof(*said->numbers), said_in_order);
	qsort(said->labels, said->label_count, sizeof(*said->labels), said_in_order);
	for (uint32_t i = 0; i < said->number_count; i++)
		said->values[i] = recording_mark(recording, said->numbers[i].mark)->value;
}

int said_init(struct said *said, const struct recording *recording)
{
	size_t room = (size_t)recording_marks(recording) + 1;

	*said = (struct said){
		.numbers = calloc(room, sizeof(*said->numbers)),
		.labels = calloc(room, sizeof(*said->labels)),
		.values = calloc(room, sizeof(*said->values)),
	};
	if (!said->numbers || !said->labels || !said->values) {
		said_done(said);
		return -ENOMEM;
	}
	list_marks(said, recording);
	return 0;
}

void said_done(struct said *said)
{
	free(said->numbers);
	free(said->labels);
	free(said->values);
	*said = (struct said){0};
}

/* Returns the number of entries at or before that time of the thread. */
static uint32_t until(const struct said_mark *list, uint32_t count, uint32_t thread,
		      uint64_t time_ns)
{
	uint32_t low = 0, high = count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct said_mark *m = &list[middle];

		if (m->thread < thread || (m->thread == thread && m->time_ns <= time_ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint64_t said_number(const struct said *said, uint64_t time_ns)
{
	uint32_t n = until(said->numbers, said->number_count, 0, time_ns);

	return n ? said->values[n - 1] : 0;
}

uint32_t said_label(const struct said *said, uint32_t thread, uint64_t time_ns)
{
	uint32_t n = until(said->labels, said->label_count, thread, time_ns);

	return n && said->labels[n - 1].thread == thread ? said->labels[n - 1].mark : SAID_NOTHING;
}
