/*
 * What a collector says to an agent: its greeting, orders, and how long it waits for replies. The
 * test plays the agent, and turns the loop.
 */
#include <errno.h>
#include <unistd.h>

#include "tests/unit/ingest/support/still.h"

#define ORDERS_MAX 4096 /* that wait for a reply */

static struct agent a;
static const struct stream_id stream = {{0x42, 0x42, 0x42, 0x42, 0x42, 0x42, 0x42, 0x42, 0x42, 0x42,
					 0x42, 0x42, 0x42, 0x42, 0x42, 0x42}};

/* ---- replies ---- */

static unsigned replies;
static struct ingest_reply last;
static char last_text[256];

static void on_event(void *context, const struct ingest_event *e)
{
	if (e->kind != INGEST_REPLY) {
		still_on_event(context, e);
		return;
	}
	assert_memory_equal(e->stream, &stream, sizeof(stream));
	last = *e->reply;
	snprintf(last_text, sizeof(last_text), "%s", e->reply->text);
	replies++;
}

/* An agent is connected, and its stream is asked for. */
static void begin(void)
{
	still_begin((struct ingest_options){.agents_max = 4, .listen = "127.0.0.1:0"});
	ingest->event = on_event;
	replies = 0;
	guest_dial(&a, 1);
	agent_greet(&a, a.fd, 1);
	while (!ingest->intake_count)
		uv_run(&loop, UV_RUN_ONCE);
	assert_true(agent_subscribed(&a, a.fd));
	told[0] = 0;
}

static void end(void)
{
	guest_done(&a);
	still_end();
}

static void send_reply(uint64_t id, const char *text)
{
	Heapcast__Batch batch = HEAPCAST__BATCH__INIT;
	Heapcast__Link link = HEAPCAST__LINK__INIT;
	Heapcast__Reply reply = HEAPCAST__REPLY__INIT, *list[] = {&reply};
	struct builder frame = {.frames = a.b.frames};
	char copy[64];

	snprintf(copy, sizeof(copy), "%s", text);
	reply.id = id;
	reply.status = HEAPCAST__REPLY_STATUS__REPLY_DONE;
	reply.time_ns = 77;
	reply.text = copy;
	link.reply = list;
	link.n_reply = 1;
	batch.link = &link;
	builder_frame(&frame, &batch);
	agent_send(a.fd, frame.file.data, frame.file.length);
	buf_done(&frame.file);
}

/* Until there have been as many replies. */
static void expect_replies(unsigned count)
{
	for (unsigned i = 0; i < 3000 && replies < count; i++)
		uv_run(&loop, UV_RUN_ONCE);
	assert_int_equal(replies, count);
	assert_int_equal(ingest->given_count, 0);
}

/* ---- the greeting ---- */

static void who_we_are(void **state)
{
	const Heapcast__Order *order;
	char host[256] = "";

	(void)state;
	still_begin((struct ingest_options){.agents_max = 4, .listen = "127.0.0.1:0"});
	guest_dial(&a, 1);
	while (!ingest->links)
		uv_run(&loop, UV_RUN_ONCE);
	order = next_order(&a, a.fd);
	assert_true(order && order->hello && !order->subscribe && !order->ack && !order->control &&
		    !order->file);
	gethostname(host, sizeof(host) - 1);
	assert_int_equal(order->hello->protocol, PROTOCOL_VERSION);
	assert_int_equal(order->hello->id.len, STREAM_ID_SIZE);
	assert_memory_equal(order->hello->id.data, ingest->id, STREAM_ID_SIZE);
	assert_string_equal(order->hello->host, host);
	assert_string_equal(order->hello->version, HEAPCAST_VERSION);
	assert_null(next_order(&a, a.fd)); /* and no more, until it has greeted */
	end();
}

/* ---- orders ---- */

static const Heapcast__Control *next_control(void)
{
	const Heapcast__Order *order;

	while ((order = next_order(&a, a.fd)))
		if (order->control)
			return order->control;
	return NULL;
}

