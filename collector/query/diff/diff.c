/*
 * Compares two recordings. A backtrace is identified in both by a number, its *key*. Every frame
 * gets a key from what identifies it, and every backtrace a key from its parent's key and its
 * innermost frame's key. Equal keys mean equal groups. Both sides are then lists of (key, usage),
 * which are merged.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/map.h"
#include "base/saturated.h"
#include "collector/query/sweep/cursor.h"
#include "collector/query/match/view.h"
#include "collector/query/diff/renames.h"
#include "collector/query/diff/sides.h"
#include "collector/recording/info.h"
#include "collector/recording/recording.h"

#include "base/ban.h"

/* Kinds of keys. They keep the numbers of different things apart within one table. */
enum key_kind { KEY_NOWHERE, KEY_PLACE, KEY_NAME, KEY_CHAIN };

struct keys {
	struct intern texts, builds, all;
};

struct module_key {
	uint32_t build;	   /* number of the build id if both recordings have it; 0: by name */
	uint32_t basename; /* text */
};

struct side {
	const struct diff_side *what;
	bool is_base;
	const struct diff_names *names;
	struct groups groups;
	struct module_key *modules; /* by number; [0]: none */
	uint32_t *key_of_node;
	const struct hiding *hiding;
};

static void side_done(struct side *side)
{
	groups_done(&side->groups);
	free(side->modules);
	free(side->key_of_node);
}

static void keys_done(struct keys *keys)
{
	intern_done(&keys->texts);
	intern_done(&keys->builds);
	intern_done(&keys->all);
}

/* ---- frames ---- */

static uint32_t diff_key_of(struct keys *keys, enum key_kind kind, uint64_t a, uint64_t b)
{
	uint64_t parts[3] = {kind, a, b};

	return intern_bytes(&keys->all, parts, sizeof(parts));
}

static uint32_t frame_key(struct keys *keys, const struct side *side, const struct frame *frame,
			  uint32_t basename)
{
	const char *function = diff_function_name(
		side->names, side->is_base, intern_get(&side->what->view->names, frame->name));
	uint32_t name = intern_text(&keys->texts, function);

	return name ? diff_key_of(keys, KEY_NAME, name, basename) : 0;
}

static bool has_build(const struct recording *recording, const struct module_info *wanted)
{
	for (uint32_t n = 1; n <= recording_modules(recording); n++) {
		const struct module_info *m = recording_module(recording, n);

		if (m && m->build_id_length == wanted->build_id_length &&
		    !memcmp(m->build_id, wanted->build_id, m->build_id_length))
			return true;
	}
	return false;
}

static int key_modules(struct keys *keys, struct side *side, const struct recording *other)
{
	const struct recording *recording = view_recording(side->what->view);
	uint32_t count = recording_modules(recording);

	side->modules = calloc((size_t)count + 1, sizeof(*side->modules));
	if (!side->modules)
		return -ENOMEM;
	if (diff_has_names_alone(side->names))
		return 0;
	for (uint32_t n = 1; n <= count; n++) {
		const struct module_info *m = recording_module(recording, n);
		struct module_key *key = &side->modules[n];

		if (!m)
			continue;
		key->basename = intern_text(&keys->texts,
					    diff_module_name(side->names, side->is_base, m->path));
		if (!key->basename)
			return -ENOMEM;
		if (!m->build_id_length || m->build_id_length > sizeof(m->build_id) ||
		    !has_build(other, m))
			continue;
		key->build = intern_bytes(&keys->builds, m->build_id, m->build_id_length);
		if (!key->build)
			return -ENOMEM;
	}
	return 0;
}

/* Returns the key of the backtrace `chain` (a key) extended by a node's place. */
static uint32_t diff_go_on(struct keys *keys, const struct side *side, uint32_t chain,
			   uint32_t node)
{
	const struct view *view = side->what->view;
	const struct place *place = view_place(view, node);
	const struct module_key *module = &side->modules[place->module];

	if (module->build) {
		uint32_t key = diff_key_of(keys, KEY_PLACE, module->build, place->offset);

		return key ? diff_key_of(keys, KEY_CHAIN, chain, key) : 0;
	}
	for (uint32_t i = place->frame_count; i-- > 0;) {
		uint32_t key = frame_key(keys, side, &view->frames[place->first_frame + i],
					 module->basename);

		chain = key ? diff_key_of(keys, KEY_CHAIN, chain, key) : 0;
		if (!chain)
			return 0;
	}
	return chain;
}

static int key_nodes(struct keys *keys, struct side *side)
{
	const struct view *view = side->what->view;

	side->key_of_node = calloc((size_t)view->nodes + 1, sizeof(*side->key_of_node));
	if (!side->key_of_node)
		return -ENOMEM;
	side->key_of_node[0] = diff_key_of(keys, KEY_NOWHERE, 0, 0);
	if (!side->key_of_node[0])
		return -ENOMEM;
	for (uint32_t n = 1; n <= view->nodes; n++) {
		uint32_t parent = recording_node(view->recording, n)->parent;

		side->key_of_node[n] =
			diff_go_on(keys, side, parent < n ? side->key_of_node[parent] : 0, n);
		if (!side->key_of_node[n])
			return -ENOMEM;
	}
	return 0;
}

