/*
 * Orders that wait for an agent's reply. Each has a number; replies to unknown orders are ignored.
 * An order ends by its reply, by timeout, or with the link.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "collector/ingest/state.h"
#include "collector/recording/stream_id.h"
#include "base/ban.h"

#define ORDERS_MAX 4096

static void conclude(struct given *g, const struct ingest_reply *reply)
{
	struct ingest *ingest = g->ingest;
	struct given **at = &ingest->given;
	struct ingest_reply told = *reply;
	struct stream_id stream = g->stream;

	while (*at != g)
		at = &(*at)->next;
	*at = g->next;
	ingest->given_count--;
	told.id = g->id;
	free(g);
	ingest_tell(ingest, &(struct ingest_event){
				    .kind = INGEST_REPLY, .stream = &stream, .reply = &told});
}

static struct given *replies_find(const struct link *link, uint64_t id)
{
	struct given *g = link->ingest->given;

	while (g && (g->id != id || g->link != link))
		g = g->next;
	return g;
}

void replies_take(struct link *link, const Heapcast__Reply *m)
{
	struct given *g = replies_find(link, m->id);
	struct ingest_reply reply = {.status = (uint32_t)m->status,
				     .time_ns = m->time_ns,
				     .mode = (uint32_t)m->mode,
				     .sample_interval = m->sample_interval,
				     .snapshot = m->snapshot};
	char text[256];

	if (!g)
		return;
	words_clean(text, sizeof(text), m->text, strlen(m->text));
	reply.text = text;
	if (reply.status > HEAPCAST__REPLY_STATUS__REPLY_MALFORMED)
		reply.status = HEAPCAST__REPLY_STATUS__REPLY_UNKNOWN;
	if (reply.mode > HEAPCAST__MODE__MODE_SAMPLE || reply.sample_interval > INTERVAL_MAX)
		reply.mode = reply.sample_interval = 0;
	conclude(g, &reply);
}

void replies_link_gone(struct link *link)
{
	const struct ingest_reply reply = {
		.status = INGEST_REPLY_NONE,
		.text = "the connection to its agent broke before it had answered"};

	for (struct given *g = link->ingest->given, *next; g; g = next) {
		next = g->next;
		if (g->link == link)
			conclude(g, &reply);
	}
}

void replies_tick(struct ingest *ingest, uint64_t now_ms)
{
	const struct ingest_reply reply = {
		.status = INGEST_REPLY_NONE,
		.text = "its agent has not answered in time: it may be too old for orders"};

	for (struct given *g = ingest->given, *next; g; g = next) {
		next = g->next;
		if (now_ms >= g->until_ms)
			conclude(g, &reply);
	}
}

void replies_done(struct ingest *ingest)
{
	while (ingest->given) {
		struct given *g = ingest->given;

		ingest->given = g->next;
		free(g);
	}
}

int ingest_order(struct ingest *ingest, const struct stream_id *stream,
		 const struct ingest_order *order)
{
	struct link *link;
	struct given *g;
	int r = intake_link(ingest, stream, &link);

	if (r < 0)
		return r;
	if (ingest->given_count >= ORDERS_MAX || ingest->stopping)
		return -EBUSY;
	g = calloc(1, sizeof(*g));
	if (!g)
		return -ENOMEM;
	*g = (struct given){.next = ingest->given,
			    .ingest = ingest,
			    .link = link,
			    .stream = *stream,
			    .id = order->id,
			    .until_ms = uv_now(ingest->loop) + order->wait_ms};
	ingest->given = g;
	ingest->given_count++;
	order_control(link, g, order); /* if this fails, it closes the link and frees `g` */
	return 0;
}
