#pragma once
/*
 * Fleets made up from a seed, for tests of comparisons: boards of different size, functions of
 * different habits, boards that restart or are away, a build that is rolled out. Nothing in them
 * leaks, unless it is planted.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "collector/fleet/matrix.h"

#define SEEDED_START_NS (1764000000ull * 1000000000)
#define SEEDED_STEP_NS	(60 * FLEET_STEP_NS)

enum seeded_plant { PLANT_NONE, PLANT_BOARD, PLANT_BUILD, PLANT_BUILD_LEVEL };

struct seeded {
	uint64_t seed;
	unsigned boards, functions, moments;
	enum seeded_plant plant;
	double bytes; /* planted over the whole time, or at once */
	/* The function that it is planted in holds 1 MiB, with a noise of 2 %; else up to 8 MiB,
	 * with up to 10 %. */
	bool steady;
};

static uint64_t seeded_state;

static double seeded_uniform(void)
{
	seeded_state ^= seeded_state << 13;
	seeded_state ^= seeded_state >> 7;
	seeded_state ^= seeded_state << 17;
	return ((double)(seeded_state >> 11) + 0.5) / 9007199254740992.0;
}

static double seeded_normal(void)
{
	double a = seeded_uniform(), b = seeded_uniform();

	return sqrt(-2 * log(a)) * cos(2 * M_PI * b);
}

static unsigned seeded_below(unsigned count)
{
	return (unsigned)(seeded_uniform() * count);
}

/* What a function does. */
struct seeded_habit {
	unsigned kind;
	double level, noise, tau, phase;
};

#define SEEDED_HABITS 8

static struct seeded_habit seeded_habit_of(unsigned function)
{
	return (struct seeded_habit){
		.kind = function % SEEDED_HABITS,
		.level = exp(log(4096) + seeded_uniform() * log(2048)),
		.noise = 0.005 + 0.1 * seeded_uniform() * seeded_uniform(),
		.tau = 0.03 + 0.25 * seeded_uniform(),
		.phase = seeded_uniform() * 2 * M_PI,
	};
}

/* What a function of a board remembers from moment to moment. */
struct seeded_memory {
	double walk, own;
};

/* In use at `at` (0 to 1), for a process that began at `since`. */
static double seeded_in_use(const struct seeded_habit *h, struct seeded_memory *m, double size,
			    double at, double since)
{
	double noise = h->noise * seeded_normal();

	switch (h->kind) {
	case 0: /* steady */
		return h->level * size * (1 + noise);
	case 1: /* wanders, and comes back; wild at times */
		m->walk = 0.7 * m->walk + noise * (seeded_below(30) ? 1 : 1 + 5 * seeded_uniform());
		return h->level * size * exp(m->walk);
	case 2: /* walks between walls */
		m->walk += 0.3 * noise;
		m->walk = fmax(-0.3, fmin(0.3, m->walk));
		return h->level * size * (1 + m->walk);
	case 3: /* goes with the day */
		return h->level * size * (1 + 0.5 * sin(2 * M_PI * 2 * at + h->phase) + noise);
	case 4: /* bursts */
		return seeded_below(12) ? 0 : h->level * size * 4 * seeded_uniform();
	case 5: /* a cache fills */
		return h->level * size * (1 - exp(-(at - since) / h->tau)) * (1 + 0.2 * noise);
	case 6: /* as configured on the board */
		return h->level * m->own * (1 + 0.1 * noise);
	default: /* walks, and does not come back */
		m->walk += 0.1 * noise;
		return h->level * size * fmax(0, 1 + m->walk);
	}
}

struct seeded_board {
	double size, restart, away, back;
	unsigned build;
	double build_at; /* when it got the new build; 0: it always had it */
};

static struct seeded_board seeded_board_of(unsigned number, unsigned boards)
{
	struct seeded_board b = {.size = exp(0.5 * seeded_normal()),
				 .restart = 2,
				 .away = 2,
				 .back = 2,
				 .build = number * 2 >= boards};

