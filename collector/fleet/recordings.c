/* Reads what streams had in use from their recordings. See source.h. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/catalogue/store.h"
#include "collector/fleet/source.h"
#include "collector/query/moments.h"
#include "collector/query/query.h"
#include "collector/recording/recording.h"

#include "base/ban.h"

DEFINE_CLEANUP(recording_close, struct recording *)
DEFINE_CLEANUP(view_free, struct view *)

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

static int load_stream(const struct fleet_recordings *from, struct fleet_loading *l,
		       const struct stream_summary *s, struct err_text *err)
{
	cleanup(cleanup_recording_close) struct recording *recording = NULL;
	cleanup(cleanup_view_free) struct view *view = NULL;
	cleanup(moments_done) struct moments answer = {0};
	uint64_t moments[FLEET_MOMENTS_MAX];
	uint32_t first = 0, count = fleet_stream_moments(l, s, &first, moments);
	int64_t unit;
	int r = fleet_stream_check(l, s, err);

	if (r < 0 || !count)
		return r;
	r = ask_recording(from, l->question, s, moments, count, &recording, &view, &answer, err);
	if (r < 0)
		return r;
	unit = fleet_stream_add(l, s, first, count);
	return unit < 0 ? (int)unit : add_moments(l->matrix, (uint32_t)unit, first, count, &answer);
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
	return (struct fleet_source){
		.context = recordings, .list = recordings_list, .load = recordings_load};
}
