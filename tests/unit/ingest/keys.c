/* A collector that is paired, and takes agents without a key, too: whose a stream is. */
#include "tests/unit/ingest/support/peers.h"
#include "tests/unit/temporary.h"

#define OTHER_ID 0x78

static struct secret keys[2];

/* Up to the fifth batch. */
static void deliver_some(struct agent *a, const struct secret *key)
{
	a->failed |= !agent_dial(a, key);
	agent_greet(a, a->fd, 1);
	a->failed |= !agent_subscribed(a, a->fd);
	agent_frames(a, a->fd, 0, 5);
	agent_until_acked(a, a->fd, 5);
}

static void deliver_rest(struct agent *a)
{
	agent_frames(a, a->fd, 5, a->b.frame_count);
	agent_until_acked(a, a->fd, a->b.number);
	agent_leave(a);
}

/* Without a key, and with the key of another board, nobody takes the stream, though he says to be
 * in the next incarnation. Who has another key may be the board's next agent, and comes again: the
 * link is closed. */
static void keep(struct agent *a)
{
	struct agent other;

	deliver_some(a, &keys[0]);
	a->failed |= agent_claims(a, &other, OTHER_ID, 2, NULL);
	agent_claim_done(&other);
	a->failed |= agent_claims(a, &other, OTHER_ID, 2, &keys[1]);
	a->failed |= !agent_is_hung_up(&other);
	agent_claim_done(&other);
	deliver_rest(a);
}

/* Nor while the agent is away. It may come back with another key of its board. */
static void come_back(struct agent *a)
{
	struct agent other;

	deliver_some(a, &keys[0]);
	agent_leave(a);
	usleep(100000);
	a->failed |= agent_claims(a, &other, OTHER_ID, 2, NULL);
	agent_claim_done(&other);
	a->failed |= !agent_dial(a, &keys[1]);
	agent_greet(a, a->fd, 1);
	a->failed |= !agent_subscribed(a, a->fd) || a->subscribed[1] != 6;
	deliver_rest(a);
}

/* The next agent of the same board, while the first one's link looks alive. */
static void hand_over(struct agent *a)
{
	struct agent next;

	deliver_some(a, &keys[0]);
	a->failed |= !agent_claims(a, &next, OTHER_ID, 2, &keys[0]);
	agent_frames(a, a->fd, 5, 6);
	a->failed |= !agent_is_hung_up(a);
	agent_claim_done(&next);
	agent_leave(a);
}

/* Who has a key goes before who only says that the stream is his, whatever incarnation he claims.
 */
static void take_back(struct agent *a)
{
	struct agent thief;

	a->failed |= !agent_claims(a, &thief, OTHER_ID, 7, NULL);
	deliver_some(a, &keys[0]);
	agent_frames(&thief, thief.fd, 5, 6);
	a->failed |= !agent_is_hung_up(&thief);
	agent_claim_done(&thief);
	deliver_rest(a);
}

static void run(void (*script)(struct agent *a), enum ingest_event_kind until, struct agent *ret_a,
		struct collector *ret_c)
{
	agent_begin(ret_a, script);
	collector_begin_paired(ret_c, temporary_folder, keys, 2, until, 1);
	ret_a->dial = ingest_port(ret_c->ingest);
	agent_start(ret_a);
	collector_run(ret_c);
	agent_join(ret_a);
	assert_false(ret_c->timed_out);
}

static void expect_all(void (*script)(struct agent *a))
{
	struct collector c;
	struct agent a;

	run(script, INGEST_STREAM_ENDED, &a, &c);
	expect_recording(&a, temporary_folder);
	agent_done(&a);
}

static void not_to_others(void **state)
{
	(void)state;
	expect_all(keep);
}

static void not_while_away(void **state)
{
	(void)state;
	expect_all(come_back);
}

static void not_before_a_key(void **state)
{
	(void)state;
	expect_all(take_back);
}

static void to_the_same_key(void **state)
{
	struct collector c;
	struct agent a;

	(void)state;
	run(hand_over, INGEST_STREAM_LEFT, &a, &c);
	assert_int_equal(c.counts[INGEST_STREAM_BEGAN], 2);
	agent_done(&a);
}

/* It shows its key, and then speaks another version. */
static void speak_otherwise(struct agent *a)
{
	a->failed |= !agent_dial(a, &keys[0]);
	agent_greet(a, a->fd, 99);
	a->failed |= !agent_is_hung_up(a);
	agent_leave(a);
}

/* Who has a key and is refused is worth a warning, not just a word that he left. */
static void refused_with_a_key(void **state)
{
	struct collector c;
	struct agent a;

	(void)state;
	run(speak_otherwise, INGEST_WARNING, &a, &c);
	assert_false(a.failed);
	assert_int_equal(c.counts[INGEST_WARNING], 1);
	assert_int_equal(c.counts[INGEST_DISCONNECTED], 0);
	assert_non_null(strstr(c.last_text, "refused"));
	assert_non_null(strstr(c.last_text, "version 99"));
	agent_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(not_to_others),	    TEST_IN_FOLDER(not_while_away),
		TEST_IN_FOLDER(not_before_a_key),   TEST_IN_FOLDER(to_the_same_key),
		TEST_IN_FOLDER(refused_with_a_key),
	};

	for (uint8_t i = 0; i < 2; i++)
		if (secret_make((uint8_t[SECRET_KEY_MIN]){i + 1}, SECRET_KEY_MIN, "test",
				&keys[i]) < 0)
			return 77; /* without TLS */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
