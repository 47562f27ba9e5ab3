#pragma once
/*
 * The store: a folder of recordings, and what is derived from them.
 *
 *   DIR/lock                     held by the one writer (collector gather, serve), with its pid
 *   DIR/catalogue.sqlite         streams and what is known of them (WAL; can be rebuilt from the
 *                                streams; one writer)
 *   DIR/symbols.sqlite           symbols looked up: a cache that any command may write
 *   DIR/symbols/                 symbol files that `collector symbols add` copied there, by build
 *                                id
 *   DIR/streams/ID/recording.heapcast   the frames as received, append only, mode 0600
 *   DIR/streams/ID/columns/      rows derived from them, packed, and all else that is known: can be
 *                                rebuilt (derived.h)
 *
 * A recording is also a file of its own: every question that can be asked of a stream in a store
 * can be asked of a path.
 *
 * Writing: one process, one loop. Frames are checked before they are appended; what a crash left
 * half-written at the end is cut off at the next opening and said. Reading: any number of processes
 * beside it, while it grows.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/recording/stream_id.h"

struct err_text;
struct sqlite3;
struct store;

enum store_access { STORE_READ, STORE_WRITE, STORE_ADD };

/* STORE_WRITE makes the folder and takes the lock; -EBUSY: another collector has it (the sentence
 * names its pid). STORE_READ: -ENOENT if there is no such store. STORE_ADD: beside the one who
 * writes, for streams that nobody else does (import.h, continue.h); made if there is none. */
int store_open(const char *path, enum store_access access, struct store **ret_store,
	       struct err_text *err);
void store_close(struct store *store);
const char *store_path(const struct store *store);
/* How often the catalogue was removed while this store was open for writing, and was made anew. */
unsigned store_catalogue_lost(const struct store *store);
/* Rows for the streams that the catalogue does not know yet, of a store that is open for writing.
 * For a worker: reads recordings. */
void store_fill_catalogue(struct store *store);
/* Whether the catalogue was there, but damaged or of another version, and was made anew from the
 * streams. */
bool store_was_rebuilt(const struct store *store);
/* The folder of symbol files below the store's. */
#define STORE_SYMBOLS "symbols"
/* The data base for symbols_options.cache, opened at the first call; NULL if it can't be written.
 * The store's. */
struct sqlite3 *store_symbol_cache(struct store *store);

enum stream_state {
	STREAM_LIVE,  /* its end has not been seen; for a reader: and a writer has the store open */
	STREAM_ENDED, /* its End is stored */
	STREAM_INTERRUPTED, /* no End, and nobody is writing it */
};

/* One line of `collector list`. Strings live as long as the list. */
struct stream_summary {
	struct stream_id id;
	char *name; /* as of struct process_info */
	char *executable;
	char *command_line; /* arguments joined by blanks */
	char *host;
	char *architecture;
	uint32_t pid; /* 0: no program was recorded here, it was imported */
	uint64_t start_wall_ns;
	uint64_t last_ns; /* stream time of the last batch */
	uint64_t events;
	uint64_t recording_bytes;
	uint64_t in_use_bytes; /* at the end, or as of the last batch */
	uint64_t in_use_blocks;
	char *incomplete; /* what it does not hold: the line of completeness.h, "": nothing */
	enum stream_state state;
	bool is_snapshot; /* made of others (snapshots.h) */
};

/* In the order in which they began. Free with store_list_free. */
int store_list(struct store *store, struct stream_summary **ret_list, size_t *ret_count,
	       struct err_text *err);
/* The same without what is in use, which may take long to find out. */
int store_list_quickly(struct store *store, struct stream_summary **ret_list, size_t *ret_count,
		       struct err_text *err);
void store_list_free(struct stream_summary *list, size_t count);

/* Removes streams that have ended, the oldest first: those that got nothing for longer than
 * `keep_ns`, and as many as make all streams together take at most `keep_bytes` (0 of either: no
 * limit). Never one that is being written; one without an end counts as ended after an hour.
 * `removed` is told of each. From a worker thread: it reads folders and removes large files. */
int store_retain(struct store *store, uint64_t keep_ns, uint64_t keep_bytes,
		 void (*removed)(void *context, const struct stream_id *id, uint64_t bytes),
		 void *context, struct err_text *err);

/* A stream's path by its id, a unique prefix of it, `last` (which is no snapshot), "snapshot:NAME",
 * or the path of a recording (with a '/' or an existing file). -ENOENT, -EEXIST (not unique): the
 * sentence lists what there is. Free the path. `store` may be NULL for a path. */
int store_find(struct store *store, const char *name, char **ret_path, struct err_text *err);
/* Likewise its id, and whether it lives; not by a path. */
int store_find_id(struct store *store, const char *name, struct stream_id *ret_id,
		  enum stream_state *ret_state, struct err_text *err);
/* Path of a stream's recording. Free it; NULL: no memory. */
char *stream_recording_path(const struct store *store, const struct stream_id *id);
/* Does `name` mean a file? It has a '/' or a '.', which no id has, or a file of that name is
 * there. */
bool store_name_is_path(const char *name);

/* For the writer: what is in use of streams that nobody writes, and whose sums are of an earlier
 * moment (their collector was killed), is worked out and kept, until `stop`. Takes a while: in a
 * worker. */
void store_sum_up_some(struct store *store, bool (*stop)(void *context), void *context);
/* What the one who writes here tells all who read, in one line, while it holds: kept for
 * STORE_NOTE_S seconds after it was said last. */
#define STORE_NOTE_S   30
#define STORE_NOTE_MAX 512
void store_set_note(struct store *store, const char *note); /* NULL: nothing */
/* False: there is none. */
bool store_note(const struct store *store, char out[STORE_NOTE_MAX]);
