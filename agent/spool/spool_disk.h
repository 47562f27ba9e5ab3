#pragma once
/*
 * Stores the part of a stream's spool that does not fit into memory, in segments on a disk.
 * Options: `--spool DIR`, `--spool-limit SIZE`. With a key, DIR is a subfolder named after the key
 * (home.h).
 *
 *    DIR/lock                    locked by the one agent that spools there
 *    DIR/ID-FIRST.definitions    frames that repeat all definitions as of the batch before FIRST
 *                                (missing if FIRST is 1)
 *    DIR/ID-FIRST.frames         the batches from number FIRST on, unchanged
 *
 * An agent that continues another agent's stream adds its incarnation to the id: ID.2-FIRST.frames.
 * If an agent dies, its successor sends the remaining files to collectors: orphans.h.
 *
 * Only frames that some collector lacks come here, when memory needs room (spool.h has the order).
 * A segment is removed when all collectors have all of it; when room is needed and some collector
 * has all of it; and with its stream. An unnamed index file has the place of each frame. It
 * disappears with the agent. Files are written without sync: they survive the death of the agent,
 * but not of the host.
 *
 * The drain thread adds, and the main loop reads and removes, both under the stream's lock. All
 * streams share the limit.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "proto/discovery.h"

#define SPOOL_SEGMENTS	  24 /* of a stream; a segment is a sixteenth of the limit */
#define SPOOL_LIMIT_MIN	  (1u << 20)
#define SPOOL_LIMIT_USUAL (64u << 20)

/* Cumulative counts of delivered events at the end of a batch. */
struct spool_account {
	uint64_t events;
	uint64_t allocations;
	uint64_t frees;
	uint64_t bytes;
	uint64_t culled; /* events in sums; not included in the other counts */
	uint64_t time_ns;
	uint32_t nodes; /* highest node number defined so far */
};

struct spool_folder {
	const char *path;
	int fd; /* of the folder; -1: none, or not usable */
	int lock;
	uint64_t limit;
	uint64_t used;	   /* atomic */
	uint64_t retry_ns; /* CLOCK_MONOTONIC: after an error, no retry before this time */
	bool full_told, error_told;
	/* Atomic: a stream has found no room and has no segment of its own that it may drop. */
	bool wanted;
	uint8_t *out; /* buffer in which the drain thread packs definitions */
	size_t out_size;
};

struct spool_segment {
	int frames, index;
	uint64_t first, next; /* numbers of batches */
	uint64_t bytes;	      /* of frames */
	uint64_t charged;     /* bytes charged to the limit */
	uint64_t begun_ns;    /* CLOCK_MONOTONIC */
	struct spool_account before, last;
};

struct spool_disk {
	struct spool_folder *folder; /* NULL: no spool on disk */
	const uint8_t *id;	     /* of the stream */
	uint32_t incarnation;
	/* Writes all definitions as of the batch before `next` to `fd`. Returns the number of bytes
	 * or a negative errno. */
	long (*define)(void *context, int fd, uint64_t next, const struct spool_account *before);
	void *context;
	uint8_t *out; /* buffer for packing them, spool_folder.out_size bytes */
	struct spool_segment segment[SPOOL_SEGMENTS];
	uint32_t begin, count;
};

/* Creates the folder and locks it. Returns 0, or a negative errno, which is logged. On failure the
 * agent has no spool on disk. */
int spool_folder_open(struct spool_folder *folder, const char *path, uint64_t limit);
void spool_folder_close(struct spool_folder *folder);

/* Adds frame `number`, which must be the next one. Returns 0, or -ENOSPC if there is no room or the
 * disk fails (logged once). */
int spool_disk_put(struct spool_disk *disk, uint64_t number, const void *data, size_t length,
		   const struct spool_account *before, const struct spool_account *account);
/* Returns the number of the oldest frame, or 0 if there is none. */
uint64_t spool_disk_first(const struct spool_disk *disk);
/* Finds a frame. Returns 0, -ENOENT if it is not on the disk, or -EIO. */
int spool_disk_find(const struct spool_disk *disk, uint64_t number, int *ret_fd, off_t *ret_offset,
		    size_t *ret_length, struct spool_account *ret_account);
/* Returns the number of the oldest segment's last frame, and the time when that segment was begun;
 * 0 if there is none. */
uint64_t spool_disk_oldest(const struct spool_disk *disk, uint64_t *ret_begun_ns);
/* Removes the oldest segment. *ret_gone gets the counts at the end of its last frame. */
void spool_disk_drop(struct spool_disk *disk, struct spool_account *ret_gone);
/* Asks other streams to make room, unless the disk fails anyway. */
void spool_disk_want(struct spool_disk *disk);
/* Removes the segments that have no frame beyond `number`. Returns true if it removed some;
 * *ret_gone then gets the counts at the end of the last one. */
bool spool_disk_ack(struct spool_disk *disk, uint64_t number, struct spool_account *ret_gone);
/* Closes all segments and leaves their files. */
void spool_disk_leave(struct spool_disk *disk);
/* Removes all segments. */
void spool_disk_clear(struct spool_disk *disk);
