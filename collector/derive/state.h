#pragma once
/*
 * The state of a recording: everything learned from its frames up to some offset, except sealed
 * rows, which are in a separate file. The store's writer saves it, and the next opening loads it.
 * The state is derived data: if it is damaged or of another version, it is derived anew from the
 * frames.
 *
 *   | "hcstate" NUL | version 4 | generation 4 | length 8 | XXH3 of the contents 8 | contents |
 *
 * The contents are the members of struct recording in sequence, numbers as varints. state.c and
 * state_definitions.c describe them once, for both directions.
 */
#include <stddef.h>
#include <stdint.h>

struct buf;
struct recording;

#define STATE_VERSION 14

/* Identifies the frames that a state was made from. */
struct state_fit {
	uint64_t size, mtime_ns; /* size and modification time of the recording when the state was
				    written */
	uint64_t hashed, hash; /* bytes, a multiple of DERIVED_CHUNK, and their hash (derived.h) */
	uint64_t tail;	       /* hash of the bytes from there to the offset */
	uint64_t rows_bytes;   /* length of the rows file that the state covers */
};

/* Appends the state to `out`. Returns 0 or -ENOMEM. */
int state_write(const struct recording *recording, const struct state_fit *fit, struct buf *out);
/*
 * Reads a state into an empty recording. Returns 0, -EBADMSG or -ENOMEM. After an error the caller
 * may only clear or close the recording.
 */
int state_read(struct recording *recording, const uint8_t *data, size_t length,
	       struct state_fit *ret_fit);
