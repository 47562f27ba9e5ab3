/* Sorts the marks of a recording. See mark_index.h. */
#include "collector/query/match/mark_index.h"

#include <errno.h>
#include <stdlib.h>

#include "collector/recording/info.h"
#include "collector/recording/recording.h"
#include "heapcast.pb-c.h"

#include "base/ban.h"

static int mark_index_in_order(const void *a, const void *b)
{
	const struct mark_index_entry *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->mark < y->mark ? -1 : x->mark > y->mark;
}

static void list_marks(struct mark_index *marks, const struct recording *recording)
{
	for (uint32_t i = 0; i < recording_marks(recording); i++) {
		const struct mark_info *mark = recording_mark(recording, i);

		if (mark->kind == HEAPCAST__MARK_KIND__MARK_NUMBER)
			marks->numbers[marks->number_count++] =
				(struct mark_index_entry){mark->time_ns, 0, i};
		else if (mark->kind == HEAPCAST__MARK_KIND__MARK_LABEL)
			marks->labels[marks->label_count++] =
				(struct mark_index_entry){mark->time_ns, mark->thread, i};
	}
	qsort(marks->numbers, marks->number_count, sizeof(*marks->numbers), mark_index_in_order);
	qsort(marks->labels, marks->label_count, sizeof(*marks->labels), mark_index_in_order);
	for (uint32_t i = 0; i < marks->number_count; i++)
		marks->values[i] = recording_mark(recording, marks->numbers[i].mark)->value;
}

int mark_index_init(struct mark_index *marks, const struct recording *recording)
{
	size_t room = (size_t)recording_marks(recording) + 1;

	*marks = (struct mark_index){
		.numbers = calloc(room, sizeof(*marks->numbers)),
		.labels = calloc(room, sizeof(*marks->labels)),
		.values = calloc(room, sizeof(*marks->values)),
	};
	if (!marks->numbers || !marks->labels || !marks->values) {
		mark_index_done(marks);
		return -ENOMEM;
	}
	list_marks(marks, recording);
	return 0;
}

void mark_index_done(struct mark_index *marks)
{
	free(marks->numbers);
	free(marks->labels);
	free(marks->values);
	*marks = (struct mark_index){0};
}

/* Returns the number of entries at or before that time of the thread. */
static uint32_t until(const struct mark_index_entry *list, uint32_t count, uint32_t thread,
		      uint64_t time_ns)
{
	uint32_t low = 0, high = count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct mark_index_entry *m = &list[middle];

		if (m->thread < thread || (m->thread == thread && m->time_ns <= time_ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint64_t mark_index_number(const struct mark_index *marks, uint64_t time_ns)
{
	uint32_t n = until(marks->numbers, marks->number_count, 0, time_ns);

	return n ? marks->values[n - 1] : 0;
}

uint32_t mark_index_label(const struct mark_index *marks, uint32_t thread, uint64_t time_ns)
{
	uint32_t n = until(marks->labels, marks->label_count, thread, time_ns);

	return n && marks->labels[n - 1].thread == thread ? marks->labels[n - 1].mark : MARK_NONE;
}
