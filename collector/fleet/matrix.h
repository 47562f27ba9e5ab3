#pragma once
/* What each function of each unit had in use at each moment. Texts are numbers of `texts`. */
#include <stdbool.h>
#include <stdint.h>

#include "base/intern.h"
#include "base/map.h"
#include "collector/fleet/fleet.h"

struct fleet_unit {
	uint32_t program, host, build;
	uint64_t began_ns; /* of its first process, since the epoch */
	/* A bit for each moment: a process was there; and, since the moment before, one came or
	 * went. */
	uint64_t there, changed;
};

struct fleet_matrix {
	struct intern texts;
	struct intern functions; /* pairs of (function, module) */
	struct fleet_place {
		uint32_t function, module;
	} * places; /* by number of `functions` */
	uint32_t places_capacity;
	bool by_age; /* moments are times since the start of a process */
	uint64_t from_ns, step_ns;
	uint32_t moments; /* at most FLEET_MOMENTS_MAX */
	struct fleet_unit *units;
	uint32_t unit_count, units_capacity;
	struct map unit_numbers; /* host and (program, build) -> number + 1 */
	struct intern kinds;	 /* pairs of (program, build) */
	/* A course for each function that a unit ever had something in use of. */
	struct map courses; /* unit << 32 | function -> index + 1 */
	struct fleet_course {
		uint32_t unit, function;
		int64_t bytes[FLEET_MOMENTS_MAX];
	} * list;
	uint32_t count, capacity;
};

void fleet_matrix_done(struct fleet_matrix *matrix);
/* Return a number from 1, or 0 without memory. */
uint32_t fleet_text(struct fleet_matrix *matrix, const char *text);
uint32_t fleet_function_number(struct fleet_matrix *matrix, const char *function,
			       const char *module);
/* Finds or adds a unit. Returns its number from 0, or -ENOMEM. */
int64_t fleet_unit_number(struct fleet_matrix *matrix, const char *program, const char *host,
			  const char *build);
/* Adds what a process of the unit had in use at a moment. Returns 0 or -ENOMEM. */
int fleet_add(struct fleet_matrix *matrix, uint32_t unit, uint32_t function, uint32_t moment,
	      int64_t bytes);
/* Says that a process of the unit was there, from one moment to another, both included. */
void fleet_was_there(struct fleet_unit *unit, uint32_t first, uint32_t last);

/* Makes the report of a matrix, which must live as long. Returns 0 or -ENOMEM; call
 * fleet_report_done in either case. */
int fleet_report_of(const struct fleet_matrix *matrix, struct fleet_report *report);
