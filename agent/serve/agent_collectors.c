/* Tracks the progress of each collector in each stream, as links report it, and decides which
 * collectors the end of a stream waits for. See agent.h and collectors.h. */
#include <stdio.h>
#include <string.h>

#include "agent/serve/agent.h"
#include "base/log.h"
#include "heapcast.pb-c.h"
#include "base/ban.h"

/* longest time since a collector last acknowledged something new */
#define LAGGARD_NS	(LINK_SILENT_MS * UINT64_C(1000000))
#define LAGGARD_MOST_NS UINT64_C(600000000000) /* in total, for a collector without a key */
/* within this time, a connected collector subscribes to a stream that is listed to it */
#define SUBSCRIBES_NS UINT64_C(2000000000)

static const struct collector *collector_at(const struct session *s, uint32_t place)
{
	return &s->agent->collectors.at[place];
}

void session_begin_cursors(struct session *s)
{
	/* If the agent chooses among collectors, one that is away has been left. */
	bool left = dialer_chooses(&s->agent->dialer);

	for (uint32_t i = 0; i < COLLECTORS_MAX; i++)
		s->cursor[i] = (struct cursor){.active = collector_at(s, i)->known &&
							 (!left || collector_at(s, i)->links)};
	s->link_acked = s->whole_ns = 0;
	s->taker = (struct stream_part){0};
	s->waits_for_away = s->for_away = s->away_cut = false;
}

/* Starts the collector after batch `number`, as it asks. The collector may have less than it once
 * acknowledged, if its files were removed. If it has more, that part may not be durable, because an
 * earlier collector was killed before it synced. The collector acknowledges that part after a sync
 * of its own. */
static void take_from(struct session *s, uint32_t place, uint64_t number)
{
	struct cursor *c = &s->cursor[place];

	c->active = c->begun = true;
	if (number < c->acked)
		c->acked = number;
}

static void take_upto(struct session *s, uint32_t place, uint64_t number)
{
	struct cursor *c = &s->cursor[place];
	uint64_t now = clock_monotonic_ns();

	if (number > c->acked)
		c->acked = number;
	if (number > c->most) {
		c->most = number;
		c->progress_ns = now;
	}
	if (number > s->link_acked) {
		session_taken_by(s, place);
		s->link_acked = number;
		s->progress_ns = now;
	}
	/* The work must not run now: the link is in the middle of a message and uses memory that
	 * writing a file uses, too. */
	uv_async_send(&s->agent->news);
}

uint64_t session_kept(const struct session *s)
{
	uint64_t kept = UINT64_MAX;

	for (uint32_t i = 0; i < COLLECTORS_MAX; i++)
		if (s->cursor[i].active && s->cursor[i].acked < kept)
			kept = s->cursor[i].acked;
	return kept;
}

static bool lacks(const struct session *s, uint32_t place)
{
	return s->cursor[place].active && s->cursor[place].acked + 1 < s->stream.spool.next;
}

/* Returns the active subscription of the collector at `place`; NULL if it has none. */
static const struct subscription *subscription_of(const struct session *s, uint32_t place)
{
	const struct agent *a = s->agent;

	for (uint32_t i = 0; i < a->budget.links; i++) {
		const struct link *l = &a->link[i];

		if (l->fd >= 0 && !l->closing && l->greeted && l->who == place &&
		    l->subscription[s->slot].active)
			return &l->subscription[s->slot];
	}
	return NULL;
}

/* Returns true if the agent must not wait for absent collectors: it was told to stop, or another
 * program needs the slot. */
static bool is_pressed(const struct agent *a)
{
	if (a->stopping || a->hurried)
		return true;
	for (uint32_t i = 0; i < AGENT_HELD; i++)
		if (a->held[i].client)
			return true;
	return false;
}

static void tell_wait(struct session *s, const struct collector *c)
{
	if (!s->waits_for_away)
		log_warn("pid %d has ended; waiting up to %.3g s for %s, which has only a part of "
			 "the "
			 "recording and is away (a signal ends that)",
			 (int)s->stream.target.pid, (double)s->agent->settings.linger_ns / 1e9,
			 c->name);
	s->waits_for_away = true;
}

/* Returns true if the connected collector keeps acknowledging. Within the linger time (`open`) any
 * subscription counts; later, only one from before the whole stream was acknowledged. For a
 * collector that is not named, the total time is limited to LAGGARD_MOST_NS. */
static bool is_at_it(const struct session *s, uint32_t place, const struct subscription *sub,
		     uint64_t now, bool open)
{
	const struct cursor *c = &s->cursor[place];
	uint64_t sign = c->progress_ns > s->whole_ns ? c->progress_ns : s->whole_ns;

	return now - sign <= LAGGARD_NS && (open || sub->since_ns <= s->whole_ns) &&
	       (collector_at(s, place)->named || now - s->whole_ns <= LAGGARD_MOST_NS);
}

/* Returns true if the collector may still come: it was disconnected a moment ago, or it is
 * connected again and has not subscribed yet. */
static bool may_come(const struct session *s, uint32_t place, uint64_t now)
{
	const struct collector *c = collector_at(s, place);

	if (c->links)
		return s->cursor[place].begun || now - s->whole_ns <= SUBSCRIBES_NS;
	return now - c->left_ns <= s->agent->settings.linger_ns;
}

