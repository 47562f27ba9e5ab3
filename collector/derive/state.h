#pragma once
/*
 * The state of a recording: all that was learned from its frames up to some offset, but for sealed
 * rows, which lie in a file beside it. Written by the store's writer and read at the next opening;
 * derived data, so a state that is damaged or of another version is worth nothing and is made anew
 * from the frames.
 *
 *   | "hcstate" NUL | version 4 | generation 4 | length 8 | XXH3 of the contents 8 | contents |
 *
 * The contents are the fields of struct recording one after the other, numbers as varints; state.c
 * has one description for both directions.
 */
#include "collector/recording/recording_parts.h"

#define STATE_VERSION 9

/* Of the frames that the state is about: do they fit? */
struct state_fit {
	uint64_t size, mtime_ns; /* of the recording when the state was written */
	uint64_t hashed, hash; /* bytes, a multiple of DERIVED_CHUNK, and their hash (derived.h) */
	uint64_t tail;	       /* hash of those from there to the offset */
	uint64_t rows_bytes;   /* of the file of rows that the state covers */
};

/* Appends the state to `out`. 0 or -ENOMEM. */
int state_write(const struct recording *recording, const struct state_fit *fit, struct buf *out);
/* Reads it into a recording that has nothing yet. 0; -EBADMSG; -ENOMEM: it is good for nothing but
 * recording_close. */
int state_read(struct recording *recording, const uint8_t *data, size_t length,
	       struct state_fit *ret_fit);
