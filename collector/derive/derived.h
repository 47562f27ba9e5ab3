#pragma once
/*
 * What is kept of a recording beside it, so that its frames need not be read again:
 *
 *	streams/ID/recording.heapcast	the frames
 *	streams/ID/columns/state	all but the sealed rows (state.h), replaced as a whole
 *	streams/ID/columns/rows.N	sealed blocks (block.h) and late news (late.h), append only;
 *					N: the state's generation
 *
 * The store's writer writes, everybody reads. Invariant: a state tells only of bytes of rows.N that
 * were written before it. What follows them was written after it: the next writer cuts it off. A
 * new generation begins where the late news are put into their blocks, or all is made anew.
 *
 * Does it fit the recording? If that is as long as it was and was not modified since, yes. If not,
 * and it is longer, as one that grows, its last bytes before the offset are compared by their hash;
 * else all of them are.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct recording;

#define DERIVED_CHUNK (1u << 20)

struct derived {
	char *folder;	     /* NULL: a recording by itself, nothing is kept */
	uint32_t generation; /* 0: there is none */
	uint64_t hashed, hash;
	uint64_t saved_offset; /* of the frames that the last state covers */
	uint64_t state_inode;
	bool writing;
	struct err_text
		anew; /* why what was kept is of no use; empty: it is, or there was nothing */
};

/* What a recording at `path` has beside it. 0 or -ENOMEM. */
int derived_init(struct derived *derived, const char *path);
void derived_done(struct derived *derived);
/* Takes the state into a recording that has nothing yet but its file. 1; 0: there is none that
 * fits, begin with the frames (recording_clear first). */
int derived_load(struct recording *recording);
/* The same for the writer, who goes on with the file of rows or begins a new one; ret_cut: bytes of
 * it that no state knew of. */
int derived_load_writing(struct recording *recording, uint64_t *ret_cut, struct err_text *err);
/* Writes rows and state. */
int derived_save(struct recording *recording, struct err_text *err);
/* Late news into their blocks, in a file of rows of the next generation. Save next, then
 * derived_sweep. */
int derived_compact(struct recording *recording, struct err_text *err);
/* Removes rows of other generations, and half-written states. */
void derived_sweep(const struct derived *derived);
/* It is damaged: takes the state away, if it is still that one and we may, so that it is made
 * anew. */
void derived_drop(const struct derived *derived);
