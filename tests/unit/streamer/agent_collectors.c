/*
 * Whom the end of a recording waits for, and what collectors get of it: first by what the agent
 * knows of them, then with a whole agent that a collector dials.
 */
#include "tests/unit/streamer/whole.h"

#include <netinet/in.h>

#include "tests/unit/descriptors.h"

#define S UINT64_C(1000000000)

/* ---- by what the agent knows ---- */

static struct session one;
static struct link links[2];
static struct subscription subs[2][3]; /* the middle one is this stream's */

/* A stream of 4 batches that ended `whole_s` ago, and a collector at place 3 that has 2 of them. */
static void known(unsigned whole_s)
{
	memset(&agent, 0, sizeof(agent));
	memset(&one, 0, sizeof(one));
	memset(links, 0, sizeof(links));
	memset(subs, 0, sizeof(subs));
	agent.link = links;
	agent.budget.links = 2;
	agent.settings.linger_ns = 20 * S;
	agent.settings.stop_ns = 10 * S;
	for (unsigned i = 0; i < 2; i++) {
		links[i].fd = -1;
		links[i].subscription = subs[i];
		for (unsigned k = 0; k < 3; k++) /* of other streams */
			subs[i][k] = (struct subscription){.active = k != 1, .since_ns = now()};
	}
	one.agent = &agent;
	one.slot = 1;
	one.stream.spool.next = 5;
	one.cursor[3] = (struct cursor){.active = true, .begun = true, .acked = 2};
	agent.collectors.at[3].known = true;
	snprintf(agent.collectors.at[3].name, COLLECTOR_NAME_MAX, "desk");
	one.whole_ns = now() - whole_s * S;
}

/* It is connected by the second link, and subscribed so many seconds ago. */
static void connected(unsigned since_s)
{
	links[1].fd = 100;
	links[1].greeted = true;
	links[1].who = 3;
	subs[1][1].active = true;
	subs[1][1].since_ns = now() - since_s * S;
	agent.collectors.at[3].links = 1;
}

static void who_takes_it_is_waited_for(void **state)
{
	(void)state;
	known(1);
	connected(5);
	assert_true(session_has_laggard(&one));
	one.cursor[3].acked = 4; /* it has all */
	assert_false(session_has_laggard(&one));
	one.cursor[3].acked = 3;
	assert_true(session_has_laggard(&one));
	one.cursor[3].active = false; /* nothing is kept for it */
	assert_false(session_has_laggard(&one));
	known(13);
	connected(50);
	assert_false(session_has_laggard(&one)); /* silent for more than 12 s */
	one.cursor[3].progress_ns = now() - 11 * S;
	assert_true(session_has_laggard(&one));
	one.cursor[3].progress_ns = now() - 13 * S;
	assert_false(session_has_laggard(&one));
	known(11);
	connected(50);
	assert_true(session_has_laggard(&one));
}

/* Behind the linger time only those count that took the stream before it ended. */
static void who_comes_late_is_not(void **state)
{
	(void)state;
	known(25);
	connected(30);
	one.cursor[3].progress_ns = now();
	assert_true(session_has_laggard(&one));
	connected(24);
	assert_false(session_has_laggard(&one));
	known(15);
	connected(1);
	one.cursor[3].progress_ns = now();
	assert_true(session_has_laggard(&one)); /* within it any does */
	/* Ten minutes in all, but for one that is named. */
	known(599);
	connected(700);
	one.cursor[3].progress_ns = now();
	assert_true(session_has_laggard(&one));
	known(602);
	connected(700);
	one.cursor[3].progress_ns = now();
	assert_false(session_has_laggard(&one));
	agent.collectors.at[3].named = true;
	assert_true(session_has_laggard(&one));
}

