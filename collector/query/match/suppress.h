#pragma once
/* Internals of suppressions: patterns numbered from 1, those from files first. query/suppress.h
 * describes the interface. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/query/suppress.h"

struct buf;
struct view;

/* A built-in pattern. It fits functions of one module only: those with this name or, if the name is
 * NULL, those whose name is unknown. */
struct known_suppression {
	const char *function, *module;
	const char *caller; /* module of the next frame; NULL: any */
	bool site;	    /* the function must be the call site; false: any frame */
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

/* Returns the pattern with this number for display, and its description. */
const char *suppression_pattern(const struct suppressions *suppressions, uint32_t number,
				const char **ret_about);
/* Appends a key that identifies these suppressions; NULL: nothing. */
void suppressions_put_key(const struct suppressions *suppressions, bool only, struct buf *key);
/* Finds the pattern of each node; 0: none. *ret_by is NULL if no node has one; the caller frees it.
 * The view must be prepared. Returns 0 or -ENOMEM. */
int suppressions_judge(const struct suppressions *suppressions, const struct view *view,
		       uint32_t nodes, uint32_t **ret_by);
