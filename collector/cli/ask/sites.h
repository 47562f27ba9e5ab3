#pragma once
/* Tables of call sites: what report, top and leaks show. */
#include <stddef.h>
#include <stdint.h>

#include "collector/cli/terminal.h"
#include "collector/query/query.h"

struct answer;
struct question;

#define SITE_INDENT 28 /* columns before a call site */

struct site_table {
	size_t count;	  /* rows shown at most */
	unsigned frames;  /* frames of the backtrace under each row; 0: none; UINT_MAX: all */
	const char *noun; /* "call site", "backtrace" */
	const struct groups *backtraces; /* the same question by backtrace, to show who calls the
					    heavy sites; NULL: don't show it */
};

/* Prints the rows of `groups`, two or more lines each, and a line for what is left out. */
void sites_print(const struct question *q, const struct groups *groups,
		 const struct site_table *table);
/* Prints the frames of a backtrace further out than its call site, a line each, at most `frames`.
 */
void backtrace_print(const struct question *q, uint32_t node, unsigned frames);
/* Prints who called the call site of `node`, whose part of `backtraces` is `value`: a line for each
 * caller that has nearly all of it, then the ways that the rest came, with their shares. */
void ways_print(const struct question *q, const struct groups *backtraces, uint32_t node,
		const struct usage *value);
/* Prints a line with the place of a call site, unless its name says it: "[module+0xoffset]". */
void place_print(const char *function, const char *file, uint32_t line, const char *module);
/* Formats "mem1.c:128, libsqlite3.so.0". */
void place_text(const char *file, uint32_t line, const char *module, char *out, size_t size);
/* Prints a name and behind it its place, or `shorter` where that has no room, within `room`
 * columns. `shorter` keeps its room beside a long name, which is cut, if it needs half of it at
 * most: a line of the source says more. No end of the line. */
void name_and_place_print(enum style style, const char *name, const char *place,
			  const char *shorter, unsigned room);
/* A group as JSON, with the backtrace. */
extern const struct answer site_answer;
/* The same of a struct survivor. */
extern const struct answer leak_by_answer;
/* Formats "1.5 MiB", with "+- 20 KiB" behind it if it is an estimate. */
const char *usage_bytes(char *out, size_t size, const struct usage *usage);
/* The same of its blocks: "1,234 +- 20". */
const char *usage_blocks(char *out, size_t size, const struct usage *usage);
/* Of a sum without a sample: in 95 of 100 cases it is below so many bytes. That is 3 sample
 * intervals, since exp(-3) is 0.05. */
double usage_unseen(const struct question *q, const struct usage *usage);
/* Formats "12 samples"; empty if nothing was sampled. */
const char *usage_samples(char *out, size_t size, const struct usage *usage);
