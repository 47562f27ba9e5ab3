/*
 * Agents that dial in, and their streams, step by step: who is let in and what is told, when data
 * is made durable and acknowledged, what a full disk does, and when a stream is forgotten. The test
 * plays the agents, and turns the loop.
 */
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

#include "collector/recording/stream_id.h"
#include "collector/catalogue/writer.h"
#include "tests/unit/ingest/support/still.h"
#include "tests/unit/locks.h"

static struct agent a;

static void begin(void)
{
	still_begin((struct ingest_options){.agents_max = 4, .listen = "127.0.0.1:0"});
}

/* What is told of the agent. */
static const char *line(const char *before, const char *after)
{
	static char text[512];
	struct sockaddr_in own;
	socklen_t length = sizeof(own);

	assert_int_equal(getsockname(a.fd, (struct sockaddr *)&own, &length), 0);
	snprintf(text, sizeof(text), "%s 127.0.0.1:%u%s\n", before, ntohs(own.sin_port), after);
	return text;
}

static void check_lines(const char *first, const char *second)
{
	char expected[1024];

	snprintf(expected, sizeof(expected), "%s%s", first, second);
	check_told(expected);
}

/* Turns the loop as often, whatever is told. */
static void turn_some(unsigned turns)
{
	for (unsigned i = 0; i < turns; i++) {
		uv_run(&loop, UV_RUN_NOWAIT);
		usleep(200);
	}
}

/* Greets; it is let in. */
static void greet(struct agent *guest)
{
	uint32_t before = ingest->open_count;

	agent_greet(guest, guest->fd, 1);
	for (unsigned i = 0; i < 3000 && ingest->open_count == before; i++)
		uv_run(&loop, UV_RUN_ONCE);
	assert_int_equal(ingest->open_count, before + 1);
}

static void hello_of(struct agent *guest, uint32_t protocol, size_t id_length)
{
	Heapcast__Batch batch = HEAPCAST__BATCH__INIT;
	Heapcast__Link link = HEAPCAST__LINK__INIT;
	Heapcast__Hello hello = HEAPCAST__HELLO__INIT;
	struct builder frame = {.frames = guest->b.frames};
	static char host[] = "bo\nard", version[] = "1\t2";

	hello.protocol = protocol;
	hello.id = builder_bytes(guest->id, id_length);
	hello.host = host;
	hello.version = version;
	link.hello = &hello;
	batch.link = &link;
	builder_frame(&frame, &batch);
	agent_send(guest->fd, frame.file.data, frame.file.length);
	buf_done(&frame.file);
}

/* ---- greetings ---- */

static void who_is_let_in(void **state)
{
	(void)state;
	begin();
	guest_dial(&a, 1);
	hello_of(&a, 1, STREAM_ID_SIZE);
	turn();
	check_told(line("connected", " bo ard 1 2"));
	assert_int_equal(ingest->links->window_bytes, DEFAULT_WINDOW);
	assert_int_equal(ingest->links->state, LINK_OPEN);
	assert_int_equal(ingest_totals(ingest).links, 1);
	assert_true(link_by_agent(ingest, a.id, false) && !link_by_agent(ingest, a.id, true));
	assert_true(ingest_totals(ingest).bytes > 0);
	hello_of(&a, 99, 3); /* once is enough */
	turn_some(20);
	check_told("");
	shutdown(a.fd, SHUT_WR);
	turn();
	check_told(line("disconnected", ": it closed the connection"));
	assert_int_equal(ingest_totals(ingest).links, 0);
	guest_done(&a);
	still_end();
}

static void who_is_not(void **state)
{
	static const struct {
		uint32_t protocol;
		size_t length;
		const char *why;
	} cases[] = {{99, STREAM_ID_SIZE, ": it speaks version 99 of the protocol, we speak 1"},
		     {1, STREAM_ID_SIZE - 1, ": its greeting makes no sense"}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin();
		guest_dial(&a, 1);
		hello_of(&a, cases[i].protocol, cases[i].length);
		turn();
		check_told(line("disconnected", cases[i].why));
		assert_true(agent_is_hung_up(&a));
		guest_done(&a);
		still_end();
	}
}

