#pragma once
/*
 * Snapshots of a fleet: what many programs had in use at their markers, merged into one named
 * recording.
 *
 *   DIR/snapshots.sqlite      names, and for each snapshot its members and missing processes. Any
 *                             command may write it. It is no cache and is never discarded
 *   DIR/streams/ID/           the recording: a normal stream that retention never removes
 *   DIR/streams/draft-ID/     a snapshot in progress; the next snapshot removes a crash's remains
 *
 * Name and folder appear and disappear together: the folder is moved into place within the
 * transaction that adds the name.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/catalogue/store.h"
#include "collector/recording/stream_id.h"

/* "snapshot:NAME" can be used as a STREAM. */
#define SNAPSHOT_PREFIX	  "snapshot:"
#define SNAPSHOT_NAME_MAX 64

/* A process that is in a snapshot, or should be. */
struct snapshot_member {
	struct stream_id stream;
	char *host, *executable;
	uint32_t pid;
	uint8_t build_id[32]; /* build id of the program */
	uint32_t build_id_length;
	char *missing;	  /* NULL: it is in the snapshot; else the reason why not */
	uint64_t wall_ns; /* time of its marker, or of the last sign of life, by its host's clock,
			   * since the epoch */
	uint64_t mark;	  /* number of the marker (MARK_SNAPSHOT) */
	uint64_t time_ns; /* stream time of the marker */
	/* How far its host's clock is ahead of the collector's, and the error: half of the time
	 * from the order to the reply. Error 0: not known. */
	int64_t clock_offset_ns;
	uint64_t clock_error_ns;
	bool late; /* it had no marker, and joined when its data had come: what it had in use at the
		    * time of the snapshot, by its host's clock */
	char *incomplete; /* what its recording lacked then, in a sentence (completeness.h): more
			   * may have been in use. NULL: nothing */
	uint64_t blocks, bytes, samples; /* what was in use at the marker; as in struct usage */
	double blocks_error, bytes_error;
};

struct snapshot {
	char name[SNAPSHOT_NAME_MAX + 1];
	struct stream_id stream;
	uint64_t wall_ns;		 /* start time, since the epoch */
	uint64_t took_ns;		 /* time from the start to the last marker's reply */
	struct snapshot_member *members; /* included members first */
	size_t count, missing;
	/* What names it where its name alone does not, in a data base that collectors share:
	 * NAME@HOST, or its id. NULL: its name does. */
	char *called;
};

void snapshot_member_done(struct snapshot_member *member);
void snapshot_done(struct snapshot *snapshot);

/*
 * Checks a name: letters, digits, '.', '-' and '_', beginning with a letter or digit. Returns 0, or
 * -EINVAL with a sentence.
 */
int snapshot_name_check(const char *name, struct err_text *err);

/*
 * Lists snapshots in the order in which they were taken. The caller frees the list with
 * store_snapshots_free.
 */
int store_snapshots(struct store *store, struct snapshot **ret_list, size_t *ret_count,
		    struct err_text *err);
void store_snapshots_free(struct snapshot *list, size_t count);
/* Returns -ENOENT if no snapshot has this name. */
int store_snapshot_get(struct store *store, const char *name, struct snapshot *ret_snapshot,
		       struct err_text *err);
/* Does the same for the snapshot whose recording is the stream. */
int store_snapshot_of(struct store *store, const struct stream_id *stream,
		      struct snapshot *ret_snapshot, struct err_text *err);
/* Removes a snapshot with its recording. */
int store_snapshot_remove(struct store *store, const char *name, struct err_text *err);
/*
 * For the store's own files: returns the ids of the streams that are snapshots, unsorted. Without a
 * list there are none. The caller frees *ret_ids. Returns 0, or a negative errno with a sentence.
 */
int store_snapshot_ids(const struct store *store, struct stream_id **ret_ids, size_t *ret_count,
		       struct err_text *err);
bool stream_id_among(const struct stream_id *id, const struct stream_id *ids, size_t count);

/* What whoever wrote a snapshot's recording knows of it, so that nobody has to read it for lists.
 */
struct snapshot_sums {
	uint64_t events, batches, last_ns;
	uint64_t in_use_bytes, in_use_blocks; /* as recording_sum_up counts them */
};

struct new_stream;
/*
 * Makes the draft's recording durable under snapshot->name, sets snapshot->stream, and adds the
 * recording to the catalogue (`sums` NULL: it does not). Returns -EEXIST if the name is taken.
 */
int store_snapshot_keep(struct store *store, struct new_stream *draft, struct snapshot *snapshot,
			const struct snapshot_sums *sums, struct err_text *err);
