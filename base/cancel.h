#pragma once
/*
 * When long work ends before it is done: it is withdrawn from any thread, or its time is over. Who
 * works long looks here every few milliseconds.
 */
#include <stdatomic.h>
#include <stdint.h>

struct cancel {
	const atomic_bool *asked; /* may be NULL; true: end soon */
	uint64_t deadline_ns;	  /* by cancel_clock_ns; 0: none */
};

/* Nanoseconds of a clock that is never set, some milliseconds coarse, and costs next to nothing. */
uint64_t cancel_clock_ns(void);
/* 0: go on; -ECANCELED, -ETIME. NULL: nobody ends it. */
int cancel_check(const struct cancel *cancel);