/* One that is away, or has not asked yet, may come while there is no hurry. */
static void who_is_away_may_come(void **state)
{
	(void)state;
	known(1);
	agent.collectors.at[3].left_ns = now() - 19 * S;
	assert_true(session_has_laggard(&one));
	assert_true(one.waits_for_away);
	assert_int_equal(log_count("waiting up to 20 s for desk, which has only a part"), 1);
	assert_true(session_has_laggard(&one));
	assert_int_equal(log_count("waiting up to"), 1);
	agent.collectors.at[3].left_ns = now() - 21 * S;
	assert_false(session_has_laggard(&one));
	known(21); /* the linger time is over */
	agent.collectors.at[3].left_ns = now();
	assert_false(session_has_laggard(&one));
	/* Connected, and not subscribed. */
	known(1);
	one.cursor[3].begun = false;
	agent.collectors.at[3].links = 1;
	assert_true(session_has_laggard(&one));
	assert_false(one.waits_for_away);
	one.whole_ns = now() - 3 * S;
	assert_false(session_has_laggard(&one));
	one.cursor[3].begun = true; /* it was subscribed once, and comes again */
	assert_true(session_has_laggard(&one));
	assert_false(one.waits_for_away);
	/* Away, and never had any of it. */
	known(1);
	one.cursor[3].begun = false;
	agent.collectors.at[3].left_ns = now();
	assert_true(session_has_laggard(&one));
	assert_false(one.waits_for_away);
	one.whole_ns = 0; /* it has ended just now */
	assert_true(session_has_laggard(&one));
	assert_true(now() - one.whole_ns < 5 * S);
}

/* A subscription counts on a link that lives, of that collector, and of this stream. */
static void what_is_no_subscription(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		known(11); /* it has not begun, and is connected for longer than it may wait */
		connected(50);
		one.cursor[3].begun = false;
		links[1].fd = i == 1 ? -1 : 0;
		links[1].closing = i == 2;
		links[1].greeted = i != 3;
		links[1].who = i == 4 ? 2 : 3;
		subs[1][1].active = i != 5;
		assert_int_equal(session_has_laggard(&one), i == 0);
	}
}

static void hurry_ends_the_wait(void **state)
{
	static struct handshake_client client;

	(void)state;
	known(1);
	connected(5);
	agent.stopping = true;
	agent.stop_ns = now() - 4 * S;
	assert_true(session_has_laggard(&one));
	agent.stop_ns = now() - 6 * S; /* half of the time to stop */
	assert_false(session_has_laggard(&one));
	agent.stopping = false;
	assert_true(session_has_laggard(&one));
	agent.hurried = true;
	assert_false(session_has_laggard(&one));
	/* Nobody waits for one that is away. */
	known(1);
	agent.collectors.at[3].left_ns = now();
	assert_true(session_has_laggard(&one));
	agent.held[AGENT_HELD - 1].client = &client; /* another program wants the slot */
	assert_false(session_has_laggard(&one));
	agent.held[AGENT_HELD - 1].client = NULL;
	agent.held[0].client = &client;
	assert_false(session_has_laggard(&one));
	agent.held[0].client = NULL;
	agent.stopping = true;
	agent.stop_ns = now();
	assert_false(session_has_laggard(&one));
}

/* What a named one lacks is kept: from the first batch that any of them lacks. */
static void absent(void **state)
{
	(void)state;
	known(1);
	assert_false(session_has_absent(&one));
	assert_int_equal(session_absent_from(&one), UINT64_MAX);
	agent.collectors.at[3].named = true;
	assert_true(session_has_absent(&one));
	assert_int_equal(session_absent_from(&one), 3);
	one.cursor[3].begun = false;
	assert_false(session_has_absent(&one));
	one.cursor[7] = (struct cursor){.active = true, .begun = true, .acked = 1};
	agent.collectors.at[7].named = true;
	assert_int_equal(session_absent_from(&one), 2);
	one.cursor[3].begun = true;
	assert_int_equal(session_absent_from(&one), 2);
	one.cursor[7].acked = 3;
	assert_int_equal(session_absent_from(&one), 3);
	one.cursor[7].acked = 4;
	assert_int_equal(session_absent_from(&one), 3);
	assert_int_equal(session_kept(&one), 2);
	one.cursor[0] = (struct cursor){.active = true, .acked = 1};
	assert_int_equal(session_kept(&one), 1);
	memset(one.cursor, 0, sizeof(one.cursor));
	assert_int_equal(session_kept(&one), UINT64_MAX);
}

