#pragma once
/* The recordings that are served: those of a store, and files. A recording is opened when it is
 * first asked for, shared by all requests, refreshed while it grows, and closed once others have
 * been asked for. Only worker threads use this. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "collector/catalogue/store.h"
#include "collector/http/server/kept_answers.h"
#include "collector/recording/stream_id.h"

struct fleet;
struct http_options;
struct sources;
struct view;

/* An open recording. */
struct source {
	char id[STREAM_ID_TEXT];
	struct recording *recording;
	struct view *view;
	struct symbols *symbols;
	struct store *store;   /* for the names that are kept there; has its own connection to the
				  database; NULL: none */
	pthread_rwlock_t lock; /* held for writing while the recording is refreshed */
	struct kept_answers kept;
	/* The lock of `sources` protects the members below. */
	struct source *next;
	char *path;
	unsigned users;
	bool is_file, opening;
	uint64_t used;		 /* a counter that says which was used last */
	struct watched *watched; /* NULL: nobody has watched yet */
};

/* `fleet` is what sources_fleet lends; NULL: nobody will watch it. It must live as long. */
int sources_new(const struct http_options *options, struct fleet *fleet,
		struct sources **ret_sources, struct err_text *err);
void sources_free(struct sources *sources);

/* Takes the recording of that name: 32 digits, a unique prefix of them, or "last" (the last file;
 * without files the stream that began last). Returns 0; -ENOENT or -EEXIST, with a sentence; or
 * -EAGAIN: another thread is opening it, so ask again soon. `ret_find_ns` (may be NULL): how long
 * it took to find out which recording is meant, without opening it. */
int sources_take(struct sources *sources, const char *name, struct source **ret_source,
		 uint64_t *ret_find_ns, struct err_text *err);
/* Returns the folders of source files, as http_options has them. */
const char *const *sources_folders(const struct sources *sources);
void sources_release(struct sources *sources, struct source *source);

/* Totals for clients that watch a recording grow. They are computed at most once a second, and at
 * most so often that it takes a tenth of a thread, however many watch. Call it between source_lock
 * and source_unlock. */
struct report;
int source_totals(struct source *source, const atomic_bool *cancelled, struct report *ret_report,
		  struct err_text *err);

/* The number of watchers is limited. sources_watch returns false if there are WATCHERS_MAX. */
#define WATCHERS_MAX 64
bool sources_watch(struct sources *sources);
void sources_unwatch(struct sources *sources);
/* The state of all recordings that all watchers share: fleet.h. */
struct fleet *sources_fleet(struct sources *sources);

/* Between these two calls the recording does not change. The thread that locks has to unlock. */
void source_lock(struct source *source);
void source_unlock(struct source *source);

/* Returns the folder of the store; NULL: there is none. */
const char *sources_data(const struct sources *sources);

/* One line of /list. */
struct source_line {
	struct stream_summary summary; /* the line owns the texts */
	bool is_open;
	uint32_t backtraces, depth; /* set if the recording is open */
	uint64_t rows;
	bool watched_from_start, watched_to_end; /* set if the recording is open */
	bool has_rate;
	uint64_t events_per_second; /* only fleet.h sets it */
};
int sources_list(struct sources *sources, struct source_line **ret_lines, size_t *ret_count,
		 struct err_text *err);
/* Reads the note that a collector that gathers leaves for all readers (store_note). Returns false
 * if there is none. */
bool sources_note(struct sources *sources, char out[STORE_NOTE_MAX]);
void sources_list_free(struct source_line *lines, size_t count);
