#pragma once
/* The batches of a recording that count in its collector's sums (parts.h). */
#include "collector/recording/stream_position.h"

struct err_text;
struct recording;

/* Finds the batch from which on the recording lacks none. If batches are missing, it reads the file
 * for it with `search`; without, the incarnation is 0. If it can't be said, the result is behind
 * all batches. */
int bounded_first(const struct recording *recording, bool search, struct stream_position *ret_first,
		  struct err_text *err);
/* Copies the frames before batch `bound` to a file, which is replaced. Returns how many bytes they
 * are in *ret_bytes. */
int bounded_copy(const char *from, const char *to, struct stream_position bound,
		 uint64_t *ret_bytes, struct err_text *err);
