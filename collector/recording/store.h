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

#include "proto/columns.h"
#include "proto/culled.h"
#include "proto/discovery.h"

struct err_text;
struct store;
struct stream_writer;
struct recording;
struct sqlite3;

struct stream_id {
	uint8_t bytes[STREAM_ID_SIZE];
};

/* 32 hexadecimal digits and NUL. */
#define STREAM_ID_TEXT 33
char *stream_id_format(char out[STREAM_ID_TEXT], const struct stream_id *id);
/* False: it is not such a text. */
bool stream_id_parse(const char *text, struct stream_id *ret_id);

/* ---- the folder ---- */

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

/* ---- writing: ingest only ---- */

/* What a stream holds so far: the place where an agent goes on. */
struct stream_position {
	uint32_t incarnation; /* 0: nothing yet */
	uint64_t next;	      /* number of the batch that is expected */
};

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
/* How far the catalogue knows a stream to be stored, without a look at its recording. */
struct stream_position store_position(struct store *store, const struct stream_id *id);
/* Opens a stream for appending, made if it is not there; cuts a damaged tail (ret_cut_bytes). */
int stream_writer_open(struct store *store, const struct stream_id *id,
		       struct stream_writer **ret_writer, uint64_t *ret_cut_bytes,
		       struct err_text *err);
void stream_writer_close(struct stream_writer *writer);
/* As stream_writer_close, after a sync that failed: what is not durable is cut off, for the agent
 * to send again. The kernel tells of a page that it could not write only once; a second sync would
 * succeed without it. */
void stream_writer_abandon(struct stream_writer *writer);
struct stream_position stream_writer_position(const struct stream_writer *writer);
/* Appends a frame that holds `batch`. 0; 1: it was there already (a duplicate after a reconnect)
 * and was dropped; -EBADMSG: damaged, not of this stream, or a number passed over without a
 * catch-up; -ENOSPC and the like: nothing was appended. */
int stream_writer_append(struct stream_writer *writer, const uint8_t *frame, size_t length,
			 const Heapcast__Batch *batch, struct err_text *err);
/* Makes what was appended durable; what was is then in ret_durable (the last batch that is safe).
 * May block: call it from a worker thread; appending meanwhile is allowed. */
int stream_writer_sync(struct stream_writer *writer, struct stream_position *ret_durable,
		       struct err_text *err);
/* Derives rows from frames that are durable, some of them (about 1 MiB). 1: there are more; 0: that
 * was all; negative errno: what can't be kept is left for readers to work out. From a worker
 * thread, one at a time; appending and syncing meanwhile is allowed. */
int stream_writer_derive(struct stream_writer *writer, struct err_text *err);
/* What is in use, for store_list, as of the rows that are derived and not parked. As
 * stream_writer_derive, and not beside it. */
int stream_writer_sum_up(struct stream_writer *writer, struct err_text *err);
/* Saves what is derived and lets go of its memory; the next stream_writer_derive reads it again. As
 * stream_writer_derive, and not beside it. */
int stream_writer_park(struct stream_writer *writer, struct err_text *err);
/* Bytes that deriving holds, nearly; 0: parked. And bytes of frames that are durable and not
 * derived. Not while another thread derives. */
size_t stream_writer_memory(const struct stream_writer *writer);
uint64_t stream_writer_behind(const struct stream_writer *writer);
/* After the last sync of a stream that has ended: derives the rest, puts the rows in order, and
 * works out what is in use at the end, for store_list. As stream_writer_derive, and not beside it.
 * Not needed for anything to be right, only quick. */
int stream_writer_finish(struct stream_writer *writer, struct err_text *err);
/* What of the rows that were kept was cut off or has to be made anew, since deriving began: a
 * sentence, told once. False: nothing. Not while another thread derives. */
bool stream_writer_take_news(struct stream_writer *writer, struct err_text *ret_news);
uint64_t stream_writer_bytes(const struct stream_writer *writer);
uint64_t stream_writer_events(const struct stream_writer *writer);

/* ---- reading ---- */

/* How a block ended. */
enum block_end {
	BLOCK_IN_USE = 0, /* not freed when the recording ended or as far as it goes: leaked, if the
			     program has ended */
	BLOCK_FREED,
	BLOCK_REALLOCATED, /* ended by a realloc; the next of the chain goes on */
	BLOCK_INFERRED,	   /* its address came again without a free: freed some time before */
	BLOCK_CENSORED,	   /* a gap or a change of mode hides its end: not a leak */
	BLOCK_EXEC,	   /* the program replaced itself */
};

