/* Boards whose clocks are wrong. See clocks.h. */
#include "collector/fleet/clocks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "collector/catalogue/store.h"

#include "base/ban.h"

/* 2015: a clock that shows less was never set. */
#define CLOCK_LEAST (1420070400ull * 1000000000)
#define MINUTE_NS   60000000000u
#define HOUR_NS	    3600000000000u
#define DAY_NS	    86400000000000u

bool fleet_clock_is_set(uint64_t wall_ns)
{
	return wall_ns >= CLOCK_LEAST;
}

const char *clock_gap_text(char out[CLOCK_GAP_TEXT], uint64_t ns)
{
	uint64_t unit = ns < 2 * HOUR_NS ? MINUTE_NS : ns < 2 * DAY_NS ? HOUR_NS : DAY_NS;
	const char *noun = unit == MINUTE_NS ? "minutes" : unit == HOUR_NS ? "hours" : "days";

	snprintf(out, CLOCK_GAP_TEXT, "%" PRIu64 " %s", ns / unit + (ns % unit >= unit / 2), noun);
	return out;
}

static uint64_t end_of(const struct stream_summary *s)
{
	uint64_t end;

	return __builtin_add_overflow(s->start_wall_ns, s->last_ns, &end) ? UINT64_MAX : end;
}

static bool is_ahead(const struct stream_summary *s, uint64_t now_ns)
{
	uint64_t end = end_of(s);

	return now_ns && end > now_ns && end - now_ns > CLOCK_AHEAD_NS;
}

/* Whether any stream tells that the clock `now_ns` is right. */
static bool any_agrees(const struct stream_summary *streams, size_t count, uint64_t now_ns)
{
	for (size_t i = 0; i < count; i++)
		if (fleet_clock_is_set(streams[i].start_wall_ns) && !is_ahead(&streams[i], now_ns))
			return true;
	return false;
}

/* A board counts once, by what is wrong with the first of its streams that is left out. */
static int add_stream(struct fleet_clocks *c, const struct stream_summary *s, uint64_t ahead_ns)
{
	char gap[CLOCK_GAP_TEXT];
	struct fleet_left_out *board = NULL;

	for (uint32_t i = 0; i < c->count && !board; i++)
		board = strcmp(c->list[i].host, s->host) ? NULL : &c->list[i];
	if (board) {
		board->streams++;
		return 0;
	}
	if (array_reserve(&c->list, &c->capacity, (uint64_t)c->count + 1, sizeof(*c->list)) < 0)
		return -ENOMEM;
	board = &c->list[c->count++];
	*board = (struct fleet_left_out){.host = strdup(s->host), .streams = 1};
	if ((ahead_ns ? asprintf(&board->why, "the clock of %.200s is %s ahead", s->host,
				 clock_gap_text(gap, ahead_ns))
		      : asprintf(&board->why, "the clock of %.200s was not set when it began",
				 s->host)) < 0)
		board->why = NULL;
	return board->host && board->why ? 0 : -ENOMEM;
}

static int host_order(const void *a, const void *b)
{
	return strcmp(((const struct fleet_left_out *)a)->host,
		      ((const struct fleet_left_out *)b)->host);
}

int fleet_clocks_judge(const struct stream_summary *streams, size_t count, uint64_t now_ns,
		       bool *ret_wrong, struct fleet_clocks *ret)
{
	int r = 0;

	if (!any_agrees(streams, count, now_ns))
		now_ns = 0;
	for (size_t i = 0; !r && i < count; i++) {
		const struct stream_summary *s = &streams[i];
		bool ahead = is_ahead(s, now_ns);

		ret_wrong[i] = ahead || !fleet_clock_is_set(s->start_wall_ns);
		if (!s->start_wall_ns)
			ret->timeless++;
		else if (ret_wrong[i])
			r = add_stream(ret, s, ahead ? end_of(s) - now_ns : 0);
	}
	if (!r && ret->count)
		qsort(ret->list, ret->count, sizeof(*ret->list), host_order);
	return r;
}

void fleet_clocks_done(struct fleet_clocks *c)
{
	for (uint32_t i = 0; i < c->count; i++) {
		free(c->list[i].host);
		free(c->list[i].why);
	}
	free(c->list);
	*c = (struct fleet_clocks){0};
}
