/* Provides the memory for held events. The sums take a part; the rest is for the list of cull.h, or
 * the array of flight.h. */
#include <errno.h>

#include "agent/stream/stream.h"
#include "base/ban.h"

static int take_memory(struct stream *s, struct arena *arena, const struct budget *b,
		       struct arena *ret)
{
	*ret = arena_part(arena, b->hold);
	return ret->memory ? sums_init(&s->sums, ret, b->hold_message) : -ENOMEM;
}

int stream_use_culling(struct stream *s, struct arena *arena, const struct budget *b,
		       const struct cull_settings *settings)
{
	struct arena own;
	int r = take_memory(s, arena, b, &own);

	return r ? r : cull_init(&s->cull, settings, &own, &s->lane[s->lane_count]);
}

int stream_use_flight(struct stream *s, struct arena *arena, const struct budget *b,
		      const struct flight_settings *settings)
{
	struct arena own;
	int r = take_memory(s, arena, b, &own);

	s->sums.wait_ns = FLIGHT_CLOSE_NS;
	s->sums.wait_row_ns = FLIGHT_ROW_NS;
	return r ? r : flight_init(&s->flight, settings, &own, &s->lane[s->lane_count]);
}

void stream_hold_less(struct stream *s)
{
	cull_flush(&s->cull);
	flight_shrink(&s->flight);
}