#define NO_TIME	 UINT64_MAX
#define NO_BLOCK UINT32_MAX

/*
 * Rows of allocations in blocks of columns; row i of the recording is row i % ROWS_PER_BLOCK of
 * block i / ROWS_PER_BLOCK. In the order of birth. Zone maps (`min`, `max`) let a query pass over a
 * whole block.
 */
#define ROWS_PER_BLOCK 65536

/*
 * What a program follows only a part of (MARK_THINNED) goes on in other rows: the row of a block
 * that was recorded ends as BLOCK_CENSORED then, and if its kind is followed still, a *survivor*
 * begins at that moment, which stands for all that were in its place by its weight. Survivors are
 * what is in use, and leaks; nobody has allocated them.
 */
#define ROW_SURVIVOR 0xc0 /* in `kind`: one of these: */
/* of a halving of the set of sampled blocks, in which it was perhaps (thinned.h) */
#define ROW_EITHER  0x40
#define ROW_THINNED 0x80 /* of a level: it is not in the set */
#define ROW_HALVED  0xc0 /* of a halving: it is */
#define ROW_KIND    0x3f

struct row_block {
	uint32_t count;
	uint64_t first_row;
	const uint64_t *address;
	const uint64_t *size;	     /* bytes asked for */
	const uint64_t *birth_ns;    /* stream time */
	const uint64_t *death_ns;    /* NO_TIME: BLOCK_IN_USE */
	const uint64_t *weight;	     /* bytes it stands for; NULL: each stands for itself */
	const uint32_t *stack;	     /* node */
	const uint32_t *death_stack; /* node; 0: none */
	const uint32_t *thread;
	const uint32_t *death_thread;
	const uint32_t *chain_previous; /* row that realloc turned into this one, NO_BLOCK: first of
					   its chain */
	const uint32_t *chain_next;	/* NO_BLOCK: last of its chain */
	const uint8_t *kind;		/* EventKind of the birth, and ROW_SURVIVOR; see row_kind */
	const uint8_t *death_kind; /* EventKind of the death; of a block in use nothing that anybody
				      may look at */
	const uint8_t *end;	   /* enum block_end */
	bool weighted;		   /* the block has weights */
	bool exact; /* they count blocks (origin_info.exact), and estimate nothing; of a reader's
		       blocks */
	bool survivors; /* there may be some, in the recording; of a reader's blocks */
	struct {
		uint64_t birth_ns, size, address, death_ns;
	} min, max; /* max.death_ns: NO_TIME while any is in use; of deaths these are bounds, no
		       more */
};

static inline unsigned row_kind(const struct row_block *block, uint32_t i)
{
	return block->kind[i] & ROW_KIND;
}

static inline bool row_survivor(const struct row_block *block, uint32_t i)
{
	return block->survivors && block->kind[i] & ROW_SURVIVOR;
}

/*
 * Reading rows. A reader unpacks one block at a time into memory of its own, only the columns that
 * are asked for, so several threads read one recording, each with its reader:
 *
 *	for (b = 0; b < recording_blocks(r); b++)
 *		if (zone_can_match(recording_zone(r, b)))
 *			block = row_reader_block(reader, b, ROWS_SIZE | ROWS_STACK, err);
 */
enum row_columns {
	ROWS_ADDRESS = 1u << 0,
	ROWS_SIZE = 1u << 1,
	ROWS_BIRTH = 1u << 2, /* birth_ns */
	ROWS_DEATH = 1u << 3, /* death_ns */
	ROWS_END = 1u << 4,
	ROWS_WEIGHT = 1u << 5,
	ROWS_STACK = 1u << 6,
	ROWS_DEATH_STACK = 1u << 7,
	ROWS_THREAD = 1u << 8,
	ROWS_DEATH_THREAD = 1u << 9,
	ROWS_CHAIN = 1u << 10, /* chain_previous, chain_next */
	ROWS_KIND = 1u << 11,
	ROWS_DEATH_KIND = 1u << 12,
	ROWS_ALL = (1u << 13) - 1,
};

struct row_reader;

/*
 * How coarse the estimates of a program are that was thinned: of what may be there though nobody
 * has seen any of it. `alive` is that of blocks which were on record and of which only a part was
 * followed; docs/sampling.md says how it is found.
 */
struct thinned_info {
	uint64_t from_ns;  /* before, it was not; 0: it never was */
	uint64_t interval; /* the largest at which a thread was sampled for lack of room */
	uint64_t alive_bytes, alive_blocks;
};

