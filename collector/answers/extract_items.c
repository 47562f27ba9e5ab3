/* Finds what can be written out of a recording. See extract_items.h. */
#include "collector/answers/extract_items.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "collector/answers/answer.h"
#include "collector/recording/info.h"
#include "collector/recording/maps.h"
#include "collector/recording/recording.h"
#include "collector/symbols/symbols.h"
#include "base/ban.h"

DEFINE_CLEANUP(recording_close, struct recording *)

static const char *const whats[] = {"program", "debug file", "memory maps",
				    "memory maps with usage"};

#define ANSWER_OF struct extract_item
static const struct answer_field item_fields[] = {
	ROW("name", name, NULL, "its path on its host", SHOWN(4, "NAME", 0)),
	ROW_AS("what", what, ANSWER_WORD, NULL, "what the file is", .words = whats,
	       SHOWN(3, "WHAT", -22, .gap = 1)),
	ROW_HEX("build_id", build_id, build_id_length, "of an ELF file; null: it has none",
		SHOWN(1, "BUILD ID", -40)),
	ROW("size", size, "bytes", "", SHOWN(2, "SIZE", 10)),
	{0},
};
#undef ANSWER_OF
const struct answer extract_item_answer = {"extracted_file", item_fields};

#define ANSWER_OF struct extract_items
static const struct answer_field items_fields[] = {
	ROW_LIST("files", list, count, extract_item_answer, "files, sorted by name"),
	{0},
};
#undef ANSWER_OF
const struct answer extract_items_answer = {"extracted_files", items_fields};

static void item_done(struct extract_item *item)
{
	free(item->name);
	free(item->source);
	free(item->text);
}

void extract_items_done(struct extract_items *items)
{
	for (uint32_t i = 0; i < items->count; i++)
		item_done(&items->list[i]);
	free(items->list);
	*items = (struct extract_items){0};
}

/* Takes ownership of the strings of `item`, also on failure. */
static int extract_items_append(struct extract_items *items, struct extract_item *item)
{
	if (!item->name || (!item->source && !item->text) ||
	    array_reserve(&items->list, &items->capacity, (uint64_t)items->count + 1,
			  sizeof(*items->list)) < 0) {
		item_done(item);
		return -ENOMEM;
	}
	items->list[items->count++] = *item;
	return 0;
}

/* ---- symbol files ---- */

struct search {
	const struct module_info **modules; /* with a build id, sorted by it and by path */
	uint32_t count;
	struct extract_items *items;
};

static int compare_ids(const uint8_t *a, uint32_t a_length, const uint8_t *b, uint32_t b_length)
{
	if (a_length != b_length)
		return a_length < b_length ? -1 : 1;
	return memcmp(a, b, a_length);
}

static int by_build_id(const void *a, const void *b)
{
	const struct module_info *const *x = a, *const *y = b;
	int order = compare_ids((*x)->build_id, (*x)->build_id_length, (*y)->build_id,
				(*y)->build_id_length);

	return order ? order : strcmp((*x)->path, (*y)->path);
}

static int list_modules(struct search *s, const struct recording *recording)
{
	uint32_t modules = recording_modules(recording);

	s->modules = calloc((size_t)modules + 1, sizeof(*s->modules));
	if (!s->modules)
		return -ENOMEM;
	for (uint32_t i = 1; i <= modules; i++) {
		const struct module_info *m = recording_module(recording, i);

		if (m && m->build_id_length)
			s->modules[s->count++] = m;
	}
	if (s->count)
		qsort(s->modules, s->count, sizeof(*s->modules), by_build_id);
	return 0;
}

static int extract_items_add_file(struct extract_items *items, const char *path,
				  const struct symbol_file *file)
{
	struct extract_item item = {
		.source = strdup(file->path),
		.size = file->size,
		.what = file->code ? EXTRACT_PROGRAM : EXTRACT_DEBUG,
		.build_id_length = file->build_id_length,
	};

	memcpy(item.build_id, file->build_id, file->build_id_length);
	if (asprintf(&item.name, "%s%s", path, file->code ? "" : ".debug") < 0)
		item.name = NULL;
	return extract_items_append(items, &item);
}

static int match_file(void *context, const struct symbol_file *file)
{
	struct search *s = context;
	uint32_t low = 0, high = s->count;
	const char *before = "";
	int r = 0;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct module_info *m = s->modules[middle];

		if (compare_ids(m->build_id, m->build_id_length, file->build_id,
				file->build_id_length) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; !r && low < s->count; low++) {
		const struct module_info *m = s->modules[low];

		if (compare_ids(m->build_id, m->build_id_length, file->build_id,
				file->build_id_length) != 0)
			break;
		/* A module that was loaded twice is written once. A module without a path is left
		 * out. */
		if (strcmp(m->path, before) != 0)
			r = extract_items_add_file(s->items, m->path, file);
		before = m->path;
	}
	return r;
}

