#pragma once
/*
 * Suppressions: blocks that nobody wants to read about among the leaks, by patterns on their
 * backtrace. The files are those of LeakSanitizer: "leak:PATTERN", '#' begins a comment. A pattern
 * is part of a function's name, a source file's or a module's path, of any frame; '*' is any text,
 * '^' and '$' are the ends. A stack belongs to the pattern that fits innermost, and there to the
 * first of the list. A list is one condition of a filter (filter.h).
 */
#include <stdbool.h>
#include <stddef.h>

#include "collector/query/query.h"

#define SUPPRESSIONS_MAX	 10000
#define SUPPRESSION_BYTES_MAX	 4096	 /* of a pattern */
#define SUPPRESSION_FILE_MAX	 4194304 /* of a file */
#define SUPPRESSION_FILE_SECONDS 10	 /* until a pipe brings something */

struct suppressions;

/* `known`: with those that are built in. Returns NULL without memory. */
struct suppressions *suppressions_new(bool known);
void suppressions_free(struct suppressions *suppressions);
/* Adds the lines of a file. Returns -EINVAL, -E2BIG or another errno, with an error text that names
 * the file and the line. */
int suppressions_read(struct suppressions *suppressions, const char *path, struct err_text *err);
/* The same for lines that are there already; `path` is for messages. */
int suppressions_add(struct suppressions *suppressions, const char *path, const char *text,
		     size_t length, struct err_text *err);
/* The number of lines for other sanitizers, which were left out, and the first one's kind. */
size_t suppressions_ignored(const struct suppressions *suppressions, const char **ret_first);
/* How many patterns were read, beside those that are built in. */
size_t suppressions_count(const struct suppressions *suppressions);
/* Does a pattern fit a text? */
bool suppression_fits(const char *pattern, const char *text);

/* What one pattern suppressed. The texts live as long as the suppressions. */
struct suppressed_by {
	const char *pattern;
	const char *about; /* what it is; NULL: it was read from a file */
	struct usage usage;
};

struct suppressed {
	struct suppressed_by *list; /* most bytes first; only patterns that were used */
	size_t count;
	struct usage total;
};
/* What the filter's suppressions leave out of what `value` counts (at_ns as for query_groups). */
int query_suppressed(struct view *view, const struct filter *filter, enum value value,
		     uint64_t at_ns, struct suppressed *ret_suppressed, struct err_text *err);
void suppressed_done(struct suppressed *suppressed);