bool session_has_laggard(struct session *s)
{
	const struct agent *a = s->agent;
	uint64_t now = clock_monotonic_ns();
	bool open;

	if (!s->whole_ns)
		s->whole_ns = now;
	open = now - s->whole_ns <= a->settings.linger_ns;
	if (a->hurried || (a->stopping && now - a->stop_ns > a->settings.stop_ns / 2))
		return false;
	for (uint32_t i = 0; i < COLLECTORS_MAX; i++) {
		const struct subscription *sub = subscription_of(s, i);

		if (!lacks(s, i))
			continue;
		if (sub && is_at_it(s, i, sub, now, open))
			return true;
		if (sub || !open || is_pressed(a) || !may_come(s, i, now))
			continue;
		if (s->cursor[i].begun && !collector_at(s, i)->links)
			tell_wait(s, collector_at(s, i));
		return true;
	}
	return false;
}

/* Returns true if a file should keep what the named collector lacks, even if other collectors have
 * it. */
static bool is_absent(const struct session *s, uint32_t place)
{
	return lacks(s, place) && s->cursor[place].begun && collector_at(s, place)->named;
}

bool session_has_absent(const struct session *s)
{
	for (uint32_t i = 0; i < COLLECTORS_MAX; i++)
		if (is_absent(s, i))
			return true;
	return false;
}

uint64_t session_absent_from(const struct session *s)
{
	uint64_t first = UINT64_MAX;

	for (uint32_t i = 0; i < COLLECTORS_MAX; i++)
		if (is_absent(s, i) && s->cursor[i].acked + 1 < first)
			first = s->cursor[i].acked + 1;
	return first;
}

void session_name_collectors(const struct session *s, bool all, char *out, size_t size)
{
	size_t length = 0, parts = all ? session_name_parts(s, out, size) : 0;

	out += parts;
	size -= parts;
	*out = '\0';
	for (uint32_t i = 0; i < COLLECTORS_MAX; i++) {
		const struct cursor *c = &s->cursor[i];
		bool has_all = c->active && !lacks(s, i) && c->acked;
		int n;

		if (all ? !has_all : !c->begun || !lacks(s, i))
			continue;
		n = snprintf(out + length, size - length, "%s%s", length ? ", " : "",
			     collector_at(s, i)->name);
		if ((size_t)n >= size - length)
			return; /* a list for people may be cut */
		length += (size_t)n;
	}
	if (!length)
		*(out - parts) = '\0'; /* nobody has the end */
}

/* ---- reports of links ---- */

static struct session *session_with(struct agent *a, const struct stream *stream)
{
	for (uint32_t i = 0; i < a->budget.slots; i++)
		if (&a->session[i].stream == stream)
			return &a->session[i];
	return NULL;
}

static void forget_collector(struct agent *a, uint32_t place)
{
	for (uint32_t i = 0; place < COLLECTORS_MAX && i < a->budget.slots; i++)
		if (stream_state(&a->session[i].stream) != STREAM_FREE)
			a->session[i].cursor[place] = (struct cursor){0};
}

/* Enters a collector that has sent its hello. With --collector, links serve no other host, so the
 * collector counts as named even without a key. */
static uint32_t welcomed(void *context, const struct link *link,
			 const struct collector_greeting *greeting)
{
	struct agent *a = context;
	struct collector_greeting g = *greeting;
	bool is_new;
	uint32_t place;

	g.named = g.proved || a->settings.collector;
	place = collectors_welcome(&a->collectors, &g, &is_new);
	if (is_new)
		forget_collector(a, place);
	log_info("link to %s: it is %s", link->peer, a->collectors.at[place].name);
	agent_note_collector(a);
	return place;
}

static uint64_t subscribed(void *context, const struct link *link, const struct stream *stream,
			   uint64_t number)
{
	struct session *s = session_with(context, stream);
	uint64_t upto = session_taken_over(s, link, number);

	take_from(s, link->who, number);
	if (upto > number) /* it needs nothing of what the other one has */
		s->cursor[link->who].acked = upto;
	return upto;
}

static void acknowledged(void *context, const struct link *link, const struct stream *stream,
			 uint64_t number)
{
	struct session *s = session_with(context, stream);
	struct collector *c = &s->agent->collectors.at[link->who];

	take_upto(s, link->who, number);
	if (!c->full || number <= link->subscription[s->slot].from)
		return;
	c->full = false;
	log_info("the collector at %s stores again what it gets", link->peer);
}

/* The collector has told its own user why. One that stays the only one says it on each link. */
static void refused(void *context, const struct link *link, int refusal)
{
	struct agent *a = context;
	struct collector *c = &a->collectors.at[link->who];
	bool moves = link == a->dialer.link && dialer_leave(&a->dialer);

	if (moves || !c->full)
		log_warn("the collector at %s %s; %s", link->peer,
			 refusal == HEAPCAST__DISK_REFUSAL__DISK_REFUSAL_NO_ROOM
				 ? "has no room on its disk"
				 : "can't write to its disk",
			 moves ? "trying the next one" : "what is recorded waits here");
	c->full = true;
}

static void link_closed(void *context, struct link *link)
{
	struct agent *a = context;

	if (link->greeted)
		collectors_left(&a->collectors, link->who, clock_monotonic_ns());
	log_debug("link to %s is free", link->peer);
}

void agent_serve_collectors(struct agent *a)
{
	a->host.welcomed = welcomed;
	a->host.subscribed = subscribed;
	a->host.acknowledged = acknowledged;
	a->host.refused = refused;
	a->host.closed = link_closed;
}

void agent_forget_collectors(struct agent *a)
{
	forget_collector(a, collectors_lapse(&a->collectors, clock_monotonic_ns()));
}
