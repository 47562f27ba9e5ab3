#pragma once
/* Rows of steps in the order of their times, for pairing.c. */
#include "collector/store/pairing.h"

enum step_what { STEP_BIRTH, STEP_DEATH, STEP_MOVE_DEATH, STEP_MOVE_BIRTH, STEP_EXEC, STEP_THINNED };

int steps_reserve(struct steps *steps, size_t more); /* 0 or -ENOMEM */
void steps_done(struct steps *steps);
void steps_sort(struct steps *steps);
/* Moves all of `run` (sorted) into `queue` (sorted). `spare` lends memory. 0 or -ENOMEM. */
int steps_merge(struct steps *queue, struct steps *run, struct steps *spare);
void steps_consume(struct steps *steps, size_t count);