static void cursors_begin(void **state)
{
	(void)state;
	known(1);
	agent.collectors.at[7].known = true;
	one.link_acked = 4;
	one.waits_for_away = one.for_away = one.away_cut = true;
	session_begin_cursors(&one);
	for (unsigned i = 0; i < COLLECTORS_MAX; i++) {
		assert_int_equal(one.cursor[i].active, i == 3 || i == 7);
		assert_false(one.cursor[i].begun);
		assert_int_equal(one.cursor[i].acked, 0);
	}
	assert_int_equal(one.link_acked, 0);
	assert_int_equal(one.whole_ns, 0);
	assert_false(one.waits_for_away || one.for_away || one.away_cut);
}

/* ---- with a whole agent ---- */

static struct frame_encoder *encoder;
static struct frame_decoder *decoder;
static const uint8_t desk_id[STREAM_ID_SIZE] = {0xde, 0x5c};

struct desk {
	int at, fd;
	char name[32];
	uint8_t in[1 << 20];
	size_t length;
	uint8_t stream[STREAM_ID_SIZE];
	uint32_t incarnation;
	bool listed, ended;
	uint64_t batches, first_batch; /* the last and the first that came */
};

static struct desk desk;

static void desk_open(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(at);

	memset(&desk, 0, sizeof(desk));
	desk.fd = -1;
	desk.at = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_int_equal(bind(desk.at, (struct sockaddr *)&at, length), 0);
	assert_int_equal(listen(desk.at, 4), 0);
	assert_int_equal(getsockname(desk.at, (struct sockaddr *)&at, &length), 0);
	snprintf(desk.name, sizeof(desk.name), "127.0.0.1:%u", ntohs(at.sin_port));
	settings.collector = desk.name;
	settings.each.output = NULL;
	settings.folder = temporary_folder;
	encoder = frame_encoder_new();
	decoder = frame_decoder_new();
}

static void desk_leave(void)
{
	close(desk.fd);
	desk.fd = -1;
	desk.length = 0;
	desk.listed = false;
}

static void desk_close(void)
{
	if (desk.fd >= 0)
		close(desk.fd);
	close(desk.at);
	frame_encoder_free(encoder);
	frame_decoder_free(decoder);
}

static void desk_say(const Heapcast__Order *order)
{
	uint8_t message[FRAME_HEADROOM + 1000], out[2000];
	long n = frame_encode(encoder, message + FRAME_HEADROOM,
			      heapcast__order__pack(order, message + FRAME_HEADROOM), out,
			      sizeof(out));

	assert_true(n > 0);
	assert_int_equal(send(desk.fd, out, (size_t)n, MSG_NOSIGNAL), n);
}

static void desk_hello(void)
{
	Heapcast__Order order = HEAPCAST__ORDER__INIT;
	Heapcast__Hello m = HEAPCAST__HELLO__INIT;

	m.protocol = PROTOCOL_VERSION;
	m.id = (ProtobufCBinaryData){STREAM_ID_SIZE, (uint8_t *)(uintptr_t)desk_id};
	m.host = (char *)(uintptr_t) "desk";
	order.hello = &m;
	desk_say(&order);
}

static void desk_subscribe(uint64_t next)
{
	Heapcast__Order order = HEAPCAST__ORDER__INIT;
	Heapcast__Subscribe m = HEAPCAST__SUBSCRIBE__INIT;

	m.stream = (ProtobufCBinaryData){STREAM_ID_SIZE, desk.stream};
	m.incarnation = desk.incarnation;
	m.next = next;
	order.subscribe = &m;
	desk_say(&order);
}

