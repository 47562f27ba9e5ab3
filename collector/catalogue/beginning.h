#pragma once
/* Where a recording in a file begins, to put several of one stream in order. */
#include <stdbool.h>
#include <stdint.h>

#include "collector/recording/stream_id.h"

struct err_text;

/* The start of a recording. */
struct recording_beginning {
	struct stream_id id;
	uint32_t incarnation;
	uint64_t first;	  /* number of its first batch */
	bool definitions; /* definitions precede it */
};
/* Returns 0, or -EBADMSG with a sentence if no recording begins there. */
int recording_beginning(const char *path, struct recording_beginning *ret_beginning,
			struct err_text *err);
/*
 * For sorting: within a stream the earlier recording comes first, and definitions come before
 * batches.
 */
int recording_beginning_compare(const struct recording_beginning *a,
				const struct recording_beginning *b);
