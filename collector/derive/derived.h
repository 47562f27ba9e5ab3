#pragma once
/*
 * Derived data that is kept beside a recording, so that its frames need not be read again:
 *
 *        streams/ID/recording.heapcast   the frames
 *        streams/ID/columns/state        all but the sealed rows (state.h), replaced as a whole
 *        streams/ID/columns/rows.N       sealed blocks (block.h) and late updates (late_updates.h),
 *                                        append only; N: the state's generation
 *
 * The store's writer writes; any process reads. Invariant: a state refers only to bytes of rows.N
 * that were written before it. Bytes behind those were written after the state, and the next writer
 * cuts them off. A new generation begins when late updates are merged into their blocks, or when
 * everything is derived again.
 *
 * A state fits the recording if the recording has the same length and modification time as when the
 * state was saved. Otherwise hashes decide: of a recording that has grown, the hash of the last
 * bytes before the state's offset; else the hash of all frames up to there.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct recording;

/* So much at most is read again, to see that a state fits a recording that has grown since. */
#define DERIVED_CHUNK (64u << 10)

struct derived {
	char *folder;	     /* NULL: the recording is a single file, and nothing is kept */
	uint32_t generation; /* 0: no state */
	uint64_t hashed, hash;
	uint64_t saved_offset; /* bytes of frames that the last state covers */
	uint64_t state_inode;
	bool writing;
	struct err_text anew; /* why the kept data is unusable; empty: it is usable, or there is
				 none */
};

/* Finds the folder beside the recording at `path`. Returns 0 or -ENOMEM. */
int derived_init(struct derived *derived, const char *path);
void derived_done(struct derived *derived);
/*
 * Loads the state into a recording that has only its file. Returns 1; 0 if no state fits, and the
 * caller begins with the frames; or -ENOMEM.
 */
int derived_load(struct recording *recording);
/*
 * Does the same for the writer, which continues the file of rows or begins a new one. `ret_cut`
 * receives the bytes that no state referred to. Returns 0, or a negative errno with a sentence.
 */
int derived_load_writing(struct recording *recording, uint64_t *ret_cut, struct err_text *err);
/* Writes the rows and the state. Returns 0, or a negative errno with a sentence. */
int derived_save(struct recording *recording, struct err_text *err);
/*
 * Merges late updates into their blocks, in a rows file of the next generation. The caller then
 * saves, and calls derived_sweep.
 */
int derived_compact(struct recording *recording, struct err_text *err);
/* Removes rows files of other generations and half-written states. */
void derived_sweep(const struct derived *derived);
/*
 * Removes a damaged state, so that it is derived again. Does nothing if another file has replaced
 * it meanwhile, or if permissions are missing.
 */
void derived_drop(const struct derived *derived);
