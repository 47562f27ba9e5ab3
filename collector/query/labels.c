/*
 * Labels: a thread bears the text that it said last (heapcast_label), and so does what it allocates. The marks are put in order of
 * thread and time once; each row then looks for the last one of its thread before its birth.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/query/sweep.h"
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

struct judging {
	struct matcher *m;
	const struct label *list;
	size_t count;
};

static int judge_rows(void *context, const struct row_block *block, const struct row_set *rows)
{
	const struct judging *j = context;

	for (uint32_t k = 0; k < rows->count; k++) {
		uint32_t i = row_at(rows, k);

		if (!bears(j->list, j->count, block->thread[i], block->birth_ns[i]))
			matcher_refuse(j->m, block->first_row + i);
	}
	return 0;
}

int labels_judge(struct matcher *m, struct err_text *err)
{
	cleanup(cleanup_free) struct label *list =
		calloc((size_t)recording_marks(m->recording) + 1, sizeof(*list));
	struct judging judging = {.m = m, .list = list};
	struct matcher all;

	if (!list)
		return -ENOMEM;
	judging.count = list_labels(m, list);
	matcher_init_all(&all, m->recording, m->filter);
	all.rows = m->rows;
	return sweep_in_order(&all, ROWS_THREAD | ROWS_BIRTH, judge_rows, &judging, err);
}
