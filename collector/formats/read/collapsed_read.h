#pragma once
/*
 * Reading collapsed stacks, as jemalloc's jeprof, async-profiler, perf's stackcollapse and we write
 * them: a line a stack, the outermost frame first, a blank, a number.
 *
 *	main;parse;operator new[](unsigned long) 4096
 *	|--- frames, split at ';' ------------| | value
 *
 * What counts as a line with a value is what Python's `line.strip().rsplit(' ', 1)` and `int()`
 * make of it, because that is how the scripts read that people have: frames may hold blanks, an
 * empty frame is none, "+7" and "1_000" are numbers, CRLF is fine. Lines without a value are left
 * out and counted, and so are those that those scripts would take but a number of bytes can't be:
 * below 0, or beyond 64 bits. So are lines longer than COLLAPSED_LINE_MAX.
 *
 * The file is read once, through a buffer: it may be a pipe, packed, and larger than memory. Of its
 * text only the distinct frames stay, in `frames`. Neighbouring lines of a sorted file mostly begin
 * alike: what a line shares with the one before is not looked up again, and the caller is told how
 * much that was.
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
	uint32_t count;	 /* 0: "; 17" */
	uint32_t kept;	 /* so many outer ones are those of the line that was given before */
	uint64_t value;
	uint64_t number; /* of the line in its file, from 1 */
};

struct collapsed_counts {
	uint64_t lines;	 /* blank ones included */
	uint64_t stacks; /* lines that were given */
	/* Left out: */
	uint64_t without_value, no_number, negative, too_large, too_long;
	uint64_t first_left_out; /* number of the line; 0: none was */
};

struct collapsed_to {
	/* Not 0 stops, and is returned. */
	int (*line)(void *context, const struct collapsed_line *line);
	/* Now and then; `of` 0: not known. May be NULL. Not 0 stops, and is returned. */
	int (*progress)(void *context, uint64_t done, uint64_t of);
	void *context;
};

/*
 * Reads to the end. `frames` may hold others already. 0; what reading fails with; -ENOMEM; what a
 * function of `to` returned. `ret_counts` is written in any case.
 */
int collapsed_read(struct source *source, struct intern *frames, const struct collapsed_to *to,
		   struct collapsed_counts *ret_counts, struct err_text *err);

/* Lines that were left out, in all. */
uint64_t collapsed_left_out(const struct collapsed_counts *counts);
/* "left out 3 of 100 lines, the first is line 7: 2 without a value, 1 with a value below 0"; empty:
 * none was. Returns `out`. */
char *collapsed_left_out_text(const struct collapsed_counts *counts, char *out, size_t size);
