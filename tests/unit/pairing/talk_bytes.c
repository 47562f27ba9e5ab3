/*
 * The bytes of a pairing's conversation: messages in pieces and in one go, bad ones, bounds, a
 * session that takes no more, and one that ends.
 */
#include "tests/unit/pairing/talk_scene.h"

static void pieces_are_put_together(void **state)
{
	uint8_t whole[sizeof(agent.talk.in)];
	size_t length;

	(void)state;
	begin();
	agent.talk.out_length = 0;
	put(&agent.talk, &(struct message){.step = HELLO, .protocol = 1});
	length = agent.talk.in_length;
	put(&agent.talk, &(struct message){.step = DONE, .protocol = 1});
	memcpy(whole, agent.talk.in, agent.talk.in_length);
	agent.talk.in_length = 0;
	for (size_t i = 0; i < length; i++) {
		assert_int_equal(agent.talk.state, PAIRING_GREETS);
		agent.talk.in[agent.talk.in_length++] = whole[i];
		assert_int_equal(pairing_talk_take(&agent.talk, &agent.err), 0);
		assert_int_equal(agent.talk.in_length, i + 1 < length ? i + 1 : 0);
	}
	assert_int_equal(agent.talk.state, PAIRING_AGREES);
	agent.talk.in[0] = whole[length];
	agent.talk.in_length = 1;
	assert_int_equal(pairing_talk_take(&agent.talk, &agent.err), 0);
	assert_int_equal(agent.talk.in_length, 1);
	assert_int_equal(agent.talk.in[0], whole[length]);
	part();
	/* One and a half at once: the half stays. */
	begin();
	memcpy(agent.talk.in, whole, length + 1);
	agent.talk.in_length = length + 1;
	assert_int_equal(pairing_talk_take(&agent.talk, &agent.err), 0);
	assert_int_equal(agent.talk.in_length, 1);
	assert_int_equal(agent.talk.in[0], whole[length]);
	part();
}

static void bad_messages_are_refused(void **state)
{
	(void)state;
	begin();
	agent.talk.out_length = 0;
	agent.talk.in[0] = (uint8_t)PAIRING_MESSAGE_MAX;
	agent.talk.in[1] = PAIRING_MESSAGE_MAX >> 8;
	memset(agent.talk.in + 2, 0xff, PAIRING_MESSAGE_MAX);
	agent.talk.in_length = PAIRING_LENGTH + PAIRING_MESSAGE_MAX - 1;
	assert_int_equal(pairing_talk_take(&agent.talk, &agent.err), 0);
	agent.talk.in_length++;
	agent.r = pairing_talk_take(&agent.talk, &agent.err);
	expect_refusal(&agent, -EBADMSG, "what it says makes no sense");
	part();
	begin();
	agent.talk.out_length = 0;
	agent.talk.in[0] = (uint8_t)(PAIRING_MESSAGE_MAX + 1);
	agent.talk.in[1] = PAIRING_MESSAGE_MAX >> 8;
	agent.talk.in_length = PAIRING_LENGTH;
	agent.r = pairing_talk_take(&agent.talk, &agent.err);
	expect_refusal(&agent, -EMSGSIZE, "it says too much");
	part();
}

/* What has no room in `out` is not said; what just fits, is. */
static void sayings_are_bounded(void **state)
{
	size_t hello;

	(void)state;
	begin();
	hello = agent.talk.out_length;
	agent.talk.out_length = sizeof(agent.talk.out) - hello;
	assert_int_equal(pairing_talk_begin(&agent.talk, &agent.err), 0);
	assert_int_equal(agent.talk.out_length, sizeof(agent.talk.out));
	agent.talk.out_length = sizeof(agent.talk.out) - hello + 1;
	assert_int_equal(pairing_talk_begin(&agent.talk, &agent.err), 0);
	assert_int_equal(agent.talk.out_length, sizeof(agent.talk.out) - hello + 1);
	part();
}

/* What TLS does not take at once is said later, in its order. */
static void a_full_session_is_waited_for(void **state)
{
	size_t n, length;

	(void)state;
	begin();
	length = agent.talk.out_length;
	assert_int_equal(pairing_talk_write(&agent.talk), 0);
	assert_int_equal(pairing_talk_begin(&agent.talk, &agent.err), 0);
	assert_int_equal(pairing_talk_write(&agent.talk), 0); /* output is pending */
	assert_int_equal(agent.talk.out_length, length);
	assert_int_equal(agent.talk.out_at, 0);
	secure_output(agent.talk.session, &n);
	secure_sent(agent.talk.session, n);
	agent.talk.out_at = 5;
	assert_int_equal(pairing_talk_write(&agent.talk), 0);
	assert_int_equal(agent.talk.out_length, 0);
	assert_int_equal(agent.talk.out_at, 0);
	part();
}

/* A message may come in any pieces: here each byte comes in a record of its own. */
static void bytes_come_alone(void **state)
{
	size_t whole_out, all;

	(void)state;
	begin();
	deliver(&agent, &collector);
	assert_int_equal(collector.r, 0);
	whole_out = collector.talk.out_length;
	part();
	begin();
	all = agent.talk.out_length;
	for (size_t i = 0; i < all; i++) {
		agent.talk.out_at = i;
		agent.talk.out_length = i + 1;
		deliver(&agent, &collector);
		assert_int_equal(collector.r, 0);
		assert_int_equal(collector.talk.in_length, i + 1 < all ? i + 1 : 0);
	}
	assert_int_equal(collector.talk.out_length, whole_out);
	part();
}

static void ends_are_heard(void **state)
{
	size_t n;
	const uint8_t *data;
	uint8_t bad[64] = {23, 3, 3, 0, 59};

	(void)state;
	begin();
	secure_bye(agent.talk.session);
	data = secure_output(agent.talk.session, &n);
	secure_feed(collector.talk.session, data, n);
	assert_int_equal(pairing_talk_read(&collector.talk, &collector.err), -ENODATA);
	assert_string_equal(collector.err.text, "it closed the connection");
	part();
	begin();
	secure_feed(collector.talk.session, bad, sizeof(bad));
	assert_int_equal(pairing_talk_read(&collector.talk, &collector.err), -EPROTO);
	secure_output(collector.talk.session, &n); /* the alert */
	secure_sent(collector.talk.session, n);
	assert_int_equal(pairing_talk_write(&collector.talk), -EPROTO);
	part();
	/* Before the handshake there is no key to derive. */
	descriptors = descriptors_open();
	side_open(&agent, "agent", true);
	side_open(&collector, "collector", false);
	assert_int_equal(pairing_talk_begin(&agent.talk, &agent.err), -EPROTO);
	assert_string_equal(agent.err.text, "OpenSSL can't derive a key");
	assert_int_equal(agent.talk.out_length, 0);
	part();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(pieces_are_put_together),
		TEST_IN_FOLDER(bad_messages_are_refused),
		TEST_IN_FOLDER(sayings_are_bounded),
		TEST_IN_FOLDER(a_full_session_is_waited_for),
		TEST_IN_FOLDER(bytes_come_alone),
		TEST_IN_FOLDER(ends_are_heard),
	};
	struct secret code;

	if (pair_code_secret("ABCDEFGHIJKLMNOPQRSTUVWXYA", 26, &code, NULL) < 0) {
		puts("SKIPPED: this build has no OpenSSL");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
