/*
 * A stream that moves from one collector to another. An agent with several collectors (dialer.h)
 * dials the next one when its own is away. What the old one has acknowledged is not sent again: the
 * new one gets the definitions and goes on behind it. It is told who has the beginning
 * (Batch.part), so that its account does not call that lost.
 *
 *   batches    1 .......... 41 | 42 43 | 44 ............
 *   old        acknowledged    | sent  |
 *   new                        | sent again, all from 42 on
 *
 * Batches that the old one has without having acknowledged them (42, 43) are at both.
 *
 * A collector that was left is waited for no longer, and nothing is kept for it. If the agent comes
 * back to it, it takes over in the same way, and has a hole in the middle.
 */
#include <stdio.h>
#include <string.h>

#include "agent/serve/agent.h"
#include "base/log.h"
#include "base/ban.h"

static bool same_collector(const struct stream_part *a, const struct collector *b)
{
	static const uint8_t unknown[STREAM_ID_SIZE];

	return !memcmp(a->collector, b->id, sizeof(b->id)) &&
	       (memcmp(b->id, unknown, sizeof(unknown)) || !strcmp(a->host, b->name));
}

void session_taken_by(struct session *s, uint32_t place)
{
	const struct collector *c = &s->agent->collectors.at[place];

	if (*s->taker.host && same_collector(&s->taker, c))
		return;
	s->taker = (struct stream_part){0};
	memcpy(s->taker.collector, c->id, sizeof(c->id));
	snprintf(s->taker.host, sizeof(s->taker.host), "%.*s", STREAM_PART_HOST - 1, c->name);
}

/* Returns true if the collector that took the stream so far is connected. */
static bool taker_is_there(const struct session *s)
{
	const struct collectors *cs = &s->agent->collectors;

	for (uint32_t i = 0; i < COLLECTORS_MAX; i++)
		if (cs->at[i].known && cs->at[i].links && same_collector(&s->taker, &cs->at[i]))
			return true;
	return false;
}

/* Puts what the collector before has among the parts. If there is no room, the two oldest parts
 * become one. */
static void add_part(struct session *s, uint64_t upto)
{
	struct stream *t = &s->stream;
	uint64_t before = 0;

	pthread_mutex_lock(&t->lock);
	if (t->parts == STREAM_PARTS_MAX) {
		t->part[1].events += t->part[0].events;
		memset(t->part[1].collector, 0, STREAM_ID_SIZE);
		snprintf(t->part[1].host, STREAM_PART_HOST, "several collectors");
		memmove(t->part, t->part + 1, --t->parts * sizeof(*t->part));
	}
	for (uint32_t i = 0; i < t->parts; i++)
		before += t->part[i].events;
	s->taker.upto = upto;
	s->taker.events = spool_account_at(&t->spool, upto).events - before;
	t->part[t->parts++] = s->taker;
	pthread_mutex_unlock(&t->lock);
}

static void forget_absent(struct session *s, uint32_t place)
{
	const struct collectors *cs = &s->agent->collectors;

	for (uint32_t i = 0; i < COLLECTORS_MAX; i++)
		if (i != place && !(cs->at[i].known && cs->at[i].links))
			s->cursor[i] = (struct cursor){0};
}

uint64_t session_taken_over(struct session *s, const struct link *link, uint64_t number)
{
	const struct agent *a = s->agent;
	const struct collector *c = &a->collectors.at[link->who];

	if (link != a->dialer.link || !dialer_chooses(&a->dialer))
		return 0;
	if (*s->taker.host && (same_collector(&s->taker, c) || taker_is_there(s)))
		return 0;
	forget_absent(s, link->who);
	if (s->link_acked <= number)
		return 0;
	add_part(s, s->link_acked);
	log_info("pid %d: %s goes on behind batch %llu, which %s has", (int)s->stream.target.pid,
		 c->name, (unsigned long long)s->link_acked, s->taker.host);
	return s->link_acked;
}

bool agent_has_stalled(struct agent *a)
{
	bool stalled = false;

	for (uint32_t i = 0; i < a->budget.slots && !stalled; i++) {
		struct stream *t = &a->session[i].stream;

		if (stream_state(t) == STREAM_FREE)
			continue;
		pthread_mutex_lock(&t->lock);
		stalled = t->state != STREAM_FREE && t->frame_pending;
		pthread_mutex_unlock(&t->lock);
	}
	return stalled;
}

size_t session_name_parts(const struct session *s, char *out, size_t size)
{
	size_t length = 0;

	*out = '\0';
	for (uint32_t i = 0; i < s->stream.parts; i++) {
		int n = snprintf(out + length, size - length, "%s, then ", s->stream.part[i].host);

		if ((size_t)n >= size - length)
			return strlen(out);
		length += (size_t)n;
	}
	return length;
}