static void desk_ack(uint64_t number)
{
	Heapcast__Order order = HEAPCAST__ORDER__INIT;
	Heapcast__Ack m = HEAPCAST__ACK__INIT;

	m.stream = (ProtobufCBinaryData){STREAM_ID_SIZE, desk.stream};
	m.incarnation = desk.incarnation;
	m.number = number;
	order.ack = &m;
	desk_say(&order);
}

static void desk_take(const Heapcast__Batch *b)
{
	if (!b->link) {
		desk.first_batch = desk.first_batch ? desk.first_batch : b->number;
		desk.batches = b->number;
	} else if (b->link->n_stream == 1) {
		memcpy(desk.stream, b->link->stream[0]->stream.data, STREAM_ID_SIZE);
		desk.incarnation = b->link->stream[0]->incarnation;
		desk.listed = true;
		desk.ended = b->link->stream[0]->ended;
	}
}

/* Reads what has come. Always true. */
static bool desk_hears(void)
{
	const uint8_t *message;
	size_t length, size;
	ssize_t n = desk.fd < 0 ? 0
				: recv(desk.fd, desk.in + desk.length,
				       sizeof(desk.in) - desk.length, MSG_DONTWAIT);

	desk.length += n > 0 ? (size_t)n : 0;
	while (frame_length(desk.in, desk.length, &length, NULL) == 1) {
		Heapcast__Batch *b;

		assert_int_equal(frame_decode(decoder, desk.in, length, &message, &size, NULL), 0);
		b = heapcast__batch__unpack(NULL, size, message);
		assert_non_null(b);
		desk_take(b);
		heapcast__batch__free_unpacked(b, NULL);
		memmove(desk.in, desk.in + length, desk.length - length);
		desk.length -= length;
	}
	return true;
}