static void too_much_before_a_greeting(void **state)
{
	/* The beginning of a frame that is larger. */
	static uint8_t bytes[HALF_OPEN_BYTES];

	(void)state;
	begin();
	guest_dial(&a, 1);
	memcpy(bytes, a.b.file.data, 15); /* the header of a frame, and then its block: long */
	bytes[15] = 0xff;
	bytes[16] = 0xff;
	bytes[17] = 1;
	agent_send(a.fd, bytes, sizeof(bytes) - 1);
	turn_some(100);
	if (!told[0]) {
		assert_int_equal(ingest->links->in.length, sizeof(bytes) - 1);
		agent_send(a.fd, bytes, 1);
		turn();
		check_told(line("disconnected", ": it says too much before its greeting"));
	}
	guest_done(&a);
	still_end();
}

/* An agent that comes a second time keeps the link that works. */
static void twice(void **state)
{
	struct agent again;
	struct link *first;

	(void)state;
	begin();
	guest_dial(&a, 1);
	greet(&a);
	first = ingest->links;
	guest_dial(&again, 1);
	told[0] = 0;
	hello_of(&again, 1, STREAM_ID_SIZE);
	turn_some(50);
	check_told("");
	assert_true(agent_is_hung_up(&again));
	assert_int_equal(ingest->open_count, 1);
	guest_done(&again);
	guest_dial(&again, 1);
	turn_some(20);
	first->heard_ms = 0; /* it has been silent */
	hello_of(&again, 1, STREAM_ID_SIZE);
	turn();
	assert_non_null(strstr(told, line("disconnected", ": the agent came again")));
	assert_true(agent_is_hung_up(&a));
	guest_done(&again);
	guest_done(&a);
	still_end();
}

/* ---- streams ---- */

static struct intake *the_intake(void)
{
	assert_int_equal(ingest->intake_count, 1);
	return ingest->intakes;
}

/* The next acknowledgement, 0: none. */
static uint64_t next_ack(void)
{
	const Heapcast__Order *order;

	while ((order = next_order(&a, a.fd)))
		if (order->ack)
			return order->ack->number;
	return 0;
}

static void frames(size_t from, size_t to)
{
	agent_frames(&a, a.fd, from, to);
	for (unsigned i = 0;
	     i < 3000 && stream_writer_bytes(the_intake()->writer) < a.b.ends[to - 1]; i++)
		uv_run(&loop, UV_RUN_ONCE);
	assert_int_equal(stream_writer_bytes(the_intake()->writer), a.b.ends[to - 1]);
}

static void wait_for_work(void)
{
	for (unsigned i = 0; i < 3000 && (the_intake()->working || the_intake()->deriving); i++)
		uv_run(&loop, UV_RUN_ONCE);
}

static unsigned lives;

static void on_live(void *context, const struct stream_id *stream, const char *host)
{
	(void)context;
	assert_int_equal(stream->bytes[0], 0x42);
	assert_string_equal(host, "board7");
	lives++;
}

