#pragma once
/* Finds the name that was probably meant by one that does not exist. */
#include <stddef.h>

struct nearest {
	const char *name; /* what was typed; need not end with NUL */
	size_t length;
	const char *found; /* the result: the most similar candidate, or NULL */
	unsigned least;
};

void nearest_begin(struct nearest *nearest, const char *name, size_t length);
/*
 * Compares with one more name that exists; `found` may point to it afterwards. A name that begins
 * with what was typed is nearest. Else it is the one that takes the fewest letters inserted,
 * removed, replaced or exchanged with their neighbours: one of a short name, three of a long one.
 */
void nearest_try(struct nearest *nearest, const char *candidate);

/* What other profilers call a command of ours: `record` of perf is `run`. NULL: no such word. */
const char *nearest_of_peer(const char *command);