struct thinned_info recording_thinned(const struct recording *recording);
/* Are there survivors among its rows? */
bool recording_survivors(const struct recording *recording);
/* What of a block is known without reading its rows: count, first_row, min, max; its columns may be
 * NULL. NULL: no such block. */
const struct row_block *recording_zone(const struct recording *recording, uint32_t index);
/* 0 or -ENOMEM. The recording must not be refreshed or closed before the reader is freed. */
int row_reader_new(const struct recording *recording, struct row_reader **ret_reader);
void row_reader_free(struct row_reader *reader);
/* A block with at least those columns, valid until the next call; columns that were not asked for
 * may be NULL. Asked for the same block again, it costs nothing; whoever needs more columns of it
 * than before gets all of them anew. NULL with a sentence: no memory, or neither its file nor the
 * frames can be read; without one: no such block. */
const struct row_block *row_reader_block(struct row_reader *reader, uint32_t index,
					 unsigned columns, struct err_text *err);
/* The same, but only the rows from `first` to before `end` need to be there; the others may hold
 * anything. */
const struct row_block *row_reader_rows(struct row_reader *reader, uint32_t index, unsigned columns,
					uint32_t first, uint32_t end, struct err_text *err);
/* Rows that were kept beside the recording were damaged, and have been derived from the frames
 * again: a sentence that names the place. NULL: they were not. */
const char *recording_rederived(const struct recording *recording);
/* What its opening had to leave out or make anew: a sentence or several, with bytes and events.
 * False: nothing. What a writer is about to complete is not left out. */
bool recording_opening_news(const struct recording *recording, struct err_text *ret_news);

struct module_info {
	uint32_t number;
	char *path; /* to show and to compare */
	char *file; /* where that is not what the file is called, byte for byte; NULL: it is. See
		       module_file */
	uint8_t build_id[32];
	uint32_t build_id_length;
	uint32_t print; /* without a build id: of two files under one path, two; 0: not known */
	uint64_t bias, start, end;
	uint64_t code_address, code_size,
		code_offset; /* its executable segment, in the file; size 0: not known */
	uint64_t loaded_ns, unloaded_ns; /* NO_TIME: not unloaded */
};
/* To open it, never to show it. */
static inline const char *module_file(const struct module_info *module)
{
	return module->file ? module->file : module->path;
}

struct thread_info {
	uint32_t number, tid;
	char *name; /* "" if nobody knew */
	uint64_t started_ns, ended_ns;
	uint64_t produced, delivered, culled, lost;
	uint64_t culled_before; /* of culled: by agents before that one */
	uint32_t incarnation;	/* of the agent that last spoke of it */
	uint64_t unarrived;	/* of lost: in batches that were lost with their agent */
	uint64_t stored;	/* events of this thread in the recording */
	uint64_t marked_ns; /* its last mark of which it is known what came before and what after */
};

/* struct stack_node (proto/columns.h) is a node of the stack tree; nodes are numbered from 1, a
 * parent comes before its children. */

/* What a recording was made from, if no agent wrote it (message Origin). */
struct origin_info {
	bool imported;			   /* else nothing below */
	bool exact;			   /* weights are counts of blocks, and no estimates */
	char *format, *tool, *file, *note; /* "" where nothing is said */
	uint64_t wall_ns;		   /* when the numbers were taken; 0: not said */
};

struct process_info {
	uint32_t pid, parent_pid, uid;
	char *name; /* what people call it: "redis-server", whatever the file behind it is called */
	char *executable, *command_line, *host, *architecture, *agent_version;
	uint32_t pointer_bits, page_size, images;
	uint64_t start_wall_ns;
	uint32_t mode; /* Mode */
	uint64_t sample_interval;
	uint64_t cull_ns; /* blocks that live shorter are culled; 0: none are */
	bool ended;
	uint32_t end_kind; /* EndKind */
	uint32_t end_status;
	bool core_dumped;
	uint32_t end_source;  /* EndSource */
	uint32_t oom_counter; /* OomCounter */
	uint64_t rss_peak;    /* most resident over all its life, as the kernel said at its end; 0:
				 only what looks have shown is known */
	uint64_t ran_before_ns; /* how long it had run when recording began: it was joined in
				   mid-life; 0: from its start */
	bool forked; /* a followed fork child: of which stream, and after how many of its events */
	struct stream_id parent;
	uint64_t parent_event;
	struct origin_info origin;
};

