/* Finds the option that a misspelt name resembles. See option_row.h. */
#include <string.h>

#include "agent/cli/option_row.h"
#include "base/ban.h"

#define NAME_LENGTH 24 /* more than the longest name */

/* The Levenshtein distance of two names, computed row by row: the number of letters to insert,
 * delete or replace. `b` has at most NAME_LENGTH letters. */
static unsigned distance(const char *a, size_t a_length, const char *b)
{
	unsigned row[NAME_LENGTH + 1];
	size_t b_length = strlen(b);

	for (size_t k = 0; k <= b_length; k++)
		row[k] = (unsigned)k;
	for (size_t i = 1; i <= a_length; i++) {
		unsigned diagonal = row[0];

		row[0] = (unsigned)i;
		for (size_t k = 1; k <= b_length; k++) {
			unsigned best = diagonal + (a[i - 1] != b[k - 1]);

			diagonal = row[k];
			if (row[k] + 1 < best)
				best = row[k] + 1;
			if (row[k - 1] + 1 < best)
				best = row[k - 1] + 1;
			row[k] = best;
		}
	}
	return row[b_length];
}

const char *option_nearest(const char *name, size_t length, unsigned command)
{
	unsigned least = length < 6 ? 2 : 3;
	const struct option_row *row;
	const char *best = NULL;

	for (unsigned i = 0; (row = option_row(i)) && length <= NAME_LENGTH; i++) {
		unsigned d;

		if (!(row->commands & command) || !row->help)
			continue;
		if (length >= 3 && !strncmp(row->name, name, length))
			return row->name;
		d = distance(name, length, row->name);
		if (d < least) {
			least = d;
			best = row->name;
		}
	}
	return best;
}
