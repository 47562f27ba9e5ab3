/*
 * How links end and begin, step by step: a goodbye waits until all that was sent has left, but not
 * for ever; an agent whose link says goodbye is not let in beside it; and a link that can't be made
 * leaves nothing.
 */
#include "tests/unit/ingest/support/still.h"

#define MUCH (16u << 20) /* more than sockets hold */

static struct agent a;
static struct link *first;

/* An agent is let in; what it is sent waits for it. */
static void begin(bool waits)
{
	still_begin((struct ingest_options){.agents_max = 4, .listen = "127.0.0.1:0"});
	guest_dial(&a, 1);
	agent_greet(&a, a.fd, 1);
	for (unsigned i = 0; i < 3000 && !ingest->open_count; i++)
		uv_run(&loop, UV_RUN_ONCE);
	assert_int_equal(ingest->open_count, 1);
	first = ingest->links;
	if (waits) {
		void *much = calloc(1, MUCH);

		assert_int_equal(link_write_raw(first, much, MUCH), 0);
		free(much);
	}
	told[0] = 0;
}

static void end(void)
{
	guest_done(&a);
	still_end();
}

static void turn_until_gone(void)
{
	for (unsigned i = 0; i < 3000 && ingest->link_count; i++)
		uv_run(&loop, UV_RUN_ONCE);
	assert_int_equal(ingest->link_count, 0);
	assert_int_equal(ingest->open_count, 0);
}

/* What was sent before has left. */
static void all_has_left(void **state)
{
	(void)state;
	begin(false);
	link_goodbye(first);
	assert_int_equal(first->state, LINK_GOODBYE);
	turn_until_gone();
	end();
}

/* The agent reads nothing of it. */
static void it_does_not_leave(void **state)
{

	(void)state;
	begin(true);
	link_goodbye(first);
	assert_int_equal(first->state, LINK_GOODBYE);
	assert_int_equal(ingest->open_count, 1);
	assert_true(uv_is_active((uv_handle_t *)&first->timer));
	assert_int_equal(uv_timer_get_due_in(&first->timer), GOODBYE_MS);
	uv_timer_stop(&first->timer);
	/* Nor is anything read of it. */
	agent_send(a.fd, "what is no frame", 16);
	for (unsigned i = 0; i < 20; i++)
		uv_run(&loop, UV_RUN_NOWAIT);
	assert_int_equal(first->state, LINK_GOODBYE);
	/* A second goodbye does not wait. */
	link_goodbye(first);
	turn_until_gone();
	end();
}

static void time_is_up(void **state)
{
	(void)state;
	begin(true);
	link_goodbye(first);
	uv_timer_start(&first->timer, first->timer.timer_cb, 0, 0);
	turn_until_gone();
	end();
}

/* The same agent comes again. */
static void come_again(uint8_t name, bool is_let_in)
{
	struct agent again;

	guest_dial(&again, name);
	agent_greet(&again, again.fd, 1);
	for (unsigned i = 0; i < 3000 && ingest->link_count < 2; i++)
		uv_run(&loop, UV_RUN_ONCE);
	for (unsigned i = 0; i < 3000 && ingest->open_count < 2 && ingest->link_count > 1; i++)
		uv_run(&loop, UV_RUN_ONCE);
	assert_int_equal(ingest->open_count, is_let_in ? 2 : 1);
	guest_done(&again);
	for (unsigned i = 0; i < 3000 && ingest->link_count > 1; i++)
		uv_run(&loop, UV_RUN_ONCE);
	told[0] = 0;
}

static void not_beside_a_goodbye(void **state)
{
	(void)state;
	begin(true);
	come_again(2, true); /* another one */
	come_again(1, false);
	link_goodbye(first);
	uv_timer_stop(&first->timer);
	come_again(2, true);
	come_again(1, false);
	assert_int_equal(first->state, LINK_GOODBYE);
	link_goodbye(first);
	end();
}

/* Before it is open there is nothing to wait for. */
static void before_a_greeting(void **state)
{
	(void)state;
	still_begin((struct ingest_options){.agents_max = 4, .listen = "127.0.0.1:0"});
	guest_dial(&a, 1);
	for (unsigned i = 0; i < 3000 && !ingest->links; i++)
		uv_run(&loop, UV_RUN_ONCE);
	link_goodbye(ingest->links);
	assert_int_equal(ingest->links->state, LINK_CLOSING);
	turn_until_gone();
	end();
}

static void no_such_address(void **state)
{
	const struct sockaddr_storage none = {.ss_family = AF_UNIX};
	struct peer *peer;
	uint64_t next_try_ms;
	unsigned backoff_ms;

	(void)state;
	still_begin((struct ingest_options){.agents_max = 4});
	assert_int_equal(peer_add_fixed(ingest, "127.0.0.1:9", NULL), 0);
	peer = ingest->peers;
	assert_non_null(peer);
	next_try_ms = peer->next_try_ms;
	backoff_ms = peer->backoff_ms;
	assert_int_equal(link_connect(ingest, peer, (const struct sockaddr *)&none), UV_EINVAL);
	assert_null(peer->link);
	assert_int_equal(ingest->links->state, LINK_CLOSING);
	assert_null(ingest->links->peer);
	/* When it is tried again is left to who wanted the link. */
	assert_int_equal(peer->next_try_ms, next_try_ms);
	assert_int_equal(peer->backoff_ms, backoff_ms);
	assert_false(peer->failed);
	assert_int_equal(ingest->open_count, 0);
	for (unsigned i = 0; i < 20; i++)
		uv_run(&loop, UV_RUN_NOWAIT);
	assert_int_equal(ingest->link_count, 0);
	still_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(all_has_left),	   TEST_IN_FOLDER(it_does_not_leave),
		TEST_IN_FOLDER(time_is_up),	   TEST_IN_FOLDER(not_beside_a_goodbye),
		TEST_IN_FOLDER(before_a_greeting), TEST_IN_FOLDER(no_such_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
