/*
 * Looks up symbols in memory, then in the catalogue, then in files by way of the worker. symbols.h
 * describes the interface.
 *
 *   requested offsets -> those not in memory -> those not in the catalogue -> file 1
 *                     -> those left open -> file 2 ...
 *
 * An answer from debug information is final. A name from a symbol table, or no name, is kept until
 * the files change.
 */
#include "collector/symbols/symbols.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/words.h"
#include "collector/symbols/protocol.h"
#include "collector/symbols/state.h"

#include "base/ban.h"

#define DEFAULT_MEMORY_BYTES	   (1ull << 30)
#define DEFAULT_SECONDS		   60
#define DEFAULT_DEBUGINFOD_SECONDS 20
#define DEFAULT_DEBUG_ROOT	   "/usr/lib/debug"

static const struct symbol_frame unknown_frame;
static const struct symbol unknown = {.count = 1, .frames = &unknown_frame};

static void work_done(struct work *work)
{
	free(work->offsets);
	free(work->symbols);
	free(work->quality);
	free(work->settled);
}

/* ---- modules ---- */

/* A build id identifies a file, so two paths with one build id are one module. */
static bool symbols_is_module(const struct module *m, const struct symbol_module *asked)
{
	if (m->build_id_length != asked->build_id_length)
		return false;
	if (m->build_id_length)
		return !memcmp(m->build_id, asked->build_id, m->build_id_length);
	return !strcmp(m->path, asked->path ? asked->path : "");
}

static void module_free(struct module *m)
{
	map_done(&m->symbols);
	candidates_done(&m->files);
	free(m->path);
	free(m->name);
	free(m);
}

static char *shown_path(const char *path)
{
	return *path ? words_copy(path, strlen(path), PATH_MAX) : strdup("(no path)");
}

static struct module *symbols_module_of(struct symbols *s, const struct symbol_module *asked)
{
	const char *path = asked->path ? asked->path : "";
	struct module *m;

	for (m = s->modules; m; m = m->next)
		if (symbols_is_module(m, asked))
			return m;
	m = calloc(1, sizeof(*m));
	if (!m)
		return NULL;
	m->path = strdup(path);
	m->name = shown_path(path);
	if (!m->path || !m->name) {
		module_free(m);
		return NULL;
	}
	memcpy(m->build_id, asked->build_id_length ? asked->build_id : m->build_id,
	       asked->build_id_length);
	m->build_id_length = asked->build_id_length;
	m->next = s->modules;
	s->modules = m;
	return m;
}

bool symbols_is_pseudo(const struct symbol_module *asked)
{
	const char *path = asked->path ? asked->path : "";

	return path[0] == '[' || !strcmp(path, "linux-vdso.so.1") ||
	       !strcmp(path, "linux-gate.so.1") || (!*path && !asked->build_id_length);
}

int symbols_find(struct symbols *s, const struct symbol_module *asked, uint64_t bytes_max,
		 char **ret_path, uint64_t *ret_bytes, struct err_text *err)
{
	const struct candidate *best;
	struct candidates found;
	char *path = NULL;
	bool larger;
	int r = 0;

	finder_find(&s->finder, asked, &found);
	best = candidates_best(&found, asked, bytes_max, &larger);
	if (best && !(path = strdup(best->path)))
		r = err_set(err, -ENOMEM, "no memory for symbols");
	else if (!best && larger)
		r = err_set(err, -EFBIG, "its file has more than %llu MiB",
			    (unsigned long long)(bytes_max >> 20));
	else if (!best)
		r = err_set(err, -ENOENT, "%s",
			    found.count	    ? "its file here has nothing that names code"
			    : found.text[0] ? found.text
					    : "no file with its build id here");
	else if (larger)
		err_set(err, 0, "the file with more to tell has more than %llu MiB",
			(unsigned long long)(bytes_max >> 20));
	if (path) {
		*ret_path = path;
		*ret_bytes = best->size;
	}
	candidates_done(&found);
	return r;
}

