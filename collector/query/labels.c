/*
 * Labels: a thread bears the text that it said last (heapcast_label), and so does what it allocates. The marks are put in order of
 * thread and time once; each row then looks for the last one of its thread before its birth.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/query/matcher.h"
#include "heapcast.pb-c.h"

#include "base/ban.h"

struct label {
	uint64_t time_ns;
	uint32_t thread, order;
	bool wanted;
};

static int by_thread(const void *a, const void *b)
{
	const struct label *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static size_t list_labels(const struct matcher *m, struct label *list)
{
	size_t count = 0;

	for (uint32_t i = 0; i < recording_marks(m->recording); i++) {
		const struct mark_info *mark = recording_mark(m->recording, i);

		if (mark->kind != HEAPCAST__MARK_KIND__MARK_LABEL)
			continue;
		list[count++] = (struct label){mark->time_ns, mark->thread, i,
					       mark->text && !strcmp(mark->text, m->filter->tag)};
	}
	qsort(list, count, sizeof(*list), by_thread);
	return count;
}

/* Whether the last label of the thread at that time is the one that is wanted. */
static bool bears(const struct label *list, size_t count, uint32_t thread, uint64_t time_ns)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct label *l = &list[middle];

		if (l->thread < thread || (l->thread == thread && l->time_ns <= time_ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low && list[low - 1].thread == thread && list[low - 1].wanted;
}

int labels_judge(struct matcher *m, struct err_text *err)
{
	cleanup(cleanup_free) struct label *list =
		calloc((size_t)recording_marks(m->recording) + 1, sizeof(*list));
	size_t count;

	if (!list)
		return -ENOMEM;
	count = list_labels(m, list);
	for (uint32_t b = 0; b < recording_blocks(m->recording); b++) {
		const struct row_block *block = recording_block(m->recording, b);

		if (matcher_cancelled(m, err))
			return -ECANCELED;
		for (uint32_t i = 0; i < block->count && block->first_row + i < m->rows; i++) {
			uint64_t row = block->first_row + i;

			if (!bears(list, count, block->thread[i], block->birth_ns[i]))
				m->row_passes[row / 8] &= (uint8_t) ~(1u << row % 8);
		}
	}
	return 0;
}
