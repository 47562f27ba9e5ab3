#pragma once
/*
 * What a recording allocated and had in use, by minute of the clock and by backtrace: the sums that
 * collectors share in a data base.
 *
 * Minute m is the time after 60 m seconds since the epoch, up to 60 (m + 1) seconds, included. So
 * the changes of all minutes before m, together, are what was in use at 60 m seconds
 * (query_moments).
 */
#include <stdint.h>

struct err_text;
struct filter;
struct view;

#define MINUTE_NS 60000000000u
/* Numbers of blocks are in fractions of a block, because a sampled block may stand for any. */
#define MINUTE_UNIT 1048576
/* Variances are in units of so many square bytes, rounded up: integers, so that sums of them are
 * the same in any order, and that hold 8 TiB of samples which stand for 1 GiB each. */
#define MINUTE_VARIANCE 1024

/* Sums of one backtrace in one minute. Bytes and units are estimates if blocks were sampled. */
struct minute_sum {
	uint32_t minute; /* since the epoch */
	uint64_t stack;	 /* the backtrace: its node in the recording, 0: none; or a number that the
			    caller has put in its place */
	int64_t allocated_units, allocated; /* blocks, in MINUTE_UNIT-ths, and their bytes */
	int64_t units, bytes;		    /* change of what is in use: births less deaths */
	int64_t variance; /* change of that of the bytes (tally.h), in MINUTE_VARIANCE */
};

struct minutes {
	struct minute_sum *list; /* by minute, then by stack; none is all zeros */
	uint32_t count, capacity;
};

/* Returns the minute that holds a time in nanoseconds since the epoch. */
static inline uint32_t minute_of(uint64_t wall_ns)
{
	uint64_t minute = wall_ns ? (wall_ns - 1) / MINUTE_NS : 0;

	return minute < UINT32_MAX ? (uint32_t)minute : UINT32_MAX;
}

static inline uint64_t minute_start_ns(uint32_t minute)
{
	return minute < UINT64_MAX / MINUTE_NS ? minute * (uint64_t)MINUTE_NS
					       : UINT64_MAX / MINUTE_NS * MINUTE_NS;
}

/* Sums up the minutes from `first` to before `end`, in one pass over the rows. `start_wall_ns` is
 * when the recording began. The filter may restrict the rows. Returns 0 or a negative errno. */
int query_minutes(struct view *view, const struct filter *filter, uint64_t start_wall_ns,
		  uint32_t first, uint32_t end, struct minutes *ret_minutes, struct err_text *err);
void minutes_done(struct minutes *minutes);
/* Returns the error (tally.h) of bytes that were added up from sums. */
double minutes_error(int64_t bytes, int64_t variance);
/* Adds a sum to those of its minute and backtrace, at the end of the list. The list is in order
 * again after minutes_sort, which drops zeros, and puts equal ones together. */
int minutes_add(struct minutes *minutes, const struct minute_sum *sum);
void minutes_sort(struct minutes *minutes);
/* Appends what takes all sums of `less` back. Returns 0 or -ENOMEM. */
int minutes_subtract(struct minutes *minutes, const struct minutes *less);
