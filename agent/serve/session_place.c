/* Manages the memory of sessions: fixed slots that are set up at the start, or slots that share a
 * common room (budget.h). See agent.h. */
#include <assert.h>
#include <string.h>

#include "agent/serve/agent.h"
#include "base/ban.h"

static struct session *free_session(struct agent *a)
{
	for (uint32_t i = 0; i < a->budget.slots; i++)
		if (stream_state(&a->session[i].stream) == STREAM_FREE && !a->session[i].closing)
			return &a->session[i];
	return NULL;
}

/* Returns the session's part of the address space, as an arena with nothing in use. */
static struct arena session_place_of(struct agent *a, const struct session *s)
{
	return (struct arena){.memory = a->places.memory + a->places.used +
					(size_t)(s - a->session) * a->budget.virtual,
			      .size = a->budget.virtual};
}

static void session_place_clear(struct agent *a, struct session *s)
{
	struct stream *stream = &s->stream;

	memset(stream + 1, 0,
	       sizeof(*s) - sizeof(*stream)); /* the stream comes first and clears itself */
	s->agent = a;
	s->slot = (uint32_t)(s - a->session);
	s->pidfd = s->file.fd = s->pressure.folder = -1;
}

int session_init(struct agent *a, struct session *s)
{
	int r;

	session_place_clear(a, s);
	r = ring_source_init(&s->ring, &a->arena, &a->budget.shape, &a->clock);
	return r < 0 ? r
		     : stream_init(&s->stream, &a->arena, &a->budget,
				   a->settings.each.ring.depth_limit, &a->drain_packer);
}

static int init_place(struct agent *a, struct session *s)
{
	struct arena place = session_place_of(a, s);
	int r = ring_source_init(&s->ring, &place, &a->budget.shape, &a->clock);

	if (!r)
		r = stream_init_place(&s->stream, &place, &a->budget,
				      a->settings.each.ring.depth_limit, &a->drain_packer);
	if (!r && a->spool.fd >= 0 && a->spool.out)
		stream_use_spool(&s->stream, &a->spool);
	return r;
}

static_assert(sizeof(struct session) <= BUDGET_SESSION_BYTES, "what a place is charged beside");

/* Charges the memory of a new recording. The session struct itself is small; its memory is charged
 * once and never given back. */
static bool pay(struct agent *a, const struct session *s)
{
	struct room *room = &a->budget.room;
	size_t own = s->slot < a->touched ? 0 : sizeof(*s);

	if (!room_take(room, a->budget.place[0].cost + own, ROOM_YOUNG))
		return false;
	if (own)
		a->touched = s->slot + 1;
	return true;
}

struct session *session_take(struct agent *a)
{
	struct session *s = free_session(a);

	if (!s || !a->budget.virtual)
		return s;
	session_place_clear(a, s);
	if (!pay(a, s))
		return NULL;
	if (init_place(a, s) == 0)
		return s;
	session_give(s);
	return NULL;
}

void session_give(struct session *s)
{
	struct agent *a = s->agent;
	struct arena place = session_place_of(a, s);

	if (!a->budget.virtual)
		return;
	room_give(&a->budget.room, stream_cost_grown(&s->stream), ROOM_GROWING);
	room_give(&a->budget.room, stream_cost_young(&s->stream), ROOM_YOUNG);
	s->ring.ring = NULL;
	arena_drop(&place);
}
