/*
 * Finds the same value in many stacks of one function: a buffer of fixed size that many parts of
 * the program make. The number of (label, value) pairs is bounded: pairs are kept in the order in
 * which they come, and when the table is full, new pairs are ignored.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "collector/analyze/parts.h"

#include "base/ban.h"

int patterns_add(struct patterns *p, uint32_t label, uint64_t value)
{
	uint32_t key;

	if (!value || p->keys.count >= PATTERNS_MAX)
		return 0;
	key = intern_pair(&p->keys, label, value);
	if (!key ||
	    array_reserve(&p->traces, &p->capacity, (uint64_t)key + 1, sizeof(*p->traces)) < 0)
		return -ENOMEM;
	p->traces[key] += p->traces[key] < UINT32_MAX;
	return 0;
}

void patterns_done(struct patterns *p)
{
	intern_done(&p->keys);
	free(p->traces);
	*p = (struct patterns){0};
}
