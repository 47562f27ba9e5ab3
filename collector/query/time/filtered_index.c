/* See filtered_index.h. */
#include "collector/query/time/filtered_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/query/match/view.h"

#include "base/ban.h"

struct filtered_index {
	unsigned users; /* atomic reference count; includes the reference of the view */
	struct buf key;
	struct usage_index *index;
};

const struct usage_index *filtered_index_of(const struct filtered_index *index)
{
	return index->index;
}

void filtered_index_put(struct filtered_index *index)
{
	if (!index || __atomic_sub_fetch(&index->users, 1, __ATOMIC_ACQ_REL))
		return;
	usage_index_free(index->index);
	buf_done(&index->key);
	free(index);
}

DEFINE_CLEANUP(filtered_index_put, struct filtered_index *)

void filtered_indexes_init(struct filtered_indexes *indexes)
{
	*indexes = (struct filtered_indexes){0};
	pthread_mutex_init(&indexes->lock, NULL);
}

void filtered_indexes_forget(struct filtered_indexes *indexes)
{
	for (unsigned i = 0; i < 2; i++)
		filtered_index_put(take_ptr(indexes->kept[i]));
}

void filtered_indexes_done(struct filtered_indexes *indexes)
{
	filtered_indexes_forget(indexes);
	pthread_mutex_destroy(&indexes->lock);
}

/* Builds the key that identifies the selection of rows. Equal keys mean the same rows. */
static int put_key(struct buf *key, const struct view *view, const struct history_of *of)
{
	const struct matcher *m = of->matcher;
	int r = filter_put_key(m->filter, key);

	if (r < 0)
		return r;
	/* New names may match other rows. */
	buf_append(key, &view->generation, sizeof(view->generation));
	buf_append(key, &m->rows, sizeof(m->rows));
	buf_append(key, &m->end_ns, sizeof(m->end_ns));
	buf_append(key, m->hides_survivors ? "1" : "0", 1);
	return buf_error(key);
}

static bool filtered_index_is_of(const struct filtered_index *index, const struct buf *key)
{
	return index && index->key.length == key->length &&
	       memcmp(index->key.data, key->data, key->length) == 0;
}

/* The bins of all rows serve any filter, because it has no more events in a bin than they have. */
static int filtered_index_make(struct view *view, const struct history_of *of, struct buf *key,
			       struct filtered_index **ret_index, struct err_text *err)
{
	const struct usage_index *all = view_usage_index_known(view);
	struct history_of these = *of;
	cleanup(cleanup_filtered_index_put) struct filtered_index *index =
		calloc(1, sizeof(*index));
	int r;

	if (!index)
		return err_set(err, -ENOMEM, "out of memory");
	index->users = 1;
	these.like = all ? usage_index_bins(all) : NULL;
	r = usage_index_new(&these, &index->index, err);
	if (r < 0)
		return r;
	index->key = *key;
	*key = (struct buf){0};
	*ret_index = take_ptr(index);
	return 0;
}

int filtered_index_get(struct view *view, const struct history_of *of,
		       struct filtered_index **ret_index, struct err_text *err)
{
	const struct matcher *m = of->matcher;
	struct filtered_indexes *indexes = &view->filtered[m->one_in != 0];
	struct filtered_index **kept = &indexes->kept[m->leaked_only], *made;
	cleanup(buf_done) struct buf key = {0};
	int r = put_key(&key, view, of);

	if (r < 0)
		return err_set(err, r, "out of memory");
	if (m->filter->only) /* no other question has these rows */
		return filtered_index_make(view, of, &key, ret_index, err);
	r = view_lock(&indexes->lock, m, err);
	if (r < 0)
		return r;
	if (!filtered_index_is_of(*kept, &key)) {
		r = filtered_index_make(view, of, &key, &made, err);
		if (!r) {
			filtered_index_put(*kept);
			*kept = made;
		}
	}
	if (!r) {
		__atomic_add_fetch(&(*kept)->users, 1, __ATOMIC_RELAXED);
		*ret_index = *kept;
	}
	pthread_mutex_unlock(&indexes->lock);
	return r;
}