	if (!seeded_below(8))
		b.restart = seeded_uniform();
	if (!seeded_below(15)) {
		b.away = seeded_uniform();
		b.back = b.away + 0.3 * seeded_uniform();
	}
	return b;
}

/* What is planted on this board in its function, over the time. */
static double seeded_plant_of(const struct seeded *s, unsigned board, const struct seeded_board *b,
			      double begins, double at, double since)
{
	double from = fmax(begins, since);
	bool here = (s->plant == PLANT_BOARD && board == s->boards / 3) ||
		    (s->plant > PLANT_BOARD && b->build);

	if (!here)
		return 0;
	if (s->plant == PLANT_BUILD_LEVEL)
		return s->bytes * b->size;
	return at > from ? s->bytes * (at - from) : 0;
}

/* Adds one function of one board. */
static int seeded_course(const struct seeded *s, struct fleet_matrix *m, uint32_t unit,
			 const struct seeded_board *b, unsigned board, unsigned function,
			 const struct seeded_habit *h, double begins)
{
	struct seeded_memory memory = {.own = exp(0.4 * seeded_normal())};
	char name[32];
	uint32_t number;

	snprintf(name, sizeof(name), "function_%u", function);
	number = fleet_function_number(m, name, "libapp.so");
	for (unsigned k = 0; k < s->moments; k++) {
		double at = (double)k / (s->moments - 1),
		       since = at >= b->restart ? b->restart : -1;
		double bytes = seeded_in_use(h, &memory, b->size, at, since);

		if (!function)
			bytes += seeded_plant_of(s, board, b, begins, at, since < 0 ? 0 : since);
		if (at >= b->away && at < b->back)
			continue;
		if (fleet_add(m, unit, number, k, (int64_t)bytes) < 0)
			return -1;
	}
	return 0;
}

static void seeded_there(const struct seeded *s, struct fleet_unit *unit,
			 const struct seeded_board *b)
{
	unsigned first = 0;

	for (unsigned k = 1; k <= s->moments; k++) {
		double at = (double)k / (s->moments - 1),
		       before = (double)(k - 1) / (s->moments - 1);
		bool was = before < b->away || before >= b->back,
		     is = k < s->moments && (at < b->away || at >= b->back);
		bool anew = before < b->restart && at >= b->restart;

		if (was && (!is || anew))
			fleet_was_there(unit, first, k - 1);
		if (!was || anew)
			first = k;
	}
}

/* Makes the fleet. Function 0 is steady, and what is planted is planted there. */
static int seeded_make(const struct seeded *s, struct fleet_matrix *m)
{
	struct seeded_habit habits[256];
	double begins;
	int r = 0;

	seeded_state = 88172645463325252ull ^ (s->seed * 0x9e3779b97f4a7c15ull);
	for (unsigned i = 0; i < 20; i++)
		seeded_uniform();
	*m = (struct fleet_matrix){
		.from_ns = SEEDED_START_NS, .step_ns = SEEDED_STEP_NS, .moments = s->moments};
	for (unsigned f = 0; f < s->functions; f++)
		habits[f] = seeded_habit_of(f);
	if (s->steady) {
		habits[0].level = 1 << 20;
		habits[0].noise = 0.02;
	}
	begins = 0.5 * seeded_uniform();
	for (unsigned i = 0; !r && i < s->boards; i++) {
		struct seeded_board b = seeded_board_of(i, s->boards);
		char host[32];
		int64_t unit;

		snprintf(host, sizeof(host), "gw-%03u", i);
		unit = fleet_unit_number(m, "app", host, b.build ? "b2b2b2b2b2b2" : "a1a1a1a1a1a1");
		if (unit < 0)
			return -1;
		/* As old as the time that is looked at. */
		m->units[unit].began_ns =
			SEEDED_START_NS - (s->moments - 1) * SEEDED_STEP_NS - (b.build ? 1 : 2);
		seeded_there(s, &m->units[unit], &b);
		for (unsigned f = 0; !r && f < s->functions; f++)
			r = seeded_course(s, m, (uint32_t)unit, &b, i, f, &habits[f], begins);
	}
	return r;
}
