#pragma once
/*
 * Snapshots of a fleet: what many programs had in use at their markers, merged into one recording,
 * under a name.
 *
 *   DIR/snapshots.sqlite      names, and of each who is in it and who is missing. Any command may
 *                             write; it is no cache, and unlike the catalogue never thrown away
 *   DIR/streams/ID/           its recording: a stream like any other, that retention leaves alone
 *   DIR/streams/draft-ID/     one that is being made; what a crash leaves of it goes with the next
 *                             one
 *
 * Name and folder come and go together: the folder gets its place within the transaction of the
 * name.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/catalogue/store.h"
#include "collector/recording/stream_id.h"

/* "snapshot:NAME" is a STREAM. */
#define SNAPSHOT_PREFIX	  "snapshot:"
#define SNAPSHOT_NAME_MAX 64

/* A process that is in a snapshot, or should be. */
struct snapshot_member {
	struct stream_id stream;
	char *host, *executable;
	uint32_t pid;
	uint8_t build_id[32]; /* of the program */
	uint32_t build_id_length;
	char *missing;	  /* NULL: it is in it; else why it is not */
	uint64_t wall_ns; /* its marker, or what was heard of it last, by its host's clock, since
			     the epoch */
	uint64_t mark;	  /* number of the marker (MARK_SNAPSHOT) */
	uint64_t time_ns; /* of it, in the stream */
	uint64_t blocks, bytes, samples; /* in use at it; as in struct usage */
	double blocks_error, bytes_error;
};

struct snapshot {
	char name[SNAPSHOT_NAME_MAX + 1];
	struct stream_id stream;
	uint64_t wall_ns;		 /* when it was begun, since the epoch */
	uint64_t took_ns;		 /* from there to the last marker's reply */
	struct snapshot_member *members; /* those that are in it first */
	size_t count, missing;
};

void snapshot_member_done(struct snapshot_member *member);
void snapshot_done(struct snapshot *snapshot);

/* Letters, digits, '.', '-' and '_', beginning with none of the three. 0 or -EINVAL with the
 * sentence. */
int snapshot_name_check(const char *name, struct err_text *err);

/* In the order in which they were taken. Free with store_snapshots_free. */
int store_snapshots(struct store *store, struct snapshot **ret_list, size_t *ret_count,
		    struct err_text *err);
void store_snapshots_free(struct snapshot *list, size_t count);
/* -ENOENT: there is none of that name. */
int store_snapshot_get(struct store *store, const char *name, struct snapshot *ret_snapshot,
		       struct err_text *err);
/* With its recording. */
int store_snapshot_remove(struct store *store, const char *name, struct err_text *err);
/* Streams that are snapshots, by id; no list is none. Free *ret_ids. 0, or why it can't be told,
 * with a sentence. For the store's own files. */
int store_snapshot_ids(const struct store *store, struct stream_id **ret_ids, size_t *ret_count,
		       struct err_text *err);
bool stream_id_among(const struct stream_id *id, const struct stream_id *ids, size_t count);

struct new_stream;
/* Makes the recording of the draft durable, under snapshot->name; its stream is set here. -EEXIST:
 * the name is taken. */
int store_snapshot_keep(struct store *store, struct new_stream *draft, struct snapshot *snapshot,
			struct err_text *err);
