/* Modules with code that has no names. See unnamed.h. */
#include "collector/answers/unnamed.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/answers/answer.h"
#include "collector/answers/json.h"
#include "collector/catalogue/store.h"
#include "collector/query/query.h"
#include "collector/recording/info.h"
#include "collector/recording/recording.h"
#include "collector/recording/stream_id.h"
#include "collector/symbols/symbols.h"

#include "base/ban.h"

#define ANSWER_OF struct unnamed_code
static const struct answer_field unnamed_fields[] = {
	ROW_HEX("build_id", build_id, build_id_length, ""),
	ROW("module", module, NULL, "path of the program or library"),
	ROW("streams", streams, NULL, "streams whose backtraces pass through it"),
	ROW("places", places, NULL, "places in these backtraces"),
	ROW("unnamed", unnamed, NULL, "places without a function"),
	ROW("allocations", allocations, "blocks",
	    "allocations with such a place in their backtrace", SHOWN(2, "ALLOCATIONS", 11)),
	ROW("bytes", bytes, "bytes", "bytes of these allocations", SHOWN(3, "BYTES", 9)),
	ROW("reason", why, NULL, "", .may_be_null = true),
	{0},
};
#undef ANSWER_OF
const struct answer unnamed_answer = {"unnamed_module", unnamed_fields};

void unnamed_done(struct unnamed_list *l)
{
	for (size_t i = 0; i < l->count; i++) {
		free(l->list[i].module);
		free(l->list[i].why);
	}
	free(l->list);
}

static bool unnamed_is_same(const struct unnamed_code *m, const struct module_info *info)
{
	if (m->build_id_length != info->build_id_length)
		return false;
	return m->build_id_length ? !memcmp(m->build_id, info->build_id, m->build_id_length)
				  : !strcmp(m->module, info->path);
}

static struct unnamed_code *unnamed_of(struct unnamed_list *l, const struct module_info *info)
{
	struct unnamed_code *list, *m;

	for (size_t i = 0; i < l->count; i++)
		if (unnamed_is_same(&l->list[i], info))
			return &l->list[i];
	list = reallocarray(l->list, l->count + 1, sizeof(*list));
	if (!list)
		return NULL;
	l->list = list;
	m = &list[l->count];
	*m = (struct unnamed_code){.module = strdup(info->path ? info->path : ""),
				   .build_id_length = info->build_id_length};
	if (!m->module)
		return NULL;
	memcpy(m->build_id, info->build_id, info->build_id_length);
	l->count++;
	return m;
}

/* Returns the first reason that was given for the module. */
static char *unnamed_reason(const struct symbols *symbols, const char *path)
{
	const struct symbols_note *notes;
	size_t count = symbols_notes(symbols, &notes);

	for (size_t i = 0; i < count; i++)
		if (!strcmp(notes[i].module, path))
			return strdup(notes[i].text);
	return NULL;
}

static int unnamed_add_view(struct unnamed_list *l, struct view *view,
			    const struct symbols *symbols, struct err_text *err)
{
	cleanup(cleanup_free) struct unnamed_module *modules = NULL;
	size_t count = 0;
	int r = query_unnamed(view, &modules, &count, err);

	for (size_t i = 0; i < count && !r; i++) {
		const struct module_info *info =
			recording_module(view_recording(view), modules[i].module);
		struct unnamed_code *m = unnamed_of(l, info);

		if (!m)
			return err_set(err, -ENOMEM, "out of memory");
		m->streams++;
		m->places += modules[i].places;
		m->unnamed += modules[i].unnamed;
		m->allocations += modules[i].allocations;
		m->bytes += modules[i].bytes;
		if (!m->why)
			m->why = unnamed_reason(symbols, m->module);
	}
	return r;
}

int unnamed_add(struct unnamed_list *l, const char *path, struct symbols *symbols,
		struct err_text *err)
{
	struct recording *recording = NULL;
	struct view *view = NULL;
	int r = recording_open(path, l->progress, l->context, &recording, err);

	if (!r)
		r = view_new(recording, symbols, &view, err);
	if (!r)
		r = unnamed_add_view(l, view, symbols, err);
	view_free(view);
	recording_close(recording);
	return r;
}

int unnamed_add_all(struct unnamed_list *l, struct store *store, struct symbols *symbols,
		    struct err_text *err)
{
	struct stream_summary *streams = NULL;
	size_t count = 0;
	int r = store_list(store, &streams, &count, err);

	for (size_t i = 0; i < count && !r; i++) {
		cleanup(cleanup_free) char *path = NULL;
		char id[STREAM_ID_TEXT];

		r = store_find(store, stream_id_format(id, &streams[i].id), &path, err);
		if (!r)
			r = unnamed_add(l, path, symbols, err);
	}
	store_list_free(streams, count);
	return r;
}

static int unnamed_by_bytes(const void *a, const void *b)
{
	const struct unnamed_code *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return strcmp(x->module, y->module);
}

void unnamed_sort(struct unnamed_list *l)
{
	if (l->count)
		qsort(l->list, l->count, sizeof(*l->list), unnamed_by_bytes);
}

#define ANSWER_OF struct symbols_note
static const struct answer_field note_fields[] = {
	ROW("module", module, NULL, "path of the program or library"),
	ROW("text", text, NULL, "why it has no names"),
	{0},
};
#undef ANSWER_OF
const struct answer note_answer = {"note", note_fields};

void json_notes(struct json *json, const char *key, const struct symbols *symbols)
{
	const struct symbols_note *notes;
	size_t count = symbols_notes(symbols, &notes);

	json_array(json, key);
	for (size_t i = 0; i < count; i++)
		json_object_of(json, NULL, &note_answer, &notes[i], NULL);
	json_end(json, ']');
}
