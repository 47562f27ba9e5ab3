#pragma once
/* Rows of steps in the order of their times, for pairing.c. */
#include "collector/derive/pairing.h"

enum step_what {
	STEP_BIRTH,
	STEP_DEATH,
	STEP_MOVE_DEATH,
	STEP_MOVE_BIRTH,
	STEP_EXEC,
	STEP_THINNED
};

int steps_reserve(struct steps *steps, size_t more); /* 0 or -ENOMEM */
void steps_done(struct steps *steps);
/* All of them, where those up to `sorted` are. `spare` lends memory. 0 or -ENOMEM. */
int steps_sort(struct steps *steps, struct steps *spare);
/* The first are gone; all that are left are sorted. */
void steps_consume(struct steps *steps, size_t count);
