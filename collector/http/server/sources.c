/* Recordings shared by requests. See sources.h. */
#include "collector/catalogue/store.h"
#include "collector/http/server/sources_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <uv.h>

#include "base/cleanup.h"
#include "collector/query/query.h"
#include "collector/recording/recording.h"
#include "collector/recording/stream_id.h"
#include "collector/symbols/symbols.h"

#include "base/ban.h"

/* Number of unused recordings that stay open. Files always stay open. */
#define IDLE_MAX 4

/* The totals computed last. They have a lock of their own. */
struct watched {
	pthread_mutex_t lock;
	struct report report;
	bool known;
	uint64_t rows, end_ns; /* the state of the recording that the totals describe */
	uint64_t next_ms;      /* earliest time of the next computation */
};

/* ---- opening and closing a source ---- */

static void source_free(struct source *source)
{
	if (!source)
		return;
	view_free(source->view);
	symbols_free(source->symbols);
	store_close(source->store);
	recording_close(source->recording);
	pthread_rwlock_destroy(&source->lock);
	kept_answers_done(&source->kept);
	if (source->watched)
		pthread_mutex_destroy(&source->watched->lock);
	free(source->watched);
	free(source->path);
	free(source);
}

static struct source *source_new(const char *path)
{
	struct source *source = calloc(1, sizeof(*source));

	if (!source)
		return NULL;
	source->path = strdup(path);
	pthread_rwlock_init(&source->lock, NULL);
	kept_answers_init(&source->kept);
	source->watched = calloc(1, sizeof(*source->watched));
	if (source->watched)
		pthread_mutex_init(&source->watched->lock, NULL);
	if (!source->path || !source->watched) {
		source_free(source);
		return NULL;
	}
	return source;
}

/* Opens the symbols, from the places in the options. The store, if there is one, keeps the
 * names. */
static int open_symbols(const struct http_options *options, struct store **ret_store,
			struct symbols **ret_symbols, struct err_text *err)
{
	cleanup(cleanup_free) char *store = NULL;
	struct symbols_options symbols = {
		.folders = options->symbol_folders,
		.debuginfod = options->debuginfod,
		.debuginfod_seconds = options->debuginfod_seconds,
	};

	if (options->data && asprintf(&store, "%s/" STORE_SYMBOLS, options->data) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	if (options->data && !store_open(options->data, STORE_READ, ret_store, NULL))
		symbols.cache = store_symbol_cache(*ret_store);
	symbols.store = store;
	return symbols_new(&symbols, ret_symbols, err);
}

const char *sources_shared(const struct sources *sources)
{
	return sources->options.store;
}

void sources_shared_fail(struct sources *sources, int error, const struct err_text *why)
{
	pthread_mutex_lock(&sources->lock);
	sources->shared.error = error;
	sources->shared.at_ns = uv_hrtime();
	sources->shared.why = *why;
	pthread_mutex_unlock(&sources->lock);
}

int sources_shared_failed(struct sources *sources, uint64_t since_ns, struct err_text *err)
{
	int r = 0;

	pthread_mutex_lock(&sources->lock);
	if (sources->shared.error && sources->shared.at_ns > since_ns)
		r = err_set(err, sources->shared.error, "%s", sources->shared.why.text);
	pthread_mutex_unlock(&sources->lock);
	return r;
}

const struct site_rules *sources_rules(const struct sources *sources)
{
	return sources->options.rules;
}

int sources_open_symbols(const struct sources *sources, struct store **ret_store,
			 struct symbols **ret_symbols, struct err_text *err)
{
	return open_symbols(&sources->options, ret_store, ret_symbols, err);
}

static int source_open(struct source *source, const struct http_options *options, bool show,
		       struct err_text *err)
{
	int r = recording_open(source->path, show ? options->progress : NULL,
			       options->progress_context, &source->recording, err);