static void a_stream_is_received(void **state)
{
	const struct stream_id none = {{9}};
	struct stream_id id;
	struct intake *s;
	struct link *link;
	char expected[128];
	uint64_t due_ms;

	(void)state;
	begin();
	guest_dial(&a, 1);
	greet(&a);
	check_lines(line("connected", " board7 test"), "began 42  0: 0 events, 0 bytes\n");
	assert_true(agent_subscribed(&a, a.fd));
	assert_int_equal(a.subscribed[0], 0);
	s = the_intake();
	memcpy(id.bytes, a.b.id, sizeof(id.bytes));
	assert_int_equal(intake_link(ingest, &none, &link), -ENOENT);
	assert_int_equal(intake_link(ingest, &id, &link), 0);
	assert_ptr_equal(link, ingest->links);
	lives = 0;
	ingest_live(ingest, on_live, NULL);
	assert_int_equal(lives, 1);
	assert_int_equal(ingest_totals(ingest).live_streams, 1);
	ingest->links->window_bytes = 1 << 20;
	assert_false(intake_busy(ingest));
	frames(0, 2);
	assert_true(s->dirty && !s->working && intake_busy(ingest));
	assert_int_equal(s->unsynced_bytes, a.b.ends[1]);
	assert_int_equal(ingest_totals(ingest).events, 400);
	due_ms = s->dirty_since_ms + ACK_MS;
	intake_tick(ingest, due_ms - 1);
	assert_false(s->working);
	s->dirty_since_ms = loop.time - ACK_MS; /* it is due now */
	intake_tick(ingest, loop.time);
	assert_true(s->working && !s->dirty && !s->unsynced_bytes);
	wait_for_work();
	assert_int_equal(next_ack(), 2);
	/* A quarter of the window is due at once. */
	ingest->links->window_bytes = 4 * (a.b.ends[2] - a.b.ends[1]);
	frames(2, 3);
	for (unsigned i = 0; i < 3000 && s->durable.next < 4; i++)
		uv_run(&loop, UV_RUN_ONCE);
	assert_int_equal(s->durable.next, 4);
	assert_int_equal(next_ack(), 3);
	wait_for_work();
	ingest->links->window_bytes = 4 * (a.b.ends[3] - a.b.ends[2]) + 4;
	frames(3, 4);
	assert_true(s->dirty && !s->working);
	told[0] = 0;
	agent_frames(&a, a.fd, 4, a.b.frame_count);
	turn();
	snprintf(expected, sizeof(expected), "ended 42  0: 1800 events, %zu bytes\n",
		 a.b.file.length);
	check_told(expected);
	assert_true(!the_intake()->writer && !ingest->held_bytes);
	agent_until_acked(&a, a.fd, 10);
	assert_int_equal(a.acked, 10);
	assert_int_equal(intake_link(ingest, &id, &link), -ESRCH);
	ingest_live(ingest, on_live, NULL);
	assert_int_equal(lives, 1);
	assert_int_equal(ingest_totals(ingest).live_streams, 0);
	told[0] = 0;
	guest_done(&a);
	turn();
	intake_tick(ingest, loop.time);
	assert_int_equal(ingest->intake_count, 0);
	still_end();
}

static void a_stream_is_left(void **state)
{
	struct stream_id id;
	struct link *link;
	char expected[128];

	(void)state;
	begin();
	guest_dial(&a, 1);
	greet(&a);
	frames(0, 3);
	told[0] = 0;
	wait_for_work();
	memcpy(id.bytes, a.b.id, sizeof(id.bytes));
	shutdown(a.fd, SHUT_WR);
	turn();
	snprintf(expected, sizeof(expected), "left 42  0: 600 events, %zu bytes\n", a.b.ends[2]);
	assert_memory_equal(told, expected, strlen(expected));
	assert_int_equal(intake_link(ingest, &id, &link), -ENOTCONN);
	while (the_intake()->dirty || the_intake()->working || the_intake()->deriving ||
	       the_intake()->held_bytes) {
		the_intake()->dirty_since_ms = 0;
		intake_tick(ingest, loop.time);
		uv_run(&loop, UV_RUN_ONCE);
	}
	intake_tick(ingest, the_intake()->left_ms + FORGET_MS);
	assert_int_equal(ingest->intake_count, 1);
	intake_tick(ingest, the_intake()->left_ms + FORGET_MS + 1);
	assert_int_equal(ingest->intake_count, 0);
	assert_int_equal(ingest->held_bytes, 0);
	guest_done(&a);
	/* It comes again, and is asked for the rest. */
	guest_dial(&a, 1);
	told[0] = 0;
	greet(&a);
	snprintf(expected, sizeof(expected), "began 42  0: 600 events, %zu bytes\n", a.b.ends[2]);
	assert_non_null(strstr(told, expected));
	assert_true(agent_subscribed(&a, a.fd));
	assert_int_equal(a.subscribed[0], 4);
	assert_true(the_intake()->dirty);
	guest_done(&a);
	still_end();
}

static void no_room_for_streams(void **state)
{
	(void)state;
	begin();
	ingest->streams_max = 0;
	guest_dial(&a, 1);
	greet(&a);
	check_lines(line("connected", " board7 test"),
		    "warning: streams are turned away: 0 are being received, and there is room for "
		    "no more (--agents-max)\n");
	assert_int_equal(ingest->intake_count, 0);
	guest_done(&a);
	told[0] = 0;
	turn();
	guest_dial(&a, 2);
	told[0] = 0;
	greet(&a);
	check_told(line("connected", " board7 test")); /* told once */
	guest_done(&a);
	still_end();
}

