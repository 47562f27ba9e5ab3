/* What streams had in use at full hours. See levels.h. */
#include "collector/share/levels.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "collector/query/minutes.h"

#include "base/ban.h"

void levels_done(struct levels *l)
{
	map_done(&l->numbers);
	free(l->list);
	*l = (struct levels){0};
}

static uint32_t next_level(uint32_t minute)
{
	return (minute / LEVEL_MINUTES + 1) * LEVEL_MINUTES;
}

bool levels_between(uint32_t first, uint32_t end)
{
	return next_level(first) <= end;
}

static int add_sum(struct levels *l, const struct minute_sum *sum)
{
	uint64_t *place = map_put(&l->numbers, sum->stack, NULL);
	struct level *level;

	if (!place ||
	    array_reserve(&l->list, &l->capacity, (uint64_t)l->count + 1, sizeof(*l->list)) < 0)
		return -ENOMEM;
	if (!*place) {
		l->list[l->count].stack = sum->stack;
		*place = ++l->count;
	}
	level = &l->list[*place - 1];
	/* Sums of a foreign recording may overflow, and wrap around. */
	(void)__builtin_add_overflow(level->units, sum->units, &level->units);
	(void)__builtin_add_overflow(level->bytes, sum->bytes, &level->bytes);
	(void)__builtin_add_overflow(level->variance, sum->variance, &level->variance);
	return 0;
}

static int put_level(const struct levels *l, uint32_t minute, struct minutes *ret)
{
	int r = 0;

	for (uint32_t i = 0; !r && i < l->count; i++)
		if (l->list[i].units || l->list[i].bytes || l->list[i].variance)
			r = minutes_add(ret, &(struct minute_sum){.minute = minute,
								  .stack = l->list[i].stack,
								  .units = l->list[i].units,
								  .bytes = l->list[i].bytes,
								  .variance = l->list[i].variance});
	return r ? r
		 : minutes_add(ret, &(struct minute_sum){.minute = minute,
							 .stack = LEVEL_WHOLE,
							 .allocated_units = 1});
}

int levels_add(struct levels *l, const struct minutes *minutes, uint32_t first, uint32_t end,
	       uint32_t least, struct minutes *ret)
{
	uint32_t next = next_level(first), i = 0;
	int r = 0;

	for (; !r && next <= end; next += LEVEL_MINUTES) {
		for (; !r && i < minutes->count && minutes->list[i].minute < next; i++)
			r = add_sum(l, &minutes->list[i]);
		if (!r && ret && next >= least)
			r = put_level(l, next, ret);
	}
	for (; !r && i < minutes->count; i++)
		r = add_sum(l, &minutes->list[i]);
	l->to = end;
	return r;
}