	if (r < 0)
		return r;
	r = open_symbols(options, &source->store, &source->symbols, err);
	if (r < 0)
		return r;
	r = view_new(source->recording, source->symbols, &source->view, err);
	if (r < 0)
		return r;
	view_set_rules(source->view, options->rules);
	stream_id_format(source->id, recording_id(source->recording));
	return 0;
}

void source_lock(struct source *source)
{
	pthread_rwlock_rdlock(&source->lock);
}

void source_unlock(struct source *source)
{
	pthread_rwlock_unlock(&source->lock);
}

/* Refreshes a recording that nobody is looking at. Otherwise the next request refreshes it. New
 * names are looked up only if no other request uses the source: a download in steps holds numbers
 * of names between its steps, without the lock. A request that arrives after the check of `users`
 * holds no numbers yet, and waits for the lock. */
static void source_refresh(struct sources *sources, struct source *source)
{
	bool locked, alone;

	pthread_mutex_lock(&sources->lock);
	locked = pthread_rwlock_trywrlock(&source->lock) == 0;
	alone = source->users == 1;
	pthread_mutex_unlock(&sources->lock);
	if (!locked)
		return;
	if (recording_refresh(source->recording, NULL) > 0) {
		view_refresh(source->view, NULL);
		kept_answers_clear(&source->kept);
	}
	if (alone && symbols_are_stale(source->symbols)) {
		symbols_refresh(source->symbols);
		view_forget_names(source->view, NULL);
		kept_answers_clear(&source->kept);
	}
	pthread_rwlock_unlock(&source->lock);
}

int sources_open_store(struct sources *sources, struct err_text *err)
{
	if (sources->store)
		return 0;
	if (!sources->options.data)
		return err_set(err, -ENOENT, "no folder of streams is served");
	return store_open(sources->options.data, STORE_READ, &sources->store, err);
}

struct source *sources_find(struct sources *sources, const char *id)
{
	for (struct source *s = sources->list; s; s = s->next)
		if (!strcmp(s->id, id))
			return s;
	return NULL;
}

const char *const *sources_folders(const struct sources *sources)
{
	return sources->options.source_folders;
}

/* ---- taking a reference ---- */

static void unlink_source(struct sources *sources, struct source *source)
{
	for (struct source **s = &sources->list; *s; s = &(*s)->next) {
		if (*s == source) {
			*s = source->next;
			return;
		}
	}
}

/* Returns the least recently used recording if too many are idle, else NULL. */
static struct source *pick_idle(struct sources *sources)
{
	struct source *oldest = NULL;
	unsigned idle = 0;

	for (struct source *s = sources->list; s; s = s->next) {
		if (s->is_file || s->users || s->opening)
			continue;
		idle++;
		if (!oldest || s->used < oldest->used)
			oldest = s;
	}
	if (idle <= IDLE_MAX)
		return NULL;
	unlink_source(sources, oldest);
	return oldest;
}

/* Adds a place for the recording, so that other threads wait for it. The lock is held at the call
 * and at the return. */
static int open_new(struct sources *sources, const char *id, struct source **ret_source,
		    struct err_text *err)
{
	cleanup(cleanup_free) char *path = NULL;
	struct source *source;
	int r = store_find(sources->store, id, &path, err);

