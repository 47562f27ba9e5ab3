/* A recording with names. See view.h for the relation of nodes, places and frames. */
#include "collector/query/match/view.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "collector/query/match/sites.h"
#include "collector/query/sums/whole_sums.h"
#include "proto/stack_columns.h"
#include "collector/recording/info.h"
#include "collector/recording/recording.h"
#include "collector/symbols/symbols.h"
#include "heapcast.pb-c.h"

#include "base/ban.h"

#define LOCK_WAIT_NS 50000000

static const struct symbol_frame nothing_known;
static const struct symbol symbol_unknown = {.count = 1, .frames = &nothing_known};

const char *module_basename(const char *path)
{
	const char *slash;

	if (!path)
		return "";
	slash = strrchr(path, '/');
	return slash && slash[1] ? slash + 1 : path;
}

/* ---- frames ---- */

static const char *pseudo_name(char *out, size_t size, uint64_t offset)
{
	switch (offset) {
	case HEAPCAST__PSEUDO_FRAME__FRAME_NONE:
		return "[unknown]";
	case HEAPCAST__PSEUDO_FRAME__FRAME_TRUNCATED:
		return "[truncated]";
	case HEAPCAST__PSEUDO_FRAME__FRAME_DEPTH_LIMIT:
		return "[depth limit]";
	case HEAPCAST__PSEUDO_FRAME__FRAME_TABLE_FULL:
		return "[stack table full]";
	case HEAPCAST__PSEUDO_FRAME__FRAME_FORGOTTEN:
		return "[forgotten]";
	default:
		snprintf(out, size, "[0x%" PRIx64 "]", offset);
		return out;
	}
}

static const char *unknown_name(char *out, size_t size, const struct place *place, const char *path)
{
	const char *base = module_basename(path);
	size_t length = strlen(base);

	if (!place->module)
		return pseudo_name(out, size, place->offset);
	if (length > 2 && base[0] == '[' && base[length - 1] == ']') {
		base++;
		length -= 2;
	}
	/* The offset is that of the function, so that all code of one function has one name. */
	snprintf(out, size, "[%.*s+0x%" PRIx64 "]", length ? (int)length : 1, length ? base : "?",
		 place->symbol->start ? place->symbol->start : place->offset);
	return out;
}

static uint32_t name_number(struct view *view, const char *name)
{
	uint32_t before = view->names.count, number;

	if (array_reserve(&view->name_is_allocator, &view->names_capacity, (size_t)before + 2, 1) <
	    0)
		return 0;
	number = intern_text(&view->names, name);
	if (number > before)
		view->name_is_allocator[number] = site_is_allocator(view->rules, name);
	return number;
}

static int add_frame(struct view *view, struct place *place, const char *path,
		     const struct symbol_frame *symbol)
{
	char text[512];
	const char *name =
		symbol->function ? symbol->function : unknown_name(text, sizeof(text), place, path);
	struct frame frame = {
		.name = name_number(view, name), .line = symbol->line, .column = symbol->column};

	if (!frame.name || array_reserve(&view->frames, &view->frames_capacity,
					 view->frame_count + 1, sizeof(frame)) < 0)
		return -ENOMEM;
	frame.known = symbol->function;
	frame.is_inline = symbol->is_inline;
	frame.allocator = view->name_is_allocator[frame.name];
	frame.raw = symbol->raw_function;
	frame.module = path ? intern_text(&view->texts, path) : 0;
	frame.file = symbol->file ? intern_text(&view->texts, symbol->file) : 0;
	frame.label = intern_pair(&view->labels, frame.name, frame.module);
	frame.site =
		intern_pair(&view->sites, (uint64_t)frame.label << 32 | frame.file, frame.line);
	if ((path && !frame.module) || (symbol->file && !frame.file) || !frame.label || !frame.site)
		return -ENOMEM;
	view->frames[view->frame_count++] = frame;
	place->frame_count++;
	return 0;
}

