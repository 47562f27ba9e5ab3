/* Recordings shared by requests. See sources.h. */
#include "collector/http/sources.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "collector/http/http.h"
#include "collector/query/query.h"
#include "collector/symbols/symbols.h"

#include "base/ban.h"

/* Recordings that stay open though nobody asks for them; files are open always. */
#define IDLE_MAX 4

struct sources {
	const struct http_options *options;
	pthread_mutex_t lock;
	struct store *store; /* NULL: not there yet */
	struct source *list; /* the last opened first */
	uint64_t clock;
	unsigned watchers;
};

/* The totals that were worked out last; under a lock of its own. */
struct watched {
	pthread_mutex_t lock;
	struct report report;
	bool known;
	uint64_t rows, end_ns; /* what they are of */
	uint64_t next_ms;      /* not anew before */
};

/* ---- opening and closing one ---- */

static void source_free(struct source *source)
{
	if (!source)
		return;
	view_free(source->view);
	symbols_free(source->symbols);
	store_close(source->store);
	recording_close(source->recording);
	pthread_rwlock_destroy(&source->lock);
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
	source->watched = calloc(1, sizeof(*source->watched));
	if (source->watched)
		pthread_mutex_init(&source->watched->lock, NULL);
	if (!source->path || !source->watched) {
		source_free(source);
		return NULL;
	}
	return source;
}

/* Names come from where the options say, and are kept in the store if there is one. */
static int open_symbols(struct source *source, const struct http_options *options,
			struct err_text *err)
{
	cleanup(cleanup_free) char *store = NULL;
	struct symbols_options symbols = {
		.folders = options->symbol_folders,
		.debuginfod = options->debuginfod,
		.debuginfod_seconds = options->debuginfod_seconds,
	};

	if (options->data && asprintf(&store, "%s/" STORE_SYMBOLS, options->data) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	if (options->data && !store_open(options->data, STORE_READ, &source->store, NULL))
		symbols.cache = store_symbol_cache(source->store);
	symbols.store = store;
	return symbols_new(&symbols, &source->symbols, err);
}

static int source_open(struct source *source, const struct http_options *options, bool show,
		       struct err_text *err)
{
	int r = recording_open(source->path, show ? options->progress : NULL,
			       options->progress_context, &source->recording, err);

	if (r < 0)
		return r;
	r = open_symbols(source, options, err);
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

/*
 * What is being looked at stays as it is: then the next request sees what came. New names take a source of our own: a download
 * that goes on in steps holds numbers of names between them, without the lock. Who comes after the look at `users` has none yet,
 * and waits for the lock.
 */
static void source_refresh(struct sources *sources, struct source *source)
{
	bool locked, alone;

	pthread_mutex_lock(&sources->lock);
	locked = pthread_rwlock_trywrlock(&source->lock) == 0;
	alone = source->users == 1;
	pthread_mutex_unlock(&sources->lock);
	if (!locked)
		return;
	if (recording_refresh(source->recording, NULL) > 0)
		view_refresh(source->view, NULL);
	if (alone && symbols_are_stale(source->symbols)) {
		symbols_refresh(source->symbols);
		view_forget_names(source->view, NULL);
	}
	pthread_rwlock_unlock(&source->lock);
}

/* ---- names ---- */

static bool is_name(const char *name)
{
	size_t length = strlen(name);

	if (!length || length >= STREAM_ID_TEXT)
		return false;
	for (; *name; name++)
		if (!isdigit((unsigned char)*name) && (*name < 'a' || *name > 'f'))
			return false;
	return true;
}

static int open_store(struct sources *sources, struct err_text *err)
{
	if (sources->store)
		return 0;
	if (!sources->options->data)
		return err_set(err, -ENOENT, "no folder of streams is served");
	return store_open(sources->options->data, STORE_READ, &sources->store, err);
}

struct naming {
	char id[STREAM_ID_TEXT];
	unsigned matches;
};

static void consider(struct naming *naming, const char *id, const char *name)
{
	if (strncmp(id, name, strlen(name)) != 0 || !strcmp(naming->id, id))
		return;
	snprintf(naming->id, sizeof(naming->id), "%s", id);
	naming->matches++;
}

/* Files come first: they were named by the one who started this. */
static struct source *last_file(const struct sources *sources)
{
	for (struct source *s = sources->list; s; s = s->next)
		if (s->is_file)
			return s;
	return NULL;
}

static int name_in_store(struct sources *sources, const char *name, struct naming *naming,
			 struct err_text *err)
{
	struct stream_summary *list = NULL;
	struct err_text why = {0};
	size_t count = 0;
	int r = open_store(sources, &why);

