/*
 * The number of agents and streams that fit: limited by descriptors and memory, or by the user. An
 * agent without a place is counted and named, and gets a place as soon as one is free. An agent
 * with nothing to send yields to one that has.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/parse.h"
#include "collector/catalogue/store.h"
#include "collector/ingest/state.h"
#include "base/ban.h"

/* descriptors for everything but agents and streams; half of them if there are few */
#define FILES_KEPT 256
/*
 * Descriptors per agent and stream: the link, the recording, the recording again while rows are
 * derived, the rows and the state.
 */
#define FILES_AN_AGENT	 5
#define MEMORY_AN_AGENT	 (128u << 10)
#define STREAMS_AN_AGENT 4 /* on average */
#define AGENTS_LEAST	 1
#define TURNED_AWAY_MS	 10000 /* an agent that does not return within this time has gone */
#define NOTED		 3     /* agents named in the store's note */

/* Raises the limit of descriptors as far as possible and returns it. */
static uint64_t files_available(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 1024;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	return getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur > INT32_MAX ? INT32_MAX
										  : limit.rlim_cur;
}

static uint32_t by_files(uint64_t files)
{
	uint64_t kept = files / 2 < FILES_KEPT ? files / 2 : FILES_KEPT,
		 agents = (files - kept) / FILES_AN_AGENT;

	return agents < AGENTS_LEAST ? AGENTS_LEAST : (uint32_t)agents;
}

void room_init(struct ingest *ingest, const struct ingest_options *options)
{
	uint64_t memory = options->memory_limit ? options->memory_limit : INGEST_MEMORY;
	uint64_t files = files_available();
	uint32_t most = by_files(files), asked = options->agents_max;

	ingest->memory_limit = memory / 2;
	if (asked > most)
		ingest_warn(ingest,
			    "there is room for %u agents, not %u: this process may have %llu files "
			    "open ('ulimit -n')",
			    most, asked, (unsigned long long)files);
	ingest->agents_max = asked && asked < most ? asked : most;
	if (!asked && memory / MEMORY_AN_AGENT < most)
		ingest->agents_max = memory / MEMORY_AN_AGENT > AGENTS_LEAST
					     ? (uint32_t)(memory / MEMORY_AN_AGENT)
					     : AGENTS_LEAST;
	ingest->streams_max = ingest->agents_max * STREAMS_AN_AGENT;
}

/* ---- agents without a place ---- */

static struct turned_away *remembered(struct ingest *ingest, const uint8_t agent[STREAM_ID_SIZE])
{
	struct turned_away *t = ingest->turned_away;

	while (t && memcmp(t->agent, agent, STREAM_ID_SIZE))
		t = t->next;
	return t;
}

static void turn_away(struct ingest *ingest, const uint8_t agent[STREAM_ID_SIZE], const char *host,
		      const char *address)
{
	struct turned_away *t = remembered(ingest, agent);
	char count[32];

	if (!t && ingest->turned_away_count < TURNED_AWAY_MAX && (t = calloc(1, sizeof(*t)))) {
		memcpy(t->agent, agent, STREAM_ID_SIZE);
		snprintf(t->host, sizeof(t->host), "%s", host);
		snprintf(t->address, sizeof(t->address), "%s", address);
		t->next = ingest->turned_away;
		ingest->turned_away = t;
		ingest->turned_away_count++;
		if (ingest->turned_away_count <= TURNED_AWAY_NAMED)
			ingest_warn(ingest,
				    "%s%s%s has no place: there is room for %s at a time "
				    "(--agents-max)",
				    host, *host ? " at " : "the agent at ", address,
				    format_count(count, ingest->agents_max));
		else if (ingest->turned_away_count == TURNED_AWAY_NAMED + 1)
			ingest_warn(ingest,
				    "more agents have no place; the progress line counts them");
	}
	if (t)
		t->seen_ms = uv_now(ingest->loop);
}

/* Writes the store's note, which lists show. */
static void room_note(struct ingest *ingest, uint64_t now_ms)
{
	char text[STORE_NOTE_MAX];
	size_t used;
	unsigned named = 0;

	if (ingest->turned_away_count == ingest->noted_count &&
	    (!ingest->noted_count || now_ms - ingest->noted_ms < STORE_NOTE_S * 1000 / 3))
		return;
	ingest->noted_count = ingest->turned_away_count;
	ingest->noted_ms = now_ms;
	used = (size_t)snprintf(
		text, sizeof(text),
		"%u agent%s no place, as there is room for %u at a time (--agents-max):",
		ingest->noted_count, ingest->noted_count == 1 ? " has" : "s have",
		ingest->agents_max);
	for (const struct turned_away *t = ingest->turned_away; t && named < NOTED;
	     t = t->next, named++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s %s%s%s",
					 named ? "," : "", t->host, *t->host ? " at " : "",
					 t->address);
	if (ingest->noted_count > named)
		snprintf(text + used, sizeof(text) - used, " and %u more",
			 ingest->noted_count - named);
	store_set_note(ingest->store, ingest->noted_count ? text : NULL);
}

void room_tick(struct ingest *ingest, uint64_t now_ms)
{
	struct turned_away **at = &ingest->turned_away;

	while (*at) {
		struct turned_away *t = *at;

		if (ingest->open_count >= ingest->agents_max &&
		    now_ms - t->seen_ms < TURNED_AWAY_MS &&
		    !link_by_agent(ingest, t->agent, false)) {
			at = &t->next;
			continue;
		}
		*at = t->next;
		ingest->turned_away_count--;
		free(t);
	}
	room_note(ingest, now_ms);
}

void room_done(struct ingest *ingest)
{
	if (ingest->noted_count)
		store_set_note(ingest->store, NULL);
	while (ingest->turned_away) {
		struct turned_away *t = ingest->turned_away;

		ingest->turned_away = t->next;
		free(t);
	}
}

/* ---- places ---- */

/* Returns the longest silent open link of those that deliver no stream. */
static struct link *find_idle(const struct ingest *ingest)
{
	struct link *idle = NULL;

	for (struct link *l = ingest->links; l; l = l->next)
		l->busy = false;
	for (const struct intake *s = ingest->intakes; s; s = s->next)
		if (s->link && !s->told_ended)
			s->link->busy = true;
	for (struct link *l = ingest->links; l; l = l->next)
		if (l->state == LINK_OPEN && !l->busy && (!idle || l->heard_ms < idle->heard_ms))
			idle = l;
	return idle;
}

bool room_to_dial(struct ingest *ingest, const struct peer *peer)
{
	char address[ADDRESS_TEXT];

	if (peer->fixed || ingest->open_count < ingest->agents_max ||
	    (peer->streams && find_idle(ingest)))
		return true;
	turn_away(ingest, peer->agent, "",
		  address_format(address, (const struct sockaddr *)&peer->address));
	return false;
}

bool room_for_link(struct link *link, bool brings)
{
	struct ingest *ingest = link->ingest;
	struct link *idle;

	if (ingest->open_count < ingest->agents_max)
		return true;
	idle = brings ? find_idle(ingest) : NULL;
	if (idle)
		link_close(idle, "it has nothing to send, and others want its place");
	else if (brings)
		turn_away(ingest, link->agent, link->host, link->address);
	return idle;
}
