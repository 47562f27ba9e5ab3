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
 * Writing: one process, one loop. Frames are checked before they are appended. If a crash
 * left a half-written frame at the end, the next opening cuts it off and says so. Reading: any
 * number of processes beside it, while it grows.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/recording/labels.h"
#include "collector/recording/stream_id.h"
#include "collector/recording/stream_position.h"

struct err_text;
struct sqlite3;
struct store;

enum store_access { STORE_READ, STORE_WRITE, STORE_ADD };

/* STORE_WRITE makes the folder and takes the lock; -EBUSY: another collector has it (the sentence
 * names its pid). STORE_READ returns -ENOENT if there is no such store. STORE_ADD works beside the
 * writer, and writes only streams that nobody else writes (import.h, continue.h); it makes the
 * store if there is none. */
int store_open(const char *path, enum store_access access, struct store **ret_store,
	       struct err_text *err);
void store_close(struct store *store);
const char *store_path(const struct store *store);
/* Returns how often the catalogue was removed, and made anew, while this store was open for
 * writing. */
unsigned store_catalogue_lost(const struct store *store);
/* Adds rows for the streams that the catalogue does not know yet. The store must be open for
 * writing. Call it from a worker thread: it reads recordings. */
void store_fill_catalogue(struct store *store);
/* Returns true if the catalogue was damaged or of another version, and was made anew from the
 * streams. */
bool store_was_rebuilt(const struct store *store);
/* Name of the folder of symbol files in the store's folder. */
#define STORE_SYMBOLS "symbols"
/* Returns the data base for symbols_options.cache, which the first call opens; NULL if it can't be
 * written. The store owns it. */
struct sqlite3 *store_symbol_cache(struct store *store);

enum stream_state {
	STREAM_LIVE,  /* its end has not been seen; a reader also sees that a writer has the store
			 open */
	STREAM_ENDED, /* its End is stored */
	STREAM_INTERRUPTED, /* no End, and nobody is writing it */
};

/* One line of `collector list`. Strings live as long as the list. */
struct stream_summary {
	struct stream_id id;
	char *name; /* as in struct process_info */
	char *executable;
	char *command_line; /* arguments joined by blanks */
	char *host;
	char *architecture;
	struct labels labels; /* the collector's own tags included (tag_rules.h) */
	char *began_on;	      /* the collector that has the beginning; "": it is here */
	uint32_t pid;	      /* 0: no program was recorded here, it was imported */
	uint64_t start_wall_ns;
	uint64_t last_ns;		 /* stream time of the last batch */
	struct stream_position position; /* behind the last batch */
	uint64_t events;
	uint64_t recording_bytes;
	uint64_t in_use_bytes; /* at the end, or as of the last batch */
	uint64_t in_use_blocks;
	char *incomplete; /* what is missing: the line of completeness.h; "": nothing */
	enum stream_state state;
	bool is_snapshot; /* made of others (snapshots.h) */
};

/* Lists the streams in the order in which they began. Free the list with store_list_free. */
int store_list(struct store *store, struct stream_summary **ret_list, size_t *ret_count,
	       struct err_text *err);
/* The same without the sums of what is in use: these may take long to compute. */
int store_list_quickly(struct store *store, struct stream_summary **ret_list, size_t *ret_count,
		       struct err_text *err);
void store_list_free(struct stream_summary *list, size_t count);
/* Returns how many streams the last list had to leave out, because they can't be read. */
size_t store_list_left_out(const struct store *store);
/* Frees the lines from `from` on; the list keeps the others. */
void store_list_drop(struct stream_summary *list, size_t from, size_t count);
/* Lists the streams that `select` chooses (select.h); `in_use` as for store_list, else as for
 * store_list_quickly. */
int store_list_selected(struct store *store, const char *select, bool in_use,
			struct stream_summary **ret_list, size_t *ret_count, struct err_text *err);
/* Like store_find, among these streams. `last` is the newest of them. */
int store_find_selected(struct store *store, const char *select, const char *name, char **ret_path,
			struct err_text *err);

/* What is kept of the streams that have ended. */
struct retention {
	uint64_t keep_ns;    /* those that got nothing for longer go; 0: no limit */
	uint64_t keep_bytes; /* all streams together take at most so much; 0: no limit */
	/* Whether something else must be done with a stream first. Such streams go only for want of
	 * space, after all others. NULL: never. */
	bool (*waits)(void *context, const struct stream_id *id);
	/* Is told of each that was removed, and whether it waited. */
	void (*removed)(void *context, const struct stream_id *id, uint64_t bytes, bool waited);
	void *context;
};

/* Removes streams that have ended, the oldest first. It never removes a stream that is being
 * written; one without an end counts as ended after an hour. Call it from a worker thread: it reads
 * folders and removes large files. */
int store_retain(struct store *store, const struct retention *retention, struct err_text *err);

/* Finds a stream's path by its id, a unique prefix of it, `last` (which is no snapshot),
 * "snapshot:NAME", or the path of a recording (with a '/', or an existing file). Returns -ENOENT,
 * or -EEXIST if it is not unique: the sentence lists what there is. Free the path. `store` may be
 * NULL for a path. */
int store_find(struct store *store, const char *name, char **ret_path, struct err_text *err);
/* Finds the stream's id in the same way, and its state; takes no path. */
int store_find_id(struct store *store, const char *name, struct stream_id *ret_id,
		  enum stream_state *ret_state, struct err_text *err);
/* Returns the path of a stream's recording, which the caller frees; NULL if memory is short. */
char *stream_recording_path(const struct store *store, const struct stream_id *id);
/* Returns true if `name` means a file: it has a '/' or a '.', which no id has, or there is a file
 * of that name. */
bool store_name_is_path(const char *name);

/* For the writer: computes and keeps the sums of what is in use, for streams that nobody writes and
 * whose sums are of an earlier moment because their collector was killed. Ends when `stop` returns
 * true. Takes a while: call it from a worker thread. */
void store_sum_up_some(struct store *store, bool (*stop)(void *context), void *context);
/* One line from the writer to all readers. It holds for STORE_NOTE_S seconds after the writer set
 * it last. */
#define STORE_NOTE_S   30
#define STORE_NOTE_MAX 512
void store_set_note(struct store *store, const char *note); /* NULL: nothing */
/* Copies the note. Returns false if there is none. */
bool store_note(const struct store *store, char out[STORE_NOTE_MAX]);
