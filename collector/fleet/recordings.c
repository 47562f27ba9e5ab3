/*
 * Reads what streams had in use from their recordings. See source.h.
 *
 * At whole minutes, sums by minute say it (collector/sums), which are kept beside recordings that
 * nobody writes. At other moments, and for recordings that grow, the rows do. Both say the same.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/catalogue/store.h"
#include "collector/fleet/source.h"
#include "collector/fleet/top_load.h"
#include "collector/query/moments.h"
#include "collector/query/query.h"
#include "collector/query/minutes.h"
#include "collector/recording/recording.h"
#include "collector/sums/stream_sums.h"

#include "base/ban.h"

DEFINE_CLEANUP(recording_close, struct recording *)
DEFINE_CLEANUP(view_free, struct view *)

/* ---- by rows ---- */

static int add_moments(struct fleet_matrix *m, uint32_t unit, uint32_t first, uint32_t count,
		       const struct moments *from)
{
	int r = 0;

	for (uint32_t g = 0; !r && g < from->count; g++) {
		uint32_t function = fleet_function_number(m, from->groups[g].function,
							  module_basename(from->groups[g].module));

		if (!function)
			return -ENOMEM;
		for (uint32_t k = 0; !r && k < count; k++)
			r = fleet_add(m, unit, function, first + k,
				      from->bytes[(size_t)k * from->stride + 1 + g]);
	}
	return r;
}

static int ask_recording(const struct fleet_recordings *from, const struct fleet_question *question,
			 const struct stream_summary *s, const uint64_t *moments, uint32_t count,
			 struct recording **ret_recording, struct view **ret_view,
			 struct moments *ret_moments, struct err_text *err)
{
	cleanup(cleanup_free) char *path = stream_recording_path(from->store, &s->id);
	/* What is hidden must not depend on the board. */
	struct filter filter;
	int r;

	filter_init(&filter);
	filter.hide = HIDE_RULES;
	filter.cancel.asked = question->cancelled;
	r = path ? recording_open(path, NULL, NULL, ret_recording, err) : -ENOMEM;
	if (!r)
		r = view_new(*ret_recording, from->symbols, ret_view, err);
	if (r < 0)
		return r;
	view_set_rules(*ret_view, question->rules);
	return query_moments(*ret_view, &filter, moments, count, ret_moments, err);
}

static int load_rows(const struct fleet_recordings *from, struct fleet_loading *l,
		     const struct stream_summary *s, const uint64_t *moments, uint32_t first,
		     uint32_t count, struct err_text *err)
{
	cleanup(cleanup_recording_close) struct recording *recording = NULL;
	cleanup(cleanup_view_free) struct view *view = NULL;
	cleanup(moments_done) struct moments answer = {0};
	int r = ask_recording(from, l->question, s, moments, count, &recording, &view, &answer,
			      err);
	int64_t unit;

	if (r < 0)
		return r;
	unit = fleet_stream_add(l, s, first, count);
	return unit < 0 ? (int)unit : add_moments(l->matrix, (uint32_t)unit, first, count, &answer);
}

/* ---- by minutes ---- */

/* What the functions of one stream had in use at minutes. */
struct minute_functions {
	uint32_t *of_site;  /* index by call site */
	uint32_t *function; /* number in the matrix, by index */
	int64_t *bytes;	    /* of function f at moment k: bytes[k * count + f] */
	uint32_t count;
};

static void minute_functions_done(struct minute_functions *f)
{
	free(f->of_site);
	free(f->function);
	free(f->bytes);
}

