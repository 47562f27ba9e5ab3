/* collector ctl: sends orders to agents through the collector that is connected to them. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/parse.h"
#include "base/words.h"
#include "collector/catalogue/store.h"
#include "collector/cli/commands.h"
#include "collector/cli/output.h"
#include "collector/cli/terminal.h"
#include "collector/control/control.h"
#include "collector/control/order.h"
#include "collector/answers/answer.h"
#include "collector/answers/json.h"
#include "collector/recording/stream_id.h"
#include "proto/mode.h"
#include "proto/ring.h"
#include "base/ban.h"

#define ANSWER_MS 2000 /* added to the collector's own wait for the agent */
#define ID_SHOWN  12

DEFINE_CLEANUP(store_close, struct store *)

struct ctl_options {
	struct common_options common;
	bool all;
	const char *host;
	uint64_t wait_ns;
};

struct ctl {
	const struct ctl_options *options;
	struct control_order order;
	struct json json;
	struct buf out;
	unsigned refused, done;
	bool unnamed; /* a STREAM was not found */
	char why[CONTROL_LINE];
};

struct told_order {
	struct control_reply r;
	bool done, sampled;
	const char *code, *mode;
};

#define ANSWER_OF struct told_order
static const struct answer_field order_fields[] = {
	ROW_AS("stream", r.stream, ANSWER_CHARS, NULL, "id of the recording"),
	ROW("done", done, NULL, "true: the order was carried out"),
	ROW("code", code, NULL, "what became of the order, in a word"),
	ROW("time_ns", r.time_ns, "ns", "when it was carried out, since the start", WHEN(done)),
	ROW("mode", mode, NULL, "the mode in which the program is recorded now", WHEN(done)),
	ROW("sample_interval", r.interval, "bytes", "", WHEN(sampled)),
	ROW("snapshot", r.snapshot, NULL, "number of the snapshot", .when = IF_SET),
	ROW_AS("text", r.text, ANSWER_CHARS, NULL, "what the agent says about it"),
	{0},
};
#undef ANSWER_OF
static const struct answer order_answer = {"order", order_fields};

static const struct answer_field orders_fields[] = {
	BY_HAND("streams", ANSWER_OBJECT, NULL, "the answer of each stream", .of = &order_answer,
		.shape = ANSWER_LIST),
	BY_HAND("done", ANSWER_U64, NULL, "number of streams that carried it out"),
	BY_HAND("refused", ANSWER_U64, NULL, "number of streams that did not"),
	{0},
};
static const struct answer orders_answer = {"orders", orders_fields};

static void show_json(struct ctl *c, const struct control_reply *r)
{
	bool done = r->code == CONTROL_DONE;
	char mode[16];

	json_object_of(&c->json, NULL, &order_answer,
		       &(struct told_order){
			       .r = *r,
			       .done = done,
			       .sampled = done && r->mode == RING_SAMPLE,
			       .code = control_code_word(r->code),
			       .mode = mode_text(mode, sizeof(mode), r->mode, 0),
		       },
		       NULL);
}

static void show_text(const struct control_reply *r)
{
	char at[32], mode[40], line[400], number[40] = "";

	mode_text(mode, sizeof(mode), r->mode, r->interval);
	if (r->snapshot)
		snprintf(number, sizeof(number), ", snapshot %" PRIu64, r->snapshot);
	if (r->code == CONTROL_DONE)
		snprintf(line, sizeof(line), "%.*s  done at %s of its time%s; mode %s%s%s",
			 ID_SHOWN, r->stream, format_duration(at, r->time_ns), number, mode,
			 *r->text ? "; " : "", r->text);
	else
		snprintf(line, sizeof(line), "%.*s  refused: %s", ID_SHOWN, r->stream,
			 *r->text ? r->text : control_code_word(r->code));
	terminal_line(STYLE_PLAIN, line, 0);
}

static void show(struct ctl *c, const struct control_reply *r)
{
	if (c->options->common.json)
		show_json(c, r);
	else
		show_text(r);
	c->done += r->code == CONTROL_DONE;
	c->refused += r->code != CONTROL_DONE;
}

