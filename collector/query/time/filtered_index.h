#pragma once
/*
 * Keeps the indexes of usage over time (usage_index.h) for the last filter that was used on a view.
 * A person's queries mostly come with the same filter, several at once (the strip, the overview,
 * bands). The indexes of previews are kept separately, so that an estimate never waits for an exact
 * answer.
 */
#include <pthread.h>

#include "base/buf.h"
#include "collector/query/time/usage_index.h"

struct view;
struct filtered_index;

struct filtered_indexes {
	pthread_mutex_t lock;		/* held while an index is made */
	struct filtered_index *kept[2]; /* of all rows; of those that were not freed */
};

void filtered_indexes_init(struct filtered_indexes *indexes);
void filtered_indexes_forget(struct filtered_indexes *indexes);
void filtered_indexes_done(struct filtered_indexes *indexes);

/* Returns the index of the rows that `of` selects; `of` must have no labels and no nodes. Makes the
 * index if it is not kept. The caller puts it back with filtered_index_put. */
int filtered_index_get(struct view *view, const struct history_of *of,
		       struct filtered_index **ret_index, struct err_text *err);
const struct usage_index *filtered_index_of(const struct filtered_index *index);
void filtered_index_put(struct filtered_index *index);
