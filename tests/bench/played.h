#pragma once
/* The recording that bench-player plays. */
#include <stddef.h>
#include <stdint.h>

/* A batch of the recording, decompressed; its stream's id is put in for each agent. */
struct batch {
	uint8_t *message; /* behind FRAME_HEADROOM bytes */
	size_t length;
	uint64_t due_ms, number;
};

extern struct played {
	struct batch *batches;
	size_t count, largest; /* largest: bytes of a batch */
	uint64_t events;
	uint32_t pid;
} played;

/* Ends the process with the reason if that is no recording of one agent, without gaps. */
void played_load(const char *path);
