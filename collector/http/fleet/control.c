/*
 * POST /data/ID/control: gives an order to the agent of a live stream. The order goes through the
 * socket of the collector that gathers into the folder. The step sends it, and is called again
 * until the reply arrives, so no thread waits.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "collector/catalogue/store.h"
#include "collector/control/control.h"
#include "collector/control/order.h"
#include "collector/http/routes/asking.h"
#include "collector/http/server/body.h"
#include "collector/http/server/routes.h"
#include "collector/http/server/sources.h"
#include "collector/recording/stream_id.h"
#include "proto/mode.h"
#include "proto/ring.h"

#include "base/ban.h"

#define WAIT_MS	  5000
#define ANSWER_MS 2000 /* added to the agent's time, for the collector */

DEFINE_CLEANUP(store_close, struct store *)

struct order_body {
	const char *action, *mode, *text;
	uint64_t interval;
};

#define BODY(member, form, takes, about, ...)                                                      \
	PARAMETER(struct order_body, #member, form, member, takes, about, ##__VA_ARGS__)
static const struct route_parameter control_body[] = {
	BODY(action, PARAMETER_TEXT, "string", "the order: start, stop, mode, snapshot or mark",
	     .most = 15),
	BODY(mode, PARAMETER_TEXT, "string", "for the order mode: full, sample, sample=64K or off",
	     .most = 31),
	BODY(interval, PARAMETER_NUMBER, "integer", "for the mode sample: the interval in bytes"),
	BODY(text, PARAMETER_TEXT, "string", "for the order mark: a text of at most 1,024 bytes",
	     .most = CONTROL_ORDER_TEXT_MAX),
	{0},
};
#undef BODY

struct asked_control {
	struct control_asking asking;
	struct control_reply reply;
	bool begun, replied;
	uint64_t until_ms;
	char mode[16];
};

static void asked_control_done(void *result)
{
	struct asked_control *asked = result;

	if (asked->begun)
		control_ask_end(&asked->asking);
}

static int control_fail(struct exchange *x, int status, const char *text)
{
	x->status = status;
	return err_set(&x->err, -EINVAL, "%s", text);
}

static int read_order(struct exchange *x, struct control_order *order)
{
	struct order_body body = {.action = "", .interval = BODY_NOT_GIVEN};
	const char *why;
	int r = body_read_request(x, &body);

	if (r < 0)
		return r;
	if (control_order_say(order, body.action, body.mode ? body.mode : body.text, &why) < 0 ||
	    (body.mode && body.text))
		return err_set(&x->err, -EINVAL, "%s", why);
	if (body.interval == BODY_NOT_GIVEN)
		return 0;
	snprintf(x->parameter, sizeof(x->parameter), "interval");
	if (order->action != CONTROL_MODE || order->mode != RING_SAMPLE || order->interval ||
	    !body.interval || body.interval > RING_INTERVAL_MAX)
		return err_set(&x->err, -EINVAL,
			       "interval takes bytes, 1 to 4 GiB, with the mode \"sample\" alone");
	x->parameter[0] = '\0';
	order->interval = body.interval;
	return 0;
}

static int find_stream(struct exchange *x, struct control_order *order)
{
	const char *data = sources_data(x->sources);
	cleanup(cleanup_store_close) struct store *store = NULL;
	enum stream_state state = STREAM_LIVE;
	struct stream_id id;
	int r;

	if (!data)
		return control_fail(x, 409, "only recordings of a data folder have agents");
	r = store_open(data, STORE_READ, &store, &x->err);
	if (!r)
		r = store_find_id(store, x->id, &id, &state, &x->err);
	if (r == -ENOENT || r == -EEXIST)
		snprintf(x->parameter, sizeof(x->parameter), "id");
	if (r < 0)
		return r;
	if (state == STREAM_ENDED)
		return control_fail(x, 409, "the program has ended");
	stream_id_format(order->target, &id);
	return 0;
}

static uint64_t control_now_ms(void)
{
	return uv_hrtime() / 1000000;
}

static int control_begin(struct exchange *x, struct asked_control *asked)
{
	struct control_order order = {.wait_ms = WAIT_MS};
	char question[CONTROL_LINE];
	int r = read_order(x, &order);

	if (!r)
		r = find_stream(x, &order);
	if (!r)
		r = control_order_format(question, sizeof(question), &order);
	if (r < 0)
		return r;
	asked->begun = true;
	asked->asking.fd = -1;
	asked->until_ms = control_now_ms() + WAIT_MS + ANSWER_MS;
	r = control_ask_begin(&asked->asking, sources_data(x->sources), question, &x->err);
	if (r < 0)
		x->status = 503;
	return r;
}

static int control_status_of(enum control_code code)
{
	static const int statuses[CONTROL_CODES] = {
		[CONTROL_NO_STREAM] = 409,     [CONTROL_ENDED] = 409,
		[CONTROL_NOT_CONNECTED] = 409, [CONTROL_NOT_ALLOWED] = 403,
		[CONTROL_SWITCHED_OFF] = 403,  [CONTROL_TOO_MANY] = 503,
		[CONTROL_MALFORMED] = 400,     [CONTROL_NOT_ANSWERED] = 504};

	return statuses[code] ? statuses[code] : 502;
}

#define ANSWER_OF struct asked_control
static const struct answer_field reply_fields[] = {
	ROW_AS("id", reply.stream, ANSWER_CHARS, NULL, "id of the recording"),
	ROW_AS("mode", mode, ANSWER_CHARS, NULL, "the mode in which the program is recorded now"),
	ROW("interval", reply.interval, "bytes", "interval of the mode sample", .when = IF_SET),
	ROW("time_ns", reply.time_ns, "ns", "when the order was carried out, since the start"),
	ROW("snapshot", reply.snapshot, "id", "number of the snapshot that was taken",
	    .when = IF_SET),
	ROW_AS("text", reply.text, ANSWER_CHARS, NULL, "what the agent says about it",
	       .when = IF_TEXT),
	{0},
};
#undef ANSWER_OF
static const struct answer control_answer = {"control_reply", reply_fields};

static int control_tell(struct exchange *x, struct asked_control *asked)
{
	struct control_reply *r = &asked->reply;

	if (r->code != CONTROL_DONE) {
		x->status = control_status_of(r->code);
		return err_set(&x->err, -EINVAL, "%s",
			       *r->text ? r->text : control_code_word(r->code));
	}
	mode_text(asked->mode, sizeof(asked->mode), r->mode, 0);
	if (r->mode != RING_SAMPLE)
		r->interval = 0;
	return 0;
}

static int control_ask_agent(struct asking *a)
{
	struct asked_control *asked = a->result;
	struct exchange *x = a->x;
	char line[CONTROL_LINE];
	int r = asked->begun ? 0 : control_begin(x, asked);

	if (r < 0)
		return r;
	while ((r = control_ask_line(&asked->asking, 0, line, &x->err)) == 0)
		asked->replied |= control_reply_parse(line, &asked->reply) == 0;
	if (r > 0 && asked->replied)
		return control_tell(x, asked);
	if (r == -EAGAIN && control_now_ms() < asked->until_ms)
		return -EAGAIN;
	return control_fail(x, 504,
			    r > 0 ? "the collector has not said what became of it"
				  : "the collector that has the links does not answer");
}

const struct route control_route = {
	.path = "control",
	.about = "gives the agent an order: start, stop, mode, snapshot or mark",
	.flags = ROUTE_OF_RECORDING | ROUTE_TAKES_IT,
	.method = ROUTE_ORDER,
	.body = control_body,
	.answer = &control_answer,
	ROUTE_ASKS(struct asked_control, control_ask_agent, asked_control_done),
};
