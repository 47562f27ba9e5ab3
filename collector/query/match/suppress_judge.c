/*
 * Judges stacks by suppressions: each distinct text once, then each place, then each node. A node
 * has the pattern of its place or, if that has none, of its parent.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "proto/stack_columns.h"
#include "collector/query/match/suppress.h"
#include "collector/query/match/view.h"
#include "collector/recording/recording.h"

#include "base/ban.h"

const char *suppression_pattern(const struct suppressions *s, uint32_t number,
				const char **ret_about)
{
	const struct known_suppression *known;

	*ret_about = NULL;
	if (number <= s->count)
		return s->patterns[number - 1];
	known = &known_suppressions[number - s->count - 1];
	*ret_about = known->about;
	return known->function ? known->function : known->module;
}

/* Returns by text the number of the first pattern that fits it. */
static uint32_t *judge_texts(const struct suppressions *s, const struct intern *texts)
{
	uint32_t *first = calloc((size_t)texts->count + 1, sizeof(*first));

	for (uint32_t t = 1; first && t <= texts->count; t++) {
		const char *text = intern_get(texts, t);

		for (uint32_t i = 0; !first[t] && text && i < s->count; i++)
			if (suppression_fits(s->patterns[i], text))
				first[t] = i + 1;
	}
	return first;
}

static uint32_t less(uint32_t a, uint32_t b)
{
	return !a || (b && b < a) ? b : a;
}

static int judge_places(const struct suppressions *s, const struct view *view, uint32_t *places)
{
	cleanup(cleanup_free) uint32_t *names = judge_texts(s, &view->names);
	cleanup(cleanup_free) uint32_t *texts = judge_texts(s, &view->texts);

	if (!names || !texts)
		return -ENOMEM;
	for (uint32_t p = 0; p < view->place_count; p++) {
		const struct frame *frame = view->frames + view->places[p].first_frame;

		for (uint32_t i = 0; i < view->places[p].frame_count; i++, frame++) {
			places[p] = less(places[p], names[frame->name]);
			places[p] = less(places[p], less(texts[frame->file], texts[frame->module]));
		}
	}
	return 0;
}

/* ---- built-in patterns ---- */

static bool lies_in(const struct view *view, const struct frame *frame, const char *module)
{
	const char *path = frame ? intern_get(&view->texts, frame->module) : NULL;

	return path && suppression_fits(module, path);
}

static bool known_fits(const struct view *view, const struct known_suppression *known,
		       const struct frame *frame)
{
	const char *name = intern_get(&view->names, frame->name);

	if (!name || !lies_in(view, frame, known->module))
		return false;
	if (!known->function)
		return name[0] == '[';
	if (!strncmp(name, "__GI_", 5))
		name += 5;
	return suppression_fits(known->function, name);
}

/* Returns the bits of all built-in patterns that fit a frame of the place. */
static uint64_t known_of_place(const struct view *view, const struct place *place)
{
	uint64_t bits = 0;

	for (uint32_t f = 0; f < place->frame_count; f++)
		for (size_t k = 0; k < known_suppressions_count; k++)
			if (known_fits(view, &known_suppressions[k],
				       &view->frames[place->first_frame + f]))
				bits |= UINT64_C(1) << k;
	return bits;
}

/* Returns the innermost frame of the place that is not an allocator's, and its index; NULL if all
 * are allocators'. */
static const struct frame *site_frame(const struct view *view, const struct place *place,
				      uint32_t *ret_index)
{
	for (uint32_t f = 0; f < place->frame_count; f++)
		if (!view->frames[place->first_frame + f].allocator) {
			*ret_index = f;
			return &view->frames[place->first_frame + f];
		}
	return NULL;
}

static const struct frame *suppress_caller(const struct view *view, const struct place *place,
					   uint32_t index, uint32_t parent)
{
	if (index + 1 < place->frame_count)
		return &view->frames[place->first_frame + index + 1];
	return parent ? &view->frames[view_place(view, parent)->first_frame] : NULL;
}

/* Returns the number of the built-in pattern that fits `node` itself; with `site`, as a call
 * site. */
static uint32_t known_of_node(const struct view *view, uint32_t node, uint32_t parent,
			      uint64_t bits, bool site)
{
	const struct place *place = view_place(view, node);
	uint32_t index = 0;
	const struct frame *at = site && bits ? site_frame(view, place, &index) : NULL;

	for (uint32_t k = 0; bits >> k; k++) {
		const struct known_suppression *known = &known_suppressions[k];

		if (!(bits >> k & 1) || known->site != site)
			continue;
		if (!site)
			return k + 1;
		if (at && known_fits(view, known, at) &&
		    (!known->caller ||
		     lies_in(view, suppress_caller(view, place, index, parent), known->caller)))
			return k + 1;
	}
	return 0;
}

struct by_node {
	uint32_t file, any, site; /* file: number of a pattern from files; the others: numbers of
				     built-in ones */
};

static struct by_node judge_node(const struct suppressions *s, const struct view *view,
				 uint32_t node, const struct by_node *outer, uint32_t parent,
				 const uint32_t *places, const uint64_t *known)
{
	uint32_t p = (uint32_t)(view_place(view, node) - view->places), index;
	struct by_node by = {.file = places[p] ? places[p] : outer->file};

	if (!s->known)
		return by;
	by.any = known_of_node(view, node, parent, known[p], false);
	if (!by.any)
		by.any = outer->any;
	/* If all frames here are an allocator's, the call site is further out. */
	by.site = site_frame(view, view_place(view, node), &index)
			  ? known_of_node(view, node, parent, known[p], true)
			  : outer->site;
	return by;
}

int suppressions_judge(const struct suppressions *s, const struct view *view, uint32_t nodes,
		       uint32_t **ret_by)
{
	cleanup(cleanup_free) uint32_t *places = calloc(view->place_count + 1, sizeof(*places));
	cleanup(cleanup_free) uint64_t *known = calloc(view->place_count + 1, sizeof(*known));
	cleanup(cleanup_free) struct by_node *all = calloc((size_t)nodes + 1, sizeof(*all));
	cleanup(cleanup_free) uint32_t *by = calloc((size_t)nodes + 1, sizeof(*by));
	bool found = false;

	_Static_assert(sizeof(uint64_t) * 8 >= 64, "a bit for each");
	*ret_by = NULL;
	if (!places || !known || !all || !by || (s->count && judge_places(s, view, places) < 0))
		return -ENOMEM;
	for (uint32_t p = 0; s->known && p < view->place_count; p++)
		known[p] = known_of_place(view, &view->places[p]);
	for (uint32_t n = 1; n <= nodes; n++) {
		const struct stack_node *node = recording_node(view->recording, n);
		uint32_t parent = node && node->parent < n ? node->parent : 0, built_in;

		all[n] = judge_node(s, view, n, &all[parent], parent, places, known);
		built_in = all[n].any ? all[n].any : all[n].site;
		by[n] = all[n].file ? all[n].file : built_in ? (uint32_t)s->count + built_in : 0;
		found |= by[n];
	}
	if (found)
		*ret_by = take_ptr(by);
	return 0;
}