/* Returns the key of a call site: by name; within the same build also by file and line. Returns 0
 * without memory, like all functions that return keys. */
static uint32_t site_key(struct keys *keys, const struct side *side, enum grouping grouping,
			 uint32_t node)
{
	const struct view *view = side->what->view;
	struct cursor at = cursor_at_site(view, side->hiding, node);
	const struct place *place = view_place(view, at.node);
	const struct module_key *module = &side->modules[place->module];
	const struct frame *frame = &view->frames[cursor_frame(view, at)];
	uint32_t key = frame_key(keys, side, frame, module->basename), file = 0;

	if (!key || !module->build || grouping == GROUP_BY_FUNCTION)
		return key;
	if (frame->file) {
		file = intern_text(&keys->texts, intern_get(&view->texts, frame->file));
		if (!file)
			return 0;
	}
	return diff_key_of(keys, KEY_PLACE, key, (uint64_t)file << 32 | frame->line);
}

/* ---- merging ---- */

static void diff_add_usage(struct usage *into, const struct usage *from)
{
	add_most(&into->bytes, from->bytes);
	add_most(&into->blocks, from->blocks);
	into->samples += from->samples;
	into->bytes_error = hypot(into->bytes_error, from->bytes_error);
	into->blocks_error = hypot(into->blocks_error, from->blocks_error);
}

struct merging {
	struct map by_key; /* index + 1 */
	struct diff_entry *list;
	size_t count, capacity;
};

static struct diff_entry *entry_of(struct merging *m, uint32_t key)
{
	uint64_t *index = map_put(&m->by_key, key, NULL);

	if (!index)
		return NULL;
	if (*index)
		return &m->list[*index - 1];
	if (m->count == m->capacity) {
		size_t capacity = m->capacity ? 2 * m->capacity : 256;
		struct diff_entry *list = realloc(m->list, capacity * sizeof(*list));

		if (!list)
			return NULL;
		m->list = list;
		m->capacity = capacity;
	}
	m->list[m->count] = (struct diff_entry){.base_node = NO_NODE, .new_node = NO_NODE};
	*index = ++m->count;
	return &m->list[m->count - 1];
}

/* Groups come heaviest first, so the first group of a key is the one to show. */
static int diff_merge(struct merging *m, struct keys *keys, const struct side *side,
		      enum grouping grouping, bool base)
{
	for (size_t i = 0; i < side->groups.count; i++) {
		const struct group *g = &side->groups.list[i];
		uint32_t key = grouping == GROUP_BY_BACKTRACE
				       ? side->key_of_node[g->node]
				       : site_key(keys, side, grouping, g->node);
		struct diff_entry *entry = key ? entry_of(m, key) : NULL;
		uint32_t *node;

		if (!entry)
			return -ENOMEM;
		node = base ? &entry->base_node : &entry->new_node;
		if (*node == NO_NODE)
			*node = g->node;
		if (!entry->function) { /* the new recording is merged first */
			entry->function = g->function;
			entry->file = g->file;
			entry->module = g->module;
			entry->line = g->line;
		}
		diff_add_usage(base ? &entry->base : &entry->now, &g->value);
	}
	return 0;
}

static int largest_first(const void *a, const void *b)
{
	const struct diff_entry *x = a, *y = b;
	uint64_t p = (uint64_t)llabs(x->bytes), q = (uint64_t)llabs(y->bytes);
	uint64_t s = (uint64_t)llabs(x->blocks), t = (uint64_t)llabs(y->blocks);

	if (p != q)
		return p > q ? -1 : 1;
	if (s != t)
		return s > t ? -1 : 1;
	if (x->new_node != y->new_node)
		return x->new_node < y->new_node ? -1 : 1;
	return x->base_node < y->base_node ? -1 : x->base_node > y->base_node;
}

static void count_entry(struct diff *diff, struct diff_entry *e)
{
	e->kind = e->base_node == NO_NODE  ? DIFF_ADDED
		  : e->new_node == NO_NODE ? DIFF_REMOVED
					   : DIFF_CHANGED;
	if (e->kind == DIFF_ADDED) {
		diff->added++;
		add_most(&diff->added_bytes, e->now.bytes);
		add_most(&diff->added_blocks, e->now.blocks);
	} else if (e->kind == DIFF_REMOVED) {
		diff->removed++;
		add_most(&diff->removed_bytes, e->base.bytes);
		add_most(&diff->removed_blocks, e->base.blocks);
	} else {
		diff->changed++;
		if (e->bytes > 0)
			add_most(&diff->grown_bytes, (uint64_t)e->bytes);
		else
			add_most(&diff->shrunk_bytes, (uint64_t)-e->bytes);
	}
}

