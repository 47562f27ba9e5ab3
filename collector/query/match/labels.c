/*
 * Labels: a thread carries the text that it set last (heapcast_label), and its allocations carry
 * it, too. For each row, the thread's last label before the row's birth is looked up (said.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/columns/row_block.h"
#include "collector/query/match/said.h"
#include "collector/query/sweep/sweep.h"
#include "collector/recording/recording.h"

#include "base/ban.h"

struct judging {
	struct matcher *m;
	struct said said;
	uint8_t *wanted; /* by mark */
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
		uint32_t mark = said_label(&j->said, block->thread[i], block->birth_ns[i]);

		if (mark == SAID_NOTHING || !j->wanted[mark])
			matcher_refuse(j->m, block->first_row + i);
	}
	return 0;
}

int labels_judge(struct matcher *m, struct err_text *err)
{
	struct judging judging = {.m = m};
	struct matcher all;
	int r = said_init(&judging.said, m->recording);

	if (!r)
		r = find_wanted(&judging);
	matcher_init_all(&all, m->recording, m->filter);
	all.rows = m->rows;
	if (!r)
		r = sweep_in_order(&all, ROWS_THREAD | ROWS_BIRTH, labels_judge_rows, &judging,
				   err);
	free(judging.wanted);
	said_done(&judging.said);
	return r;
}
