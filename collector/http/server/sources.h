#pragma once
/*
 * The recordings that are served: those of a store, and files. A recording is opened when it is
 * first asked for, shared by all who ask, refreshed while it grows, and closed again when others
 * were asked for since. Used by worker threads only.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "collector/catalogue/store.h"
#include "collector/http/server/kept_answers.h"
#include "collector/recording/stream_id.h"

struct http_options;
struct sources;
struct view;

/* An open recording. */
struct source {
	char id[STREAM_ID_TEXT];
	struct recording *recording;
	struct view *view;
	struct symbols *symbols;
	struct store
		*store; /* for the names kept there, with a connection of its own; NULL: none */
	pthread_rwlock_t lock; /* write: refreshing */
	struct kept_answers kept;
	/* The rest is under the lock of `sources`. */
	struct source *next;
	char *path;
	unsigned users;
	bool is_file, opening;
	uint64_t used;		 /* counts up */
	struct watched *watched; /* NULL: nobody has watched yet */
};

int sources_new(const struct http_options *options, struct sources **ret_sources,
		struct err_text *err);
void sources_free(struct sources *sources);

/*
 * The recording of that name: 32 digits, a unique prefix of them, or "last" (the last file, without
 * files the stream that began last). -ENOENT, -EEXIST: the sentence says so. -EAGAIN: another
 * thread is opening it; ask again soon. `ret_find_ns` (may be NULL): how long it took to find which
 * one it is, without opening it.
 */
int sources_take(struct sources *sources, const char *name, struct source **ret_source,
		 uint64_t *ret_find_ns, struct err_text *err);
/* Folders of sources, as http_options has them. */
const char *const *sources_folders(const struct sources *sources);
void sources_release(struct sources *sources, struct source *source);

/*
 * Totals for those who watch a recording grow: worked out anew at most once a second, and at most
 * so often that it costs a tenth of a thread, however many watch. Between source_lock and
 * source_unlock.
 */
struct report;
int source_totals(struct source *source, const atomic_bool *cancelled, struct report *ret_report,
		  struct err_text *err);

/* Watchers are bounded. False: there are WATCHERS_MAX. */
#define WATCHERS_MAX 64
bool sources_watch(struct sources *sources);
void sources_unwatch(struct sources *sources);
/* What all of them together see of all recordings: fleet.h. */
struct fleet *sources_fleet(struct sources *sources);

/* Between these two it does not change. Taken and given back by the same thread. */
void source_lock(struct source *source);
void source_unlock(struct source *source);

/* The folder of the store; NULL: there is none. */
const char *sources_data(const struct sources *sources);

/* One line of /list. */
struct source_line {
	struct stream_summary summary; /* texts belong to the line */
	bool is_open;
	uint32_t backtraces, depth; /* if it is open */
	uint64_t rows;
	bool watched_from_start, watched_to_end; /* if it is open */
	bool has_rate;
	uint64_t events_per_second; /* only fleet.h knows it */
};
int sources_list(struct sources *sources, struct source_line **ret_lines, size_t *ret_count,
		 struct err_text *err);
/* What the one who gathers tells all who read (store_note). False: nothing. */
bool sources_note(struct sources *sources, char out[STORE_NOTE_MAX]);
void sources_list_free(struct source_line *lines, size_t count);