/* The agent's next stream, with nothing in it so far. */
static void next_stream(struct agent *guest)
{
	builder_done(&guest->b);
	builder_init(&guest->b, (uint8_t)(guest->b.id[0] + 1));
}

/* An agent stays connected while its programs come and go. One that has ended takes no place. */
static void one_program_after_another(void **state)
{
	char expected[128];

	(void)state;
	begin();
	ingest->streams_max = 1;
	guest_dial(&a, 1);
	greet(&a);
	for (unsigned i = 0; i < 3; i++) {
		assert_true(agent_subscribed(&a, a.fd));
		agent_frames(&a, a.fd, 0, a.b.frame_count);
		while (!ingest->intakes->told_ended || ingest->intakes->finish_due ||
		       ingest->intakes->working)
			uv_run(&loop, UV_RUN_ONCE);
		next_stream(&a);
		builder_end(&a.b, 0);
		told[0] = 0;
		agent_greet(&a, a.fd, 1);
		turn();
		snprintf(expected, sizeof(expected), "began %02x  0: 0 events, 0 bytes\n",
			 a.b.id[0]);
		check_told(expected);
	}
	next_stream(&a);
	agent_greet(&a, a.fd, 1);
	turn();
	check_told("warning: streams are turned away: 1 are being received, and there is room for "
		   "no more (--agents-max)\n");
	guest_done(&a);
	still_end();
}

/* Lists streams with these ids, of which the next batch is this one. */
static void list_as(struct agent *guest, const uint8_t *names, size_t count, uint64_t next,
		    bool ended)
{
	Heapcast__StreamState states[3], *list[3];
	Heapcast__Batch batch = HEAPCAST__BATCH__INIT;
	Heapcast__Link link = HEAPCAST__LINK__INIT;
	struct builder frame = {.frames = guest->b.frames};
	uint8_t ids[3][STREAM_ID_SIZE];

	for (size_t i = 0; i < count; i++) {
		heapcast__stream_state__init(&states[i]);
		memset(ids[i], names[i], sizeof(ids[i]));
		states[i].stream = builder_bytes(ids[i], sizeof(ids[i]));
		states[i].incarnation = next > 0;
		states[i].first = 1;
		states[i].next = next;
		states[i].ended = ended;
		list[i] = &states[i];
	}
	link.stream = list;
	link.n_stream = count;
	batch.link = &link;
	builder_frame(&frame, &batch);
	agent_send(guest->fd, frame.file.data, frame.file.length);
	buf_done(&frame.file);
}

static void list_streams(struct agent *guest, const uint8_t *names, size_t count)
{
	list_as(guest, names, count, 2, true);
}

static bool has_streams(unsigned count, uint8_t last)
{
	return ingest->links && ingest->links->streams == count && ingest->intake_count == count &&
	       ingest->intakes && ingest->intakes->id.bytes[0] == last;
}

/* As many streams are known, all of the link, the last one of this name. */
static void expect_streams(unsigned count, uint8_t last)
{
	for (unsigned i = 0; i < 3000 && !has_streams(count, last); i++)
		uv_run(&loop, UV_RUN_ONCE);
	assert_true(has_streams(count, last));
}

static void send_all_of(uint8_t name)
{
	builder_done(&a.b);
	builder_init(&a.b, name);
	builder_end(&a.b, 0);
	agent_frames(&a, a.fd, 0, a.b.frame_count);
	while (!ingest->intakes->told_ended || ingest->intakes->finish_due ||
	       ingest->intakes->working)
		uv_run(&loop, UV_RUN_ONCE);
}

/* What the agent has let go of is forgotten once it has ended; what it still lists is not, nor what
 * has not ended. A list of nothing is none. */