static void orders_are_carried_out(void **state)
{
	const struct ingest_order mark = {.id = 70000000000,
					  .action = HEAPCAST__ACTION__ACTION_MARK,
					  .text = "here",
					  .wait_ms = 5000},
				  mode = {.id = 2,
					  .action = HEAPCAST__ACTION__ACTION_MODE,
					  .mode = HEAPCAST__MODE__MODE_SAMPLE,
					  .value = 1ull << 40,
					  .wait_ms = 5000};
	const Heapcast__Control *c;

	(void)state;
	begin();
	assert_int_equal(ingest_order(ingest, &stream, &mark), 0);
	assert_int_equal(ingest->given_count, 1);
	c = next_control();
	assert_true(c && c->id == mark.id && c->action == HEAPCAST__ACTION__ACTION_MARK);
	assert_int_equal(c->stream.len, sizeof(stream));
	assert_memory_equal(c->stream.data, &stream, sizeof(stream));
	assert_int_equal(c->text.len, 4);
	assert_memory_equal(c->text.data, "here", 4);
	assert_true(!c->mode && !c->value);
	assert_int_equal(ingest_order(ingest, &stream, &mode), 0);
	assert_int_equal(ingest->given_count, 2);
	c = next_control();
	assert_true(c && c->id == 2 && c->action == HEAPCAST__ACTION__ACTION_MODE);
	assert_int_equal(c->mode, HEAPCAST__MODE__MODE_SAMPLE);
	assert_true(c->value == 1ull << 40 && !c->text.len);
	send_reply(3, "of nobody");
	send_reply(2, "yes\n");
	send_reply(70000000000, "");
	expect_replies(2);
	assert_true(last.id == 70000000000 && last.time_ns == 77);
	assert_int_equal(last.status, HEAPCAST__REPLY_STATUS__REPLY_DONE);
	assert_string_equal(last_text, "");
	end();
}

static void orders_are_refused(void **state)
{
	const struct ingest_order order = {.id = 1, .wait_ms = 5000};

	(void)state;
	begin();
	ingest->given_count = ORDERS_MAX - 1;
	assert_int_equal(ingest_order(ingest, &stream, &order), 0);
	assert_int_equal(ingest_order(ingest, &stream, &order), -EBUSY);
	assert_int_equal(ingest->given_count, ORDERS_MAX);
	ingest->given_count = 1;
	ingest->intakes->ended = true;
	assert_int_equal(ingest_order(ingest, &stream, &order), -ESRCH);
	ingest->intakes->ended = false;
	ingest->links->state = LINK_GOODBYE;
	assert_int_equal(ingest_order(ingest, &stream, &order), -ENOTCONN);
	ingest->links->state = LINK_OPEN;
	ingest->stopping = true;
	assert_int_equal(ingest_order(ingest, &stream, &order), -EBUSY);
	ingest->stopping = false;
	assert_int_equal(ingest->given_count, 1);
	assert_int_equal(replies, 0);
	end();
}

/* An order ends when its time is over, or with its link. */
static void no_reply(void **state)
{
	struct ingest_order order = {.id = 1, .wait_ms = 1000};
	uint64_t begun;

	(void)state;
	begin();
	begun = loop.time;
	assert_int_equal(ingest_order(ingest, &stream, &order), 0);
	order.id = 2;
	order.wait_ms = 3000;
	assert_int_equal(ingest_order(ingest, &stream, &order), 0);
	replies_tick(ingest, begun + 999);
	assert_int_equal(replies, 0);
	replies_tick(ingest, begun + 1000);
	assert_true(replies == 1 && last.id == 1 && last.status == INGEST_REPLY_NONE);
	shutdown(a.fd, SHUT_WR);
	expect_replies(2);
	assert_true(last.id == 2 && last.status == INGEST_REPLY_NONE);
	assert_string_equal(last_text, "the connection to its agent broke before it had answered");
	assert_int_equal(ingest_order(ingest, &stream, &order), -ENOTCONN);
	end();
}

/* An agent that does not read is hung up on; what it was to do ends with its link, at once. */
static void it_does_not_read(void **state)
{
	static char text[256 << 10];
	struct ingest_order order = {.text = text, .wait_ms = 5000};
	uint64_t seed = 5, queued = 0, before = 0;
	int r = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(text) - 1; i++) {
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		text[i] = (char)(1 + (seed >> 33) % 255);
	}
	begin();
	while (!r && ingest->open_count && order.id < 1000) {
		before = queued;
		order.id++;
		r = ingest_order(ingest, &stream, &order);
		queued = ingest->links->tcp.write_queue_size;
	}
	assert_int_equal(r, 0);
	assert_int_equal(ingest->open_count, 0);
	/* What is queued is at most a MiB, and the last order. */
	assert_in_range(before, WRITE_QUEUE_MAX + 1, WRITE_QUEUE_MAX + sizeof(text) + 1024);
	assert_int_equal(replies, order.id);
	assert_non_null(strstr(told, ": it does not read what we send\n"));
	assert_int_equal(ingest->given_count, 0);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(who_we_are),	    TEST_IN_FOLDER(orders_are_carried_out),
		TEST_IN_FOLDER(orders_are_refused), TEST_IN_FOLDER(no_reply),
		TEST_IN_FOLDER(it_does_not_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
