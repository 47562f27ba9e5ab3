/*
 * Ingest against an agent made for the test: a thread with plain sockets on loopback that speaks
 * the protocol, or breaks it. The tests run in a network namespace of their own where that is
 * allowed, so that no beacon or port of another program is in the way.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <ftw.h>
#include <net/if.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cmocka.h>
#include <uv.h>

#include "base/error.h"
#include "collector/ingest/ingest.h"
#include "collector/ingest/state.h"
#include "proto/discovery.h"
#include "proto/message.h"
#include "tests/unit/store/builder.h"

#define PATIENCE_MS 8000

/* ---- the collector's side ---- */

static char folder[64];
static bool own_network;

struct collector {
	uv_loop_t loop;
	uv_timer_t timer;
	struct store *store;
	struct ingest *ingest;
	unsigned counts[8]; /* of each kind of event */
	char last_text[256];
	enum ingest_event_kind until;
	unsigned until_count;
	bool timed_out, stopping;
};

static void stop(struct collector *c)
{
	if (c->stopping)
		return;
	c->stopping = true;
	ingest_stop(c->ingest, NULL, NULL);
	uv_close((uv_handle_t *)&c->timer, NULL);
}

static void on_event(void *context, const struct ingest_event *e)
{
	struct collector *c = context;

	c->counts[e->kind]++;
	if (e->text)
		snprintf(c->last_text, sizeof(c->last_text), "%s", e->text);
	if (c->counts[c->until] >= c->until_count)
		stop(c);
}

static void on_timeout(uv_timer_t *timer)
{
	struct collector *c = timer->data;

	c->timed_out = true;
	stop(c);
}

static void collector_begin(struct collector *c, const char *const *peers, size_t count,
			    bool discover, enum ingest_event_kind until, unsigned until_count)
{
	const struct ingest_options options = {.peers = peers,
					       .peer_count = count,
					       .discover = discover,
					       .interface = discover ? "lo" : NULL,
					       .listen = "127.0.0.1:0",
					       .event = on_event,
					       .context = c};
	struct err_text err = {0};
	int r;

	memset(c, 0, sizeof(*c));
	c->until = until;
	c->until_count = until_count;
	assert_int_equal(uv_loop_init(&c->loop), 0);
	assert_int_equal(store_open(folder, STORE_WRITE, &c->store, &err), 0);
	r = ingest_start(&c->loop, c->store, &options, &c->ingest, &err);
	if (r < 0)
		fail_msg("%s", err_get(&err, r));
	uv_timer_init(&c->loop, &c->timer);
	c->timer.data = c;
	uv_timer_start(&c->timer, on_timeout, PATIENCE_MS, 0);
}

static void collector_run(struct collector *c)
{
	uv_run(&c->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&c->loop), 0);
	store_close(c->store);
}

/* ---- the agent's side ---- */

struct agent {
	int listener;
	char address[32];
	struct builder b;
	uint8_t id[STREAM_ID_SIZE];
	struct message_reader *messages;
	pthread_t thread;
	void (*script)(struct agent *a);
	/* what the script saw */
	uint64_t subscribed[4], acked;
	unsigned connections;
	bool failed;
	uint16_t dial; /* port of the collector, for scripts that dial */
	struct buf in;
};

static void *agent_main(void *a)
{
	((struct agent *)a)->script(a);
	return NULL;
}

static void agent_begin(struct agent *a, void (*script)(struct agent *a))
{
	struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(any);

	memset(a, 0, sizeof(*a));
	a->script = script;
	memset(a->id, 0x77, sizeof(a->id));
	a->messages = message_reader_new();
	a->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(a->listener, (struct sockaddr *)&any, sizeof(any)), 0);
	assert_int_equal(listen(a->listener, 8), 0);
	getsockname(a->listener, (struct sockaddr *)&any, &length);
	snprintf(a->address, sizeof(a->address), "127.0.0.1:%u", ntohs(any.sin_port));
	builder_init(&a->b, 0x42);
	for (unsigned i = 0; i < 9; i++) {
		for (unsigned k = 0; k < 200; k++)
			builder_malloc(&a->b, 1000 * i + k, 1, 0x1000 + 16 * (200 * i + k),
				       (200 * i + k) * 2654435761u >> 16);
		builder_close(&a->b, 1000 * i + 500);
	}
	builder_end(&a->b, 0);
}