struct gap_info {
	uint32_t thread, reason;
	uint64_t from, to, allocations, frees, bytes, from_ns, to_ns;
	uint64_t events; /* how many in all; those that are neither allocations nor frees: nobody
			    could tell */
};

struct mark_info {
	uint64_t time_ns, value;
	uint32_t kind, thread;
	char *text;
	char *by; /* from outside: who wanted it; NULL: nobody */
};

/* The process as the kernel counted it (message Figures, where the single ones are explained).
 * Bytes. */
struct figures_info {
	uint64_t time_ns;     /* stream time; NO_TIME: there are none */
	uint64_t detailed_ns; /* when pss, dirty and clean were read, which is done less often;
				 NO_TIME: never */
	uint64_t rss, rss_peak, pss, anonymous, swap, address_space, dirty, clean;
	uint64_t minor_faults, major_faults; /* since it began */
};

/* What its allocator said of itself (message Allocator): mallinfo2 of glibc. */
struct allocator_info {
	uint64_t time_ns; /* NO_TIME: it was not asked, or does not say */
	uint64_t took_ns, arena, hblkhd, uordblks, fordblks, keepcost, ordblks, hblks;
};

/* An event that is no block of the heap: a mapping or a pool of the program's own, a setting of its
 * allocator. What address and size mean is in proto/event.h. */
struct apart_info {
	uint64_t time_ns, address, old_address, size;
	uint32_t thread, stack; /* node; 0: none */
	uint8_t kind;		/* EventKind */
};

/* The account: what the agent said, and what was counted here. What an agent has delivered with its
 * last breath and never came is moved from `delivered` to `lost`, for the stream and for each
 * thread. It adds up if these equations hold:
 *   produced = delivered + culled + not_sampled + lost + pending     and delivered = stored +
 *                                                                    before_join + missed,
 * and culled = culled_stored + culled_missed. */
struct ledger_info {
	uint64_t produced, delivered, culled, not_sampled, lost, pending, before_join;
	uint64_t lost_allocations, lost_frees, lost_bytes, stacks_cut;
	uint64_t samples_refused; /* of not_sampled: chosen, but without room in the target's set */
	uint64_t unrecorded, unrecorded_uncounted; /* processes that descend from this one and are
						      in no recording; of these, uncounted */
	uint64_t unrecorded_events, unrecorded_bytes; /* of the others */
	uint64_t before_recording; /* events before the program had an agent that answered */
	uint64_t not_begun;	   /* 1: it has not begun to record */
	uint64_t stacks_unknown;   /* end where the program's loader could not be asked */
	uint64_t namespaces; /* that the program has opened, and whose own malloc is not recorded:
				in no number here */
	uint64_t culled_stored; /* of culled: events in the sums here; */
	uint64_t culled_missed; /* and in sums that went before this collector joined, or while it
				   was away */
	uint64_t stored;	/* events in the recording */
	uint64_t stored_allocations, stored_frees, stored_reallocations;
	uint64_t stored_apart; /* no blocks of the heap: mappings, pools, settings */
	uint64_t missed; /* delivered while this collector was too slow or away, and gone: in gaps
			    (spool full) of thread 0 */
	uint64_t missing_batches; /* numbers that are not there */
	uint64_t cut_bytes; /* at the end of the file: the beginning of a frame that never became
			       whole, or is not yet */
	uint64_t skipped_bytes;	    /* damaged, passed over */
	uint64_t damaged_places;    /* how many such places */
	uint64_t first_damage;	    /* offset of the first; NO_TIME: none */
	uint64_t duplicate_batches; /* were there twice; the second was passed over */
	uint64_t marks_left_out;    /* beyond the many that are kept at hand */
};

/* True if both equations hold, for the stream and for each thread. Else false, and `reason` (if not
 * NULL) says in a sentence which does not. A recording whose account adds up may lack much: see
 * completeness.h. */
bool recording_adds_up(const struct recording *recording, struct err_text *reason);

/* What pairing met. */
struct pairing_info {
	uint64_t orphan_frees; /* of blocks whose birth was not recorded (allocated before recording
				  began) */
	uint64_t inherited_frees; /* of a fork child, before an exec: of blocks that its parent had
				     allocated */
	uint64_t inferred;
	uint64_t repaired; /* the clock's order was overruled */
	uint64_t censored;
	uint64_t failed;	 /* allocations that returned NULL */
	uint64_t bad_references; /* events with a thread or stack number that nothing defined: shown
				    without a stack */
	/* Where rows have no more numbers (NO_BLOCK - 1 of them): allocations that have none, the
	 * first one's time, and frees of these. */
	uint64_t rowless, rowless_bytes, rowless_from_ns, rowless_frees;
};

