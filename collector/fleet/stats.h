#pragma once
/* The statistics that fleets are compared by. All are robust: a few wild values change little. */
#include <stdbool.h>
#include <stdint.h>

/* Return 0 for no values. The values are reordered. */
double stats_median(double *values, uint32_t count);
/* The value below which a part `p` of the values lies, interpolated between neighbours. */
double stats_quantile(double *values, uint32_t count, double p);

/* Where values lie, and how far they spread. */
struct stats_spread {
	double median;
	/* Estimates the standard deviation: the greatest of what the median absolute deviation, the
	 * 5 % and the 90 % quantile say of a normal distribution, so that neither heavy tails nor a
	 * tenth of wild high values hide. */
	double scale;
	double p95;
};
/* `room` holds `count` values. */
struct stats_spread stats_spread_of(const double *values, uint32_t count, double *room);

/*
 * Half of the interval between the order statistics that hold the median with 95 %: numbers n/2 -+
 * 0.98 sqrt(n) (Conover, Practical Nonparametric Statistics, 3.2). The values must be sorted.
 */
double stats_median_error(const double *sorted, uint32_t count);

/* The probability of at least `count` successes in `of` trials, if one succeeds with probability
 * `p`. */
double stats_binomial(uint32_t count, uint32_t of, double p);

/*
 * The probability that two samples from one distribution differ in rank as much as these: the
 * two-sided rank sum test of Mann and Whitney, by the normal approximation with the correction for
 * ties (Conover, 5.1). Wants eight values on each side.
 */
double stats_rank_sum(const double *a, uint32_t a_count, const double *b, uint32_t b_count);

/* ---- courses: values at moments of equal distance ---- */

#define STATS_COURSE_LEAST 8 /* values that a judgement of growth takes */

struct stats_growth {
	double total; /* stats_rise_of */
	/* It grows, from `since` on, in every part of the time, by more than it ever changed
	 * before, and did not slow down much. */
	bool sustained;
	uint32_t since; /* the last moment before it began to grow */
	double fit;	/* part of the variance that "flat, then a straight line" explains */
};
/* `young`: the process began not long before, and may still fill its caches; then growth must not
 * slow down at all. Returns zeros for fewer than STATS_COURSE_LEAST values. */
struct stats_growth stats_growth_of(const double *values, uint32_t count, bool young);
/* From the median of the first eighth of the values to that of the last. */
double stats_rise_of(const double *values, uint32_t count);
/* Returns the moment at which a course that jumped is at its new height first: the split with the
 * least squares around two means. 0: no split is better than none. */
uint32_t stats_step_of(const double *values, uint32_t count);