static void agent_start(struct agent *a)
{
	assert_int_equal(pthread_create(&a->thread, NULL, agent_main, a), 0);
}

static void agent_join(struct agent *a)
{
	pthread_join(a->thread, NULL);
	close(a->listener);
	assert_false(a->failed);
}

static void agent_done(struct agent *a)
{
	builder_done(&a->b);
	buf_done(&a->in);
	message_reader_free(a->messages);
}

static int agent_accept(struct agent *a)
{
	const struct timeval patience = {.tv_sec = PATIENCE_MS / 1000};
	int fd;

	setsockopt(a->listener, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	fd = accept(a->listener, NULL, NULL);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	a->connections++;
	buf_clear(&a->in);
	return fd;
}

static void agent_send(int fd, const void *data, size_t length)
{
	for (size_t done = 0; done < length;) {
		ssize_t n = send(fd, (const char *)data + done, length - done, MSG_NOSIGNAL);

		if (n <= 0)
			return;
		done += (size_t)n;
	}
}

static void send_message(struct agent *a, int fd, Heapcast__Link *link)
{
	Heapcast__Batch batch = HEAPCAST__BATCH__INIT;
	struct builder frame = {.frames = a->b.frames};

	batch.link = link;
	builder_frame(&frame, &batch);
	agent_send(fd, frame.file.data, frame.file.length);
	buf_done(&frame.file);
}

static void agent_greet(struct agent *a, int fd, uint32_t protocol)
{
	Heapcast__Link link = HEAPCAST__LINK__INIT;
	Heapcast__Hello hello = HEAPCAST__HELLO__INIT;
	Heapcast__StreamState state = HEAPCAST__STREAM_STATE__INIT, *states[] = {&state};
	static char host[] = "board7", version[] = "test";

	hello.protocol = protocol;
	hello.id = builder_bytes(a->id, sizeof(a->id));
	hello.host = host;
	hello.version = version;
	hello.window_bytes = 8192;
	state.stream = builder_bytes(a->b.id, sizeof(a->b.id));
	state.incarnation = 1;
	state.first = 1;
	state.next = a->b.number + 1;
	state.ended = true;
	link.hello = &hello;
	link.stream = states;
	link.n_stream = 1;
	send_message(a, fd, &link);
}

/* The next order; NULL: the collector is gone. Valid until the next call. */
static const Heapcast__Order *next_order(struct agent *a, int fd)
{
	for (;;) {
		ProtobufCMessage *message;
		size_t length;
		ssize_t n;

		if (frame_length(a->in.data, a->in.length, &length, NULL) == 1) {
			int r = message_reader_open(a->messages, &heapcast__order__descriptor,
						    a->in.data, length, &message, NULL);

			buf_consume(&a->in, length);
			return r == 0 ? (const Heapcast__Order *)message : NULL;
		}
		n = recv(fd, buf_reserve(&a->in, 4096), 4096, 0);
		if (n <= 0)
			return NULL;
		a->in.length += (size_t)n;
	}
}

/* Waits for the subscription; its `next` is noted. */
static bool agent_subscribed(struct agent *a, int fd)
{
	const Heapcast__Order *order;

	while ((order = next_order(a, fd))) {
		if (order->ack)
			a->acked = order->ack->number;
		if (!order->subscribe)
			continue;
		a->subscribed[a->connections - 1] = order->subscribe->next;
		return true;
	}
	return false;
}

static void agent_frames(struct agent *a, int fd, size_t from, size_t to)
{
	size_t start = from ? a->b.ends[from - 1] : 0;

	agent_send(fd, a->b.file.data + start, a->b.ends[to - 1] - start);
}

static void agent_until_acked(struct agent *a, int fd, uint64_t number)
{
	const Heapcast__Order *order;

	while (a->acked < number && (order = next_order(a, fd)))
		if (order->ack)
			a->acked = order->ack->number;
}

static void expect_recording(const struct agent *a)
{
	struct stream_summary *list;
	struct recording *r;
	struct store *store;
	char *path;
	size_t count;

	assert_int_equal(store_open(folder, STORE_READ, &store, NULL), 0);
	assert_int_equal(store_list(store, &list, &count, NULL), 0);
	assert_int_equal(count, 1);
	assert_int_equal(list[0].state, STREAM_ENDED);
	assert_int_equal(list[0].events, 1800);
	assert_int_equal(list[0].recording_bytes, a->b.file.length);
	store_list_free(list, count);
	assert_int_equal(store_find(store, "last", &path, NULL), 0);
	assert_int_equal(recording_open(path, NULL, NULL, &r, NULL), 0);
	assert_true(recording_balances(r, NULL));
	assert_int_equal(recording_rows(r), 1800);
	recording_close(r);
	free(path);
	store_close(store);
}

/* ---- tests ---- */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int setup(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/heapcast-ingest-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	return nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void deliver(struct agent *a)
{
	int fd = agent_accept(a);

	agent_greet(a, fd, 1);
	if (agent_subscribed(a, fd))
		agent_frames(a, fd, 0, a->b.frame_count);
	agent_until_acked(a, fd, a->b.number);
	close(fd);
}

static void whole_stream(void **state)
{
	struct collector c;
	struct agent a;
	const char *peers[] = {a.address};

	(void)state;
	agent_begin(&a, deliver);
	agent_start(&a);
	collector_begin(&c, peers, 1, false, INGEST_STREAM_ENDED, 1);
	collector_run(&c);
	agent_join(&a);
	assert_false(c.timed_out);
	assert_int_equal(a.acked, 10);
	assert_int_equal(c.counts[INGEST_STREAM_BEGAN], 1);
	expect_recording(&a);
	agent_done(&a);
}

/* The link breaks in the middle of a frame, twice; what was durable is not asked for again, what
 * comes twice is dropped. */
static void deliver_in_pieces(struct agent *a)
{
	int fd = agent_accept(a);

	agent_greet(a, fd, 1);
	agent_subscribed(a, fd);
	agent_send(fd, a->b.file.data, a->b.ends[3] + 7);
	agent_until_acked(a, fd, 4);
	close(fd);
	fd = agent_accept(a);
	agent_greet(a, fd, 1);
	agent_subscribed(a, fd);
	agent_frames(a, fd, 2, 6); /* 3 and 4 again */
	agent_send(fd, a->b.file.data + a->b.ends[5], 20);
	close(fd);
	fd = agent_accept(a);
	agent_greet(a, fd, 1);
	agent_subscribed(a, fd);
	agent_frames(a, fd, 6, a->b.frame_count);
	agent_until_acked(a, fd, a->b.number);
	close(fd);
}

static void resumes(void **state)
{
	struct collector c;
	struct agent a;
	const char *peers[] = {a.address};

	(void)state;
	agent_begin(&a, deliver_in_pieces);
	agent_start(&a);
	collector_begin(&c, peers, 1, false, INGEST_STREAM_ENDED, 1);
	collector_run(&c);
	agent_join(&a);
	assert_false(c.timed_out);
	assert_int_equal(a.connections, 3);
	assert_int_equal(a.subscribed[0], 0);
	assert_int_equal(a.subscribed[1], 5);
	assert_int_equal(a.subscribed[2], 7);
	assert_int_equal(a.acked, 10);
	expect_recording(&a);
	agent_done(&a);
}

/* Another collector on the same folder goes on where the first was stopped. */
static void first_half(struct agent *a)
{
	int fd = agent_accept(a);

	agent_greet(a, fd, 1);
	agent_subscribed(a, fd);
	agent_frames(a, fd, 0, 5);
	agent_until_acked(a, fd, 5);
	close(fd);
}

static void second_half(struct agent *a)
{
	int fd = agent_accept(a);

	agent_greet(a, fd, 1);
	if (agent_subscribed(a, fd) && a->subscribed[0] == 6)
		agent_frames(a, fd, 5, a->b.frame_count);
	agent_until_acked(a, fd, a->b.number);
	close(fd);
}

static void resumes_after_a_restart(void **state)
{
	struct collector c;
	struct agent a;
	const char *peers[] = {a.address};

	(void)state;
	agent_begin(&a, first_half);
	agent_start(&a);
	collector_begin(&c, peers, 1, false, INGEST_STREAM_LEFT, 1);
	collector_run(&c);
	agent_join(&a);
	assert_int_equal(a.acked, 5);
	agent_done(&a);
	agent_begin(&a, second_half);
	agent_start(&a);
	collector_begin(&c, peers, 1, false, INGEST_STREAM_ENDED, 1);
	collector_run(&c);
	agent_join(&a);
	assert_false(c.timed_out);
	assert_int_equal(a.acked, 10);
	expect_recording(&a);
	agent_done(&a);
}

static void dial(struct agent *a)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons(a->dial),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const struct timeval patience = {.tv_sec = PATIENCE_MS / 1000};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	a->failed |= connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	a->connections++;
	agent_greet(a, fd, 1);
	if (agent_subscribed(a, fd))
		agent_frames(a, fd, 0, a->b.frame_count);
	agent_until_acked(a, fd, a->b.number);
	close(fd);
}

static void agent_dials_in(void **state)
{
	struct collector c;
	struct agent a;

	(void)state;
	agent_begin(&a, dial);
	collector_begin(&c, NULL, 0, false, INGEST_STREAM_ENDED, 1);
	a.dial = ingest_port(c.ingest);
	agent_start(&a);
	collector_run(&c);
	agent_join(&a);
	assert_false(c.timed_out);
	expect_recording(&a);
	agent_done(&a);
}

/* Each of these must end in a closed connection and nothing stored. */
static void send_text(struct agent *a)
{
	int fd = agent_accept(a);

	agent_send(fd, "GET / HTTP/1.1\r\nHost: here\r\n\r\n", 30);
	while (next_order(a, fd))
		;
	close(fd);
}

static void send_huge(struct agent *a)
{
	static const uint8_t header[] = {0x04, 0x22, 0x4d, 0x18, 0x6c, 0x70, 0, 0, 0, 0,
					 1,    0,    0,	   0,	 0x99, 1,    1, 1, 1};
	int fd = agent_accept(a);

	agent_greet(a, fd, 1);
	agent_subscribed(a, fd);
	agent_send(fd, header, sizeof(header));
	while (next_order(a, fd))
		;
	close(fd);
}

static void send_without_greeting(struct agent *a)
{
	int fd = agent_accept(a);

	agent_frames(a, fd, 0, 1);
	while (next_order(a, fd))
		;
	close(fd);
}

static void send_old_protocol(struct agent *a)
{
	int fd = agent_accept(a);

	agent_greet(a, fd, 99);
	while (next_order(a, fd))
		;
	close(fd);
}

static void send_foreign_stream(struct agent *a)
{
	int fd = agent_accept(a);
	struct builder other;

	agent_greet(a, fd, 1);
	agent_subscribed(a, fd);
	builder_init(&other, 0x13);
	builder_malloc(&other, 1, 1, 0x10, 1);
	builder_close(&other, 1);
	agent_send(fd, other.file.data, other.file.length);
	builder_done(&other);
	while (next_order(a, fd))
		;
	close(fd);
}

static void send_out_of_order(struct agent *a)
{
	int fd = agent_accept(a);

	agent_greet(a, fd, 1);
	agent_subscribed(a, fd);
	agent_frames(a, fd, 3, 4);
	while (next_order(a, fd))
		;
	close(fd);
}

static void nonsense(void **state)
{
	static const struct {
		void (*script)(struct agent *a);
		const char *says;
	} cases[] = {
		{send_text, "no LZ4 frame begins here"},
		{send_huge, "more than the"},
		{send_without_greeting, "did not greet"},
		{send_old_protocol, "version 99 of the protocol"},
		{send_foreign_stream, "not asked for"},
		{send_out_of_order, "batch 4 came, but 1 was expected"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct stream_summary *list;
		struct store *store;
		struct collector c;
		struct agent a;
		const char *peers[] = {a.address};
		size_t count;

		agent_begin(&a, cases[i].script);
		agent_start(&a);
		collector_begin(&c, peers, 1, false, INGEST_DISCONNECTED, 1);
		collector_run(&c);
		agent_join(&a);
		assert_false(c.timed_out);
		if (!strstr(c.last_text, cases[i].says))
			fail_msg("'%s' does not say '%s'", c.last_text, cases[i].says);
		agent_done(&a);
		assert_int_equal(store_open(folder, STORE_READ, &store, NULL), 0);
		assert_int_equal(store_list(store, &list, &count, NULL), 0);
		assert_int_equal(count, 0);
		store_list_free(list, count);
		store_close(store);
	}
}

/* Any bytes at all after a good greeting. */
static uint64_t noise_seed;

static void send_noise(struct agent *a)
{
	int fd = agent_accept(a);
	uint8_t noise[3000];

	agent_greet(a, fd, 1);
	agent_subscribed(a, fd);
	memcpy(noise, a->b.file.data, sizeof(noise));
	for (unsigned i = 0; i < 3; i++) {
		noise_seed = noise_seed * 6364136223846793005ull + 1442695040888963407ull;
		noise[(noise_seed >> 33) % sizeof(noise)] ^= (uint8_t)(1 + (noise_seed >> 20));
	}
	agent_send(fd, noise, sizeof(noise));
	shutdown(fd, SHUT_WR);
	while (next_order(a, fd))
		;
	close(fd);
}

static void noise(void **state)
{
	(void)state;
	for (unsigned round = 1; round <= 30; round++) {
		struct collector c;
		struct agent a;
		const char *peers[] = {a.address};

		noise_seed = round;
		agent_begin(&a, send_noise);
		assert_true(a.b.file.length > 3000);
		agent_start(&a);
		collector_begin(&c, peers, 1, false, INGEST_DISCONNECTED, 1);
		collector_run(&c);
		agent_join(&a);
		agent_done(&a);
		assert_false(c.timed_out);
	}
}

static void beacons_are_checked(void **state)
{
	Heapcast__Beacon beacon = HEAPCAST__BEACON__INIT;
	uint8_t id[STREAM_ID_SIZE] = {1}, agent[STREAM_ID_SIZE], packed[DISCOVERY_BEACON_MAX + 100];
	uint32_t streams;
	uint16_t port;
	size_t length;

	(void)state;
	beacon.magic = DISCOVERY_BEACON_MAGIC;
	beacon.protocol = 1;
	beacon.agent = builder_bytes(id, sizeof(id));
	beacon.port = 8100;
	length = heapcast__beacon__pack(&beacon, packed);
	assert_int_equal(beacon_parse(packed, length, agent, &port, &streams), 0);
	assert_int_equal(port, 8100);
	for (size_t i = 0; i < length; i++)
		beacon_parse(packed, i, agent, &port, &streams);
	beacon.port = 65536;
	length = heapcast__beacon__pack(&beacon, packed);
	assert_int_equal(beacon_parse(packed, length, agent, &port, &streams), -EBADMSG);
	beacon.port = 1;
	beacon.agent.len = 15;
	length = heapcast__beacon__pack(&beacon, packed);
	assert_int_equal(beacon_parse(packed, length, agent, &port, &streams), -EBADMSG);
	beacon.agent.len = 16;
	beacon.magic = 1;
	length = heapcast__beacon__pack(&beacon, packed);
	assert_int_equal(beacon_parse(packed, length, agent, &port, &streams), -EBADMSG);
	assert_int_equal(beacon_parse(packed, DISCOVERY_BEACON_MAX + 1, agent, &port, &streams),
			 -EBADMSG);
}

/* Beacons by two ways, and the same agent dialling in besides: one connection serves. */
static void announce(struct agent *a)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(DISCOVERY_UDP_PORT)};
	Heapcast__Beacon beacon = HEAPCAST__BEACON__INIT;
	uint8_t packed[DISCOVERY_BEACON_MAX];
	int udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), on = 1, fd, second;
	size_t length;

	setsockopt(udp, SOL_SOCKET, SO_BROADCAST, &on, sizeof(on));
	beacon.magic = DISCOVERY_BEACON_MAGIC;
	beacon.protocol = 1;
	beacon.agent = builder_bytes(a->id, sizeof(a->id));
	beacon.port = (uint32_t)strtoul(strchr(a->address, ':') + 1, NULL, 10);
	length = heapcast__beacon__pack(&beacon, packed);
	for (unsigned i = 0; i < 3; i++) {
		to.sin_addr.s_addr = inet_addr(i == 1 ? "127.0.0.1" : "127.255.255.255");
		sendto(udp, packed, length, 0, (struct sockaddr *)&to, sizeof(to));
		sendto(udp, "rubbish", 7, 0, (struct sockaddr *)&to, sizeof(to));
	}
	close(udp);
	fd = agent_accept(a);
	agent_greet(a, fd, 1);
	agent_subscribed(a, fd);
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	to.sin_port = htons(a->dial);
	second = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	a->failed |= connect(second, (struct sockaddr *)&to, sizeof(to)) < 0;
	agent_greet(a, second, 1);
	while (recv(second, packed, sizeof(packed), 0) > 0) /* greeted and let go, nothing asked */
		;
	close(second);
	agent_frames(a, fd, 0, a->b.frame_count);
	agent_until_acked(a, fd, a->b.number);
	close(fd);
}

