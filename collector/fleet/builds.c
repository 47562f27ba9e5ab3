/*
 * A build beside the one before it, by the boards that run them.
 *
 * The two groups differ if the rank sum test says so for all functions together (FLEET_ERROR). With
 * few boards it can't say so. Then all of one side must lie above all of the other: by SEPARATED
 * times the range of either, or so many that chance does not do that. Growth is looked at beside
 * the size of the boards, and as it is, as a leak may have nothing to do with what a board does.
 * Growth is compared over the same time, and must be sustained. What the builds hold is compared at
 * the same time, too: a build's processes that are younger hold less, rather than more, as their
 * caches fill.
 */
#include <errno.h>
#include <math.h>

#include "collector/fleet/compare.h"

#include "base/ban.h"

#define SIDE_LEAST  FLEET_BUILD_LEAST
#define RANKS_LEAST 8
#define SEPARATED   3
#define RATIO_LEAST 0.1	  /* what a build holds more, of what the earlier one holds */
#define PART_LEAST  0.005 /* and of all that a board holds */

/* One side: the values of the boards with a build, in `values`. */
struct side {
	double *values;
	uint32_t count;
	double low, high;
};

/* Finds a unit's value when `build` is compared with its earlier one. Returns false if it has
 * none. */
typedef bool side_value(const struct comparison *c, uint32_t unit, uint32_t build, double *ret);

static struct side side_of(const struct comparison *c, uint32_t of, uint32_t build, double *values,
			   side_value *value)
{
	struct side s = {.values = values, .low = INFINITY, .high = -INFINITY};

	for (uint32_t u = 0; u < c->count; u++) {
		double v;

		if (c->units[u].build != of || !value(c, u, build, &v))
			continue;
		values[s.count++] = v;
		s.low = fmin(s.low, v);
		s.high = fmax(s.high, v);
	}
	return s;
}

/* The logarithm of the probability that all of one side lie above all of the other by chance. */
static double separation_chance(uint32_t a, uint32_t b)
{
	return lgamma(a + 1.0) + lgamma(b + 1.0) - lgamma(a + b + 1.0);
}

static bool lies_above(const struct comparison *c, const struct side *now, const struct side *old,
		       double floor)
{
	double range = fmax(fmax(now->high - now->low, old->high - old->low), floor);

	if (now->count < SIDE_LEAST || old->count < SIDE_LEAST)
		return false;
	if (now->low - old->high >= SEPARATED * range)
		return true;
	if (now->low > old->high &&
	    separation_chance(now->count, old->count) < log(FLEET_ERROR / c->function_count))
		return true;
	return now->count >= RANKS_LEAST && old->count >= RANKS_LEAST &&
	       stats_rank_sum(now->values, now->count, old->values, old->count) <
		       FLEET_ERROR / c->function_count;
}

/* Tells of the boards with this build: each with its value above what the earlier build's have. */
static struct fleet_finding *tell_build(struct comparison *c, enum fleet_kind kind, uint32_t build,
					side_value *value)
{
	uint32_t earlier = c->builds[build].earlier;
	struct side old = side_of(c, earlier, build, c->others, value);
	struct stats_spread usual = stats_spread_of(old.values, old.count, c->room);
	struct fleet_finding *f = finding_add(c, kind);
	double v;

	if (!f)
		return NULL;
	f->build = intern_get(&c->matrix->texts, c->builds[build].text);
	f->earlier = intern_get(&c->matrix->texts, c->builds[earlier].text);
	f->others_median = llround(usual.median);
	f->others_p95 = llround(usual.p95);
	for (uint32_t u = 0; u < c->count; u++)
		if (c->units[u].build == build && value(c, u, build, &v) &&
		    finding_add_board(c, f, u, v - usual.median) < 0)
			return NULL;
	finding_end(c, f);
	return f;
}

static double side_median(const struct side *s, double *room)
{
	return stats_spread_of(s->values, s->count, room).median;
}

/* How much a unit holds, beside others that do as much. */
static bool normal_value(const struct comparison *c, uint32_t unit, uint32_t build, double *ret)
{
	(void)build;
	*ret = measured_normal(c, unit, c->measured[unit].level);
	return c->units[unit].holds;
}

