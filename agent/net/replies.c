/* Orders on a link and their replies. See replies.h. */
#include "agent/net/replies.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/core/clock.h"
#include "agent/stream/stream.h"
#include "base/words.h"
#include "proto/frame.h"
#include "base/ban.h"

#define IN_A_FRAME 16 /* at most 8 KB, less than any link's buffer */

void replies_name(struct replies *r, const char *host, const char *address)
{
	char name[64];

	words_clean(name, sizeof(name), host, strlen(host));
	snprintf(r->by, sizeof(r->by), "collector %s (%.48s)", *name ? name : "without a name",
		 address);
}

static bool is_it(const void *id, const struct stream *s)
{
	return !memcmp(s->id, id, STREAM_ID_SIZE);
}

static struct order_result replies_refused(int status, const char *text)
{
	return (struct order_result){.status = status, .text = text};
}

static struct order_result replies_give(struct stream *const *streams, uint32_t count,
					const Heapcast__Control *c, const struct order *order)
{
	if (!c->stream.len)
		return order_give_all(streams, count, order);
	if (c->stream.len != STREAM_ID_SIZE)
		return replies_refused(HEAPCAST__REPLY_STATUS__REPLY_MALFORMED,
				       "the id of a stream has 16 bytes");
	for (uint32_t i = 0; i < count; i++)
		if (stream_state(streams[i]) != STREAM_FREE && is_it(c->stream.data, streams[i]))
			return order_give(streams[i], order);
	return replies_refused(HEAPCAST__REPLY_STATUS__REPLY_NO_STREAM,
			       "the agent does not record it any more");
}

static struct order_result not_allowed(enum order_policy policy)
{
	if (policy == ORDERS_NO)
		return replies_refused(HEAPCAST__REPLY_STATUS__REPLY_SWITCHED_OFF,
				       "the agent takes no orders from collectors (--orders no)");
	return replies_refused(
		HEAPCAST__REPLY_STATUS__REPLY_NOT_ALLOWED,
		"the agent takes start, stop and mode from its own host only: use agent ctl there, "
		"or give both sides a key (--key), or the agent --orders yes");
}

bool replies_order(struct replies *r, struct stream *const *streams, uint32_t count,
		   enum order_policy policy, const Heapcast__Control *c)
{
	struct order order = {.action = (int)c->action,
			      .mode = (int)c->mode,
			      .value = c->value,
			      .text = c->text.data,
			      .text_length = c->text.len,
			      .by = r->by};
	struct order_result result;

	if (r->count == REPLIES_MAX)
		return false; /* the collector does not read the replies */
	if (!order_limit_take(&r->limit, clock_monotonic_ns()))
		result = replies_refused(HEAPCAST__REPLY_STATUS__REPLY_TOO_MANY,
					 "too many orders at a time: try again");
	else if (!order_is_allowed(policy, r->local, order.action))
		result = not_allowed(policy);
	else
		result = replies_give(streams, count, c, &order);
	r->reply[(r->first + r->count++) % REPLIES_MAX] = (struct reply){c->id, result};
	return result.status == HEAPCAST__REPLY_STATUS__REPLY_DONE;
}

static void replies_fill(Heapcast__Reply *m, const struct reply *from)
{
	const struct order_result *result = &from->result;

	heapcast__reply__init(m);
	m->id = from->id;
	m->status = (Heapcast__ReplyStatus)result->status;
	m->text = (char *)(uintptr_t)result->text;
	m->streams = result->streams;
	m->time_ns = result->time_ns;
	m->mode = (Heapcast__Mode)result->mode;
	m->sample_interval = result->sample_interval;
	m->snapshot = result->snapshot;
}

long replies_pack(struct replies *r, struct packer *p, uint8_t *out, size_t size)
{
	uint32_t count = r->count < IN_A_FRAME ? r->count : IN_A_FRAME;
	Heapcast__Batch batch = HEAPCAST__BATCH__INIT;
	Heapcast__Link link = HEAPCAST__LINK__INIT;
	Heapcast__Reply reply[IN_A_FRAME], *rows[IN_A_FRAME];

	if (!count)
		return 0;
	for (uint32_t i = 0; i < count; i++) {
		replies_fill(&reply[i], &r->reply[(r->first + i) % REPLIES_MAX]);
		rows[i] = &reply[i];
	}
	link.n_reply = count;
	link.reply = rows;
	batch.link = &link;
	if (heapcast__batch__get_packed_size(&batch) > p->message_size)
		return -EMSGSIZE;
	r->first = (r->first + count) % REPLIES_MAX;
	r->count -= count;
	return frame_encode(p->encoder, p->message, heapcast__batch__pack(&batch, p->message), out,
			    size);
}
