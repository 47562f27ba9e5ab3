#pragma once
/*
 * Reads collapsed stacks, as jemalloc's jeprof, async-profiler, perf's stackcollapse and our own
 * export write them. A line holds one stack: the frames, outermost first, then a blank and a
 * number.
 *
 * 	main;parse;operator new[](unsigned long) 4096
 * 	|--- frames, split at ';' ------------| | value
 *
 * The reader accepts the lines that Python's `line.strip().rsplit(' ', 1)` and `int()` accept,
 * because existing scripts read these files that way. So frames may contain blanks, an empty frame
 * does not count, "+7" and "1_000" are numbers, and CRLF is fine. Lines without a value are left
 * out and counted. Some lines that the scripts accept are left out, too: values below 0 or beyond
 * 64 bits, which cannot be a number of bytes, and lines longer than COLLAPSED_LINE_MAX.
 *
 * The file is read once, through a buffer, because it may be a pipe, packed, or larger than memory.
 * Of its text only the distinct frames are kept, in `frames`. Neighbouring lines of a sorted file
 * mostly begin with the same frames. Frames shared with the previous line are not looked up again,
 * and the caller is told their number.
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
	uint32_t count;	 /* 0: no frames, as in the line "; 17" */
	uint32_t
		kept; /* this many outer frames are the same as in the line that was given before */
	uint64_t value;
	uint64_t number; /* number of the line in its file, from 1 */
};

struct collapsed_counts {
	uint64_t lines;	 /* includes blank lines */
	uint64_t stacks; /* lines passed to the caller */
	/* Lines left out, by reason: */
	uint64_t without_value, no_number, negative, too_large, too_long;
	uint64_t first_left_out; /* number of the first such line; 0: none */
};

struct collapsed_to {
	/* Called for each line with a value. A result other than 0 stops the reading, and is
	 * returned. */
	int (*line)(void *context, const struct collapsed_line *line);
	/* Called from time to time; `of` is 0 if the size is unknown. May be NULL. A result other
	 * than 0 stops the reading, and is returned. */
	int (*progress)(void *context, uint64_t done, uint64_t of);
	void *context;
};

/* Reads to the end of the file. `frames` may already hold other frames. Returns 0, an error of
 * reading, -ENOMEM, or the result of a function of `to`. Sets `ret_counts` in any case. */
int collapsed_read(struct source *source, struct intern *frames, const struct collapsed_to *to,
		   struct collapsed_counts *ret_counts, struct err_text *err);

/* Returns how many lines were left out. */
uint64_t collapsed_left_out(const struct collapsed_counts *counts);
/* Formats "left out 3 of 100 lines, the first is line 7: 2 without a value, 1 with a value below
 * 0", or an empty text if no line was left out. Returns `out`. */
char *collapsed_left_out_text(const struct collapsed_counts *counts, char *out, size_t size);
