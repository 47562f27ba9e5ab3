/*
 * Labels: an allocation has the label that its thread set last (heapcast_label). For each row,
 * this looks up the thread's last label before the row's birth (mark_index.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/columns/row_block.h"
#include "collector/query/match/mark_index.h"
#include "collector/query/sweep/sweep.h"
#include "collector/recording/recording.h"

#include "base/ban.h"

struct judging {
	struct matcher *m;
	struct mark_index marks;
	uint8_t *wanted; /* by mark: its label matches */
};

static int find_wanted(struct judging *j)
{
	const struct recording *recording = j->m->recording;
	uint32_t count = recording_marks(recording);

	j->wanted = calloc((size_t)count + 1, 1);
	if (!j->wanted)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		const char *text = recording_mark(recording, i)->text;

		j->wanted[i] = text && !strcmp(text, j->m->filter->tag);
	}
	return 0;
}

static int labels_judge_rows(void *context, const struct row_block *block,
			     const struct row_set *rows)
{
	const struct judging *j = context;

	for (uint32_t k = 0; k < rows->count; k++) {
		uint32_t i = row_at(rows, k);
		uint32_t mark = mark_index_label(&j->marks, block->thread[i], block->birth_ns[i]);

		if (mark == MARK_NONE || !j->wanted[mark])
			matcher_refuse(j->m, block->first_row + i);
	}
	return 0;
}

int labels_judge(struct matcher *m, struct err_text *err)
{
	struct judging judging = {.m = m};
	struct matcher all;
	int r = mark_index_init(&judging.marks, m->recording);

	if (!r)
		r = find_wanted(&judging);
	matcher_init_all(&all, m->recording, m->filter);
	all.rows = m->rows;
	if (!r)
		r = sweep_in_order(&all, ROWS_THREAD | ROWS_BIRTH, labels_judge_rows, &judging,
				   err);
	free(judging.wanted);
	mark_index_done(&judging.marks);
	return r;
}