/* Asks one question, about one stream or about all selected streams. */
static int ask(struct ctl *c, struct err_text *err)
{
	struct control_asking asking;
	struct control_reply reply;
	char line[CONTROL_LINE];
	int wait_ms = (int)c->order.wait_ms + ANSWER_MS;
	int r = control_order_format(line, sizeof(line), &c->order);

	if (!r)
		r = control_ask_begin(&asking, c->options->common.data, line, err);
	if (r < 0)
		return r;
	while ((r = control_ask_line(&asking, wait_ms, line, err)) == 0)
		if (control_reply_parse(line, &reply) == 0)
			show(c, &reply);
	control_ask_end(&asking);
	if (r == 2)
		words_clean(c->why, sizeof(c->why), line + 2, strlen(line + 2));
	if (r == -EAGAIN)
		return err_set(err, -ETIMEDOUT,
			       "the collector of %.300s does not answer: has it been stopped?",
			       c->options->common.data);
	return r < 0 ? r : 0;
}

static int ask_stream(struct ctl *c, struct store *store, const char *name, struct err_text *err)
{
	struct control_reply ended = {.code = CONTROL_ENDED, .text = "the program has ended"};
	enum stream_state state = STREAM_LIVE;
	struct stream_id id;
	int r = store_find_id(store, name, &id, &state, err);

	c->unnamed = r < 0;
	if (r < 0)
		return r;
	stream_id_format(c->order.target, &id);
	if (state != STREAM_ENDED)
		return ask(c, err);
	memcpy(ended.stream, c->order.target, sizeof(ended.stream));
	show(c, &ended);
	return 0;
}

static int ask_streams(struct ctl *c, char **names, int count, struct err_text *err)
{
	cleanup(cleanup_store_close) struct store *store = NULL;
	int r = store_open(c->options->common.data, STORE_READ, &store, err);

	for (int i = 0; !r && i < count; i++)
		r = ask_stream(c, store, names[i], err);
	return r;
}

/* Asks the selected streams that live, one after the other. */
static int ask_selected(struct ctl *c, struct err_text *err)
{
	const struct common_options *o = &c->options->common;
	cleanup(cleanup_store_close) struct store *store = NULL;
	struct stream_summary *list = NULL;
	size_t count = 0;
	int r = control_reach(o->data, err);

	if (!r)
		r = store_open(o->data, STORE_READ, &store, err);
	if (!r)
		r = store_list_selected(store, o->select, false, &list, &count, err);
	c->unnamed = r == -EINVAL;
	for (size_t i = 0; !r && i < count; i++) {
		if (list[i].state != STREAM_LIVE || list[i].is_snapshot)
			continue;
		stream_id_format(c->order.target, &list[i].id);
		r = ask(c, err);
	}
	store_list_free(list, count);
	if (!r && !c->done && !c->refused)
		snprintf(c->why, sizeof(c->why), "no running program matches --select '%.200s'",
			 o->select);
	return r;
}

static int ask_them(struct ctl *c, char **names, int count, struct err_text *err)
{
	if (count)
		return ask_streams(c, names, count, err);
	return c->options->common.select && !c->options->all && !c->options->host
		       ? ask_selected(c, err)
		       : ask(c, err);
}

static int ctl_answer(struct command_call *call, struct ctl *c, int names, struct err_text *err)
{
	int r;

	output_json_begin(call->command, &c->json, &c->out);
	json_array(&c->json, "streams");
	r = ask_them(c, call->arguments, names, err);
	json_end(&c->json, ']');
	json_u64(&c->json, "done", c->done);
	json_u64(&c->json, "refused", c->refused);
	json_end(&c->json, '}');
	if (c->options->common.json && r >= 0)
		output_json(call->command, stdout, &c->out);
	if (c->unnamed)
		return command_input_fault(call->command, r, err);
	if (r < 0)
		return command_fault(call->command, r, err);
	if (!c->done && !c->refused)
		command_note(call->command, "%s",
			     c->why[0] ? c->why + strspn(c->why, " ") : "nothing was done");
	return c->refused || !c->done ? EXIT_NO : EXIT_DONE;
}

