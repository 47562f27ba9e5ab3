/* A chain of calls with known lines, of which two are inlined: `shoot` notes its return address. */
#include "shot.h"

static inline __attribute__((always_inline)) int innermost(struct shot *shot)
{
	shot->lines[0] = __LINE__ + 1;
	shot->shoot(shot);
	return shot->lines[0];
}

static inline __attribute__((always_inline)) int between(struct shot *shot)
{
	shot->lines[1] = __LINE__ + 1;
	return innermost(shot) + 1;
}

/* Not in the dynamic symbol table: a stripped file does not know it. */
static __attribute__((noinline)) int hidden_function(struct shot *shot)
{
	shot->lines[2] = __LINE__ + 1;
	return between(shot) + 2;
}

__attribute__((visibility("default"))) int calls(struct shot *shot);

int calls(struct shot *shot)
{
	return hidden_function(shot) + 1;
}