static void found_by_broadcast(void **state)
{
	struct collector c;
	struct agent a;

	(void)state;
	if (!own_network)
		skip();
	agent_begin(&a, announce);
	collector_begin(&c, NULL, 0, true, INGEST_STREAM_ENDED, 1);
	a.dial = ingest_port(c.ingest);
	agent_start(&a);
	collector_run(&c);
	agent_join(&a);
	assert_false(c.timed_out);
	assert_int_equal(c.counts[INGEST_FOUND], 1);
	assert_int_equal(c.counts[INGEST_CONNECTED], 1);
	assert_int_equal(a.connections, 1);
	expect_recording(&a);
	agent_done(&a);
}

static void port_in_use(void **state)
{
	struct ingest_options options = {0};
	struct err_text err = {0};
	struct ingest *ingest;
	struct store *store;
	struct agent a;
	uv_loop_t loop;

	(void)state;
	agent_begin(&a, deliver);
	options.listen = a.address;
	uv_loop_init(&loop);
	assert_int_equal(store_open(folder, STORE_WRITE, &store, NULL), 0);
	assert_int_equal(ingest_start(&loop, store, &options, &ingest, &err), -EADDRINUSE);
	assert_non_null(strstr(err.text, "taken by another program"));
	options.listen = "nowhere:1";
	assert_int_equal(ingest_start(&loop, store, &options, &ingest, &err), -EINVAL);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&loop), 0);
	store_close(store);
	close(a.listener);
	builder_done(&a.b);
	message_reader_free(a.messages);
}

static bool enter_own_network(void)
{
	struct ifreq lo = {.ifr_name = "lo"};
	bool up;
	int fd;

	if (unshare(CLONE_NEWNET) < 0)
		return false;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	lo.ifr_flags = IFF_UP | IFF_RUNNING;
	up = !ioctl(fd, SIOCSIFFLAGS, &lo);
	close(fd);
	return up;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(whole_stream),
		TEST(resumes),
		TEST(resumes_after_a_restart),
		TEST(agent_dials_in),
		TEST(nonsense),
		TEST(noise),
		TEST(beacons_are_checked),
		TEST(found_by_broadcast),
		TEST(port_in_use),
	};

	own_network = enter_own_network();
	if (!own_network)
		printf("no network namespace of our own (not root?): the test of broadcasts is "
		       "skipped\n");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
