/* Names and hidden functions of two recordings. See sides.h. */
#include "collector/query/diff/sides.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/map.h"
#include "collector/query/match/intern.h"
#include "collector/recording/info.h"
#include "collector/recording/recording.h"

#include "base/ban.h"

/* ---- names of modules ---- */

static bool names_alone(const struct recording *recording)
{
	return recording_process(recording)->origin.imported && !recording_modules(recording);
}

bool diff_has_names_alone(const struct diff_names *names)
{
	return names_alone(names->base) || names_alone(names->now);
}

static bool has_module(const struct recording *recording, const char *basename)
{
	for (uint32_t n = 1; n <= recording_modules(recording); n++) {
		const struct module_info *m = recording_module(recording, n);

		if (m && !strcmp(module_basename(m->path), basename))
			return true;
	}
	return false;
}

static const char *executable_name(const struct recording *recording)
{
	const char *path = recording_process(recording)->executable;

	return path ? module_basename(path) : "";
}

const char *diff_module_name(const struct diff_names *names, bool is_base, const char *path)
{
	const char *now = executable_name(names->now), *basename = module_basename(path);

	if (!is_base)
		return basename;
	for (size_t i = 0; i < names->renamed_count; i++)
		if (!strcmp(names->renamed[i].old, basename))
			return names->renamed[i].name;
	if (*now && !strcmp(basename, executable_name(names->base)) &&
	    !has_module(names->now, basename) && !has_module(names->base, now))
		return now;
	return basename;
}

const char *diff_function_name(const struct diff_names *names, bool is_base, const char *name)
{
	if (!is_base || !name)
		return name;
	for (size_t i = 0; i < names->renamed_count; i++) {
		const struct diff_renamed *r = &names->renamed[i];

		if (r->old_function && !strcmp(r->old_function, name) &&
		    !has_module(names->base, r->old))
			return r->new_function;
	}
	return name;
}

/* ---- what is hidden ---- */

struct marking {
	const struct diff_names *names;
	struct intern texts, functions; /* functions: (name, module) */
	struct map wrappers;		/* by function: a wrapper of either side */
};

static void marking_done(struct marking *m)
{
	intern_done(&m->texts);
	intern_done(&m->functions);
	map_done(&m->wrappers);
}

/* Returns the number of the frame's function, which is the same for both sides. 0: no memory. */
static uint32_t function_of(struct marking *m, const struct view *view, const struct frame *frame,
			    bool is_base)
{
	const char *path =
		diff_has_names_alone(m->names) ? NULL : intern_get(&view->texts, frame->module);
	uint32_t name = intern_text(&m->texts,
				    diff_function_name(m->names, is_base,
						       intern_get(&view->names, frame->name))),
		 module = intern_text(&m->texts, diff_module_name(m->names, is_base, path));

	return name && module ? intern_pair(&m->functions, name, module) : 0;
}

static int mark(struct marking *m, const struct view *view, const struct hiding *hiding,
		bool is_base)
{
	for (uint32_t i = 0; i < view->frame_count; i++) {
		const struct frame *frame = &view->frames[i];
		uint32_t number;

		if (frame->label > hiding->labels || !hiding->wrappers[frame->label])
			continue;
		number = function_of(m, view, frame, is_base);
		if (!number || !map_put(&m->wrappers, number, NULL))
			return -ENOMEM;
	}
	return 0;
}

static int hide_marked(struct marking *m, const struct view *view, struct hiding *hiding,
		       bool is_base, uint8_t **ret_wrappers)
{
	cleanup(cleanup_free) uint8_t *wrappers = calloc((size_t)hiding->labels + 1, 1);
	cleanup(cleanup_free) uint8_t *seen = calloc((size_t)hiding->labels + 1, 1);

	if (!wrappers || !seen)
		return -ENOMEM;
	for (uint32_t i = 0; i < view->frame_count; i++) {
		const struct frame *frame = &view->frames[i];
		uint32_t number;

		if (frame->label > hiding->labels || seen[frame->label]++)
			continue;
		number = function_of(m, view, frame, is_base);
		if (!number)
			return -ENOMEM;
		wrappers[frame->label] = map_get(&m->wrappers, number) != NULL;
	}
	hiding->wrappers = *ret_wrappers = take_ptr(wrappers);
	return 0;
}

int diff_hiding_init(struct diff_hiding *hiding, const struct diff_side *base,
		     const struct diff_side *now, const struct diff_names *names,
		     struct err_text *err)
{
	cleanup(marking_done) struct marking m = {.names = names};
	int r;

	*hiding = (struct diff_hiding){0};
	r = hiding_of(&hiding->base, base->view, base->filter, err);
	if (!r)
		r = hiding_of(&hiding->now, now->view, now->filter, err);
	if (r < 0 || base->view == now->view || !hiding->base.wrappers || !hiding->now.wrappers)
		return r;
	r = mark(&m, base->view, &hiding->base, true);
	if (!r)
		r = mark(&m, now->view, &hiding->now, false);
	if (!r)
		r = hide_marked(&m, base->view, &hiding->base, true, &hiding->base_wrappers);
	if (!r)
		r = hide_marked(&m, now->view, &hiding->now, false, &hiding->now_wrappers);
	return r < 0 ? err_set(err, r, "out of memory") : 0;
}

void diff_hiding_done(struct diff_hiding *hiding)
{
	free(hiding->base_wrappers);
	free(hiding->now_wrappers);
}
