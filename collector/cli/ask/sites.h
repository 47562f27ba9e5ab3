#pragma once
/* Tables of call sites, as report, top and leaks show them. */
#include <stddef.h>
#include <stdint.h>

#include "collector/cli/terminal.h"
#include "collector/query/query.h"

struct answer;
struct question;

#define SITE_INDENT 28 /* columns before a call site */

struct site_table {
	size_t count;	  /* maximum number of rows */
	unsigned frames;  /* backtrace frames under each row; 0: none; UINT_MAX: all */
	const char *noun; /* "call site", "backtrace" */
	const struct groups *backtraces; /* the same question by backtrace, for the callers of heavy
					    sites; NULL: not shown */
};

/* Prints the rows of `groups`, two or more lines each, and a line for the rest. `q` may be NULL
 * where the table has no backtraces. */
void sites_print(const struct question *q, const struct groups *groups,
		 const struct site_table *table);
/* Prints at most `frames` frames of a backtrace, outwards from the caller of its call site, one per
 * line. */
void backtrace_print(const struct question *q, uint32_t node, unsigned frames);
/* Prints who called the call site of `node`; `value` is its part of `backtraces`. First comes a
 * line for each caller that passed nearly all of it, then the paths into which the rest divides,
 * with their shares. */
void ways_print(const struct question *q, const struct groups *backtraces, uint32_t node,
		const struct usage *value);
/* Prints a line with the place of a call site. Prints nothing if the name is the place:
 * "[module+0xoffset]". */
void place_print(const char *function, const char *file, uint32_t line, const char *module);
/* Formats a place, such as "mem1.c:128, libsqlite3.so.0". */
void place_text(const char *file, uint32_t line, const char *module, char *out, size_t size);
/* Prints a name and its place within `room` columns, without a newline. If `place` does not fit
 * behind the name, prints `shorter` instead. A long name is cut to keep `shorter`, if that needs at
 * most half of the room, because the source line says more than the end of a name. */
void name_and_place_print(enum style style, const char *name, const char *place,
			  const char *shorter, unsigned room);
/* Describes a group with its backtrace. */
extern const struct answer site_answer;
/* Describes a struct survivor with its backtrace. */
extern const struct answer leak_by_answer;
/* Formats "1.5 MiB", and appends "+- 20 KiB" if it is an estimate. Returns `out`. */
const char *usage_bytes(char *out, size_t size, const struct usage *usage);
/* Formats the number of blocks in the same way: "1,234 +- 20". */
const char *usage_blocks(char *out, size_t size, const struct usage *usage);
/* Returns a bound for a sum without any sample: in 95 of 100 cases the sum is below this many
 * bytes. The bound is 3 sample intervals, because exp(-3) is 0.05. */
double usage_unseen(const struct question *q, const struct usage *usage);
/* Formats "12 samples", or "" if nothing was sampled. */
const char *usage_samples(char *out, size_t size, const struct usage *usage);