static void search_files(struct symbols *s, struct module *m)
{
	struct symbol_module asked = {m->path, m->build_id, m->build_id_length};

	if (m->searched)
		return;
	finder_find(&s->finder, &asked, &m->files);
	m->searched = true;
	symbols_pass_over_bad(s, m);
	if (m->files.count && m->files.list[0].unchecked)
		symbols_note(s, m, "has no build id: the file here was used without a check");
}

uint64_t symbols_signature(struct symbols *s, const struct symbol_module *asked)
{
	struct module *m;

	if (symbols_is_pseudo(asked) || asked->build_id_length > ELF_BUILD_ID_MAX)
		return 0;
	m = symbols_module_of(s, asked);
	if (!m)
		return 0;
	search_files(s, m);
	/* A server may have a better file than those that are here. */
	return m->files.signature ^ (m->files.count + 1) ^ (s->fetcher.urls ? UINT64_MAX : 0);
}

/*
 * Silent if the catalogue has the answers. A few places without a line need no note; places without
 * a name do.
 */
static void note_missing_file(struct symbols *s, struct module *m, const struct work *work)
{
	size_t weak = 0, nameless = 0;

	for (size_t i = 0; i < work->count; i++) {
		weak += work->quality[i] < PLACE_FULL;
		nameless += work->quality[i] == PLACE_UNKNOWN;
	}
	if (m->files.count || (!nameless && weak <= work->count / 2))
		return;
	m->nameless |= nameless > 0;
	if (m->files.text[0])
		symbols_note(s, m, m->files.text);
	else if (!m->build_id_length)
		symbols_note(s, m, "no such file here; give its folder with --symbols DIR");
	else
		symbols_note(s, m,
			     "no file with its build id here; give its folder with --symbols DIR");
}

static void note_quality(struct symbols *s, struct module *m, const struct work *work)
{
	size_t weak = 0;

	for (size_t i = 0; i < work->count; i++) {
		weak += work->quality[i] < PLACE_FULL;
		m->nameless |= work->quality[i] == PLACE_UNKNOWN;
	}
	/* A few places in hand-written code have no line anywhere; they need no note. */
	if (m->files.count && weak > work->count / 2)
		symbols_note(
			s, m,
			"no debug information here: functions only, no lines; give its folder with "
			"--symbols DIR");
}

/* ---- the catalogue ---- */

/*
 * An incomplete result is valid as long as the files are those that were asked; a new file may know
 * more.
 */
static void ask_cache(struct symbols *s, const struct module *m, struct work *work)
{
	uint64_t files = 0;
	int64_t row = cache_module(&s->cache, m->build_id, m->build_id_length, &files);

	for (size_t i = 0; row && i < work->count; i++) {
		uint8_t quality = PLACE_UNKNOWN;
		const struct symbol *symbol =
			cache_get(&s->cache, row, work->offsets[i], &s->strings, &quality);

		if (!symbol ||
		    (quality < PLACE_FULL && m->files.count && files != m->files.signature))
			continue;
		work->symbols[i] = symbol;
		work->quality[i] = quality;
		work->settled[i] = true;
	}
}

static void fill_cache(struct symbols *s, const struct module *m, const struct work *work)
{
	bool failed = false;
	int64_t row;

	for (size_t i = 0; i < m->files.count; i++)
		failed |= m->files.list[i].failed;
	if (!m->files.count ||
	    !cache_begin(&s->cache, m->build_id, m->build_id_length, m->files.signature, &row))
		return;
	for (size_t i = 0; i < work->count; i++)
		if (!work->settled[i] && (work->quality[i] == PLACE_FULL || !failed))
			cache_put(&s->cache, row, work->offsets[i], work->quality[i],
				  work->symbols[i] ? work->symbols[i] : &unknown, &s->strings);
	cache_end(&s->cache);
}

/* ---- lookup ---- */