static int number_functions(struct minute_functions *f, struct fleet_matrix *m,
			    const struct stream_sums *sums, struct map *indexes)
{
	uint32_t sites = sums->site_count;

	f->of_site = calloc(sites + 1u, sizeof(*f->of_site));
	f->function = calloc(sites + 1u, sizeof(*f->function));
	if (!f->of_site || !f->function)
		return -ENOMEM;
	for (uint32_t i = 0; i < sites; i++) {
		const struct sums_site *site = &sums->sites[i];
		uint32_t number = fleet_function_number(m, site->function, site->module);
		uint64_t *index = number ? map_put(indexes, number, NULL) : NULL;

		if (!index)
			return -ENOMEM;
		if (!*index) {
			f->function[f->count] = number;
			*index = ++f->count;
		}
		f->of_site[i] = (uint32_t)(*index - 1);
	}
	return 0;
}

static void add_minute(struct minute_functions *f, uint32_t moment, const struct stream_sums *sums,
		       const int64_t *in_use)
{
	int64_t *bytes = f->bytes + (size_t)moment * f->count;

	for (uint32_t i = 0; i < sums->file.stack_count; i++) {
		int64_t *sum = &bytes[f->of_site[sums->file.stacks[i].site]];

		*sum = (int64_t)((uint64_t)*sum + (uint64_t)in_use[i]);
	}
}

static int sum_minutes(struct minute_functions *f, struct fleet_matrix *m,
		       const struct stream_summary *s, const struct stream_sums *sums,
		       const uint64_t *moments, uint32_t count)
{
	cleanup(minute_cursor_done) struct minute_cursor cursor = {0};
	struct map indexes = {0};
	int r = number_functions(f, m, sums, &indexes);

	map_done(&indexes);
	f->bytes = calloc((size_t)count * f->count + 1, sizeof(*f->bytes));
	if (!r)
		r = f->bytes ? minute_cursor_init(&cursor, &sums->file) : -ENOMEM;
	for (uint32_t k = 0; !r && k < count; k++) {
		r = minute_cursor_to(&cursor,
				     (uint32_t)((s->start_wall_ns + moments[k]) / MINUTE_NS));
		if (!r)
			add_minute(f, k, sums, cursor.bytes);
	}
	return r;
}

static int add_functions(struct fleet_loading *l, const struct stream_summary *s,
			 const struct minute_functions *f, uint32_t first, uint32_t count)
{
	int64_t unit = fleet_stream_add(l, s, first, count);
	int r = unit < 0 ? (int)unit : 0;

	for (uint32_t k = 0; !r && k < count; k++)
		for (uint32_t i = 0; !r && i < f->count; i++)
			r = fleet_add(l->matrix, (uint32_t)unit, f->function[i], first + k,
				      f->bytes[(size_t)k * f->count + i]);
	return r;
}

static int load_minutes(const struct fleet_recordings *from, struct fleet_loading *l,
			const struct stream_summary *s, const uint64_t *moments, uint32_t first,
			uint32_t count, bool anew)
{
	cleanup(minute_functions_done) struct minute_functions functions = {0};
	cleanup(stream_sums_close) struct stream_sums sums = {0};
	const struct sums_source source = {.store = from->store,
					   .symbols = from->symbols,
					   .rules = l->question->rules,
					   .cancelled = l->question->cancelled};
	struct err_text why = {0};
	int r = stream_sums_open(&source, s, anew, &sums, &why);

	if (!r)
		r = sum_minutes(&functions, l->matrix, s, &sums, moments, count);
	return r ? r : add_functions(l, s, &functions, first, count);
}

/* ---- a stream ---- */

static int load_stream(const struct fleet_recordings *from, struct fleet_loading *l,
		       const struct stream_summary *s, struct err_text *err)
{
	uint64_t moments[FLEET_MOMENTS_MAX];
	uint32_t first = 0, count = fleet_stream_moments(l, s, &first, moments);
	int r = -ENOENT;

	if (!count)
		return 0;
	if (l->matrix->step_ns % MINUTE_NS == 0 && stream_sums_can_be_kept(s))
		r = load_minutes(from, l, s, moments, first, count, false);
	if (r == -EBADMSG)
		r = load_minutes(from, l, s, moments, first, count, true);
	if (!r || r == -ENOMEM || r == -ECANCELED)
		return r;
	/* The rows say why, if they can't be read either. */
	return load_rows(from, l, s, moments, first, count, err);
}

