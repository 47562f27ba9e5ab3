#pragma once
/*
 * Indexes of usage over time (usage_index.h) of the last filter that a view was asked about, kept:
 * one person's questions mostly come with the same filter, several at once (the strip, the
 * overview, bands). Those of a preview are kept apart, so that an estimate waits for no exact
 * answer.
 */
#include <pthread.h>

#include "base/buf.h"
#include "collector/query/time/usage_index.h"

struct view;
struct filtered_index;

struct filtered_indexes {
	pthread_mutex_t lock;		/* held while one is made */
	struct filtered_index *kept[2]; /* of all rows; of those that were not freed */
};

void filtered_indexes_init(struct filtered_indexes *indexes);
void filtered_indexes_forget(struct filtered_indexes *indexes);
void filtered_indexes_done(struct filtered_indexes *indexes);

/* The one of the rows that `of` lets through, which has no labels and no nodes; made if it is not
 * kept. Whoever has it puts it back. */
int filtered_index_get(struct view *view, const struct history_of *of,
		       struct filtered_index **ret_index, struct err_text *err);
const struct usage_index *filtered_index_of(const struct filtered_index *index);
void filtered_index_put(struct filtered_index *index);