static void what_is_no_longer_listed(void **state)
{
	(void)state;
	begin();
	guest_dial(&a, 1);
	hello_of(&a, 1, STREAM_ID_SIZE);
	list_streams(&a, (const uint8_t[]){1}, 1);
	expect_streams(1, 1);
	send_all_of(1);
	list_streams(&a, (const uint8_t[]){1, 2}, 2);
	expect_streams(2, 2);
	send_all_of(2);
	list_streams(&a, NULL, 0);
	list_streams(&a, (const uint8_t[]){2, 1, 3}, 3);
	expect_streams(3, 3);
	list_streams(&a, (const uint8_t[]){2}, 1);
	expect_streams(2, 3);
	list_streams(&a, (const uint8_t[]){4}, 1);
	expect_streams(2, 4);
	assert_int_equal(ingest->intakes->next->id.bytes[0], 3);
	assert_int_equal(ingest->open_count, 1);
	guest_done(&a);
	still_end();
}

/* A stream that ends without a batch: there is nothing to acknowledge, and nothing is. */
static void a_stream_of_nothing(void **state)
{
	const Heapcast__Order *order;
	unsigned subscribed = 0;

	(void)state;
	begin();
	guest_dial(&a, 1);
	hello_of(&a, 1, STREAM_ID_SIZE);
	list_as(&a, (const uint8_t[]){5}, 1, 0, false);
	expect_streams(1, 5);
	list_as(&a, (const uint8_t[]){5}, 1, 0, true);
	for (unsigned i = 0; i < 3000 && !ingest->intakes->told_ended; i++)
		uv_run(&loop, UV_RUN_ONCE);
	assert_true(ingest->intakes->told_ended);
	while ((order = next_order(&a, a.fd))) {
		assert_null(order->ack);
		subscribed += order->subscribe != NULL;
	}
	assert_int_equal(subscribed, 1);
	guest_done(&a);
	still_end();
}

/* The disk takes no more: nothing more is read until it does, and it is tried every second. */
static void a_full_disk(void **state)
{
	struct rlimit before, limit;
	char expected[512];
	struct link *link;

	(void)state;
	begin();
	signal(SIGXFSZ, SIG_IGN);
	guest_dial(&a, 1);
	greet(&a);
	frames(0, 1);
	link = ingest->links;
	told[0] = 0;
	getrlimit(RLIMIT_FSIZE, &before);
	limit = before;
	limit.rlim_cur = a.b.ends[0] + 10;
	setrlimit(RLIMIT_FSIZE, &limit);
	agent_frames(&a, a.fd, 1, 3);
	turn();
	assert_false(uv_is_active((uv_handle_t *)&link->tcp));
	links_tick(ingest, link->retry_ms); /* it is as full as before */
	assert_true(link->held && !uv_is_active((uv_handle_t *)&link->tcp));
	setrlimit(RLIMIT_FSIZE, &before);
	check_told("warning: cannot write the recording: File too large; nothing more is "
		   "acknowledged, agents keep what they have; trying again every second\n");
	assert_true(link->held);
	assert_int_equal(stream_writer_bytes(the_intake()->writer), a.b.ends[0]);
	links_tick(ingest, link->retry_ms - 1);
	assert_true(link->held);
	links_tick(ingest, link->retry_ms);
	assert_true(!link->held && uv_is_active((uv_handle_t *)&link->tcp));
	snprintf(expected, sizeof(expected), "warning: there is room in %s again: going on\n",
		 temporary_folder);
	check_told(expected);
	for (unsigned i = 0; i < 3000 && stream_writer_bytes(the_intake()->writer) < a.b.ends[2];
	     i++)
		uv_run(&loop, UV_RUN_ONCE);
	frames(3, 4); /* it is read from again */
	guest_done(&a);
	still_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(who_is_let_in),
		TEST_IN_FOLDER(who_is_not),
		TEST_IN_FOLDER(too_much_before_a_greeting),
		TEST_IN_FOLDER(twice),
		TEST_IN_FOLDER(a_stream_is_received),
		TEST_IN_FOLDER(a_stream_is_left),
		TEST_IN_FOLDER(no_room_for_streams),
		TEST_IN_FOLDER(one_program_after_another),
		TEST_IN_FOLDER(what_is_no_longer_listed),
		TEST_IN_FOLDER(a_stream_of_nothing),
		TEST_IN_FOLDER(a_full_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
