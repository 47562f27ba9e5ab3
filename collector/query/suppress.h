#pragma once
/*
 * Suppressions: patterns of backtraces whose blocks are left out of lists of leaks. The files have
 * the format of LeakSanitizer: "leak:PATTERN"; '#' begins a comment. A pattern matches a part of a
 * function's name, or of the path of a source file or module, in any frame; '*' is any text, '^'
 * and '$' are the ends. If several patterns fit a stack, the one that fits further in counts, and
 * among those of one place the first in the list. A list is one condition of a filter (filter.h).
 */
#include <stdbool.h>
#include <stddef.h>

#include "collector/query/query.h"

#define SUPPRESSIONS_MAX	 10000
#define SUPPRESSION_BYTES_MAX	 4096	 /* maximum bytes of a pattern */
#define SUPPRESSION_FILE_MAX	 4194304 /* maximum bytes of a file */
#define SUPPRESSION_FILE_SECONDS 10	 /* wait for the first bytes of a pipe */

struct suppressions;

/* `known`: includes the built-in patterns. Returns NULL without memory. */
struct suppressions *suppressions_new(bool known);
void suppressions_free(struct suppressions *suppressions);
/* Adds the lines of a file. Returns -EINVAL, -E2BIG or another errno, with an error text that names
 * the file and the line. */
int suppressions_read(struct suppressions *suppressions, const char *path, struct err_text *err);
/* Does the same for lines in memory; `path` is for messages. */
int suppressions_add(struct suppressions *suppressions, const char *path, const char *text,
		     size_t length, struct err_text *err);
/* Returns the number of lines for other sanitizers, which were skipped, and the kind of the
 * first. */
size_t suppressions_ignored(const struct suppressions *suppressions, const char **ret_first);
/* Returns the number of patterns that were read, without the built-in ones. */
size_t suppressions_count(const struct suppressions *suppressions);
/* Returns true if a pattern fits a text. */
bool suppression_fits(const char *pattern, const char *text);

/* What one pattern suppressed. The texts are valid as long as the suppressions. */
struct suppressed_by {
	const char *pattern;
	const char *about; /* description; NULL: the pattern was read from a file */
	struct usage usage;
};

struct suppressed {
	struct suppressed_by *list; /* most bytes first; only patterns that were used */
	size_t count;
	struct usage total;
};
/* Sums up the blocks that the filter's suppressions leave out of what `value` counts (at_ns as for
 * query_groups). */
int query_suppressed(struct view *view, const struct filter *filter, enum value value,
		     uint64_t at_ns, struct suppressed *ret_suppressed, struct err_text *err);
void suppressed_done(struct suppressed *suppressed);
