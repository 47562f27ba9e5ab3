#pragma once
/* The bands of `collector timeline --by`: reads the options, and draws the bands with letters. */
#include "collector/cli/ask/question.h"
#include "collector/answers/results.h"

#define GRAPH_LABEL 12 /* columns before a graph */

struct timeline_bands {
	bool asked;
	struct series_question question;
	struct series_filters filters;
};

/* Reads the options. Returns an exit status, after an error message if it is not EXIT_DONE. The
 * caller calls timeline_bands_done in any case. */
int timeline_bands_init(struct timeline_bands *bands, const struct question *question,
			enum export_weight *ret_weight);
void timeline_bands_done(struct timeline_bands *bands);
void print_bands(const struct told_timeline *timeline);
/* Prints the line below a graph, which begins with `zero`, and the times at its ends. */
void print_time_axis(const struct timeline *timeline, const char *zero);