static int recordings_load(void *context, struct fleet_loading *l, struct err_text *err)
{
	int r = 0;

	for (size_t i = 0; !r && i < l->count; i++) {
		struct err_text why = {0};

		r = fleet_loading_progress(l, i);
		if (!r)
			r = load_stream(context, l, &l->streams[i], &why);
		if (r == -ENOMEM || r == -ECANCELED)
			return err_set(err, r, "%s", strerror(-r));
		if (r < 0)
			fleet_stream_unread(l, err_get(&why, r));
		r = 0;
	}
	return fleet_loading_progress(l, l->count);
}

/* ---- what is in use at one minute ---- */

static int add_stacks(struct fleet_top_loading *l, const struct stream_sums *sums)
{
	cleanup(cleanup_free) uint32_t *site = calloc(sums->site_count + 1u, sizeof(*site));
	cleanup(minute_cursor_done) struct minute_cursor cursor = {0};
	int r = site ? minute_cursor_init(&cursor, &sums->file) : -ENOMEM;

	if (!r)
		r = minute_cursor_to(&cursor, l->minute);
	for (uint32_t i = 0; !r && i < sums->file.stack_count; i++) {
		const struct sums_stack *stack = &sums->file.stacks[i];

		const struct fleet_top_use use = {cursor.bytes[i], cursor.units[i],
						  cursor.variance[i]};

		if (fleet_top_is_none(&use))
			continue;
		if (!site[stack->site])
			site[stack->site] = fleet_top_site(l, &sums->sites[stack->site]);
		r = site[stack->site] ? fleet_top_add(l, stack->id, site[stack->site], &use)
				      : -ENOMEM;
	}
	return r;
}

static int top_stream(const struct fleet_recordings *from, struct fleet_top_loading *l,
		      const struct stream_summary *s, bool anew, struct err_text *err)
{
	cleanup(stream_sums_close) struct stream_sums sums = {0};
	const struct sums_source source = {.store = from->store,
					   .symbols = from->symbols,
					   .rules = l->question->rules,
					   .cancelled = l->question->cancelled};
	int r = stream_sums_open(&source, s, anew, &sums, err);

	return r ? r : add_stacks(l, &sums);
}

static int recordings_top(void *context, struct fleet_top_loading *l, struct err_text *err)
{
	int r = 0;

	for (size_t i = 0; !r && i < l->count; i++) {
		struct err_text why = {0};

		r = fleet_top_progress(l, i);
		if (!r)
			r = top_stream(context, l, &l->streams[i], false, &why);
		if (r == -EBADMSG)
			r = top_stream(context, l, &l->streams[i], true, &why);
		if (r == -ENOMEM || r == -ECANCELED)
			return err_set(err, r, "%s", strerror(-r));
		if (r < 0) {
			l->top->streams--;
			r = fleet_top_unread(l, err_get(&why, r));
		}
	}
	return r ? r : fleet_top_progress(l, l->count);
}

/* ---- the source ---- */

static int recordings_list(void *context, const char *select, struct stream_summary **ret_list,
			   size_t *ret_count, size_t *ret_left_out, struct err_text *err)
{
	struct store *store = ((const struct fleet_recordings *)context)->store;
	int r = select ? store_list_selected(store, select, false, ret_list, ret_count, err)
		       : store_list_quickly(store, ret_list, ret_count, err);

	*ret_left_out = r < 0 ? 0 : store_list_left_out(store);
	return r;
}

struct fleet_source fleet_source_recordings(struct fleet_recordings *recordings)
{
	return (struct fleet_source){.context = recordings,
				     .list = recordings_list,
				     .load = recordings_load,
				     .top = recordings_top};
}
