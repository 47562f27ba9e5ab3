#pragma once
/* A descent whose return addresses are known: each of its functions notes its own, without
 * signature. */
#include <stdint.h>

#define DESCENT_MAX 16

struct descent {
	void (*bottom)(void);
	uintptr_t returns[DESCENT_MAX]; /* outermost first */
	unsigned count;
	unsigned signed_count; /* of these lie in memory with a signature */
};

/* In a library, and in the test's program. */
void descend_library(struct descent *descent, unsigned depth);
void descend_program(struct descent *descent, unsigned depth);