/* Memory that rows may take which are not packed yet, of all recordings that the process has open
 * together; each has one block of ROWS_PER_BLOCK rows (4 MiB) whatever comes. 64 MiB unless set.
 * More rows go into the store, or into a file without a name in TMPDIR or /var/tmp. */
void store_row_memory(uint64_t bytes);

/* Opens the recording at `path` (store_find): what was derived from it already, if it fits, and all
 * whole frames that came after, births and deaths paired. -ENOENT; -EBADMSG: not a recording: the
 * sentence names the offset. A cut tail is not an error: see ledger_info.cut_bytes. `progress` (may
 * be NULL) is called now and then with bytes done and of how many; not 0 cancels (-ECANCELED). */
int recording_open(const char *path, int (*progress)(void *context, uint64_t done, uint64_t of),
		   void *context, struct recording **ret_recording, struct err_text *err);
void recording_close(struct recording *recording);
/* Reads what has been appended since. 1: something was; 0: nothing; negative errno. Readers must be
 * gone, and blocks that recording_block has handed out before are not valid any more. */
int recording_refresh(struct recording *recording, struct err_text *err);

const char *recording_path(const struct recording *recording);
/* Where something that was worked out of all of this recording may be kept beside its rows, under
 * that name: free *ret_path. It fits as long as *ret_frames, the bytes of frames that it was made
 * of, is the same. -ENOENT: nowhere, for it is a file by itself, or has not ended. */
int recording_keep(const struct recording *recording, const char *name, char **ret_path,
		   uint64_t *ret_frames);
const struct stream_id *recording_id(const struct recording *recording);
const struct process_info *recording_process(const struct recording *recording);
/* Whether somebody was writing it when it was looked at last; else it has ended, or was
 * interrupted. */
bool recording_is_growing(const struct recording *recording);
uint64_t recording_end_ns(const struct recording *recording); /* stream time of the last batch */
/* What was before this stream time is known: no older event follows. */
uint64_t recording_watermark_ns(const struct recording *recording);
uint64_t recording_rows(const struct recording *recording);
uint32_t recording_blocks(const struct recording *recording);
const struct row_block *recording_block(const struct recording *recording, uint32_t index);
uint32_t recording_modules(const struct recording *recording);
const struct module_info *recording_module(const struct recording *recording,
					   uint32_t number); /* 1..; NULL: no such */
uint32_t recording_threads(const struct recording *recording);
const struct thread_info *recording_thread(const struct recording *recording,
					   uint32_t number); /* 1..; NULL: no such */
uint32_t recording_nodes(const struct recording *recording);
const struct stack_node *recording_node(const struct recording *recording,
					uint32_t number); /* 1..; NULL: no such */
/* Names that the recording brings along for a place, innermost first: 1 and how many frames there
 * are (0: it is known that nobody can name it); 0: it says nothing of it. */
int recording_named(const struct recording *recording, uint32_t module, uint64_t offset,
		    uint32_t *ret_first, uint32_t *ret_count);
struct named_frame {
	const char *function, *file; /* NULL: not known; the recording's */
	uint32_t line;
};
/* Those of a place are numbered from *ret_first on. */
struct named_frame recording_named_frame(const struct recording *recording, uint32_t index);
uint32_t recording_gaps(const struct recording *recording);
const struct gap_info *recording_gap(const struct recording *recording, uint32_t index);
/* A process that was to be recorded and could not be (message Unrecorded). */
struct unrecorded_info {
	uint64_t events, allocations, frees, bytes;
	uint32_t pid;
	bool counted;  /* else nothing more is known */
	char name[48]; /* 15 bytes, cleaned */
};
uint32_t recording_unrecorded_count(const struct recording *recording);
const struct unrecorded_info *recording_unrecorded(const struct recording *recording,
						   uint32_t index);
uint32_t recording_marks(const struct recording *recording);
const struct mark_info *recording_mark(const struct recording *recording, uint32_t index);
/* In the order in which they came; at most 2^20 are kept (ledger_info.stored_apart counts all). */
uint32_t recording_aparts(const struct recording *recording);
const struct apart_info *recording_apart(const struct recording *recording, uint32_t index);
const struct ledger_info *recording_ledger(const struct recording *recording);
const struct pairing_info *recording_pairing(const struct recording *recording);
/* The last that there are, and of each the highest that there was (of the faults: the sums at the
 * end). */
