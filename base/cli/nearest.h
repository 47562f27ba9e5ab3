#pragma once
/* Suggests an existing name in place of a mistyped one. */
#include <stddef.h>

struct nearest {
	const char *name; /* what was typed; need not end with NUL */
	size_t length;
	const char *found; /* the result: the most similar candidate, or NULL */
	unsigned least;
};

void nearest_begin(struct nearest *nearest, const char *name, size_t length);
/*
 * Compares one existing name with the typed one, and stores it in `found` if it is the most similar
 * so far. A candidate that begins with the typed name is the most similar. Otherwise the edit
 * distance decides: letters inserted, removed, replaced or exchanged with their neighbours. A short
 * name may differ by one edit, a long one by three.
 */
void nearest_try(struct nearest *nearest, const char *candidate);

/* Translates a command of another profiler into ours (perf's `record` is `run`). Returns NULL if
 * the word is unknown. */
const char *nearest_of_peer(const char *command);
