#pragma once
/*
 * Reads collapsed stacks, as jemalloc's jeprof, async-profiler, perf's stackcollapse and our export
 * write them: a line a stack, the outermost frame first, a blank, a number.
 *
 * 	main;parse;operator new[](unsigned long) 4096
 * 	|--- frames, split at ';' ------------| | value
 *
 * A line with a value is what Python's `line.strip().rsplit(' ', 1)` and `int()` accept, because
 * existing scripts read these files in that way: frames may hold blanks, an empty frame does not
 * count, "+7" and "1_000" are numbers, CRLF is fine. Lines without a value are left out and
 * counted. So are lines that those scripts accept but that can't be a number of bytes (below 0, or
 * beyond 64 bits), and lines longer than COLLAPSED_LINE_MAX.
 *
 * The file is read once, through a buffer, as it may be a pipe, packed, and larger than memory.
 * Only the distinct frames of its text are kept, in `frames`. Neighbouring lines of a sorted file
 * mostly begin alike: what a line shares with the one before is not looked up again, and the caller
 * is told how much that is.
 */
#include <stddef.h>
#include <stdint.h>

struct err_text;
struct intern;
struct source;

#define COLLAPSED_LINE_MAX (1u << 20) /* bytes */

struct collapsed_line {
	const uint32_t
		*frames; /* numbers in `frames`, the outermost first; valid during the call */
	uint32_t count;	 /* 0: a line such as "; 17" */
	uint32_t
		kept; /* this many outer frames are the same as in the line that was given before */
	uint64_t value;
	uint64_t number; /* number of the line in its file, from 1 */
};

struct collapsed_counts {
	uint64_t lines;	 /* blank ones included */
	uint64_t stacks; /* lines that were given to the caller */
	/* Lines that were left out: */
	uint64_t without_value, no_number, negative, too_large, too_long;
	uint64_t first_left_out; /* number of the first one; 0: none was */
};

struct collapsed_to {
	/* Called for each line. A result other than 0 stops, and is returned. */
	int (*line)(void *context, const struct collapsed_line *line);
	/* Called from time to time; `of` 0: not known. May be NULL. A result other than 0 stops,
	 * and is returned. */
	int (*progress)(void *context, uint64_t done, uint64_t of);
	void *context;
};

/* Reads to the end. `frames` may hold other frames already. Returns 0; the error of reading;
 * -ENOMEM; or what a function of `to` returned. `ret_counts` is set in any case. */
int collapsed_read(struct source *source, struct intern *frames, const struct collapsed_to *to,
		   struct collapsed_counts *ret_counts, struct err_text *err);

/* Returns how many lines were left out. */
uint64_t collapsed_left_out(const struct collapsed_counts *counts);
/* Formats "left out 3 of 100 lines, the first is line 7: 2 without a value, 1 with a value below
 * 0"; empty if none was. Returns `out`. */
char *collapsed_left_out_text(const struct collapsed_counts *counts, char *out, size_t size);