const struct figures_info *recording_figures(const struct recording *recording);
const struct figures_info *recording_figures_most(const struct recording *recording);
const struct allocator_info *recording_allocator(const struct recording *recording);

/* What the agent culled: sums of blocks that are among no rows (struct culled_row of
 * proto/culled.h). Thread and stack are 0 where they are not known. In no order. */
struct culled_totals {
	uint64_t blocks, bytes; /* as they are: a sampled one counts once */
	uint64_t frees;		/* the rest was ended by reallocations */
	uint64_t early; /* blocks that were sent before their time, for lack of room at the agent */
	uint64_t left_out; /* blocks in no row: there are too many */
};
uint32_t recording_culled_count(const struct recording *recording);
const struct culled_row *recording_culled(const struct recording *recording, uint32_t index);
const struct culled_totals *recording_culled_totals(const struct recording *recording);

/* ---- written anew ---- */

/* How a recording is written anew: to a descriptor, from its place on; nothing is closed.
 * `progress` as of recording_open. */
struct copy_settings {
	int fd;
	int (*progress)(void *context, uint64_t done, uint64_t of);
	void *context;
};

struct strip_result {
	uint64_t bytes_before, bytes_after; /* of frames */
	uint64_t events_before, events_after;
	uint64_t blocks; /* that are in sums now, and were rows */
};

#define STRIP_ALL UINT64_MAX /* whatever has ended */

/* The recording at `path` as if its agent had culled what lives less than `threshold_ns`
 * (docs/culling.md). As far as it goes: one that grows is taken up to where it ends now. 0; as
 * recording_open; -EMSGSIZE: a batch is too long for its sums. */
int recording_strip(const char *path, uint64_t threshold_ns, const struct copy_settings *settings,
		    struct strip_result *ret_result, struct err_text *err);

/* Frame `index` of a node's place, innermost first (numbers as recording_node has them); strings
 * live until the next call. False: that was all. */
typedef bool frame_of_function(void *context, uint32_t node, uint32_t index,
			       struct named_frame *ret_frame);

/* A file that a recording brings along: an ELF file, by its build id. */
struct brought_file {
	uint8_t build_id[32];
	uint32_t build_id_length;
	uint64_t size; /* in bytes, BROUGHT_FILE_MAX at most */
};
#define BROUGHT_FILE_MAX (512ull << 20)

/* One that is to go along, from here. */
struct bring_file {
	struct brought_file file;
	const char *path;
};

struct name_settings {
	struct copy_settings copy;
	frame_of_function *frame;
	/* Does the recording itself say what is at a node's place, if only that it has no name? No
	 * symbol file is to be asked then. May be NULL: no. */
	bool (*said)(void *context, uint32_t node);
	/* Go along, too; one whose build id the recording brings already does not come twice. */
	const struct bring_file *files;
	size_t file_count;
	/* One of `files` does not go along after all, and why. */
	void (*left_out)(void *context, const struct bring_file *file, const char *why);
	void *context;
};

struct name_result {
	uint64_t places, named;
	uint64_t files, file_bytes;	    /* that go along, those that it had included */
	uint64_t bytes_before, bytes_after; /* of frames */
};

/* The recording at `path` with the names of its functions, as `frame` gives them, in it, and files.
 * As recording_strip. -E2BIG: they are more than a recording can have. */
int recording_bring_names(const char *path, const struct name_settings *settings,
			  struct name_result *ret_result, struct err_text *err);

struct anonymise_settings {
	struct copy_settings copy;
	const void
		*salt; /* the same salt gives the same names; what is known of it tells the names */
	size_t salt_length;
	/* Does this file or module, by its path, keep its name, its build id, and the names of its
	 * functions? May be NULL. */
	bool (*keeps)(void *context, const char *path);
	frame_of_function *frame;
	/* What a function is to be called instead, given a word that stands for it: NULL for that
	 * word itself. May be NULL. */
	char *(*disguise)(void *context, const char *function, const char *word);
	void *context;
};

/* The recording at `path` with other names for all that has one, and addresses and times of the
 * clock moved (docs/anonymise.md); it brings the names of its functions along. As recording_strip.
 * -ENOTSUP: there is no libcrypto. */
int recording_anonymise(const char *path, const struct anonymise_settings *settings,
			struct err_text *err);
