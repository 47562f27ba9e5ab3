/*
 * Growth of a function on most boards. A board's course may seem sustained by chance. That happens
 * to less than one in ten (BY_CHANCE: a random walk's does to one in 30), so it is told if so many
 * boards grow that this is no explanation for all functions together (FLEET_ERROR). Six boards are
 * the fewest that can tell. The mean of the boards must be sustained, too.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collector/fleet/compare.h"

#include "base/ban.h"

#define BY_CHANCE  0.1
#define MOST_LEAST 0.5 /* part of the boards that grow */

static bool grows(const struct comparison *c, uint32_t unit)
{
	const struct measured *m = &c->measured[unit];

	return c->units[unit].told && m->growth.sustained && m->growth.total >= FLEET_BYTES_LEAST;
}

static int tell_growth(struct comparison *c, uint64_t since_ns)
{
	struct fleet_finding *f = finding_add(c, FLEET_GROWTH);
	uint32_t others = 0;
	struct stats_spread usual;
	int r = f ? 0 : -ENOMEM;

	for (uint32_t u = 0; !r && u < c->count; u++) {
		if (c->chosen[u])
			r = finding_add_board(c, f, u, c->measured[u].growth.total);
		else if (c->units[u].told)
			c->others[others++] = c->measured[u].growth.total;
		c->explained[u] |= c->chosen[u];
	}
	if (r < 0)
		return r;
	usual = stats_spread_of(c->others, others, c->room);
	f->others_median = llround(usual.median);
	f->others_p95 = llround(usual.p95);
	f->since_ns = since_ns;
	finding_end(c, f);
	return 0;
}

int growth_compare(struct comparison *c)
{
	double course[FLEET_MOMENTS_MAX];
	uint32_t first = 0, count, judged = 0, number = 0, explained = 0;
	struct stats_growth g;

	for (uint32_t u = 0; u < c->count; u++) {
		c->chosen[u] = grows(c, u);
		judged += c->units[u].told;
		number += c->chosen[u];
		explained += c->chosen[u] && c->explained[u];
	}
	if (!number || number < MOST_LEAST * judged || 2 * explained > number ||
	    stats_binomial(number, judged, BY_CHANCE) >= FLEET_ERROR / c->function_count)
		return 0;
	count = mean_course(c, c->chosen, course, &first);
	g = stats_growth_of(course, count, false);
	if (!g.sustained)
		return 0;
	return tell_growth(c, first + g.since
				      ? c->matrix->from_ns + (first + g.since) * c->matrix->step_ns
				      : 0);
}
