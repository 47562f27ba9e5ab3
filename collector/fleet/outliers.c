/*
 * Boards that differ from the others.
 *
 * Growth: the board's growth lies LEAK_SIGMAS above the median of the others, is sustained
 * (stats.h), and above what nearly all others do: in a small fleet, four times the greatest of
 * them. Others are the boards of the same build, if there are enough.
 *
 * Holding more: the same for what the board held at the least during the last half of its time, as
 * a logarithm beside the board's size, so that a board that does more of everything is not told.
 */
#include <errno.h>
#include <math.h>

#include "collector/fleet/compare.h"

#include "base/ban.h"

#define LEAK_SIGMAS   6
#define LEAK_FLOOR    1024 /* bytes: the least standard deviation of growth */
#define BEYOND_SIGMAS 3
#define MORE_SIGMAS   10
#define MORE_FLOOR    0.1 /* of the logarithm */
#define MORE_BYTES    65536
#define MORE_PART     0.02 /* of what the board holds */
#define OTHERS_LEAST  (FLEET_BOARDS_LEAST - 1)
#define OTHERS_SPREAD 20 /* so few others tell too little of their spread */
#define OTHERS_FACTOR 4
#define OTHERS_MATES  8 /* so many of the same build are enough */

/* A finding that boards are added to. */
struct telling {
	enum fleet_kind kind;
	struct fleet_finding *finding; /* NULL: none yet */
	double most;
};

static uint32_t mates_of(const struct comparison *c, uint32_t unit)
{
	return c->builds[c->units[unit].build].judged - c->units[unit].told;
}

static bool is_other(const struct comparison *c, uint32_t unit, uint32_t other)
{
	return other != unit &&
	       (mates_of(c, unit) < OTHERS_MATES || c->units[other].build == c->units[unit].build);
}

/* Collects what the other units grew during this one's run. */
static uint32_t gather_growth(const struct comparison *c, uint32_t unit)
{
	const struct compared_unit *of = &c->units[unit];
	uint32_t count = 0;

	for (uint32_t u = 0; u < c->count; u++)
		if (is_other(c, unit, u) &&
		    growth_between(c, u, of->first, of->count, &c->others[count]))
			count++;
	return count;
}

static uint32_t gather_levels(const struct comparison *c, uint32_t unit,
			      double (*value)(const struct comparison *c, uint32_t unit))
{
	uint32_t count = 0;

	for (uint32_t u = 0; u < c->count; u++)
		if (c->units[u].holds && is_other(c, unit, u))
			c->others[count++] = value(c, u);
	return count;
}

static double level_value(const struct comparison *c, uint32_t unit)
{
	return measured_normal(c, unit, c->measured[unit].level);
}

/* Tells whether `value` is far above the others. */
static bool stands_out(const struct comparison *c, double value, uint32_t others, double sigmas,
		       double floor, struct stats_spread *ret_spread)
{
	struct stats_spread s = stats_spread_of(c->others, others, c->room);
	double most = 0;

	*ret_spread = s;
	if (value - s.median < sigmas * fmax(s.scale, floor))
		return false;
	for (uint32_t i = 0; others < OTHERS_SPREAD && i < others; i++)
		most = fmax(most, fabs(c->others[i] - s.median));
	return value - s.median >= OTHERS_FACTOR * most;
}

/* ---- growth ---- */

/* A process that began anew fills its caches, up to what boards usually hold. Tells whether this
 * one has gone beyond that. */
static bool is_beyond_usual(const struct comparison *c, uint32_t unit)
{
	uint32_t others = gather_levels(c, unit, level_value);
	struct stats_spread s = stats_spread_of(c->others, others, c->room);

	return level_value(c, unit) >= s.median + fmax(MORE_FLOOR, BEYOND_SIGMAS * s.scale);
}

static bool leaks(const struct comparison *c, uint32_t unit, struct stats_spread *ret_spread)
{
	const struct measured *m = &c->measured[unit];
	uint32_t others;

	if (!c->units[unit].told || c->explained[unit] || !m->growth.sustained ||
	    m->growth.total < FLEET_BYTES_LEAST)
		return false;
	if (c->units[unit].young && !is_beyond_usual(c, unit))
		return false;
	others = gather_growth(c, unit);
	return others >= OTHERS_LEAST && stands_out(c, m->growth.total / c->units[unit].size,
						    others, LEAK_SIGMAS, LEAK_FLOOR, ret_spread);
}

/* Adds a board to the finding. The one that differs most says since when, and beside what. */
static int tell(struct comparison *c, struct telling *t, uint32_t unit, double bytes,
		uint64_t since_ns, const struct stats_spread *others)
{
	if (!t->finding)
		t->finding = finding_add(c, t->kind);
	if (!t->finding)
		return -ENOMEM;
	if (!t->finding->count || bytes > t->most) {
		t->most = bytes;
		t->finding->since_ns = since_ns;
		t->finding->others_median = llround(others->median);
		t->finding->others_p95 = llround(others->p95);
	}
	return finding_add_board(c, t->finding, unit, bytes);
}

static int tell_leak(struct comparison *c, struct telling *t, uint32_t unit,
		     const struct stats_spread *others)
{
	const struct stats_growth *growth = &c->measured[unit].growth;

	c->explained[unit] = true;
	return tell(c, t, unit, growth->total - others->median * c->units[unit].size,
		    run_time(c, unit, growth->since), others);
}

/* ---- holding more ---- */

static bool holds_more(const struct comparison *c, uint32_t unit, struct stats_spread *ret_spread)
{
	const struct measured *m = &c->measured[unit];
	uint32_t others;
	double usual;

	if (!c->units[unit].holds || !c->units[unit].told || c->explained[unit] ||
	    c->explained_level[unit] || m->lowest < MORE_BYTES ||
	    m->lowest < MORE_PART * c->units[unit].total)
		return false;
	others = gather_levels(c, unit, level_value);
	if (others < OTHERS_LEAST || !stands_out(c, measured_normal(c, unit, m->lowest), others,
						 MORE_SIGMAS, MORE_FLOOR, ret_spread))
		return false;
	usual = exp(ret_spread->median) * c->units[unit].size;
	return m->lowest - usual >= fmax(MORE_BYTES, MORE_PART * c->units[unit].total);
}

static double plain_level(const struct comparison *c, uint32_t unit)
{
	return c->measured[unit].level;
}

static uint64_t since_step(const struct comparison *c, uint32_t unit)
{
	const struct compared_unit *u = &c->units[unit];

	return run_time(c, unit, stats_step_of(c->measured[unit].bytes + u->first, u->count));
}

static int tell_more(struct comparison *c, struct telling *t, uint32_t unit)
{
	uint32_t others = gather_levels(c, unit, plain_level);
	struct stats_spread usual = stats_spread_of(c->others, others, c->room);

	return tell(c, t, unit, c->measured[unit].level - usual.median, since_step(c, unit),
		    &usual);
}

int outliers_compare(struct comparison *c)
{
	struct telling leak = {FLEET_LEAK_ON_BOARDS, NULL, 0},
		       more = {FLEET_MORE_ON_BOARDS, NULL, 0};
	struct stats_spread others;
	int r = 0;

	for (uint32_t u = 0; !r && u < c->count; u++)
		if (leaks(c, u, &others))
			r = tell_leak(c, &leak, u, &others);
	finding_end(c, leak.finding);
	for (uint32_t u = 0; !r && u < c->count; u++)
		if (holds_more(c, u, &others))
			r = tell_more(c, &more, u);
	finding_end(c, more.finding);
	return r;
}
