/* Compares names by the letters that differ. See nearest.h. */
#include "base/cli/nearest.h"

#include <stdint.h>
#include <string.h>

#include "base/ban.h"

#define NAME_MOST    64 /* longer names are similar to no other */
#define PREFIX_LEAST 2

void nearest_begin(struct nearest *n, const char *name, size_t length)
{
	unsigned most = length < 6 ? 1 : length < 12 ? 2 : 3;

	*n = (struct nearest){.name = name, .length = length, .least = most + 1};
}

static unsigned nearest_less(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* Returns the optimal string alignment distance: Levenshtein's, with a swap of two neighbours
 * counted as one edit. The function computes it row by row and keeps the last two rows. */
static unsigned nearest_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
	uint8_t rows[3][NAME_MOST + 1];

	for (size_t k = 0; k <= b_length; k++)
		rows[0][k] = (uint8_t)k;
	for (size_t i = 1; i <= a_length; i++) {
		uint8_t *row = rows[i % 3];
		const uint8_t *above = rows[(i + 2) % 3], *second = rows[(i + 1) % 3];

		row[0] = (uint8_t)i;
		for (size_t k = 1; k <= b_length; k++) {
			unsigned best = above[k - 1] + (a[i - 1] != b[k - 1]);

			best = nearest_less(best, nearest_less(above[k], row[k - 1]) + 1u);
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
				best = nearest_less(best, second[k - 2] + 1u);
			row[k] = (uint8_t)best;
		}
	}
	return rows[a_length % 3][b_length];
}

void nearest_try(struct nearest *n, const char *candidate)
{
	size_t length = strlen(candidate);
	unsigned distance = n->least;

	if (n->length >= PREFIX_LEAST && !strncmp(candidate, n->name, n->length))
		distance = 0;
	else if (length <= NAME_MOST && n->length <= NAME_MOST)
		distance = nearest_distance(n->name, n->length, candidate, length);
	if (distance < n->least) {
		n->least = distance;
		n->found = candidate;
	}
}

/* Knows the commands of perf, valgrind, heaptrack, pprof and memray, and of file tools. */
const char *nearest_of_peer(const char *command)
{
	static const struct {
		const char *theirs, *ours;
	} words[] = {
		{"record", "run"},     {"trace", "run"},      {"profile", "run"},
		{"start", "run"},      {"exec", "run"},	      {"stat", "report"},
		{"stats", "report"},   {"summary", "report"}, {"print", "report"},
		{"show", "report"},    {"info", "report"},    {"analyse", "analyze"},
		{"check", "analyze"},  {"view", "page"},      {"open", "page"},
		{"gui", "page"},       {"web", "page"},	      {"ls", "list"},
		{"ps", "list"},	       {"svg", "flamegraph"}, {"compare", "diff"},
		{"convert", "export"}, {"query", "sql"},      {"annotate", "top"},
		{"listen", "gather"},  {"live", "top"},
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(command, words[i].theirs))
			return words[i].ours;
	return NULL;
}
