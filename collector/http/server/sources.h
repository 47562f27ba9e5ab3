#pragma once
/* The recordings that the server serves: those of a store, and files. A recording is opened at the
 * first request for it, shared by all requests, refreshed while it grows, and closed once others
 * have been requested. Only worker threads use this code. */
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
	struct store *store;   /* where names are kept; own database connection; NULL: none */
	pthread_rwlock_t lock; /* held for writing while the recording is refreshed */
	struct kept_answers kept;
	/* The lock of `sources` protects the members below. */
	struct source *next;
	char *path;
	unsigned users;
	bool is_file, opening;
	uint64_t used;		 /* value of a counter at the last use */
	struct watched *watched; /* NULL: never watched */
};

/* Opens the files. sources_fleet lends `fleet`, which must live as long as the sources. NULL:
 * watching is not supported. */
int sources_new(const struct http_options *options, struct fleet *fleet,
		struct sources **ret_sources, struct err_text *err);
void sources_free(struct sources *sources);

/* Takes a reference to the recording of that name: 32 digits, a unique prefix of them, or "last"
 * (the last file; without files, the stream that began last). Returns 0; -ENOENT or -EEXIST with an
 * error text; or -EAGAIN while another thread opens the recording. `ret_find_ns` (may be NULL) gets
 * the time that resolving the name took, without the time to open the recording. */
int sources_take(struct sources *sources, const char *name, struct source **ret_source,
		 uint64_t *ret_find_ns, struct err_text *err);
/* Returns the folders of source files, from http_options. */
const char *const *sources_folders(const struct sources *sources);
void sources_release(struct sources *sources, struct source *source);

/* Computes the totals for clients that watch a recording grow. All watchers share the result. It is
 * computed at most once a second, and less often if that would take more than a tenth of a thread.
 * The caller holds source_lock. */
struct report;
int source_totals(struct source *source, const atomic_bool *cancelled, struct report *ret_report,
		  struct err_text *err);

/* Adds a watcher. Returns false if there are WATCHERS_MAX already. */
#define WATCHERS_MAX 64
bool sources_watch(struct sources *sources);
void sources_unwatch(struct sources *sources);
/* Returns the state of all recordings, which all watchers share (fleet.h). */
struct fleet *sources_fleet(struct sources *sources);

/* Between these two calls the recording does not change. The same thread has to call both. */
void source_lock(struct source *source);
void source_unlock(struct source *source);

/* Returns the URL of the data base that collectors share, or NULL if there is none. */
const char *sources_shared(const struct sources *sources);

/* Keeps that it did not answer after a while, and why. If that was after `since_ns` (uv_hrtime),
 * sources_shared_failed returns that error with its sentence, else 0: others who ask do not wait as
 * long again. */
void sources_shared_fail(struct sources *sources, int error, const struct err_text *why);
int sources_shared_failed(struct sources *sources, uint64_t since_ns, struct err_text *err);

/* Returns the folder of the store, or NULL if there is none. */
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
/* Returns the rules of http_options; NULL: none. */
const struct site_rules *sources_rules(const struct sources *sources);
/* Opens the symbols for work on many recordings, as for one of them. *ret_store: where names are
 * kept; NULL: there is no store. The caller frees the symbols, then closes the store, also after a
 * failure. */
int sources_open_symbols(const struct sources *sources, struct store **ret_store,
			 struct symbols **ret_symbols, struct err_text *err);
int sources_list(struct sources *sources, struct source_line **ret_lines, size_t *ret_count,
		 struct err_text *err);
/* Reads the note that a gathering collector leaves for all readers (store_note). Returns false if
 * there is none. */
bool sources_note(struct sources *sources, char out[STORE_NOTE_MAX]);
void sources_list_free(struct source_line *lines, size_t count);