	/* Without a store there may be files. */
	if (r < 0)
		return r == -ENOENT ? 0 : err_set(err, r, "%s", why.text);
	r = store_list(sources->store, &list, &count, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < count; i++) {
		char id[STREAM_ID_TEXT];

		stream_id_format(id, &list[i].id);
		if (strcmp(name, "last") != 0)
			consider(naming, id, name);
		else if (i + 1 == count)
			consider(naming, id, "");
	}
	store_list_free(list, count);
	return 0;
}

/* The id that `name` means. */
static int resolve(struct sources *sources, const char *name, struct naming *naming,
		   struct err_text *err)
{
	bool last = !strcmp(name, "last");
	struct source *file = last_file(sources);
	int r;

	if (!last && !is_name(name))
		return err_set(err, -ENOENT,
			       "no recording is called \"%.40s\": it takes 32 hexadecimal digits, "
			       "the first of them, or \"last\"",
			       name);
	if (last && file) {
		consider(naming, file->id, "");
		return 0;
	}
	for (struct source *s = sources->list; s && !last; s = s->next)
		if (!s->opening)
			consider(naming, s->id, name);
	if (naming->matches == 1 && strlen(name) == STREAM_ID_TEXT - 1)
		return 0;
	r = name_in_store(sources, name, naming, err);
	if (r < 0)
		return r;
	if (!naming->matches)
		return last ? err_set(err, -ENOENT, "there is no recording yet")
			    : err_set(err, -ENOENT, "no recording begins with \"%s\"", name);
	if (naming->matches > 1)
		return err_set(err, -EEXIST,
			       "more than one recording begins with \"%s\": give more digits",
			       name);
	return 0;
}

/* ---- taking ---- */

static struct source *find(struct sources *sources, const char *id)
{
	for (struct source *s = sources->list; s; s = s->next)
		if (!strcmp(s->id, id))
			return s;
	return NULL;
}

static void unlink_source(struct sources *sources, struct source *source)
{
	for (struct source **s = &sources->list; *s; s = &(*s)->next) {
		if (*s == source) {
			*s = source->next;
			return;
		}
	}
}

/* Closes the idle one that was not asked for for longest, if there are too many. */
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

/* Adds a place for the recording, so that others wait for it. Called and returns with the lock held. */
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
	r = source_open(source, sources->options, false, err);
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

int sources_take(struct sources *sources, const char *name, struct source **ret_source,
		 struct err_text *err)
{
	struct naming naming = {0};
	struct source *source = NULL;
	int r;

