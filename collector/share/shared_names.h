#pragma once
/* Which function a shared backtrace counts for: names are read from the shared store, once for each
 * backtrace and each frame. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/intern.h"
#include "base/map.h"

struct clickhouse;
struct err_text;
struct site_rules;

struct shared_site {
	const char *function, *module, *file; /* as in a call site; valid as long as the names */
	uint32_t line;
	bool known; /* the function has a name */
};

struct shared_names {
	struct clickhouse *client;
	const struct site_rules
		*rules; /* of what only passes allocations on; NULL: the known ones */
	bool innermost; /* nothing is hidden: sites are innermost frames */
	struct intern texts;
	struct map stacks; /* stack -> frame that it counts for, index of `lines` + 1 */
	struct map frames; /* frame -> index of its first line + 1 */
	struct name_line *lines;
	uint32_t count, capacity;
};

void shared_names_done(struct shared_names *names);
/* Reads what is not known of these backtraces. Returns 0 or a negative errno with a sentence. */
int shared_names_read(struct shared_names *names, const uint64_t *stacks, size_t count,
		      struct err_text *err);
/* Returns the call site: the innermost frame that is not hidden by the rules. A backtrace that the
 * store does not know, or that is none, is "[unknown]". */
struct shared_site shared_names_site(const struct shared_names *names, uint64_t stack);
