/*
 * POST /data/ID/control: an order for the agent of a live stream, through the socket of the
 * collector that gathers into the folder. The step asks, and is called again until there is an
 * answer: no thread waits.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "collector/catalogue/store.h"
#include "collector/control/control.h"
#include "collector/control/order.h"
#include "collector/answers/json.h"
#include "collector/http/server/body.h"
#include "collector/http/server/routes.h"
#include "collector/http/server/sources.h"
#include "collector/http/routes/values.h"
#include "collector/recording/stream_id.h"
#include "proto/mode.h"
#include "proto/ring.h"

#include "base/ban.h"

#define WAIT_MS	  5000
#define ANSWER_MS 2000 /* beyond that, for the collector itself */

DEFINE_CLEANUP(store_close, struct store *)

const struct route_parameter control_body[] = {
	{"action", NULL, "string", "start, stop, mode, snapshot, mark"},
	{"mode", NULL, "string", "of mode: full, sample, sample=64K, off"},
	{"interval", NULL, "integer", "of the mode sample: bytes"},
	{"text", NULL, "string", "of mark: at most 1,024 bytes"},
	{0},
};

struct asked_control {
	struct control_asking asking;
	struct control_reply reply;
	bool replied;
	uint64_t until_ms;
};

static void work_free(void *work)
{
	struct asked_control *a = work;

	control_ask_end(&a->asking);
	free(a);
}

static int control_fail(struct exchange *x, int status, const char *text)
{
	x->status = status;
	return err_set(&x->err, -EINVAL, "%s", text);
}

static int read_order(struct exchange *x, struct control_order *order)
{
	char action[16] = "", mode[32] = "", text[CONTROL_ORDER_TEXT_MAX + 1] = "";
	uint64_t interval = 0;
	struct body_member table[] = {{"action", action, sizeof(action), NULL, false},
				      {"mode", mode, sizeof(mode), NULL, false},
				      {"interval", NULL, 0, &interval, false},
				      {"text", text, sizeof(text), NULL, false},
				      {0}};
	const char *why, *argument;
	int r = buf_error(&x->request.body);

	if (!r)
		r = body_read((const char *)x->request.body.data, x->request.body.length, table,
			      x->parameter, &x->err);
	if (r < 0)
		return r;
	argument = table[1].given ? mode : table[3].given ? text : NULL;
	if (control_order_say(order, action, argument, &why) < 0 ||
	    (table[1].given && table[3].given))
		return err_set(&x->err, -EINVAL, "%s", why);
	if (!table[2].given)
		return 0;
	snprintf(x->parameter, sizeof(x->parameter), "interval");
	if (order->action != CONTROL_MODE || order->mode != RING_SAMPLE || order->interval ||
	    !interval || interval > RING_INTERVAL_MAX)
		return err_set(&x->err, -EINVAL,
			       "interval takes bytes, 1 to 4 GiB, with the mode \"sample\" alone");
	x->parameter[0] = '\0';
	order->interval = interval;
	return 0;
}

static int find_stream(struct exchange *x, struct control_order *order)
{
	const char *data = sources_data(x->sources);
	cleanup(cleanup_store_close) struct store *store = NULL;
	enum stream_state state = STREAM_LIVE;
	struct stream_id id;
	char name[256];
	int r;

	route_id(x, name, sizeof(name));
	if (!data)
		return control_fail(x, 409, "only recordings of a data folder have agents");
	r = store_open(data, STORE_READ, &store, &x->err);
	if (!r)
		r = store_find_id(store, name, &id, &state, &x->err);
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

static int control_begin(struct exchange *x)
{
	struct control_order order = {.wait_ms = WAIT_MS};
	char question[CONTROL_LINE];
	struct asked_control *a;
	int r = no_parameters(x);

	if (!r)
		r = read_order(x, &order);
	if (!r)
		r = find_stream(x, &order);
	if (!r)
		r = control_order_format(question, sizeof(question), &order);
	if (r < 0)
		return r;
	a = calloc(1, sizeof(*a));
	if (!a)
		return -ENOMEM;
	a->asking.fd = -1;
	a->until_ms = control_now_ms() + WAIT_MS + ANSWER_MS;
	x->work = a;
	x->work_free = work_free;
	r = control_ask_begin(&a->asking, sources_data(x->sources), question, &x->err);
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

struct told_reply {
	const char *id, *mode, *text;
	uint64_t interval, time_ns, snapshot;
};

#define ANSWER_OF struct told_reply
static const struct answer_field reply_fields[] = {
	ROW("id", id, NULL, "of the recording"),
	ROW("mode", mode, NULL, "in which its program is recorded now"),
	ROW("interval", interval, "bytes", "of the mode sample", .when = IF_SET),
	ROW("time_ns", time_ns, "ns", "since the start, when it was carried out"),
	ROW("snapshot", snapshot, "id", "that was taken", .when = IF_SET),
	ROW("text", text, NULL, "what the agent says to it", .when = IF_TEXT),
	{0},
};
#undef ANSWER_OF
const struct answer control_answer = {"control_reply", reply_fields};

static int write_reply(struct exchange *x, const struct control_reply *r)
{
	char mode[16];
	const struct told_reply told = {.id = r->stream,
					.mode = mode_text(mode, sizeof(mode), r->mode, 0),
					.text = r->text,
					.interval = r->mode == RING_SAMPLE ? r->interval : 0,
					.time_ns = r->time_ns,
					.snapshot = r->snapshot};
	struct json json;

	if (r->code != CONTROL_DONE) {
		x->status = control_status_of(r->code);
		return err_set(&x->err, -EINVAL, "%s",
			       *r->text ? r->text : control_code_word(r->code));
	}
	x->content_type = "application/json";
	json_init(&json, &x->out);
	json_object_of(&json, NULL, &control_answer, &told, NULL);
	buf_byte(&x->out, '\n');
	return buf_error(&x->out);
}

int control_step(struct exchange *x)
{
	struct asked_control *a = x->work;
	char line[CONTROL_LINE];
	int r = a ? 0 : control_begin(x);

	if (r < 0)
		return r;
	a = x->work;
	while ((r = control_ask_line(&a->asking, 0, line, &x->err)) == 0)
		a->replied |= control_reply_parse(line, &a->reply) == 0;
	if (r > 0 && a->replied)
		return write_reply(x, &a->reply);
	if (r == -EAGAIN && control_now_ms() < a->until_ms)
		return -EAGAIN;
	return control_fail(x, 504,
			    r > 0 ? "the collector has not said what became of it"
				  : "the collector that has the links does not answer");
}
