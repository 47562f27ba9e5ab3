/* Keeps the collectors that the agent knows. See collectors.h. */
#include "agent/net/collectors.h"

#include <stdio.h>
#include <string.h>

#include "base/words.h"
#include "base/ban.h"

static bool is_it(const struct collector *c, const struct collector_greeting *g)
{
	static const uint8_t none[STREAM_ID_SIZE];

	return c->known && c->proved == g->proved &&
	       !memcmp(c->id, g->id ? g->id : none, STREAM_ID_SIZE) &&
	       ((g->proved && g->id) || !strcmp(c->address, g->address));
}

static uint32_t same_address(const struct collectors *cs, const char *address)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < COLLECTORS_MAX; i++)
		count += cs->at[i].known && !strcmp(cs->at[i].address, address);
	return count;
}

/* Returns true if `a` must be replaced before `b`. Both are away. */
static bool gives_way(const struct collectors *cs, const struct collector *a,
		      const struct collector *b)
{
	uint32_t of_a = same_address(cs, a->address), of_b = same_address(cs, b->address);

	return of_a != of_b ? of_a > of_b : a->left_ns < b->left_ns;
}

static struct collector *make_place(struct collectors *cs)
{
	struct collector *best = NULL;

	for (uint32_t i = 0; i < COLLECTORS_MAX; i++) {
		struct collector *c = &cs->at[i];

		if (!c->known)
			return c;
		if (!c->links && (!best || gives_way(cs, c, best)))
			best = c;
	}
	return best ? best : &cs->at[0]; /* not reached: the agent has fewer links than entries */
}

/* Makes the collector's name for users. If two collectors are on one host, their names get the
 * first digits of their ids. */
static void make_name(const struct collectors *cs, struct collector *c, const char *said)
{
	char host[64], name[COLLECTOR_NAME_MAX];
	bool taken = false;

	words_clean(host, sizeof(host), said, strlen(said));
	snprintf(name, sizeof(name), "%s (%s", *host ? host : "a collector without a name",
		 c->address);
	for (uint32_t i = 0; i < COLLECTORS_MAX; i++)
		taken |= cs->at[i].known && &cs->at[i] != c &&
			 !strncmp(cs->at[i].name, name, strlen(name));
	if (taken)
		snprintf(c->name, sizeof(c->name), "%s, id %02x%02x)", name, c->id[0], c->id[1]);
	else
		snprintf(c->name, sizeof(c->name), "%s)", name);
}

uint32_t collectors_welcome(struct collectors *cs, const struct collector_greeting *g,
			    bool *ret_new)
{
	struct collector *c = NULL;

	for (uint32_t i = 0; i < COLLECTORS_MAX && !c; i++)
		if (is_it(&cs->at[i], g))
			c = &cs->at[i];
	*ret_new = !c;
	if (!c) {
		c = make_place(cs);
		*c = (struct collector){.known = true, .proved = g->proved};
		if (g->id)
			memcpy(c->id, g->id, sizeof(c->id));
	}
	c->links++;
	c->named = g->named;
	snprintf(c->address, sizeof(c->address), "%s", g->address);
	make_name(cs, c, g->host);
	return (uint32_t)(c - cs->at);
}

void collectors_left(struct collectors *cs, uint32_t place, uint64_t now)
{
	struct collector *c = &cs->at[place];

	if (c->links && !--c->links)
		c->left_ns = now;
}

uint32_t collectors_lapse(struct collectors *cs, uint64_t now)
{
	for (uint32_t i = 0; i < COLLECTORS_MAX; i++) {
		struct collector *c = &cs->at[i];

		if (!c->known || c->links || now - c->left_ns <= COLLECTOR_AWAY_NS)
			continue;
		c->known = false;
		return i;
	}
	return COLLECTORS_MAX;
}
