#pragma once
/*
 * The part of a stream's spool that memory has no room for: on a disk, in segments. `--spool DIR`,
 * `--spool-limit SIZE`. With a key DIR is a folder in that one which is called by the key (home.h).
 *
 *   DIR/lock                    held by the one agent that spools there
 *   DIR/ID-FIRST.definitions    frames that repeat all definitions as of the batch before FIRST
 *                               (none if FIRST is 1)
 *   DIR/ID-FIRST.frames         the batches from number FIRST on, as they are
 *
 * An agent that goes on with another one's stream puts its incarnation behind the id:
 * ID.2-FIRST.frames. What an agent that died has left here its successor brings to collectors:
 * orphans.h.
 *
 * Only frames that not all collectors have, and that memory must make room for, come here (spool.h
 * has the order). A segment goes when all have all of it; when there is no room and somebody has
 * all of it; and with its stream. Where each frame lies stands in an index without a name, which
 * dies with the agent. Files are written without sync: what a dead agent has written is there, a
 * dead host is not covered.
 *
 * The drain thread adds, the main loop reads and removes, both under the stream's lock; what is
 * used of the limit is shared by all streams.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "proto/discovery.h"

#define SPOOL_SEGMENTS	  24 /* of a stream; a segment is a sixteenth of the limit */
#define SPOOL_LIMIT_MIN	  (1u << 20)
#define SPOOL_LIMIT_USUAL (64u << 20)

/* Cumulative counts of delivered events as of the end of a batch. */
struct spool_account {
	uint64_t events;
	uint64_t allocations;
	uint64_t frees;
	uint64_t bytes;
	uint64_t culled; /* events, in sums; not among the others */
	uint64_t time_ns;
	uint32_t nodes; /* highest number of a node that was defined by then */
};

struct spool_folder {
	const char *path;
	int fd; /* of the folder; -1: there is none, or it can't be used */
	int lock;
	uint64_t limit;
	uint64_t used;	   /* atomic */
	uint64_t retry_ns; /* CLOCK_MONOTONIC: after an error, not before */
	bool full_told, error_told;
	bool wanted;  /* atomic: a stream found no room, and has nothing itself that it may drop */
	uint8_t *out; /* where the drain thread packs definitions */
	size_t out_size;
};

struct spool_segment {
	int frames, index;
	uint64_t first, next; /* numbers of batches */
	uint64_t bytes;	      /* of frames */
	uint64_t charged;     /* of the limit */
	uint64_t begun_ns;    /* CLOCK_MONOTONIC */
	struct spool_account before, last;
};

struct spool_disk {
	struct spool_folder *folder; /* NULL: memory is all there is */
	const uint8_t *id;	     /* the stream's */
	uint32_t incarnation;
	/* Writes to `fd` all definitions as of the batch before `next`. Bytes, or a negative
	 * errno. */
	long (*define)(void *context, int fd, uint64_t next, const struct spool_account *before);
	void *context;
	uint8_t *out; /* where they are packed, spool_folder.out_size bytes */
	struct spool_segment segment[SPOOL_SEGMENTS];
	uint32_t begin, count;
};

/* Makes the folder and locks it. 0; a negative errno, which the log has told: there is no spool on
 * disk then. */
int spool_folder_open(struct spool_folder *folder, const char *path, uint64_t limit);
void spool_folder_close(struct spool_folder *folder);

/* Adds frame `number`, the next one. 0; -ENOSPC: no room, or the disk refuses (told once). */
int spool_disk_put(struct spool_disk *disk, uint64_t number, const void *data, size_t length,
		   const struct spool_account *before, const struct spool_account *account);
/* Number of the oldest frame; 0: none is here. */
uint64_t spool_disk_first(const struct spool_disk *disk);
/* Where it lies. 0; -ENOENT; -EIO. */
int spool_disk_find(const struct spool_disk *disk, uint64_t number, int *ret_fd, off_t *ret_offset,
		    size_t *ret_length, struct spool_account *ret_account);
/* Number of the oldest segment's last frame, and when it was begun; 0: there is none. */
uint64_t spool_disk_oldest(const struct spool_disk *disk, uint64_t *ret_begun_ns);
/* Removes that segment. *ret_gone are the counts as of its last frame. */
void spool_disk_drop(struct spool_disk *disk, struct spool_account *ret_gone);
/* Others are to make room, unless the disk refuses everything. */
void spool_disk_want(struct spool_disk *disk);
/* Removes segments up to frame `number`, those that have none beyond. True: some were, and
 * *ret_gone are the counts as of the last of them. */
bool spool_disk_ack(struct spool_disk *disk, uint64_t number, struct spool_account *ret_gone);
/* Lets go of everything, and leaves the files. */
void spool_disk_leave(struct spool_disk *disk);
/* Removes everything. */
void spool_disk_clear(struct spool_disk *disk);
