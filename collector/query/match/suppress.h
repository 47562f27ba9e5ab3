#pragma once
/* Inside of suppressions: patterns numbered from 1, those of files first. See query/suppress.h. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/query/suppress.h"

struct buf;
struct view;

/* A pattern that is built in. It fits functions of one module only, or (NULL) any function of it
 * that has no name here. */
struct known_suppression {
	const char *function, *module;
	const char *caller; /* module of the next frame; NULL: any */
	bool site;	    /* the function has to be the call site, not any frame */
	const char *about;
};
extern const struct known_suppression known_suppressions[];
extern const size_t known_suppressions_count;

struct suppressions {
	char **patterns;
	size_t count, ignored;
	char first_ignored[32];
	bool known;
};

/* Returns the pattern of a number as it is shown, and what it is. */
const char *suppression_pattern(const struct suppressions *suppressions, uint32_t number,
				const char **ret_about);
/* Appends what tells these suppressions from others. NULL: nothing. */
void suppressions_put_key(const struct suppressions *suppressions, bool only, struct buf *key);
/* Finds the pattern of each node: 0 for none. *ret_by is NULL if no node has one; the caller frees
 * it. The view is prepared. Returns 0 or -ENOMEM. */
int suppressions_judge(const struct suppressions *suppressions, const struct view *view,
		       uint32_t nodes, uint32_t **ret_by);
