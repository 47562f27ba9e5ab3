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

#define OTHER_ID 0x78

/* Somebody says to have the stream of `a`, and sends a batch of it: he is not asked, and hung up
 * on. */
static void claim_in_vain(struct agent *a, uint8_t id, uint32_t incarnation, size_t batch)
{
	struct agent other;

	a->failed |= agent_claims(a, &other, id, incarnation, NULL);
	agent_frames(&other, other.fd, batch, batch + 1);
	a->failed |= !agent_is_hung_up(&other);
	agent_claim_done(&other);
}

/* A stream that has its agent, and of which nothing has come yet, is not another one's because that
 * one says its name, nor because it sends a batch of it. */
static void deliver_beside_a_claim(struct agent *a)
{
	int fd = agent_accept(a);

	agent_greet(a, fd, 1);
	agent_subscribed(a, fd);
	claim_in_vain(a, OTHER_ID, 1, 0);
	agent_frames(a, fd, 0, a->b.frame_count);
	agent_until_acked(a, fd, a->b.number);
	close(fd);
}

/* Nor when some of it has come, nor if he says the id of the agent, which is heard. */
static void deliver_beside_a_thief(struct agent *a)
{
	int fd = agent_accept(a);

	agent_greet(a, fd, 1);
	agent_subscribed(a, fd);
	agent_frames(a, fd, 0, 5);
	agent_until_acked(a, fd, 5);
	claim_in_vain(a, OTHER_ID, 0, 5);
	claim_in_vain(a, OTHER_ID, 1, 5);
	claim_in_vain(a, a->id[0], 2, 5);
	agent_frames(a, fd, 5, a->b.frame_count);
	agent_until_acked(a, fd, a->b.number);
	close(fd);
}

static void expect_all_of_one(void (*script)(struct agent *a))
{
	struct collector c;
	struct agent a;
	const char *peers[] = {a.address};

	agent_begin(&a, script);
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

static void claimed_by_another(void **state)
{
	(void)state;
	expect_all_of_one(deliver_beside_a_claim);
}

static void stolen_by_another(void **state)
{
	(void)state;
	expect_all_of_one(deliver_beside_a_thief);
}

/* An agent that has taken up what another one left, whose link looks alive yet, is in the next
 * incarnation: the stream is its. What the first one sends from there on is not taken, nor may it
 * come back. */
static void deliver_and_hand_over(struct agent *a)
{
	struct agent next, again;
	int fd = agent_accept(a);

	agent_greet(a, fd, 1);
	agent_subscribed(a, fd);
	a->failed |= !agent_claims(a, &next, OTHER_ID, 2, NULL); /* nothing of it has come yet */
	a->failed |= agent_claims(a, &again, OTHER_ID + 1, 1, NULL);
	agent_frames(a, fd, 0, 5);
	a->fd = fd;
	a->failed |= !agent_is_hung_up(a);
	agent_claim_done(&again);
	agent_claim_done(&next);
	close(fd);
}

static void handed_over(void **state)
{
	struct collector c;
	struct agent a;
	const char *peers[] = {a.address};

	(void)state;
	agent_begin(&a, deliver_and_hand_over);
	collector_begin(&c, temporary_folder, peers, 1, false, INGEST_STREAM_LEFT, 1);
	a.dial = ingest_port(c.ingest);
	agent_start(&a);
	collector_run(&c);
	agent_join(&a);
	assert_false(c.timed_out);
	assert_int_equal(c.counts[INGEST_STREAM_BEGAN], 2);
	agent_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(nonsense),	    TEST_IN_FOLDER(noise),
		TEST_IN_FOLDER(claimed_by_another), TEST_IN_FOLDER(stolen_by_another),
		TEST_IN_FOLDER(handed_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
