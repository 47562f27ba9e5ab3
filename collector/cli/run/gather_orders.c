/* Passes orders to agents in gather. See gather_orders.h. */
#include "collector/cli/run/gather_orders.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "collector/cli/build_id.h"
#include "collector/control/order.h"
#include "collector/recording/stream_id.h"
#include "heapcast.pb-c.h"
#include "base/ban.h"

static_assert((int)CONTROL_MARK == (int)HEAPCAST__ACTION__ACTION_MARK &&
		      (int)CONTROL_MALFORMED == (int)HEAPCAST__REPLY_STATUS__REPLY_MALFORMED,
	      "numbers of the wire");

struct orders_note {
	enum gather_note kind;
	bool complete; /* all orders have been given */
	uint32_t streams, done, answered;
	uint64_t first, last; /* the first and the last order's number */
};

struct giving {
	struct gather_orders *orders;
	struct control_client *client;
	const struct control_order *order;
};

static void say_reply(struct control_client *client, const struct control_reply *reply)
{
	struct orders_note *note = control_note(client);
	char line[512];

	control_reply_format(line, sizeof(line), reply);
	control_say(client, "%s", line);
	note->answered++;
	note->done += reply->code == CONTROL_DONE;
}

static void end_if_all(struct control_client *client)
{
	struct orders_note *note = control_note(client);

	if (!note->complete || note->answered < note->streams)
		return;
	if (!note->streams)
		control_say(client, "no no stream is being recorded there now");
	else if (note->done == note->streams)
		control_say(client, "ok");
	else if (note->streams == 1)
		control_say(client, "no it was not done");
	else
		control_say(client, "no it was done in %u of %u streams", note->done,
			    note->streams);
	control_end(client);
}

static void gather_orders_refuse(struct control_client *client, const struct stream_id *stream,
				 int error)
{
	struct control_reply reply = {.code = CONTROL_UNKNOWN};
	const char *text = strerror(-error);

	stream_id_format(reply.stream, stream);
	if (error == -ENOENT) {
		reply.code = CONTROL_NOT_CONNECTED;
		text = "no agent that is connected here records it";
	} else if (error == -ENOTCONN) {
		reply.code = CONTROL_NOT_CONNECTED;
		text = "its agent is not connected";
	} else if (error == -ESRCH) {
		reply.code = CONTROL_ENDED;
		text = "the program has ended";
	} else if (error == -EBUSY) {
		reply.code = CONTROL_TOO_MANY;
		text = "too many orders wait for an answer: try again";
	}
	snprintf(reply.text, sizeof(reply.text), "%s", text);
	say_reply(client, &reply);
}

static void gather_orders_give(struct giving *g, const struct stream_id *stream)
{
	const struct control_order *o = g->order;
	struct orders_note *note = control_note(g->client);
	struct ingest_order order = {.id = ++g->orders->last_id,
				     .action = o->action,
				     .mode = (uint32_t)o->mode,
				     .value = o->interval,
				     .text = o->action == CONTROL_MARK ? o->text : NULL,
				     .wait_ms = o->wait_ms};
	int r;

	note->first = note->first ? note->first : order.id;
	note->last = order.id;
	note->streams++;
	r = ingest_order(g->orders->ingest, stream, &order);
	if (r < 0)
		gather_orders_refuse(g->client, stream, r);
}

static void give_live(void *context, const struct stream_id *stream, const char *host)
{
	struct giving *g = context;

	if (!g->order->host[0] || !strcmp(g->order->host, host))
		gather_orders_give(g, stream);
}

bool gather_orders_question(struct gather_orders *orders, struct control_client *client,
			    const char *line)
{
	struct control_order order;
	struct giving giving = {orders, client, &order};
	struct orders_note *note = control_note(client);
	struct stream_id stream;
	uint32_t length;
	const char *why;

	static_assert(sizeof(*note) <= CONTROL_NOTE, "room for the note");
	if (strncmp(line, "order ", 6) != 0)
		return false;
	if (control_order_parse(line, &order, &why) < 0) {
		control_say(client, "no %s", why);
		control_end(client);
		return true;
	}
	*note = (struct orders_note){.kind = GATHER_NOTE_ORDERS};
	if (!order.target[0])
		ingest_live(orders->ingest, give_live, &giving);
	else if (build_id_parse(order.target, stream.bytes, sizeof(stream.bytes), &length) == 0)
		gather_orders_give(&giving, &stream);
	note->complete = true;
	end_if_all(client);
	return true;
}

static void gather_orders_answer(void *context, struct control_client *client)
{
	const struct ingest_event *e = context;
	const struct orders_note *note = control_note(client);
	const struct ingest_reply *from = e->reply;
	struct control_reply reply = {.time_ns = from->time_ns,
				      .mode = (int)from->mode,
				      .interval = from->sample_interval,
				      .snapshot = from->snapshot};

	if (note->kind != GATHER_NOTE_ORDERS || from->id < note->first || from->id > note->last)
		return;
	reply.code = from->status == INGEST_REPLY_NONE ? CONTROL_NOT_ANSWERED
						       : (enum control_code)from->status;
	stream_id_format(reply.stream, e->stream);
	snprintf(reply.text, sizeof(reply.text), "%s", from->text);
	say_reply(client, &reply);
	end_if_all(client);
}

void gather_orders_reply(struct control *control, const struct ingest_event *event)
{
	struct ingest_event copy = *event;

	control_each(control, gather_orders_answer, &copy);
}
