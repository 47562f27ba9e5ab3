#pragma once
/* Lists of steps sorted by time, for pairing.c. */
#include "collector/derive/pairing.h"

enum step_what {
	STEP_BIRTH,
	STEP_DEATH,
	STEP_MOVE_DEATH,
	STEP_MOVE_BIRTH,
	STEP_EXEC,
	STEP_THINNED
};

int steps_reserve(struct steps *steps, size_t more); /* Returns 0 or -ENOMEM. */
void steps_done(struct steps *steps);
/*
 * Sorts all steps; those up to `sorted` already are. `spare` provides memory. Returns 0 or -ENOMEM.
 */
int steps_sort(struct steps *steps, struct steps *spare);
/* Removes the first `count` steps of a sorted list. */
void steps_consume(struct steps *steps, size_t count);