	pthread_mutex_lock(&sources->lock);
	r = resolve(sources, name, &naming, err);
	if (!r) {
		source = find(sources, naming.id);
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

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static int work_out(struct source *source, const atomic_bool *cancelled, struct err_text *err)
{
	struct watched *w = source->watched;
	uint64_t begun = now_ms(), took;
	struct filter filter;
	int r;

	filter_init(&filter);
	filter.cancelled = cancelled;
	r = query_report(source->view, &filter, &w->report, err);
	filter_done(&filter);
	if (r < 0)
		return r;
	took = now_ms() - begun;
	w->known = true;
	w->rows = recording_rows(source->recording);
	w->end_ns = recording_end_ns(source->recording);
	w->next_ms = begun + (took > 100 ? 10 * took : 1000);
	return 0;
}

int source_totals(struct source *source, const atomic_bool *cancelled, struct report *ret_report, struct err_text *err)
{
	struct watched *w = source->watched;
	bool grown, over = !recording_is_growing(source->recording);
	int r = 0;

	pthread_mutex_lock(&w->lock);
	grown = w->rows != recording_rows(source->recording) || w->end_ns != recording_end_ns(source->recording);
	/* The last ones are of all of it. */
	if (!w->known || (grown && (over || now_ms() >= w->next_ms)))
		r = work_out(source, cancelled, err);
	if (!r)
		*ret_report = w->report;
	pthread_mutex_unlock(&w->lock);
	return r;
}

/* ---- all of them ---- */

static int open_files(struct sources *sources, struct err_text *err)
{
	for (const char *const *file = sources->options->files; file && *file; file++) {
		struct source *source;
		int r;

		source = source_new(*file);
		if (!source)
			return err_set(err, -ENOMEM, "out of memory");
		source->is_file = true;
		r = source_open(source, sources->options, true, err);
		if (r < 0) {
			source_free(source);
			return r;
		}
		if (find(sources, source->id)) {
			source_free(source);
			continue;
		}
		source->next = sources->list;
		sources->list = source;
	}
	return 0;
}

int sources_new(const struct http_options *options, struct sources **ret_sources,
		struct err_text *err)
{
	struct sources *sources = calloc(1, sizeof(*sources));
	int r;

	if (!sources)
		return err_set(err, -ENOMEM, "out of memory");
	sources->options = options;
	pthread_mutex_init(&sources->lock, NULL);
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

/* ---- /list ---- */

static char *copied(const char *text)
{
	return strdup(text ? text : "");
}

static int summarize(struct source *source, struct stream_summary *out, struct err_text *err)
{
	const struct process_info *process = recording_process(source->recording);
	const struct ledger_info *ledger = recording_ledger(source->recording);
	struct filter filter;
	struct report report;
	int r;

	filter_init(&filter);
	r = query_report(source->view, &filter, &report, err);
	if (r < 0)
		return r;
	*out = (struct stream_summary){
		.id = *recording_id(source->recording),
		.executable = copied(process->executable),
		.command_line = copied(process->command_line),
		.host = copied(process->host),
		.architecture = copied(process->architecture),
		.pid = process->pid,
		.start_wall_ns = process->start_wall_ns,
		.last_ns = recording_end_ns(source->recording),
		.events = ledger->stored,
		.in_use_bytes = report.leaked.bytes,
		.in_use_blocks = report.leaked.blocks,
		.state = process->ended ? STREAM_ENDED : STREAM_INTERRUPTED,
	};
	return 0;
}

static int count_stacks(struct source *source, struct source_line *line, struct err_text *err)
{
	struct filter filter;
	struct report report;
	int r;

	filter_init(&filter);
	r = query_report(source->view, &filter, &report, err);
	if (r < 0)
		return r;
	line->is_open = true;
	line->backtraces = (uint32_t)report.distinct_stacks;
	line->depth = view_depth_max(source->view);
	line->rows = recording_rows(source->recording);
	return 0;
}

/* Takes over `streams`, whose texts go to the lines. */
static int add_streams(struct sources *sources, struct stream_summary *streams, size_t count,
		       struct source_line *lines, size_t *ret_count, struct err_text *err)
{
	int r = 0;

	for (size_t i = 0; i < count && !r; i++) {
		char id[STREAM_ID_TEXT];
		struct source *open = find(sources, stream_id_format(id, &streams[i].id));

		if (open && open->is_file)
			continue;
		lines[*ret_count].summary = streams[i];
		streams[i] = (struct stream_summary){0};
		if (open && !open->opening) {
			source_lock(open);
			r = count_stacks(open, &lines[*ret_count], err);
			source_unlock(open);
		}
		++*ret_count;
	}
	return r;
}

static int add_files(struct sources *sources, struct source_line *lines, size_t *ret_count,
		     struct err_text *err)
{
	int r = 0;

	for (struct source *s = sources->list; s && !r; s = s->next) {
		if (!s->is_file)
			continue;
		source_lock(s);
		r = summarize(s, &lines[*ret_count].summary, err);
		if (!r)
			r = count_stacks(s, &lines[*ret_count], err);
		source_unlock(s);
		++*ret_count;
	}
	return r;
}

static int by_start(const void *a, const void *b)
{
	const struct source_line *x = a, *y = b;

	return x->summary.start_wall_ns < y->summary.start_wall_ns
		       ? -1
		       : x->summary.start_wall_ns > y->summary.start_wall_ns;
}

int sources_list(struct sources *sources, struct source_line **ret_lines, size_t *ret_count,
		 struct err_text *err)
{
	struct stream_summary *streams = NULL;
	struct source_line *lines = NULL;
	size_t stream_count = 0, files = 0, count = 0;
	int r;

	pthread_mutex_lock(&sources->lock);
	r = open_store(sources, NULL);
	if (!r)
		r = store_list(sources->store, &streams, &stream_count, err);
	if (r == -ENOENT)
		r = 0;
	for (struct source *s = sources->list; s; s = s->next)
		files += s->is_file;
	if (!r) {
		lines = calloc(stream_count + files + 1, sizeof(*lines));
		r = lines ? 0 : err_set(err, -ENOMEM, "out of memory");
	}
	if (!r)
		r = add_files(sources, lines, &count, err);
	if (!r)
		r = add_streams(sources, streams, stream_count, lines, &count, err);
	pthread_mutex_unlock(&sources->lock);
	store_list_free(streams, stream_count);
	if (r < 0) {
		sources_list_free(lines, count);
		return r;
	}
	qsort(lines, count, sizeof(*lines), by_start);
	*ret_lines = lines;
	*ret_count = count;
	return 0;
}

void sources_list_free(struct source_line *lines, size_t count)
{
	for (size_t i = 0; lines && i < count; i++) {
		free(lines[i].summary.executable);
		free(lines[i].summary.command_line);
		free(lines[i].summary.host);
		free(lines[i].summary.architecture);
	}
	free(lines);
}