static void diff_finish(struct diff *diff, struct merging *m)
{
	size_t kept = 0;

	for (size_t i = 0; i < m->count; i++) {
		struct diff_entry e = m->list[i];

		e.bytes = difference_most(e.now.bytes, e.base.bytes);
		e.blocks = difference_most(e.now.blocks, e.base.blocks);
		e.bytes_error = hypot(e.now.bytes_error, e.base.bytes_error);
		if (!e.bytes && !e.blocks && e.base_node != NO_NODE && e.new_node != NO_NODE) {
			diff->same++;
			continue;
		}
		count_entry(diff, &e);
		m->list[kept++] = e;
	}
	if (kept)
		qsort(m->list, kept, sizeof(*m->list), largest_first);
	diff->list = take_ptr(m->list);
	diff->count = kept;
	diff->bytes = (int64_t)(diff->now.bytes - diff->base.bytes);
	diff->blocks = (int64_t)(diff->now.blocks - diff->base.blocks);
}

static int diff_ask(struct side *side, struct err_text *err)
{
	return query_groups(side->what->view, side->what->filter, GROUP_BY_BACKTRACE,
			    side->what->value, side->what->at_ns, &side->groups, err);
}

static int hold_against(struct keys *keys, struct side *base, struct side *now,
			enum grouping grouping, struct diff *ret_diff)
{
	struct merging m = {0};
	struct diff diff = {.base = base->groups.total, .now = now->groups.total};
	int r = key_modules(keys, base, view_recording(now->what->view));

	if (!r)
		r = key_modules(keys, now, view_recording(base->what->view));
	if (!r)
		r = key_nodes(keys, base);
	if (!r)
		r = key_nodes(keys, now);
	if (!r)
		r = diff_merge(&m, keys, now, grouping, false);
	if (!r)
		r = diff_merge(&m, keys, base, grouping, true);
	if (!r)
		diff_finish(&diff, &m);
	if (!r && diff.added && diff.removed)
		r = diff_find_renames(
			&(struct renames_side){base->what->view, base->hiding, &base->groups},
			&(struct renames_side){now->what->view, now->hiding, &now->groups},
			base->names, &diff);
	if (!r)
		*ret_diff = diff;
	else
		diff_done(&diff);
	map_done(&m.by_key);
	free(m.list);
	return r;
}

int query_diff(const struct diff_side *base, const struct diff_side *now, enum grouping grouping,
	       struct diff *ret_diff, struct err_text *err)
{
	return query_diff_renamed(base, now, grouping, NULL, 0, ret_diff, err);
}

int query_diff_renamed(const struct diff_side *base, const struct diff_side *now,
		       enum grouping grouping, const struct diff_renamed *renamed,
		       size_t renamed_count, struct diff *ret_diff, struct err_text *err)
{
	const struct diff_names names = {view_recording(base->view), view_recording(now->view),
					 renamed, renamed_count};
	cleanup(diff_hiding_done) struct diff_hiding hiding;
	cleanup(keys_done) struct keys keys = {0};
	cleanup(side_done) struct side a = {
		.what = base, .is_base = true, .names = &names, .hiding = &hiding.base};
	cleanup(side_done) struct side b = {.what = now, .names = &names, .hiding = &hiding.now};
	int r = diff_hiding_init(&hiding, base, now, &names, err);

	if (!r)
		r = diff_ask(&a, err);
	if (!r)
		r = diff_ask(&b, err);
	if (r < 0)
		return r;
	r = hold_against(&keys, &a, &b, grouping, ret_diff);
	return r == -ENOMEM ? err_set(err, r, "out of memory") : r;
}

/* ---- groups alone ---- */

static int merge_functions(struct merging *m, struct keys *keys, const struct groups *groups,
			   bool base)
{
	for (uint32_t i = 0; i < groups->count; i++) {
		const struct group *g = &groups->list[i];
		uint32_t name = intern_text(&keys->texts, g->function),
			 module = intern_text(&keys->texts, module_basename(g->module)),
			 key = name && module ? diff_key_of(keys, KEY_NAME, name, module) : 0;
		struct diff_entry *entry = key ? entry_of(m, key) : NULL;

		if (!entry)
			return -ENOMEM;
		*(base ? &entry->base_node : &entry->new_node) = i;
		if (!entry->function) {
			entry->function = g->function;
			entry->file = g->file;
			entry->module = g->module;
		}
		diff_add_usage(base ? &entry->base : &entry->now, &g->value);
	}
	return 0;
}

int query_diff_functions(const struct groups *base, const struct groups *now, struct diff *ret_diff)
{
	cleanup(keys_done) struct keys keys = {0};
	struct merging m = {0};
	struct diff diff = {.base = base->total, .now = now->total};
	int r = merge_functions(&m, &keys, now, false);

	if (!r)
		r = merge_functions(&m, &keys, base, true);
	if (!r) {
		diff_finish(&diff, &m);
		for (size_t i = 0; i < diff.count; i++)
			diff.list[i].base_node = diff.list[i].new_node = NO_NODE;
		*ret_diff = diff;
	}
	map_done(&m.by_key);
	free(m.list);
	return r;
}

void diff_done(struct diff *diff)
{
	free(diff->list);
	free(diff->hints);
	*diff = (struct diff){0};
}