static int fill_place(struct view *view, uint32_t number, const struct symbol *symbol)
{
	struct place *place = &view->places[number];
	const struct module_info *module =
		place->module ? recording_module(view->recording, place->module) : NULL;

	place->symbol = symbol && symbol->count ? symbol : &symbol_unknown;
	place->first_frame = view->frame_count;
	place->frame_count = 0;
	for (uint32_t i = 0; i < place->symbol->count; i++) {
		int r = add_frame(view, place, module ? module->path : NULL,
				  &place->symbol->frames[i]);

		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- names that the recording holds ---- */

/* The view copies the strings, because those of a recording move when it grows. */
static int fill_symbol_frame(struct view *view, struct symbol_frame *to,
			     const struct named_frame *from)
{
	uint32_t name = from->function ? name_number(view, from->function) : 0,
		 file = from->file ? intern_text(&view->texts, from->file) : 0;

	if ((from->function && !name) || (from->file && !file))
		return -ENOMEM;
	to->function = intern_get(&view->names, name);
	to->file = intern_get(&view->texts, file);
	to->line = from->line;
	return 0;
}

/* Returns 1 if the place was filled, 0 if the recording has no names for it. */
static int fill_named(struct view *view, uint32_t number)
{
	const struct place *place = &view->places[number];
	struct symbol_frame *frames;
	struct symbol *symbol;
	uint32_t first, count;
	int r;

	if (!recording_named(view->recording, place->module, place->offset, &first, &count))
		return 0;
	symbol = arena_get(&view->named, sizeof(*symbol));
	frames = arena_get(&view->named, count * sizeof(*frames));
	if (!symbol || !frames)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		const struct named_frame from = recording_named_frame(view->recording, first + i);

		frames[i] = (struct symbol_frame){.is_inline = i + 1 < count};
		r = fill_symbol_frame(view, &frames[i], &from);
		if (r < 0)
			return r;
	}
	*symbol = (struct symbol){.count = count, .frames = frames};
	r = fill_place(view, number, symbol);
	return r < 0 ? r : 1;
}

/* ---- places ---- */

static int add_places(struct view *view, uint32_t nodes)
{
	if (array_reserve(&view->place_of, &view->nodes_capacity, nodes + 1,
			  sizeof(*view->place_of)) < 0)
		return -ENOMEM;
	for (uint32_t n = view->nodes + 1; n <= nodes; n++) {
		const struct stack_node *node = recording_node(view->recording, n);
		uint32_t number;

		if (!node)
			return -EBADMSG;
		number = intern_pair(&view->place_keys, node->module, node->offset);
		if (!number)
			return -ENOMEM;
		if (number >= view->place_count) {
			if (array_reserve(&view->places, &view->places_capacity, number + 1,
					  sizeof(*view->places)) < 0)
				return -ENOMEM;
			view->places[number] =
				(struct place){.module = node->module, .offset = node->offset};
			view->place_count = number + 1;
		}
		view->place_of[n] = number;
	}
	return 0;
}

struct wanted {
	uint32_t module, place;
};

static int by_module(const void *a, const void *b)
{
	const struct wanted *x = a, *y = b;

	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

/* Without a build id a file is identified by its path alone. If the program had two files under one
 * path, no name can be trusted. */
static bool is_replaced(const struct recording *recording, const struct module_info *module)
{
	uint32_t count =
		module->build_id_length || !module->print ? 0 : recording_modules(recording);

	for (uint32_t i = 1; i <= count; i++) {
		const struct module_info *other = recording_module(recording, i);

		if (other && !other->build_id_length && other->print &&
		    other->print != module->print && !strcmp(other->path, module->path))
			return true;
	}
	return false;
}

static int lookup_module(struct view *view, const struct wanted *wanted, size_t count,
			 struct err_text *err)
{
	const struct module_info *module = recording_module(view->recording, wanted->module);
	cleanup(cleanup_free) const struct symbol **found = calloc(count, sizeof(*found));
	cleanup(cleanup_free) uint64_t *offsets = calloc(count, sizeof(*offsets));
	int r = 0;

	if (!found || !offsets)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		offsets[i] = view->places[wanted[i].place].offset;
	if (wanted->module && module && view->symbols && !is_replaced(view->recording, module)) {
		struct symbol_module m = {.path = module_file(module),
					  .build_id = module->build_id,
					  .build_id_length = module->build_id_length};

		r = symbols_lookup(view->symbols, &m, offsets, count, found, err);
		if (r == -ENOMEM)
			return r;
		if (r < 0) /* the frames are then named by module and offset */
			memset(found, 0, count * sizeof(*found));
	}
	for (size_t i = 0; i < count; i++) {
		r = fill_place(view, wanted[i].place, found[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

static int lookup_places(struct view *view, uint32_t first, struct err_text *err)
{
	size_t count = view->place_count - first, left = 0;
	cleanup(cleanup_free) struct wanted *wanted = calloc(count ? count : 1, sizeof(*wanted));

	if (!wanted)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		int r = fill_named(view, first + (uint32_t)i);

		if (r < 0)
			return r;
		if (!r)
			wanted[left++] = (struct wanted){view->places[first + i].module,
							 first + (uint32_t)i};
	}
	count = left;
	qsort(wanted, count, sizeof(*wanted), by_module);
	for (size_t i = 0, n; i < count; i += n) {
		int r;

		for (n = 1; i + n < count && wanted[i + n].module == wanted[i].module;)
			n++;
		r = lookup_module(view, wanted + i, n, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Place 0: rows without a stack. */
static int add_nowhere(struct view *view)
{
	static const struct symbol_frame frame = {.function = "[no backtrace]"};
	static const struct symbol symbol = {.count = 1, .frames = &frame};

	if (array_reserve(&view->places, &view->places_capacity, 1, sizeof(*view->places)) < 0 ||
	    array_reserve(&view->place_of, &view->nodes_capacity, 1, sizeof(*view->place_of)) < 0)
		return -ENOMEM;
	view->place_count = 1;
	return fill_place(view, 0, &symbol);
}

static int prepare(struct view *view, struct err_text *err)
{
	uint32_t nodes = recording_nodes(view->recording), first = view->place_count;
	int r;

	if (nodes <= view->nodes)
		return 0;
	r = add_places(view, nodes);
	if (!r)
		r = lookup_places(view, first, err);
	if (r < 0) {
		/* Places that got no frames are filled by the next attempt. */
		view->place_count = first;
		intern_done(&view->place_keys);
		for (uint32_t i = 1; i < first; i++)
			if (!intern_pair(&view->place_keys, view->places[i].module,
					 view->places[i].offset))
				return -ENOMEM;
		return r;
	}
	view->nodes = nodes;
	return 0;
}

int view_prepare(struct view *view, struct err_text *err)
{
	int r;

	pthread_mutex_lock(&view->lock);
	r = prepare(view, err);
	pthread_mutex_unlock(&view->lock);
	return r < 0 && !(err && err->text[0])
		       ? err_set(err, r, "looking up the names of functions: %s", strerror(-r))
		       : r;
}

/* ---- over time ---- */

int view_lock(pthread_mutex_t *lock, const struct matcher *all, struct err_text *err)
{
	struct timespec until;
	int r = 0;

	clock_gettime(CLOCK_REALTIME, &until);
	while (!r && pthread_mutex_timedlock(lock, &until) == ETIMEDOUT) {
		r = matcher_cancelled(all, err);
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += LOCK_WAIT_NS;
		if (until.tv_nsec >= 1000000000) {
			until.tv_nsec -= 1000000000;
			until.tv_sec++;
		}
	}
	return r;
}

/* ---- public ---- */

/* Frees what was computed from the rows. */
static void forget_made(struct view *view)
{
	view_forget_indexes(view);
	whole_sums_free(take_ptr(view->whole_sums));
	free(take_ptr(view->place_allocations));
}

int view_new(struct recording *recording, struct symbols *symbols, struct view **ret_view,
	     struct err_text *err)
{
	struct view *view = calloc(1, sizeof(*view));

	if (!view)
		return err_set(err, -ENOMEM, "out of memory");
	view->recording = recording;
	view->symbols = symbols;
	pthread_mutex_init(&view->lock, NULL);
	pthread_mutex_init(&view->index_lock, NULL);
	for (unsigned i = 0; i < 2; i++)
		filtered_indexes_init(&view->filtered[i]);
	pthread_mutex_init(&view->sums_lock, NULL);
	if (add_nowhere(view) < 0) {
		view_free(view);
		return err_set(err, -ENOMEM, "out of memory");
	}
	*ret_view = view;
	return 0;
}

void view_free(struct view *view)
{
	if (!view)
		return;
	intern_done(&view->place_keys);
	intern_done(&view->names);
	intern_done(&view->texts);
	intern_done(&view->labels);
	intern_done(&view->sites);
	arena_done(&view->named);
	free(view->place_of);
	free(view->places);
	free(view->frames);
	free(view->name_is_allocator);
	forget_made(view);
	view_forget_wrappers(view, false);
	pthread_mutex_destroy(&view->lock);
	pthread_mutex_destroy(&view->index_lock);
	for (unsigned i = 0; i < 2; i++)
		filtered_indexes_done(&view->filtered[i]);
	pthread_mutex_destroy(&view->sums_lock);
	free(view);
}

void view_set_rules(struct view *view, const struct site_rules *rules)
{
	view->rules = rules;
}

struct recording *view_recording(const struct view *view)
{
	return view->recording;
}

int view_refresh(struct view *view, struct err_text *err)
{
	(void)err;
	view->generation++;
	forget_made(view);
	view_forget_wrappers(view, true);
	return 0;
}

int view_forget_names(struct view *view, struct err_text *err)
{
	intern_done(&view->place_keys);
	intern_done(&view->names);
	intern_done(&view->texts);
	intern_done(&view->labels);
	intern_done(&view->sites);
	arena_done(&view->named);
	view->nodes = view->place_count = view->frame_count = 0;
	free(view->place_allocations);
	view->place_allocations = NULL;
	view_forget_wrappers(view, false);
	view->generation++;
	return add_nowhere(view) < 0 ? err_set(err, -ENOMEM, "out of memory") : 0;
}

uint32_t view_frame_count(struct view *view, uint32_t node)
{
	if (!node || view_prepare(view, NULL) < 0 || node > view->nodes)
		return 0;
	return view_place(view, node)->frame_count;
}

uint32_t view_parent(const struct view *view, uint32_t node)
{
	const struct stack_node *n = recording_node(view_recording(view), node);

	return n && n->parent < node ? n->parent : 0;
}

struct view_frame view_frame(struct view *view, uint32_t node, uint32_t index)
{
	struct view_frame out = {.name = "[unknown]"};
	const struct module_info *module;
	const struct place *place;
	const struct frame *frame;

	if (view_prepare(view, NULL) < 0)
		return out;
	place = view_place(view, node);
	if (index >= place->frame_count)
		return out;
	frame = &view->frames[place->first_frame + index];
	out.name = intern_get(&view->names, frame->name);
	out.function = frame->known ? out.name : NULL;
	out.raw_function = frame->raw;
	out.module = intern_get(&view->texts, frame->module);
	out.file = intern_get(&view->texts, frame->file);
	out.line = frame->line;
	out.column = frame->column;
	out.is_inline = frame->is_inline;
	out.is_allocator = frame->allocator;
	out.is_wrapper = view_is_wrapper(view, frame);
	module = place->module ? recording_module(view->recording, place->module) : NULL;
	if (module)
		out.address = module->bias + place->offset;
	else if (place->offset > HEAPCAST__PSEUDO_FRAME__FRAME_FORGOTTEN &&
		 !recording_process(view->recording)->origin.imported) /* the offsets of an imported
									  recording are only
									  numbers */
		out.address = place->offset;
	return out;
}

const char *view_frame_name(struct view *view, uint32_t node, uint32_t inline_index)
{
	return view_frame(view, node, inline_index).name;
}

uint32_t view_depth_max(struct view *view)
{
	uint32_t nodes = recording_nodes(view->recording), deepest = 0;
	cleanup(cleanup_free) uint32_t *depth = calloc((size_t)nodes + 1, sizeof(*depth));

	for (uint32_t n = 1; depth && n <= nodes; n++) {
		const struct stack_node *node = recording_node(view->recording, n);

		depth[n] = (node && node->parent < n ? depth[node->parent] : 0) + 1;
		if (depth[n] > deepest)
			deepest = depth[n];
	}
	return deepest;
}

/* Counts by node the rows whose stack ends at it; a sampled row counts once. */
static int view_count_rows(struct view *view, uint64_t *count, struct err_text *err)
{
	const struct whole_sums *whole;
	struct filter filter;
	int r;

	filter_init(&filter);
	r = view_whole_sums(view, &filter, 0, &whole, err);
	for (uint32_t i = 0; !r && i < whole->sums.count; i++) {
		const struct node_sum *sum = &whole->sums.list[i];
		struct tally all = node_sum_tally(&whole->sums, sum, VALUE_ALLOCATED);

		if (sum->node <= view->nodes)
			count[sum->node] = all.blocks + all.samples;
	}
	return r;
}

static int count_places(struct view *view, struct err_text *err)
{
	cleanup(cleanup_free) uint64_t *passing = calloc((size_t)view->nodes + 1, sizeof(*passing));
	cleanup(cleanup_free) uint64_t *counts = calloc(view->place_count, sizeof(*counts));
	int r = counts && passing ? view_count_rows(view, passing, err)
				  : err_set(err, -ENOMEM, "out of memory");

	if (r < 0)
		return r;
	for (uint32_t n = view->nodes; n > 0; n--) {
		const struct stack_node *node = recording_node(view->recording, n);

		if (node->parent && node->parent < n)
			passing[node->parent] += passing[n];
		counts[view->place_of[n]] += passing[n];
	}
	view->place_allocations = take_ptr(counts);
	return 0;
}

int view_place_allocations(struct view *view, uint32_t node, uint64_t *ret_count,
			   struct err_text *err)
{
	int r = view_prepare(view, err);

	if (r < 0)
		return r;
	pthread_mutex_lock(&view->lock);
	if (!view->place_allocations)
		r = count_places(view, err);
	pthread_mutex_unlock(&view->lock);
	if (r < 0)
		return r;
	*ret_count = view->place_allocations[node <= view->nodes ? view->place_of[node] : 0];
	return 0;
}
