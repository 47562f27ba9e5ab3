#pragma once
/* The recording that bench-player plays. */
#include <stddef.h>
#include <stdint.h>

/* A batch of the recording, decompressed. Each agent puts its stream and its number before it. */
struct batch {
	uint8_t *rest;			 /* the message behind stream, incarnation and number */
	size_t length;			 /* of the rest */
	struct Heapcast__Batch *process; /* with the process: unpacked, to put in another host */
	uint64_t due_ms, number, watermark_ns;
};

extern struct played {
	struct batch *batches;
	size_t count, largest; /* largest: bytes of a batch */
	uint64_t events;
	uint32_t pid;
} played;

/* Ends the process with the reason if that is no recording of one agent, without gaps. */
void played_load(const char *path);
#define PLAYED_HOST 32

/* Whose batch it is to be. */
struct played_as {
	const uint8_t *stream;
	uint64_t number;
	uint64_t start_wall_ns; /* when the stream began, since the epoch */
	char host[PLAYED_HOST];
};

/* Writes a batch. Returns its length, at most played.largest. */
size_t played_put(size_t index, struct played_as *as, uint8_t *to);
/* The same for a batch with nothing but the mark of a snapshot; it follows batch `index`.
 * `ret_time_ns` receives the mark's time. */
size_t played_put_mark(size_t index, const uint8_t *stream, uint64_t number, uint64_t snapshot,
		       uint64_t *ret_time_ns, uint8_t *to);
