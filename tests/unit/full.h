#pragma once
/* Whether this is a run at full scale (tests/run --full): HEAPCAST_TEST_FULL is set, and not empty.
 */
#include <stdbool.h>
#include <stdlib.h>

static inline bool test_full(void)
{
	const char *value = getenv("HEAPCAST_TEST_FULL");

	return value && *value;
}
