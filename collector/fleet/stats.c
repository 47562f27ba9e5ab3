/* Robust statistics. See stats.h. */
#include "collector/fleet/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/ban.h"

/* What makes the median absolute deviation, and quantiles, of a normal distribution its standard
 * deviation. */
#define SIGMA_OF_MAD 1.4826
#define SIGMA_TO_P5  1.645
#define SIGMA_TO_P90 1.282

#define MOMENTS_MAX 64
/* A course is split into so many parts; it must grow from each to the next, by a tenth of all at
 * least, and at last not much slower than at first. A course in which one step makes more than
 * JUMP_MOST has jumped. */
#define PARTS	    4
#define PART_LEAST  0.1
#define LAST_LEAST  0.5
#define YOUNG_LEAST 0.85
#define JUMP_MOST   0.6
#define BEYOND	    0.5 /* by so much of what it changed before must growth exceed the highest */
#define FIT_LEAST   0.7
#define TAIL_LEAST  6 /* moments of growth */

static int double_order(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double quantile_sorted(const double *sorted, uint32_t count, double p)
{
	double at = p * (count - 1), below = floor(at);
	uint32_t i = (uint32_t)below;

	return i + 1 < count ? sorted[i] + (at - below) * (sorted[i + 1] - sorted[i]) : sorted[i];
}

double stats_quantile(double *values, uint32_t count, double p)
{
	if (!count)
		return 0;
	qsort(values, count, sizeof(*values), double_order);
	return quantile_sorted(values, count, p);
}

double stats_median(double *values, uint32_t count)
{
	return stats_quantile(values, count, 0.5);
}

struct stats_spread stats_spread_of(const double *values, uint32_t count, double *room)
{
	struct stats_spread s = {0};
	double low, high;

	if (!count)
		return s;
	memcpy(room, values, count * sizeof(*room));
	s.median = stats_median(room, count);
	s.p95 = quantile_sorted(room, count, 0.95);
	low = (s.median - quantile_sorted(room, count, 0.05)) / SIGMA_TO_P5;
	high = (quantile_sorted(room, count, 0.9) - s.median) / SIGMA_TO_P90;
	for (uint32_t i = 0; i < count; i++)
		room[i] = fabs(values[i] - s.median);
	s.scale = fmax(SIGMA_OF_MAD * stats_median(room, count), fmax(low, high));
	return s;
}

double stats_median_error(const double *sorted, uint32_t count)
{
	double half = 0.98 * sqrt(count), low = floor(count / 2.0 - half),
	       high = ceil(count / 2.0 + half);

	if (!count)
		return 0;
	low = low < 0 ? 0 : low;
	high = high > count - 1 ? count - 1 : high;
	return (sorted[(uint32_t)high] - sorted[(uint32_t)low]) / 2;
}

double stats_binomial(uint32_t count, uint32_t of, double p)
{
	double term = of * log1p(-p), sum = 0;

	/* The logarithm of (of choose k) p^k (1 - p)^(of - k), from k to k + 1. */
	for (uint32_t k = 0; k <= of; k++) {
		if (k >= count)
			sum += exp(term);
		term += log((double)(of - k)) - log((double)(k + 1)) + log(p) - log1p(-p);
	}
	return sum > 1 ? 1 : sum;
}

struct ranked {
	double value;
	uint32_t side;
};

static int ranked_order(const void *a, const void *b)
{
	return double_order(&((const struct ranked *)a)->value, &((const struct ranked *)b)->value);
}

/* Sums the ranks of side 0, and the correction for ties. */
static void sum_ranks(const struct ranked *list, uint32_t count, double *ret_ranks,
		      double *ret_ties)
{
	*ret_ranks = *ret_ties = 0;
	for (uint32_t i = 0, n; i < count; i += n) {
		double ties;

		for (n = 1; i + n < count && !(list[i + n].value > list[i].value);)
			n++;
		ties = n;
		*ret_ties += ties * ties * ties - ties;
		for (uint32_t k = i; k < i + n; k++)
			*ret_ranks += list[k].side ? 0 : i + (ties + 1) / 2;
	}
}

double stats_rank_sum(const double *a, uint32_t a_count, const double *b, uint32_t b_count)
{
	double n = a_count, m = b_count, all = n + m, ranks, ties, variance;
	struct ranked *list = calloc((size_t)a_count + b_count + 1, sizeof(*list));

	if (!list || !a_count || !b_count) {
		free(list);
		return 1;
	}
	for (uint32_t i = 0; i < a_count; i++)
		list[i] = (struct ranked){a[i], 0};
	for (uint32_t i = 0; i < b_count; i++)
		list[a_count + i] = (struct ranked){b[i], 1};
	qsort(list, (size_t)a_count + b_count, sizeof(*list), ranked_order);
	sum_ranks(list, a_count + b_count, &ranks, &ties);
	free(list);
	variance = n * m / 12 * (all + 1 - ties / (all * (all - 1)));
	if (!(variance > 0))
		return 1;
	return erfc(fabs(ranks - n * (all + 1) / 2) / sqrt(variance) / M_SQRT2);
}

/* ---- courses ---- */

static double median_of(const double *values, uint32_t from, uint32_t end)
{
	double room[MOMENTS_MAX];
	uint32_t count = end > from ? end - from : 0;

	memcpy(room, values + from, count * sizeof(*room));
	return stats_median(room, count);
}

/* The squares that remain around "flat until k, then a straight line", fitted by least squares. */
static double hinge_squares(const double *y, uint32_t count, uint32_t k)
{
	double n = count, sx = 0, sy = 0, sxx = 0, sxy = 0, syy = 0, xx, xy, yy;

	for (uint32_t i = 0; i < count; i++) {
		double x = i > k ? i - k : 0;

		sx += x;
		sy += y[i];
		sxx += x * x;
		sxy += x * y[i];
		syy += y[i] * y[i];
	}
	xx = sxx - sx * sx / n;
	xy = sxy - sx * sy / n;
	yy = syy - sy * sy / n;
	/* Only growth is looked for. */
	return xx > 0 && xy > 0 ? yy - xy * xy / xx : yy;
}

static uint32_t hinge_of(const double *y, uint32_t count, double *ret_fit)
{
	double best = INFINITY, all = hinge_squares(y, count, count);
	uint32_t at = 0;

	for (uint32_t k = 0; k + TAIL_LEAST <= count; k++) {
		double squares = hinge_squares(y, count, k);

		if (squares < best) {
			best = squares;
			at = k;
		}
	}
	*ret_fit = all > 0 ? 1 - best / all : 0;
	return at;
}

/* Tells whether the end lies well above all that was there before it began to grow. */
static bool is_beyond(const double *y, uint32_t count, uint32_t since)
{
	double low = y[0], high = y[0];

	for (uint32_t i = 1; i <= since; i++) {
		low = fmin(low, y[i]);
		high = fmax(high, y[i]);
	}
	return median_of(y, count - 3, count) - high > BEYOND * (high - low);
}

static bool keeps_growing(const double *y, uint32_t count, bool young)
{
	double part[PARTS], total, step = 0;

	for (uint32_t p = 0; p < PARTS; p++)
		part[p] = median_of(y, count * p / PARTS, count * (p + 1) / PARTS);
	total = part[PARTS - 1] - part[0];
	for (uint32_t i = 1; i < count; i++)
		step = fmax(step, y[i] - y[i - 1]);
	if (!(total > 0) || step > JUMP_MOST * (y[count - 1] - y[0]))
		return false;
	for (uint32_t p = 1; p < PARTS; p++)
		if (part[p] - part[p - 1] < PART_LEAST * total)
			return false;
	return part[PARTS - 1] - part[PARTS - 2] >=
	       (young ? YOUNG_LEAST : LAST_LEAST) * (part[1] - part[0]);
}

static bool is_flat(const double *y, uint32_t count)
{
	for (uint32_t i = 1; i < count; i++)
		if (y[i] < y[0] || y[i] > y[0])
			return false;
	return true;
}

double stats_rise_of(const double *values, uint32_t count)
{
	uint32_t eighth = count / STATS_COURSE_LEAST;

	return count < STATS_COURSE_LEAST || count > MOMENTS_MAX
		       ? 0
		       : median_of(values, count - eighth, count) - median_of(values, 0, eighth);
}

struct stats_growth stats_growth_of(const double *values, uint32_t count, bool young)
{
	struct stats_growth g = {0};

	if (count < STATS_COURSE_LEAST || count > MOMENTS_MAX || is_flat(values, count))
		return g;
	g.total = stats_rise_of(values, count);
	g.since = hinge_of(values, count, &g.fit);
	g.sustained = g.fit >= FIT_LEAST && is_beyond(values, count, g.since) &&
		      keeps_growing(values + g.since, count - g.since, young);
	return g;
}

uint32_t stats_step_of(const double *values, uint32_t count)
{
	double sum = 0, below = 0, best = 0;
	uint32_t at = 0;

	for (uint32_t i = 0; i < count; i++)
		sum += values[i];
	for (uint32_t k = 1; k < count; k++) {
		double difference, between;

		below += values[k - 1];
		difference = below / k - (sum - below) / (count - k);
		between = difference * difference * k * (count - k) / count;
		if (between > best * (1 + 1e-12)) {
			best = between;
			at = k;
		}
	}
	return at;
}
