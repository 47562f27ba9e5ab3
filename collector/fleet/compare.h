#pragma once
/* One program's units, compared function by function; private to collector/fleet. */
#include <stdbool.h>
#include <stdint.h>

#include "collector/fleet/matrix.h"
#include "collector/fleet/stats.h"

/* A growth of less than this, or holding so much more, is not told. */
#define FLEET_BYTES_LEAST 16384
/* How probable it may be that a fleet in which nothing differs is told anything by one rule, for
 * all functions together. */
#define FLEET_ERROR 1e-4

/* What a unit does with one function. */
struct measured {
	double bytes[FLEET_MOMENTS_MAX]; /* in use, by moment */
	double level;			 /* in use in the last quarter of the moments: the median */
	double lowest;			 /* in use in the last half: the least */
	struct stats_growth growth;	 /* during the unit's run */
};

struct compared_unit {
	const struct fleet_unit *unit;
	uint32_t number;
	const char *host;
	uint32_t build; /* in the order of `builds` */
	/* Its *run*: a time, as moments, in which no process came or went; the last one that is
	 * long enough to tell growth, or else the longest. */
	uint32_t first, count;
	bool told;    /* the run has moments enough for growth */
	bool young;   /* when the run began, the process was younger than the run is long */
	bool holds;   /* it was there in most of the last quarter, and tells how much it holds */
	double total; /* in use in all functions */
	double size;  /* how much it does, beside the median unit: a factor */
};

struct compared_build {
	uint32_t text;
	uint64_t began_ns;
	uint32_t units, judged;
	/* The next earlier build of enough units; its own number: none. */
	uint32_t earlier;
	/* The moments of which growth is compared: at least half of its units' runs cover them. */
	uint32_t first, count;
};

struct comparison {
	const struct fleet_matrix *matrix;
	struct fleet_report *report;
	uint32_t program; /* a text */
	struct compared_unit *units;
	uint32_t count;
	struct compared_build *builds;
	uint32_t build_count;
	uint32_t *functions; /* their numbers, in the order of their names */
	uint32_t function_count;
	double total; /* of the median unit */

	uint32_t function;	   /* the one that is looked at */
	struct measured *measured; /* by unit */
	bool *explained;	   /* by unit: a finding tells its growth */
	bool *explained_level;
	double *values, *others, *room; /* by unit */
	bool *chosen;			/* by unit */
};

/* Adds a finding about the function, which is empty but for its name. Returns NULL without
 * memory. */
struct fleet_finding *finding_add(struct comparison *c, enum fleet_kind kind);
/* Adds a board to the finding. Returns 0 or -ENOMEM. */
int finding_add_board(struct comparison *c, struct fleet_finding *finding, uint32_t unit,
		      double bytes);
/* Sums up and sorts the boards. */
void finding_end(struct comparison *c, struct fleet_finding *finding);
/* Returns the time of a moment of a unit's run; 0 for the first of all moments. */
uint64_t run_time(const struct comparison *c, uint32_t unit, uint32_t moment);
/* The growth of a unit between moments, for a board of median size. Returns false if its run does
 * not cover them. */
bool growth_between(const struct comparison *c, uint32_t unit, uint32_t first, uint32_t count,
		    double *ret_growth);
/* The mean of the units that `chosen` marks: what they grew, moment by moment, from the first
 * moment on at which one of them was there. Returns the number of moments. */
uint32_t mean_course(const struct comparison *c, const bool *chosen,
		     double course[FLEET_MOMENTS_MAX], uint32_t *ret_first);
/* How much `bytes` are on this board, beside others that do as much: a logarithm. */
double measured_normal(const struct comparison *c, uint32_t unit, double bytes);

/* The rules. Each looks at one function, adds what it finds, and marks the units that it explains.
 * Return 0 or -ENOMEM. */
int builds_compare(struct comparison *c);
int growth_compare(struct comparison *c);
int outliers_compare(struct comparison *c);
