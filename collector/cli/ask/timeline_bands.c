/* Draws the bands of a timeline on a terminal. See timeline_bands.h. */
#include "collector/cli/ask/timeline_bands.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/parse.h"
#include "collector/cli/output.h"
#include "collector/cli/terminal.h"

#include "base/ban.h"

#define ROWS	    18
#define REST	    '.'
#define LEGEND	    40 /* columns before a band's name */
#define COLUMNS_MAX 512

int timeline_bands_init(struct timeline_bands *b, const struct question *q,
			enum export_weight *ret_weight)
{
	const struct question_options *o = q->options;
	struct err_text err = {0};
	int r = output_weight(q->command, o->weight, ret_weight);

	if (r)
		return r;
	if (!o->bands || o->bands > SERIES_MAX)
		return command_usage_error(q->command, "--bands takes a number from 1 to %d",
					   SERIES_MAX);
	b->asked = o->by || o->series.count;
	b->question.most = (uint32_t)o->bands;
	b->question.blocks = *ret_weight == EXPORT_BLOCKS;
	for (size_t i = 0; !r && i < o->series.count; i++)
		r = series_filters_add(&b->filters, q->view, o->series.texts[i], &err);
	if (!r && b->asked)
		r = series_settle(o->by, &b->question, &b->filters, q->view, &err);
	if (r == -EINVAL)
		return command_usage_error(q->command, "--%s", err.text);
	return r < 0 ? question_failed(q, r, &err) : EXIT_DONE;
}

void timeline_bands_done(struct timeline_bands *b)
{
	series_filters_done(&b->filters);
}

void print_time_axis(const struct timeline *t, const char *zero)
{
	char from[32], to[32];

	printf("%10s +", zero);
	for (uint32_t i = 0; i < t->count; i++)
		putchar('-');
	format_duration(from, t->from_ns);
	format_duration(to, t->to_ns - 1);
	printf("\n%*s%s%*s\n", GRAPH_LABEL, "", from,
	       t->count > strlen(from) + strlen(to) ? (int)(t->count - strlen(from))
						    : (int)strlen(to) + 2,
	       to);
}

static char letter_of(const struct series_list *s, uint32_t k)
{
	if (s->list[k].is_rest)
		return REST;
	return (char)(k < 26 ? 'A' + (int)k : 'a' + (int)k - 26);
}

static void format_value(const struct told_timeline *b, char text[32], uint64_t value)
{
	if (b->weight == EXPORT_BYTES)
		format_size(text, (double)value);
	else
		format_count(text, value);
}

static uint64_t total_at(const struct series_list *s, uint32_t bucket)
{
	uint64_t total = 0;

	for (uint32_t k = 0; k < s->count; k++)
		total += s->list[k].values[bucket];
	return total;
}

/* Returns the first bucket with the most in use. */
static uint32_t highest(const struct series_list *s, uint32_t buckets)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < buckets; i++)
		if (total_at(s, i) > total_at(s, best))
			best = i;
	return best;
}

/* Returns the letter of the band at the middle of the cell. */
static char cell(const struct series_list *s, uint32_t bucket, double value)
{
	double sum = 0;

	for (uint32_t k = 0; k < s->count; k++) {
		sum += (double)s->list[k].values[bucket];
		if (value < sum)
			return letter_of(s, k);
	}
	return ' ';
}

static void print_cells(const struct told_timeline *b)
{
	const struct timeline *t = &b->timeline;
	const struct series_list *s = &b->series;
	uint64_t most = t->count ? total_at(s, highest(s, t->count)) : 0;
	char line[COLUMNS_MAX], text[32];

	for (unsigned row = ROWS; row-- > 0 && most;) {
		uint32_t n = t->count < COLUMNS_MAX ? t->count : COLUMNS_MAX - 1;

		format_value(b, text, (uint64_t)((double)most * (row + 1) / ROWS));
		printf("%10s |", row == ROWS - 1 || row == ROWS / 2 - 1 ? text : "");
		for (uint32_t i = 0; i < n; i++)
			line[i] = cell(s, i, (double)most * (row + 0.5) / ROWS);
		while (n && line[n - 1] == ' ')
			n--;
		line[n] = 0;
		puts(line);
	}
	print_time_axis(t, b->weight == EXPORT_BYTES ? "0 B" : "0");
}

void print_bands(const struct told_timeline *b)
{
	const struct timeline *t = &b->timeline;
	const struct series_list *s = &b->series;
	uint32_t peak = t->count ? highest(s, t->count) : 0;

	print_cells(b);
	putchar('\n');
	terminal_line(STYLE_DIM, "     HIGHEST    AT PEAK IN THE LAST  BAND", 0);
	for (uint32_t k = s->count; k-- > 0 && t->count;) {
		const struct series *one = &s->list[k];
		char most[32], at_peak[32], last[32];

		format_value(b, most, one->most);
		format_value(b, at_peak, one->values[peak]);
		format_value(b, last, one->values[t->count - 1]);
		printf("%c %10s %10s %11s  ", letter_of(s, k), most, at_peak, last);
		terminal_name(STYLE_PLAIN, one->name, terminal_width() - LEGEND);
		putchar('\n');
	}
}