	if (r < 0)
		return r;
	source = source_new(path);
	if (!source)
		return err_set(err, -ENOMEM, "out of memory");
	snprintf(source->id, sizeof(source->id), "%s", id);
	source->opening = true;
	source->users = 1;
	source->next = sources->list;
	sources->list = source;
	pthread_mutex_unlock(&sources->lock);
	r = source_open(source, &sources->options, false, err);
	pthread_mutex_lock(&sources->lock);
	source->opening = false;
	if (r < 0) {
		unlink_source(sources, source);
		source_free(source);
		return r;
	}
	*ret_source = source;
	return 0;
}

/* Tells whether a recording that nobody uses has to be opened anew. */
static bool is_outdated(const struct source *source)
{
	return !source->is_file && !source->users && !source->opening &&
	       recording_is_replaced(source->recording);
}

int sources_take(struct sources *sources, const char *name, struct source **ret_source,
		 uint64_t *ret_find_ns, struct err_text *err)
{
	uint64_t begun = uv_hrtime();
	struct naming naming = {0};
	struct source *source = NULL;
	int r;

	pthread_mutex_lock(&sources->lock);
	r = sources_resolve(sources, name, &naming, err);
	if (ret_find_ns)
		*ret_find_ns = uv_hrtime() - begun;
	if (!r) {
		source = sources_find(sources, naming.id);
		if (source && is_outdated(source)) {
			unlink_source(sources, source);
			source_free(source);
			source = NULL;
		}
		if (source && source->opening)
			r = -EAGAIN;
		else if (source)
			source->users++;
		else
			r = open_new(sources, naming.id, &source, err);
	}
	if (!r)
		source->used = ++sources->clock;
	pthread_mutex_unlock(&sources->lock);
	if (r < 0)
		return r;
	source_refresh(sources, source);
	*ret_source = source;
	return 0;
}

void sources_release(struct sources *sources, struct source *source)
{
	struct source *idle;

	pthread_mutex_lock(&sources->lock);
	source->users--;
	idle = pick_idle(sources);
	pthread_mutex_unlock(&sources->lock);
	source_free(idle);
}

/* ---- watching ---- */

bool sources_watch(struct sources *sources)
{
	bool room;

	pthread_mutex_lock(&sources->lock);
	room = sources->watchers < WATCHERS_MAX;
	sources->watchers += room;
	pthread_mutex_unlock(&sources->lock);
	return room;
}

void sources_unwatch(struct sources *sources)
{
	pthread_mutex_lock(&sources->lock);
	sources->watchers--;
	pthread_mutex_unlock(&sources->lock);
}

static uint64_t sources_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static int work_out(struct source *source, const atomic_bool *cancelled, struct err_text *err)
{
	struct watched *w = source->watched;
	uint64_t begun = sources_now_ms(), took;
	struct filter filter;
	int r;

	filter_init(&filter);
	filter.cancel.asked = cancelled;
	r = query_report(source->view, &filter, &w->report, err);
	filter_done(&filter);
	if (r < 0)
		return r;
	took = sources_now_ms() - begun;
	w->known = true;
	w->rows = recording_rows(source->recording);
	w->end_ns = recording_end_ns(source->recording);
	w->next_ms = begun + (took > 100 ? 10 * took : 1000);
	return 0;
}

int source_totals(struct source *source, const atomic_bool *cancelled, struct report *ret_report,
		  struct err_text *err)
{
	struct watched *w = source->watched;
	bool grown, over = !recording_is_growing(source->recording);
	int r = 0;

	pthread_mutex_lock(&w->lock);
	grown = w->rows != recording_rows(source->recording) ||
		w->end_ns != recording_end_ns(source->recording);
	/* Computes new totals if they are due, and always at the end, so that the last totals cover
	 * the whole recording. */
	if (!w->known || (grown && (over || sources_now_ms() >= w->next_ms)))
		r = work_out(source, cancelled, err);
	if (!r)
		*ret_report = w->report;
	pthread_mutex_unlock(&w->lock);
	return r;
}

/* ---- all sources ---- */

static int open_files(struct sources *sources, struct err_text *err)
{
	for (const char *const *file = sources->options.files; file && *file; file++) {
		struct source *source;
		int r;

		source = source_new(*file);
		if (!source)
			return err_set(err, -ENOMEM, "out of memory");
		source->is_file = true;
		r = source_open(source, &sources->options, true, err);
		if (r < 0) {
			source_free(source);
			return r;
		}
		if (sources_find(sources, source->id)) {
			source_free(source);
			continue;
		}
		source->next = sources->list;
		sources->list = source;
	}
	return 0;
}

struct fleet *sources_fleet(struct sources *sources)
{
	return sources->fleet;
}

const char *sources_data(const struct sources *sources)
{
	return sources->options.data;
}

int sources_new(const struct http_options *options, struct fleet *fleet,
		struct sources **ret_sources, struct err_text *err)
{
	struct sources *sources = calloc(1, sizeof(*sources));
	int r;

	if (!sources)
		return err_set(err, -ENOMEM, "out of memory");
	sources->options = *options;
	pthread_mutex_init(&sources->lock, NULL);
	sources->fleet = fleet;
	r = open_files(sources, err);
	if (r < 0) {
		sources_free(sources);
		return r;
	}
	*ret_sources = sources;
	return 0;
}

void sources_free(struct sources *sources)
{
	if (!sources)
		return;
	while (sources->list) {
		struct source *source = sources->list;

		sources->list = source->next;
		source_free(source);
	}
	store_close(sources->store);
	pthread_mutex_destroy(&sources->lock);
	free(sources);
}