static int extract_items_by_name(const void *a, const void *b)
{
	const struct extract_item *x = a, *y = b;

	return strcmp(x->name, y->name);
}

/* If several builds have the same path, appends the beginning of the build id to the names of all
 * but the first. */
static int tell_apart(struct extract_items *items)
{
	for (uint32_t i = items->count; i-- > 1;) {
		struct extract_item *item = &items->list[i];
		char *name;

		if (strcmp(item->name, items->list[i - 1].name) != 0)
			continue;
		if (asprintf(&name, "%s.%02x%02x%02x%02x", item->name, item->build_id[0],
			     item->build_id[1], item->build_id[2], item->build_id[3]) < 0)
			return -ENOMEM;
		free(item->name);
		item->name = name;
	}
	return 0;
}

/* ---- maps ---- */

static void put_region(struct buf *out, const struct map_region *r)
{
	size_t begin = out->length;

	buf_printf(out, "%08" PRIx64 "-%08" PRIx64 " %c%c%c%c %08" PRIx64 " %02x:%02x %" PRIu64 " ",
		   r->start, r->end, r->flags & HEAPCAST__MAP_FLAG__MAP_READABLE ? 'r' : '-',
		   r->flags & HEAPCAST__MAP_FLAG__MAP_WRITABLE ? 'w' : '-',
		   r->flags & HEAPCAST__MAP_FLAG__MAP_EXECUTABLE ? 'x' : '-',
		   r->flags & HEAPCAST__MAP_FLAG__MAP_SHARED ? 's' : 'p', r->offset, r->major,
		   r->minor, r->inode);
	while (*r->name && out->length - begin < 73)
		buf_byte(out, ' ');
	buf_string(out, r->name);
	buf_byte(out, '\n');
}

static void extract_items_put_usage(struct buf *out, const struct map_region *r)
{
	const struct {
		const char *name;
		uint64_t kib;
	} lines[] = {
		{"Size:", (r->end - r->start) / 1024},
		{"Rss:", r->usage.rss},
		{"Pss:", r->usage.pss},
		{"Shared_Clean:", r->usage.shared_clean},
		{"Shared_Dirty:", r->usage.shared_dirty},
		{"Private_Clean:", r->usage.private_clean},
		{"Private_Dirty:", r->usage.private_dirty},
		{"Anonymous:", r->usage.anonymous},
		{"Swap:", r->usage.swap},
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		buf_printf(out, "%-16s%8" PRIu64 " kB\n", lines[i].name, lines[i].kib);
}

/* Adds proc/PID/maps or proc/PID/smaps. */
static int add_maps(struct extract_items *items, const struct maps_state *state, uint32_t pid,
		    enum extract_what what)
{
	struct extract_item item = {.what = what};
	struct buf out = {0};

	for (size_t i = 0; i < state->count; i++) {
		put_region(&out, &state->region[i]);
		if (what == EXTRACT_SMAPS)
			extract_items_put_usage(&out, &state->region[i]);
	}
	if (buf_error(&out)) {
		buf_done(&out);
		return -ENOMEM;
	}
	item.text = (char *)buf_take(&out, &item.size);
	if (asprintf(&item.name, "/proc/%u/%s", pid, what == EXTRACT_MAPS ? "maps" : "smaps") < 0)
		item.name = NULL;
	return extract_items_append(items, &item);
}

static int find_maps(struct extract_items *items, const char *path, uint32_t pid,
		     struct err_text *err)
{
	cleanup(maps_state_done) struct maps_state state = {0};
	int r = maps_at(path, NO_TIME, &state, NULL, err);

	if (!r && state.count)
		r = add_maps(items, &state, pid, EXTRACT_MAPS);
	if (!r && state.count)
		r = add_maps(items, &state, pid, EXTRACT_SMAPS);
	return r;
}

/* ---- all ---- */

int extract_items_find(const char *path, const char *symbols,
		       int (*progress)(void *context, uint64_t done, uint64_t of),
		       struct extract_items *ret_items, struct err_text *err)
{
	cleanup(cleanup_recording_close) struct recording *recording = NULL;
	cleanup(extract_items_done) struct extract_items items = {0};
	struct search search = {.items = &items};
	static char doing[] = "reading the recording";
	int r = recording_open(path, progress, doing, &recording, err);

	if (r < 0)
		return r;
	r = list_modules(&search, recording);
	items.modules = search.count;
	if (!r)
		r = symbols_store_each(symbols, match_file, &search);
	free(search.modules);
	if (r == -ENOENT)
		r = 0;
	if (!r)
		r = find_maps(&items, path, recording_process(recording)->pid, err);
	if (!r && items.count)
		qsort(items.list, items.count, sizeof(*items.list), extract_items_by_name);
	if (!r)
		r = tell_apart(&items);
	if (r < 0)
		return err->text[0] ? r : err_set(err, r, "reading %s: %s", path, strerror(-r));
	*ret_items = items;
	items = (struct extract_items){0};
	return 0;
}