static int compare_u64(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

/* Collects the offsets that are not in the module's memory, sorted, without duplicates. */
static int symbols_collect(const struct module *m, const uint64_t *offsets, size_t count,
			   struct work *ret_work)
{
	struct work work = {.offsets = calloc(count + 1, sizeof(*work.offsets))};
	size_t n = 0, kept = 0;

	if (!work.offsets)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (offsets[i] && offsets[i] != MAP_NO_KEY &&
		    !(m->symbols.count && map_get(&m->symbols, offsets[i])))
			work.offsets[n++] = offsets[i];
	if (n)
		qsort(work.offsets, n, sizeof(*work.offsets), compare_u64);
	for (size_t i = 0; i < n; i++)
		if (!i || work.offsets[i] != work.offsets[i - 1])
			work.offsets[kept++] = work.offsets[i];
	work.count = kept;
	work.symbols = calloc(kept + 1, sizeof(*work.symbols));
	work.quality = calloc(kept + 1, sizeof(*work.quality));
	work.settled = calloc(kept + 1, sizeof(*work.settled));
	if (!work.symbols || !work.quality || !work.settled) {
		work_done(&work);
		return -ENOMEM;
	}
	*ret_work = work;
	return 0;
}

static bool work_left(const struct work *work)
{
	for (size_t i = 0; i < work->count; i++)
		if (work->quality[i] < PLACE_FULL && !work->settled[i])
			return true;
	return false;
}

static int symbols_remember(struct module *m, const struct work *work)
{
	for (size_t i = 0; i < work->count; i++) {
		uint64_t *place = map_put(&m->symbols, work->offsets[i], NULL);

		if (!place)
			return -ENOMEM;
		*place = (uint64_t)(uintptr_t)(work->symbols[i] ? work->symbols[i] : &unknown);
	}
	return 0;
}

/*
 * Asks debuginfod for a module if no local file has debug information. Returns true if a file
 * arrived.
 */
static bool fetch_file(struct symbols *s, struct module *m)
{
	struct symbol_module asked = {m->path, m->build_id, m->build_id_length};
	cleanup(cleanup_free) char *path = NULL;
	struct err_text why = {0};
	int error;

	if (m->fetched || !m->build_id_length || !s->fetcher.urls)
		return false;
	for (size_t i = 0; i < m->files.count; i++)
		if (!m->files.list[i].failed && (m->files.list[i].has & ELF_HAS_DEBUG_INFO))
			return false;
	m->fetched = true;
	error = fetch_debug_file(&s->fetcher, m->build_id, m->build_id_length, &path, &why);
	if (error && why.text[0])
		symbols_note(s, m, why.text);
	return !error && candidates_add(&m->files, &asked, path);
}

static bool all_known(const struct work *work)
{
	for (size_t i = 0; i < work->count; i++)
		if (work->quality[i] < PLACE_FULL)
			return false;
	return true;
}

/*
 * Takes what the catalogue has. If that is incomplete, asks servers for a file before the local
 * files are read.
 */
static void ask_cache_and_servers(struct symbols *s, struct module *m, struct work *work)
{
	ask_cache(s, m, work);
	if (all_known(work) || !fetch_file(s, m))
		return;
	symbols_pass_over_bad(s, m);
	for (size_t i = 0; i < work->count; i++)
		work->settled[i] = false;
	ask_cache(s, m, work);
}

static int symbols_look_up(struct symbols *s, struct module *m, struct work *work,
			   struct err_text *err)
{
	int error = 0;

	search_files(s, m);
	ask_cache_and_servers(s, m, work);
	note_missing_file(s, m, work);
	if (m->files.count && work_left(work)) {
		for (size_t i = 0; i < m->files.count && work_left(work) && !error; i++)
			error = symbols_ask_file(s, m, &m->files.list[i], work, err);
		if (!error)
			fill_cache(s, m, work);
	}
	note_quality(s, m, work);
	return error ? error : symbols_remember(m, work);
}

static const struct symbol *known_symbol(const struct module *m, uint64_t offset)
{
	uint64_t *place =
		m && m->symbols.count && offset != MAP_NO_KEY ? map_get(&m->symbols, offset) : NULL;

	return place ? (const struct symbol *)(uintptr_t)*place : &unknown;
}

int symbols_lookup(struct symbols *symbols, const struct symbol_module *module,
		   const uint64_t *offsets, size_t count, const struct symbol **ret_symbols,
		   struct err_text *err)
{
	struct module *m = NULL;
	struct work work = {0};
	int error = 0;

	if (module->build_id_length > ELF_BUILD_ID_MAX)
		return err_set(err, -EINVAL, "a build id of %u bytes", module->build_id_length);
	if (!symbols_is_pseudo(module)) {
		m = symbols_module_of(symbols, module);
		error = m ? symbols_collect(m, offsets, count, &work) : -ENOMEM;
	}
	if (!error && work.count)
		error = symbols_look_up(symbols, m, &work, err);
	work_done(&work);
	if (error == -ENOMEM)
		err_set(err, error, "no memory for symbols");
	for (size_t i = 0; i < count && !error; i++)
		ret_symbols[i] = known_symbol(m, offsets[i]);
	return error;
}

void symbols_refresh(struct symbols *symbols)
{
	finder_clear(&symbols->finder);
	symbols->fetcher.down = false;
	symbols_clear_notes(symbols);
	for (struct module *m = symbols->modules; m; m = m->next) {
		candidates_done(&m->files);
		m->searched = m->fetched = false;
		map_clear(&m->symbols);
	}
}

bool symbols_are_stale(struct symbols *symbols)
{
	struct timespec t;
	uint64_t now_ms;

	clock_gettime(CLOCK_MONOTONIC, &t);
	now_ms = (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
	if (symbols->looked_ms && now_ms - symbols->looked_ms < 1000)
		return false;
	symbols->looked_ms = now_ms;
	return finder_is_stale(&symbols->finder);
}

/* Sets the paths that the object owns. */
static int set_paths(struct symbols *s, const struct symbols_options *options)
{
	s->process.program = strdup(options->worker ? options->worker : "/proc/self/exe");
	if (!s->process.program)
		return -ENOMEM;
	s->fetcher = (struct fetcher){
		.program = s->process.program,
		.urls = options->debuginfod && options->debuginfod[0] ? options->debuginfod : NULL,
		.seconds = options->debuginfod_seconds ? options->debuginfod_seconds
						       : DEFAULT_DEBUGINFOD_SECONDS,
	};
	if (!options->store)
		return 0;
	s->store = strdup(options->store);
	if (!s->store || asprintf(&s->fetch_cache, "%s/debuginfod", options->store) < 0) {
		s->fetch_cache = NULL;
		return -ENOMEM;
	}
	s->finder.store = s->store;
	s->fetcher.cache = s->fetch_cache;
	return 0;
}

int symbols_new(const struct symbols_options *options, struct symbols **ret_symbols,
		struct err_text *err)
{
	struct symbols *s = calloc(1, sizeof(*s));

	if (!s)
		return err_set(err, -ENOMEM, "no memory for symbols");
	s->options = *options;
	if (!s->options.worker_memory_bytes)
		s->options.worker_memory_bytes = DEFAULT_MEMORY_BYTES;
	if (!s->options.worker_seconds)
		s->options.worker_seconds = DEFAULT_SECONDS;
	s->finder.folders = options->folders;
	s->finder.debug_root = options->debug_root ? options->debug_root : DEFAULT_DEBUG_ROOT;
	s->process.socket = -1;
	if (set_paths(s, options)) {
		symbols_free(s);
		return err_set(err, -ENOMEM, "no memory for symbols");
	}
	finder_clear(&s->finder);
	cache_open(&s->cache, options->cache);
	*ret_symbols = s;
	return 0;
}

void symbols_free(struct symbols *symbols)
{
	if (!symbols)
		return;
	process_stop(&symbols->process);
	finder_clear(&symbols->finder);
	free(symbols->process.program);
	free(symbols->fetch_cache);
	free(symbols->store);
	free(symbols->bad);
	cache_close(&symbols->cache);
	while (symbols->modules) {
		struct module *m = symbols->modules;

		symbols->modules = m->next;
		module_free(m);
	}
	symbols_clear_notes(symbols);
	strings_done(&symbols->strings);
	free(symbols);
}