/* Returns the index of the order among the arguments, or -1 if there is none. */
static int find_action(const struct command_call *call, struct control_order *order)
{
	const char *why;

	for (int i = 0; i < call->argument_count; i++) {
		control_order_say(order, call->arguments[i], NULL, &why);
		if (order->action)
			return i;
	}
	return -1;
}

static int ctl_check(const struct command_call *call, int at, struct ctl *c)
{
	const struct ctl_options *o = call->options;
	int more = call->argument_count - at - 1;
	const char *why;

	if (at < 0)
		return command_usage_error(
			call->command,
			"what shall be done? STREAM... start|stop|mode|snapshot|mark");
	if (more > 1)
		return command_usage_error(call->command, "'%.60s' is too much",
					   call->arguments[at + 2]);
	if (control_order_say(&c->order, call->arguments[at], more ? call->arguments[at + 1] : NULL,
			      &why) < 0)
		return command_usage_error(call->command, "%s", why);
	if ((at > 0) + o->all + (o->host != NULL) +
		    (o->common.select_typed ||
		     (o->common.select && at <= 0 && !o->all && !o->host)) !=
	    1)
		return command_usage_error(
			call->command,
			"whom? either STREAM..., or --all, or --host NAME, or --select");
	if (o->host &&
	    (!*o->host || strlen(o->host) >= sizeof(c->order.host) || strpbrk(o->host, " \t\n")))
		return command_usage_error(call->command, "'%.60s' is no name of a host", o->host);
	if (o->wait_ns / 1000000 > CONTROL_WAIT_MAX_MS)
		return command_usage_error(call->command, "--wait takes a minute at most");
	return EXIT_DONE;
}

static int ctl_run(struct command_call *call)
{
	const struct ctl_options *o = call->options;
	struct ctl c = {.options = o};
	struct err_text err = {0};
	int at = find_action(call, &c.order), r = ctl_check(call, at, &c);

	if (r)
		return r;
	c.order.wait_ms = o->wait_ns / 1000000;
	if (o->host)
		snprintf(c.order.host, sizeof(c.order.host), "%s", o->host);
	r = ctl_answer(call, &c, at, &err);
	buf_done(&c.out);
	return r;
}

static const struct option ctl_table[] = {
	OPTION_FLAG(struct ctl_options, all, "all", "all streams that live"),
	OPTION_TEXT(struct ctl_options, host, "host", "NAME",
		    "those of the agents on this host, as they call it"),
	OPTION_TIME(struct ctl_options, wait_ns, "wait", "TIME",
		    "for an agent's answer (5s, at most 1m)"),
	{0},
};

static const struct option_group groups[] = {
	{NULL, ctl_table}, {"Common options", common_table}, {0}};

static const struct ctl_options defaults = {.common.data = DEFAULT_DATA, .wait_ns = 5000000000};

const struct command command_ctl = {
	.name = "ctl",
	.answers = {&orders_answer},
	.summary = "order agents: start, stop, mode, snapshot, mark",
	.usage = "[OPTION...] STREAM...|--all|--host NAME|--select TERMS ACTION",
	.about = "Changes how programs are recorded while they run, over the links of the\n"
		 "'collector gather' that is at work in the same data folder. ACTION is one of:\n\n"
		 "  stop        new blocks are not recorded; frees of recorded ones still are\n"
		 "  start       records again, in the mode that was in force before\n"
		 "  mode MODE   full: every event; sample or sample=BYTES: one allocation in so\n"
		 "              many bytes (512K); off: as stop\n"
		 "  snapshot    has everything sent now, and marks the place by a number\n"
		 "  mark TEXT   puts a text into the recording\n\n"
		 "Each is a mark in the recording, with its time and who wanted it ('collector\n"
		 "ledger' lists them). Exit status: 0 all was done; 1 an agent refused or did not\n"
		 "answer; 3 no collector is at work.\n",
	.examples = "  collector ctl last stop\n"
		    "  collector ctl --select tag:stage=canary mode full\n"
		    "  collector ctl 4f1c mode sample=64K\n"
		    "  collector ctl --all mark \"load test begins\"\n",
	.groups = groups,
	.options_size = sizeof(struct ctl_options),
	.defaults = &defaults,
	.arguments_min = 1,
	.arguments_max = -1,
	.run = ctl_run,
};