/* ---- growth ---- */

static bool growth_value(const struct comparison *c, uint32_t unit, uint32_t build, double *ret)
{
	return growth_between(c, unit, c->builds[build].first, c->builds[build].count, ret);
}

static bool build_sustained(struct comparison *c, uint32_t build, uint64_t *ret_since_ns)
{
	double course[FLEET_MOMENTS_MAX];
	uint32_t count, first = 0;
	struct stats_growth g;
	bool young = false;

	for (uint32_t u = 0; u < c->count; u++) {
		c->chosen[u] = c->units[u].told && c->units[u].build == build;
		young |= c->chosen[u] && c->units[u].young;
	}
	count = mean_course(c, c->chosen, course, &first);
	g = stats_growth_of(course, count, young);
	first += g.since;
	*ret_since_ns = first ? c->matrix->from_ns + first * c->matrix->step_ns : 0;
	return g.sustained;
}

/* Caches of processes that began anew fill up to what the earlier build holds. */
static bool has_more(struct comparison *c, uint32_t build)
{
	struct side now = side_of(c, build, build, c->values, normal_value),
		    old = side_of(c, c->builds[build].earlier, build, c->others, normal_value);

	return side_median(&now, c->room) > side_median(&old, c->room);
}

static bool growth_raw(const struct comparison *c, uint32_t unit, uint32_t build, double *ret)
{
	if (!growth_value(c, unit, build, ret))
		return false;
	*ret *= c->units[unit].size;
	return true;
}

static bool grows_by(struct comparison *c, uint32_t build, side_value *value)
{
	struct side now = side_of(c, build, build, c->values, value),
		    old = side_of(c, c->builds[build].earlier, build, c->others, value);

	return lies_above(c, &now, &old, FLEET_BYTES_LEAST / 4.0) &&
	       side_median(&now, c->room) - side_median(&old, c->room) >= FLEET_BYTES_LEAST;
}

static bool build_grows(struct comparison *c, uint32_t build, uint64_t *ret_since_ns)
{
	return (grows_by(c, build, growth_value) || grows_by(c, build, growth_raw)) &&
	       build_sustained(c, build, ret_since_ns) && has_more(c, build);
}

/* ---- holding more ---- */

static bool level_value(const struct comparison *c, uint32_t unit, uint32_t build, double *ret)
{
	(void)build;
	*ret = c->measured[unit].level;
	return c->units[unit].holds;
}

static bool build_holds_more(struct comparison *c, uint32_t build)
{
	uint32_t earlier = c->builds[build].earlier;
	struct side now = side_of(c, build, build, c->values, normal_value),
		    old = side_of(c, earlier, build, c->others, normal_value);
	double was = side_median(&old, c->room), is = side_median(&now, c->room);

	return lies_above(c, &now, &old, RATIO_LEAST / 4) && is - was >= log1p(RATIO_LEAST) &&
	       exp(is) - exp(was) >= fmax(FLEET_BYTES_LEAST, PART_LEAST * c->total);
}

/* ---- both ---- */

static void explain(const struct comparison *c, uint32_t build, bool *explained)
{
	for (uint32_t u = 0; u < c->count; u++)
		explained[u] |= c->units[u].build == build;
}

static int compare_build(struct comparison *c, uint32_t build)
{
	struct fleet_finding *f;
	uint64_t since_ns;

	if (build_grows(c, build, &since_ns)) {
		f = tell_build(c, FLEET_GROWTH_IN_BUILD, build, growth_raw);
		if (!f)
			return -ENOMEM;
		f->since_ns = since_ns;
		explain(c, build, c->explained);
		explain(c, build, c->explained_level);
	} else if (build_holds_more(c, build)) {
		if (!tell_build(c, FLEET_MORE_IN_BUILD, build, level_value))
			return -ENOMEM;
		explain(c, build, c->explained_level);
	}
	return 0;
}

int builds_compare(struct comparison *c)
{
	int r = 0;

	for (uint32_t b = 0; !r && b < c->build_count; b++)
		if (c->builds[b].earlier != b)
			r = compare_build(c, b);
	return r;
}