static void desk_comes(void)
{
	UNTIL(desk.fd >= 0 ||
	      (desk.fd = accept4(desk.at, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0);
	desk_hello();
	uv_timer_set_repeat(&agent.dialer.timer, 5);
	UNTIL(desk_hears() && desk.listed);
}

static void record_batch(unsigned events)
{
	uint64_t before = desk.batches;

	record(0, events);
	agent.session[0].stream.batch.opened_ns = 1;
	drain_kick(&agent.drain);
	UNTIL(desk_hears() && desk.batches > before);
}

/* A collector takes everything. */
static void taken(void **state)
{
	unsigned descriptors = descriptors_open();
	struct program p;
	char name[64];

	(void)state;
	desk_open();
	whole_begin();
	uv_timer_set_repeat(&agent.dialer.timer, 5);
	p = program_recorded();
	desk_comes();
	desk_subscribe(1);
	record_batch(3);
	desk_ack(1);
	UNTIL(session_kept(&agent.session[0]) == 1);
	assert_int_equal(agent.session[0].link_acked, 1);
	desk_leave(); /* and comes again: what it has is known */
	UNTIL(link_free(&agent.link[agent.budget.links - 1]));
	desk_comes();
	UNTIL(agent.link[agent.budget.links - 1].greeted);
	assert_int_equal(session_kept(&agent.session[0]), 1);
	desk_subscribe(2);
	program_end(&p);
	UNTIL(desk_hears() && stream_state(&agent.session[0].stream) == STREAM_ENDED &&
	      desk.batches + 1 == agent.session[0].stream.spool.next);
	for (int i = 0; i < 20; i++)
		uv_run(&agent.loop, UV_RUN_NOWAIT);
	assert_int_equal(finished, 0); /* not before it has the end */
	desk_ack(desk.batches);
	UNTIL(finished);
	assert_string_equal(path_of_last, "");
	snprintf(name, sizeof(name), "desk (127.0.0.1)");
	assert_string_equal(taken_by_last, name);
	assert_string_equal(lacking_last, "");
	assert_int_equal(last.ledger.delivered, 3);
	assert_false(last.lingered || last.given_up || last.rest || last.rest_for_away);
	assert_int_equal(log_count("it is desk (127.0.0.1)"), 2);
	desk_close();
	agent_close(&agent);
	assert_int_equal(descriptors_open(), descriptors);
}

/* It goes with a part: the rest is in a file. */
static void rest_is_in_a_file(void **state)
{
	struct program p;

	(void)state;
	settings.linger_ns = 200000000;
	desk_open();
	whole_begin();
	uv_timer_set_repeat(&agent.dialer.timer, 5);
	p = program_recorded();
	desk_comes();
	desk_subscribe(1);
	record_batch(3);
	desk_ack(1);
	UNTIL(session_kept(&agent.session[0]) == 1);
	record_batch(4);
	close(desk.at); /* and does not come again */
	desk.at = -1;
	desk_leave();
	program_end(&p);
	UNTIL(finished);
	assert_int_equal(last.ledger.delivered, 7);
	assert_true(last.lingered);
	assert_true(last.rest);
	assert_false(last.given_up);
	assert_memory_equal(path_of_last, temporary_folder, strlen(temporary_folder));
	assert_int_equal(access(path_of_last, F_OK), 0);
	desk_close();
	agent_close(&agent);
}

/* Where no file can be written, either, it is given up and counted. */
static void given_up(void **state)
{
	struct program p;

	(void)state;
	settings.linger_ns = 50000000;
	desk_open();
	settings.each.output = "/proc/no/such/file";
	settings.collector = "127.0.0.1:1"; /* where nobody listens */
	whole_begin();
	if (agent.session[0].file.fd > 0)
		skip();
	p = program_idle();
	if (answer_to(p.say, NULL) != RING_ACCEPTED) { /* it is refused at once */
		program_end(&p);
		desk_close();
		agent_close(&agent);
		skip();
	}
	record(0, 5);
	program_end(&p);
	UNTIL(finished);
	assert_true(last.given_up);
	assert_int_equal(last.saved, 0);
	assert_int_equal(last.ledger.delivered, 5);
	desk_close();
	agent_close(&agent);
}

/* An agent that was paired tells of whom it refuses how to pair, another one how to give a key. */
static void pairing_is_advised(void **state)
{
	struct secret key;

	(void)state;
	if (secret_make("0123456789abcdef", 16, "x", &key) < 0)
		skip(); /* without TLS */
	for (unsigned paired = 0; paired < 2; paired++) {
		struct sockaddr_in at;
		socklen_t length = sizeof(at);

		desk_open();
		settings.collector = NULL;
		settings.listen_fd = fcntl(desk.at, F_DUPFD_CLOEXEC, 3); /* the agent's own */
		settings.secure = (struct secure_options){
			.secrets = &key, .secret_count = 1, .paired = paired};
		whole_begin();
		assert_int_equal(getsockname(desk.at, (struct sockaddr *)&at, &length), 0);
		desk.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		assert_int_equal(connect(desk.fd, (struct sockaddr *)&at, length), 0);
		desk_hello();
		UNTIL(log_count("it speaks no TLS") == 1 + paired);
		assert_int_equal(log_count("'agent pair CODE'"), paired);
		desk_close();
		agent_close(&agent);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_OF_AGENT(who_takes_it_is_waited_for),
		TEST_OF_AGENT(who_comes_late_is_not),
		TEST_OF_AGENT(who_is_away_may_come),
		TEST_OF_AGENT(what_is_no_subscription),
		TEST_OF_AGENT(hurry_ends_the_wait),
		TEST_OF_AGENT(absent),
		TEST_OF_AGENT(cursors_begin),
		TEST_OF_AGENT(taken),
		TEST_OF_AGENT(rest_is_in_a_file),
		TEST_OF_AGENT(given_up),
		TEST_OF_AGENT(pairing_is_advised),
	};
	uv_loop_t first;

	uv_loop_init(&first); /* libuv keeps a pipe from here on */
	uv_loop_close(&first);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
