#pragma once
/*
 * Sends orphans: streams that a dead agent left in the spool folder. An orphan has no ring and no
 * tables, only its frames. The agent sends the frames to collectors unchanged, from the first one
 * that the collector lacks. If the collector also lacks frames that are gone, the agent first sends
 * the definitions that precede the oldest frame. A stream that continues, because its program's
 * ring was taken up, is listed to collectors in its current state; its orphans are sent first, in
 * the order of incarnations.
 *
 *   DIR/ID-200.definitions | ID-200.frames | ID-260.frames | (hole)  ID-400.definitions | ...
 *   `------------------------ one orphan ----------------'           `--- another one ---'
 *    entries 0 to definitions - 1 | then one for each batch
 *
 * When the agent starts, it finds the orphans and verifies the checksum of each frame, before it
 * reserves its memory; no orphans are added later. A nameless index file in the same folder stores
 * the position of each frame. Orphans count for --spool-limit. The files of an orphan are removed
 * when a collector has acknowledged all of it and other collectors had the linger time for it;
 * earlier if a stream needs the room; and when the agent ends. Damaged data is not sent, and stays.
 *
 * Owner: the main loop.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/spool/spool.h"
#include "proto/discovery.h"

#define ORPHANS_MAX	  32 /* further ones wait for the next start */
#define ORPHAN_EXECUTABLE 120

struct orphan {
	uint8_t id[STREAM_ID_SIZE];
	uint32_t incarnation;
	uint32_t pid;
	char executable[ORPHAN_EXECUTABLE];
	uint32_t segments;		/* 0: the orphan was delivered */
	uint64_t first[SPOOL_SEGMENTS]; /* number of the first batch of each segment */
	uint64_t next;
	uint64_t entry; /* its first entry in the index */
	uint32_t definitions;
	uint64_t acked_ns; /* CLOCK_MONOTONIC when a collector had all of it; 0: not yet */
};

/* The progress of one link in one orphan. */
struct orphan_reader {
	bool active;
	uint32_t at; /* entry that is sent next */
	size_t sent; /* bytes of this entry that were sent */
};

/* An entry of the index: the position of one frame. */
struct orphan_entry {
	uint64_t offset;
	uint32_t length;
	uint32_t file; /* 2 * segment; 2 * segment + 1 for its definitions */
};

struct orphans {
	struct spool_folder *folder;
	struct orphan *orphan;
	uint32_t count;
	struct orphan_reader *reader; /* [link][orphan] */
	uint32_t links;
	int index; /* -1: nothing was found */
};

/* Finds the orphans in `folder`. Meanwhile it uses at most twice `frame_max` bytes of memory.
 * Errors are logged, and the files concerned stay in the folder. */
void orphans_open(struct orphans *orphans, struct spool_folder *folder, uint32_t links,
		  size_t frame_max);
void orphans_close(struct orphans *orphans);
/* Returns the bytes of memory that the orphans occupy. */
size_t orphans_memory(const struct orphans *orphans);

static inline struct orphan_reader *orphans_reader(const struct orphans *os, uint32_t link,
						   uint32_t index)
{
	return &os->reader[link * os->count + index];
}

/* Returns true if this is the last orphan of its stream. Lists of streams name only that one. */
bool orphans_is_last(const struct orphans *orphans, uint32_t index);
/* Notes that a collector subscribes to a stream from (incarnation, next) on. Returns true if the
 * collector gets frames of orphans first. */
bool orphans_subscribe(struct orphans *orphans, uint32_t link, const uint8_t *id,
		       uint32_t incarnation, uint64_t next);
/* Returns true if the link still has to send orphans of this stream that come before `index`. */
bool orphans_pending(const struct orphans *orphans, uint32_t link, const uint8_t *id,
		     uint32_t index);
/* Returns true if a frame was sent only in part. */
bool orphans_half_sent(const struct orphans *orphans, uint32_t link);
/* Finds the next frame to send. Returns 0, and the caller closes place.fd; -ENOENT if nothing is to
 * be sent; or another negative errno. */
int orphans_find(const struct orphans *orphans, uint32_t link, uint32_t index,
		 struct spool_place *ret_place);
/* Notes that the collector has the whole stream up to (incarnation, number). Only orphans that were
 * sent to it count as acknowledged. */
void orphans_acknowledged(struct orphans *orphans, uint32_t link, const uint8_t *id,
			  uint32_t incarnation, uint64_t number);
/* Returns true if the collector has asked for orphans that nobody has acknowledged. */
bool orphans_owed(const struct orphans *orphans, uint32_t link);
/* Resets the link's progress: the connection has ended, or another one takes its place. */
void orphans_forget(struct orphans *orphans, uint32_t link);
/* Returns true if any was not delivered, or was a moment ago. */
bool orphans_wait(const struct orphans *orphans);
/* Removes the orphans that were delivered more than `linger_ns` ago, or all delivered orphans if
 * `now`. Returns true if any was removed. */
bool orphans_tick(struct orphans *orphans, uint64_t linger_ns, bool now);
