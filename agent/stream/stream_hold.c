/* Holds events back, and sends those that cull.h or flight.h no longer holds. The sums take a part
 * of the memory for held events. The rest is for the list of cull.h or the array of flight.h. */
#include <errno.h>

#include "agent/hold/hold_host.h"
#include "agent/stream/stream.h"
#include "heapcast.pb-c.h"
#include "proto/columns_put.h"
#include "base/ban.h"

static int stream_hold_send(void *context, struct thread *thread, const struct event *event)
{
	struct stream *s = context;

	if (events_encoder_put_inline(&s->batch.events, event) < 0)
		return -EAGAIN;
	stream_account(s, thread, event);
	return 0;
}

static struct hold_host host_of(struct stream *s)
{
	return (struct hold_host){.threads = &s->threads,
				  .stacks = &s->stacks,
				  .sums = &s->sums,
				  .send = stream_hold_send,
				  .context = s};
}

static int take_memory(struct stream *s, struct arena *arena, const struct budget *b,
		       struct arena *ret)
{
	*ret = arena_part(arena, b->hold);
	return ret->memory ? sums_init(&s->sums, ret, b->hold_message) : -ENOMEM;
}

int stream_use_culling(struct stream *s, struct arena *arena, const struct budget *b,
		       const struct cull_settings *settings)
{
	const struct hold_host host = host_of(s);
	struct arena own;
	int r = take_memory(s, arena, b, &own);

	return r ? r : cull_init(&s->cull, settings, &host, &own, &s->lane[s->lane_count]);
}

int stream_use_flight(struct stream *s, struct arena *arena, const struct budget *b,
		      const struct flight_settings *settings)
{
	const struct hold_host host = host_of(s);
	struct arena own;
	int r = take_memory(s, arena, b, &own);

	s->sums.wait_ns = FLIGHT_CLOSE_NS;
	s->sums.wait_row_ns = FLIGHT_ROW_NS;
	return r ? r : flight_init(&s->flight, settings, &host, &own, &s->lane[s->lane_count]);
}

/* Does what the flight recorder must do before it takes more events. */
static int hold_work(struct stream *s, uint64_t now)
{
	struct flight *f = &s->flight;

	if (flight_wants_delivery(f)) {
		if (!stream_put_mark(s, HEAPCAST__MARK_KIND__MARK_DELIVERY,
				     now > f->whole_ns ? now - f->whole_ns : 0, now,
				     flight_cause_name(f->wanted)))
			return -EAGAIN;
		flight_begin_delivery(f);
	}
	return flight_work(f, now);
}

int stream_hold_event(struct stream *s, struct thread *thread, const struct event *event,
		      uint32_t node)
{
	int r;

	if (!s->flight.window_ns)
		return cull_event(&s->cull, thread, event, node);
	r = flight_urgent(&s->flight) ? hold_work(s, stream_now(s)) : 0;
	return r ? r : flight_event(&s->flight, thread, event, node);
}

static int advance_flight(struct stream *s, bool final)
{
	const uint64_t now = stream_now(s);
	int r;

	if (final)
		flight_trigger(&s->flight, s->exec_pending ? FLIGHT_EXEC : FLIGHT_END, now);
	r = hold_work(s, now);
	return r ? r : flight_advance(&s->flight, s->watermark_ns, now, final);
}

int stream_hold_advance(struct stream *s, bool final)
{
	int r = s->cull.time_ns ? cull_advance(&s->cull, s->watermark_ns, final) : 0;

	return !r && s->flight.window_ns ? advance_flight(s, final) : r;
}

void stream_hold_less(struct stream *s)
{
	cull_flush(&s->cull);
	flight_shrink(&s->flight);
}
