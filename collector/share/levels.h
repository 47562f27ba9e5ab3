#pragma once
/*
 * What a stream had in use at the beginning of each hour, in the table `levels`: so a question
 *about one moment reads an hour of sums, and not all that came before.
 *
 *	minute	 10 ... 59 | 60 ... 119 | 120 ...
 *	sums	 a change  | a change	| a change
 *	levels		   60		120	   all changes before it
 *
 * Each full hour behind a stream's first minute has one, as far as it has been sent; the last row
 *of a level is LEVEL_WHOLE, and without it the level does not count. Levels are made from the
 * recording, and sent as sums are: under the number of a batch, and corrected when the stream has
 * ended. Their rows have the columns of `sums`.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"

struct minutes;

#define LEVEL_MINUTES 60
/* In the place of a backtrace: `allocations` is 1, nothing is in use. */
#define LEVEL_WHOLE (UINT64_MAX - 1)

/* What is in use of each backtrace. */
struct levels {
	struct map numbers; /* backtrace -> index + 1 */
	struct level {
		uint64_t stack;
		int64_t units, bytes, variance;
	} * list;
	uint32_t count, capacity;
	uint32_t to; /* the minutes before it are in it; 0: none is */
};

void levels_done(struct levels *levels);
/* Tells whether there is a level behind minute `first`, up to `end`. */
bool levels_between(uint32_t first, uint32_t end);
/* Adds the sums of minutes from `first` to before `end`, which are in order, and appends the levels
 * behind `first` up to `end` to `ret`, where it is not NULL, but none before `least`. Returns 0 or
 * -ENOMEM. */
int levels_add(struct levels *levels, const struct minutes *minutes, uint32_t first, uint32_t end,
	       uint32_t least, struct minutes *ret);
