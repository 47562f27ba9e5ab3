/*
 * Asks the worker about a file, in batches of addresses, and keeps answers that are better than
 * what is known. A file that kills the worker is marked in memory and in the catalogue, and skipped
 * until it changes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/symbols/protocol.h"
#include "collector/symbols/state.h"
#include "base/ban.h"

static bool is_bad(struct symbols *s, const struct candidate *file)
{
	for (size_t i = 0; i < s->bad_count; i++)
		if (s->bad[i].device == file->device && s->bad[i].inode == file->inode &&
		    s->bad[i].size == file->size && s->bad[i].mtime_ns == file->mtime_ns)
			return true;
	return cache_is_bad(&s->cache, file);
}

static void mark_bad(struct symbols *s, const struct candidate *file)
{
	struct bad_file *list = reallocarray(s->bad, s->bad_count + 1, sizeof(*list));

	cache_put_bad(&s->cache, file);
	if (!list)
		return;
	s->bad = list;
	s->bad[s->bad_count++] =
		(struct bad_file){file->device, file->inode, file->size, file->mtime_ns};
}

void symbols_pass_over_bad(struct symbols *s, struct module *m)
{
	for (size_t i = 0; i < m->files.count; i++) {
		struct candidate *file = &m->files.list[i];

		if (file->failed || !is_bad(s, file))
			continue;
		file->failed = true;
		symbols_note_file(
			s, m, file->path,
			"skipped, because the reader failed on it before; it is tried again when "
			"the file changes");
	}
}

/* Interns a string of an answer. */
static const char *localise(struct symbols *s, const struct answer *answer, uint32_t number,
			    const char **map)
{
	const char *text = strings_at(&answer->strings, number);

	if (text && !map[number])
		map[number] = strings_at(&s->strings, strings_put(&s->strings, text, strlen(text)));
	return text ? map[number] : NULL;
}

static const struct symbol *make_symbol(struct symbols *s, const struct answer *answer,
					const struct place *place, const char **map)
{
	struct symbol *symbol = arena_get(&s->strings.arena, sizeof(*symbol));
	struct symbol_frame *frames = arena_get(&s->strings.arena, place->count * sizeof(*frames));

	if (!symbol || !frames)
		return NULL;
	for (uint32_t i = 0; i < place->count; i++) {
		const struct place_frame *from = &answer->frames[place->first + i];

		frames[i] = (struct symbol_frame){
			.function = localise(s, answer, from->function, map),
			.raw_function = localise(s, answer, from->raw, map),
			.file = localise(s, answer, from->file, map),
			.line = from->line,
			.column = from->column,
			.is_inline = from->is_inline,
		};
	}
	*symbol = (struct symbol){.count = place->count, .frames = frames};
	return symbol;
}

/* Handles code without a name: only the beginning of its function is known. */
static int take_start(struct symbols *s, struct work *work, size_t at, const struct place *place)
{
	static const struct symbol_frame unknown_frame;
	struct symbol *symbol;

	if (!place->start || work->quality[at] || work->symbols[at])
		return 0;
	symbol = arena_get(&s->strings.arena, sizeof(*symbol));
	if (!symbol)
		return -ENOMEM;
	*symbol = (struct symbol){.count = 1, .frames = &unknown_frame, .start = place->start};
	work->symbols[at] = symbol;
	return 0;
}

/* Takes the better answers. Both lists are sorted by address. */
static int ask_merge(struct symbols *s, struct work *work, const struct answer *answer)
{
	cleanup(cleanup_free) const char **map =
		calloc((size_t)answer->strings.texts.count + 1, sizeof(*map));
	size_t at = 0;

	if (!map)
		return -ENOMEM;
	for (size_t i = 0; i < answer->place_count; i++) {
		const struct place *place = &answer->places[i];

		while (at < work->count && work->offsets[at] - 1 < place->address)
			at++;
		if (at == work->count || work->offsets[at] - 1 != place->address)
			continue;
		if (!place->count && take_start(s, work, at, place) < 0)
			return -ENOMEM;
		if (!place->count || place->quality <= work->quality[at])
			continue;
		work->symbols[at] = make_symbol(s, answer, place, map);
		if (!work->symbols[at])
			return -ENOMEM;
		work->quality[at] = place->quality;
	}
	return 0;
}

/* Returns the next addresses, at most PLACES_MAX, that are not fully known, from *at on. */
static size_t next_batch(const struct work *work, size_t *at, uint64_t *addresses)
{
	size_t count = 0;

	for (; *at < work->count && count < PLACES_MAX; ++*at)
		if (work->quality[*at] < PLACE_FULL && !work->settled[*at])
			addresses[count++] = work->offsets[*at] - 1;
	return count;
}

/* Asks about one batch. Returns a positive value if the file is unusable and was noted. */
static int ask_batch(struct symbols *s, struct module *m, struct candidate *file, struct work *work,
		     struct request *request, struct err_text *err)
{
	struct err_text why = {0};
	struct answer answer;
	int error = process_ask(&s->process, request, &answer, &why);

	if (error == -EIO || error == -ETIME) {
		file->failed = true;
		mark_bad(s, file);
		symbols_note_file(s, m, file->path, why.text);
		return 1;
	}
	if (error)
		return err_set(err, error, "%s", err_get(&why, error));
	if (answer.error || answer.text[0])
		symbols_note_file(s, m, file->path,
				  answer.text[0] ? answer.text : strerror(-answer.error));
	file->failed = answer.error;
	error = answer.error ? 1 : ask_merge(s, work, &answer);
	answer_done(&answer);
	return error;
}

int symbols_ask_file(struct symbols *s, struct module *m, struct candidate *file, struct work *work,
		     struct err_text *err)
{
	struct request request = {
		.memory_bytes = s->options.worker_memory_bytes,
		.seconds = s->options.worker_seconds,
		.path = file->path,
	};
	cleanup(cleanup_free) uint64_t *addresses = NULL;
	size_t at = 0;
	int error = 0;

	if (file->failed)
		return 0;
	addresses = calloc(work->count < PLACES_MAX ? work->count : PLACES_MAX, sizeof(*addresses));
	if (!addresses)
		return -ENOMEM;
	request.addresses = addresses;
	while (!error && (request.count = next_batch(work, &at, addresses)))
		error = ask_batch(s, m, file, work, &request, err);
	return error > 0 ? 0 : error;
}
