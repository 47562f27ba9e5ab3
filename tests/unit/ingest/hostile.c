/* Agents that break the protocol: the connection is closed with a reason, and nothing is stored. */
#include "tests/unit/ingest/support/peers.h"
#include "tests/unit/temporary.h"

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
		collector_begin(&c, temporary_folder, peers, 1, false, INGEST_DISCONNECTED, 1);
		collector_run(&c);
		agent_join(&a);
		assert_false(c.timed_out);
		if (!strstr(c.last_text, cases[i].says))
			fail_msg("'%s' does not say '%s'", c.last_text, cases[i].says);
		agent_done(&a);
		assert_int_equal(store_open(temporary_folder, STORE_READ, &store, NULL), 0);
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
		collector_begin(&c, temporary_folder, peers, 1, false, INGEST_DISCONNECTED, 1);
		collector_run(&c);
		agent_join(&a);
		agent_done(&a);
		assert_false(c.timed_out);
	}
}

static int dial(struct agent *a)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons(a->dial),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	a->failed |= connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0;
	return fd;
}

/* A stream that has its agent, and of which nothing has come yet, is not another one's because that
 * one says its name, nor because it sends a batch of it. */
static void deliver_beside_a_claim(struct agent *a)
{
	const struct timeval moment = {.tv_usec = 300000};
	uint8_t byte;
	struct agent other = {.b = a->b, .messages = a->messages};
	const Heapcast__Order *order;
	int fd = agent_accept(a), second = dial(a);

	agent_greet(a, fd, 1);
	agent_subscribed(a, fd);
	memset(other.id, 0x78, sizeof(other.id));
	setsockopt(second, SOL_SOCKET, SO_RCVTIMEO, &moment, sizeof(moment));
	agent_greet(&other, second, 1);
	while ((order = next_order(&other, second)))
		a->failed |= order->subscribe != NULL;
	agent_frames(&other, second, 0, 1);
	while (next_order(&other, second))
		;
	a->failed |= recv(second, &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN; /* not hung up */
	agent_frames(a, fd, 0, a->b.frame_count);
	agent_until_acked(a, fd, a->b.number);
	close(second);
	close(fd);
	buf_done(&other.in);
}

static void claimed_by_another(void **state)
{
	struct collector c;
	struct agent a;
	const char *peers[] = {a.address};

	(void)state;
	agent_begin(&a, deliver_beside_a_claim);
	collector_begin(&c, temporary_folder, peers, 1, false, INGEST_STREAM_ENDED, 1);
	a.dial = ingest_port(c.ingest);
	agent_start(&a);
	collector_run(&c);
	agent_join(&a);
	assert_false(c.timed_out);
	assert_int_equal(a.connections, 1);
	expect_recording(&a, temporary_folder);
	agent_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(nonsense),
		TEST_IN_FOLDER(noise),
		TEST_IN_FOLDER(claimed_by_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
