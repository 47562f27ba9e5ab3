/* Computes and keeps the sums of all rows. See whole_sums.h. */
#include "collector/query/sums/whole_sums.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/columns/row_block.h"
#include "collector/query/match/matcher.h"
#include "collector/query/match/view.h"
#include "collector/query/sums/group_peaks.h"
#include "collector/query/sweep/result_file.h"
#include "collector/query/time/peak.h"
#include "collector/recording/recording.h"
#include "collector/recording/row_reader.h"

#include "base/ban.h"

#define NAME "sums"

DEFINE_CLEANUP(whole_sums_free, struct whole_sums *)

void whole_sums_free(struct whole_sums *whole)
{
	if (!whole)
		return;
	node_sums_done(&whole->sums);
	free(whole->group_peaks);
	free(whole);
}

static struct whole_sums *whole_sums_load(const struct recording *recording)
{
	struct whole_sums *whole = NULL;
	struct result_file kept = {0};
	uint64_t frames;

	if (result_file_open(recording, NAME, &kept, &frames) < 0 ||
	    whole_sums_read(kept.data, kept.length, recording, frames, &whole) < 0)
		whole = NULL;
	result_file_close(&kept);
	return whole;
}

static void save(const struct whole_sums *whole, const struct recording *recording)
{
	struct buf bytes = {0};
	uint64_t frames;

	if (result_file_wanted(recording, NAME, &frames) &&
	    whole_sums_write(whole, recording, frames, &bytes) == 0)
		result_file_write(recording, NAME, &bytes, NULL, 0);
	buf_done(&bytes);
}

/* ---- computing ---- */

static int whole_sums_make(const struct matcher *all, unsigned parts, struct whole_sums **ret_whole,
			   struct err_text *err)
{
	cleanup(cleanup_whole_sums_free) struct whole_sums *whole = calloc(1, sizeof(*whole));
	bool chains = parts & WHOLE_REALLOCATIONS;
	int r;

	if (!whole)
		return err_set(err, -ENOMEM, "out of memory");
	r = node_sums_of(&whole->sums, all, recording_nodes(all->recording),
			 &(struct node_sums_what){.ends = true, .chains = chains}, err);
	if (r < 0)
		return r;
	whole->parts = chains ? WHOLE_REALLOCATIONS : 0;
	*ret_whole = take_ptr(whole);
	return 0;
}

static int add_peak(struct whole_sums *whole, struct view *view, const struct matcher *all,
		    struct err_text *err)
{
	struct node_sums alive;
	int r = peak_moment(view, all->filter, &whole->peak_ns, err);

	if (!r)
		r = node_sums_of(&alive, all, whole->sums.nodes,
				 &(struct node_sums_what){.only = true,
							  .value = VALUE_PEAK,
							  .at_ns = whole->peak_ns},
				 err);
	if (r < 0)
		return r;
	r = node_sums_set_alive(&whole->sums, &alive);
	node_sums_done(&alive);
	return r < 0 ? err_set(err, r, "out of memory") : 0;
}

struct counting {
	uint64_t count;
};

static int count_new(void *context, void **ret_part)
{
	(void)context;
	*ret_part = calloc(1, sizeof(struct counting));
	return *ret_part ? 0 : -ENOMEM;
}

static int whole_sums_count_rows(void *part, const struct row_block *block,
				 const struct row_set *rows)
{
	struct counting *c = part;

	for (uint32_t k = 0; k < rows->count; k++)
		c->count += block->chain_previous[row_at(rows, k)] != NO_BLOCK;
	return 0;
}

static int count_merge(void *context, void *part)
{
	((struct counting *)context)->count += ((struct counting *)part)->count;
	return 0;
}

static int add_reallocations(struct whole_sums *whole, const struct matcher *all,
			     struct err_text *err)
{
	struct counting whole_count = {0};
	int r = sweep_run(&(struct sweep){.matcher = all,
					  .columns = ROWS_CHAIN,
					  .context = &whole_count,
					  .part_new = count_new,
					  .part_rows = whole_sums_count_rows,
					  .part_merge = count_merge,
					  .part_free = free},
			  err);

	whole->sums.reallocations = whole_count.count;
	return r;
}

static int add_group_peaks(struct whole_sums *whole, const struct matcher *all,
			   struct err_text *err)
{
	const struct node_sums *sums = &whole->sums;
	cleanup(cleanup_free) uint64_t *peaks = calloc((size_t)sums->count + 1, sizeof(*peaks));
	int r;

	if (!peaks)
		return err_set(err, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < sums->count; i++)
		peaks[i] = sums->list[i].first_ns;
	r = group_peaks_find(sums, all, peaks, err);
	if (r < 0)
		return r;
	whole->group_peaks = take_ptr(peaks);
	return 0;
}

static int whole_sums_add_parts(struct whole_sums *whole, struct view *view,
				const struct matcher *all, unsigned missing, struct err_text *err)
{
	int r = missing & WHOLE_PEAK ? add_peak(whole, view, all, err) : 0;

	if (!r && missing & WHOLE_REALLOCATIONS)
		r = add_reallocations(whole, all, err);
	if (!r && missing & WHOLE_GROUP_PEAKS)
		r = add_group_peaks(whole, all, err);
	if (!r)
		whole->parts |= missing;
	return r;
}

/* Provides the parts: loads or computes them, and saves new ones. The caller holds sums_lock. */
static int provide(struct view *view, const struct matcher *all, unsigned parts,
		   struct err_text *err)
{
	unsigned known;
	int r = 0;

	if (!view->whole_sums)
		view->whole_sums = whole_sums_load(view->recording);
	if (view->whole_sums && !(parts & ~view->whole_sums->parts))
		return 0;
	if (!view->whole_sums)
		r = whole_sums_make(all, parts, &view->whole_sums, err);
	if (r < 0)
		return r;
	known = view->whole_sums->parts;
	if (parts & ~known)
		r = whole_sums_add_parts(view->whole_sums, view, all, parts & ~known, err);
	if (!r)
		save(view->whole_sums, view->recording);
	return r;
}

int view_whole_sums(struct view *view, const struct filter *filter, unsigned parts,
		    const struct whole_sums **ret_whole, struct err_text *err)
{
	struct matcher all;
	int r;

	matcher_init_all(&all, view->recording, filter);
	/* node_sums_of takes this as a request to keep survivors apart. */
	all.hides_survivors = recording_survivors(view->recording);
	r = view_lock(&view->sums_lock, &all, err);
	if (r < 0)
		return r;
	r = matcher_cancelled(&all, err);
	if (!r)
		r = provide(view, &all, parts, err);
	*ret_whole = view->whole_sums;
	pthread_mutex_unlock(&view->sums_lock);
	return r;
}

/* ---- before a query needs them ---- */

int query_prepare(struct view *view, const atomic_bool *cancelled, struct err_text *err)
{
	cleanup(cleanup_free) char *path = NULL;
	const struct usage_index *index;
	const struct whole_sums *whole;
	struct filter all;
	uint64_t frames;
	int r;

	if (recording_rows(view->recording) < ROWS_PER_BLOCK ||
	    recording_keep(view->recording, "", &path, &frames) < 0)
		return 0;
	filter_init(&all);
	all.cancel.asked = cancelled;
	r = view_usage_index(view, &all, false, &index, err);
	if (!r)
		r = view_usage_index(view, &all, true, &index, err);
	/* Group peaks take longest and only one query needs them, so they are left out. */
	return r < 0 ? r
		     : view_whole_sums(view, &all, WHOLE_PEAK | WHOLE_REALLOCATIONS, &whole, err);
}
