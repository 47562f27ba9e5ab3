#pragma once
/*
 * Streams that an agent which is gone has left in the folder of the spool. There is no ring of them
 * and no table, only their frames, which go to collectors as they are, from the first that a
 * collector lacks; to one that lacks more than that, behind the definitions before the oldest. A
 * stream that goes on, because its program's ring was taken up, is told to collectors as it is now;
 * its orphans go first, in the order of incarnations.
 *
 *   DIR/ID-200.definitions | ID-200.frames | ID-260.frames | (hole)  ID-400.definitions | ...
 *   `------------------------ one orphan ----------------'           `--- another one ---'
 *    entries 0 to definitions - 1 | then one for each batch
 *
 * They are found, and each frame's checksum is checked, when the agent starts, before it sets its
 * memory aside: from then on there are none in addition. Where each frame lies stands in an index
 * without a name in the same folder. They count for --spool-limit. Files go when a collector has
 * acknowledged all of an orphan, and others had the time for it that collectors have at the end of
 * a stream; earlier if a stream needs the room; and when the agent ends. What is damaged is not
 * sent, and stays.
 *
 * Owner: the main loop.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/spool/spool.h"
#include "proto/discovery.h"

#define ORPHANS_MAX	  32 /* more wait for the next start */
#define ORPHAN_EXECUTABLE 120

struct orphan {
	uint8_t id[STREAM_ID_SIZE];
	uint32_t incarnation;
	uint32_t pid;
	char executable[ORPHAN_EXECUTABLE];
	uint32_t segments;		/* 0: it is delivered, or was none */
	uint64_t first[SPOOL_SEGMENTS]; /* numbers of their first batches */
	uint64_t next;
	uint64_t entry; /* of the index, its first */
	uint32_t definitions;
	uint64_t acked_ns; /* CLOCK_MONOTONIC when a collector had all of it; 0: none has */
};

/* How far one link is with one orphan. */
struct orphan_reader {
	bool active;
	uint32_t at; /* entry that is sent next */
	size_t sent; /* bytes of it that are */
};

/* Of the index: where a frame lies. */
struct orphan_entry {
	uint64_t offset;
	uint32_t length;
	uint32_t file; /* 2 * segment; one more: its definitions */
};

struct orphans {
	struct spool_folder *folder;
	struct orphan *orphan;
	uint32_t count;
	struct orphan_reader *reader; /* [link][orphan] */
	uint32_t links;
	int index; /* -1: nothing was found */
};

/* Looks for them, using at most twice `frame_max` bytes meanwhile. What goes wrong is told to the
 * log, and stays in the folder. */
void orphans_open(struct orphans *orphans, struct spool_folder *folder, uint32_t links,
		  size_t frame_max);
void orphans_close(struct orphans *orphans);
/* Bytes that they keep in memory. */
size_t orphans_memory(const struct orphans *orphans);

static inline struct orphan_reader *orphans_reader(const struct orphans *os, uint32_t link,
						   uint32_t index)
{
	return &os->reader[link * os->count + index];
}

/* Is this the one of its stream that lists name: the last one? */
bool orphans_is_last(const struct orphans *orphans, uint32_t index);
/* A collector subscribes to a stream, from (incarnation, next) on. True: it gets frames of orphans
 * first. */
bool orphans_subscribe(struct orphans *orphans, uint32_t link, const uint8_t *id,
		       uint32_t incarnation, uint64_t next);
/* Has the link orphans of this stream yet to send, of those before `index`? */
bool orphans_pending(const struct orphans *orphans, uint32_t link, const uint8_t *id,
		     uint32_t index);
/* Half of a frame is on its way. */
bool orphans_half_sent(const struct orphans *orphans, uint32_t link);
/* What goes out next. 0, and the caller closes place.fd; -ENOENT: nothing; or another negative
 * errno. */
int orphans_find(const struct orphans *orphans, uint32_t link, uint32_t index,
		 struct spool_place *ret_place);
/* The collector has all of the stream up to (incarnation, number): whatever was sent of that
 * counts. */
void orphans_acknowledged(struct orphans *orphans, uint32_t link, const uint8_t *id,
			  uint32_t incarnation, uint64_t number);
/* The connection is gone, or another one has its place. */
void orphans_forget(struct orphans *orphans, uint32_t link);
/* Removes what is delivered since `linger_ns`, or `now`. True: there are fewer than before. */
bool orphans_tick(struct orphans *orphans, uint64_t linger_ns, bool now);
