/*
 * The dialer is told to dial another collector, none, or to end: while it is connected, while a
 * name is looked up, and while a collector has not proved itself.
 */
#include "tests/unit/streamer/dialer_scene.h"

/* From one collector to another, to none, and back. */
static void turned(void **state)
{
	uint16_t port[2];
	int at[2], fd, other;

	(void)state;
	begin(NULL);
	at[0] = desk(&port[0]);
	at[1] = desk(&port[1]);
	dial_to("", 0);
	ticks_pass();
	assert_int_equal(d.tries, 0);
	turn_to("127.0.0.1", port[0]);
	fd = answer(at[0]);
	UNTIL(!link_free(&s.link[1]));
	turn_to("127.0.0.1", port[1]);
	assert_int_equal(d.addresses, 0);
	other = answer(at[1]);
	UNTIL(is_open(other) || recv(other, port, 0, 0) == 0);
	UNTIL(s.link[1].fd >= 0 && !s.link[1].closing);
	assert_int_equal(d.addresses, 1);
	close(fd);
	assert_int_equal(taken(at[0]), -1);
	turn_to("", 0);
	UNTIL(link_free(&s.link[1]));
	ticks_pass();
	assert_int_equal(taken(at[0]), -1);
	assert_int_equal(taken(at[1]), -1);
	assert_false(uv_is_active((uv_handle_t *)&d.timer));
	close(other);
	close(at[0]);
	close(at[1]);
	dialer_end();
}

/* While there was no collector to dial, its link may have gone to one that came. */
static void leaves_others_alone(void **state)
{
	uint16_t port;
	int at, pair[2], fd;

	(void)state;
	begin(NULL);
	at = desk(&port);
	dial_to("", 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair),
			 0);
	assert_int_equal(link_open(&s.link[1], pair[0], "that came"), 0);
	turn_to("127.0.0.1", port);
	ticks_pass();
	assert_false(link_free(&s.link[1]));
	assert_false(s.link[1].closing);
	assert_int_equal(taken(at), -1);
	close(pair[1]); /* it goes, and the dialer has its link */
	fd = answer(at);
	UNTIL(!link_free(&s.link[1]));
	close(fd);
	close(at);
	dialer_end();
}

/* What was looked up for the former collector is not used for this one. */
static void turned_while_looking_up(void **state)
{
	uint16_t port[2];
	int at[2], fd;

	(void)state;
	begin(NULL);
	at[0] = desk(&port[0]);
	at[1] = desk(&port[1]);
	look_ups_last();
	dial_to("127.0.0.1", port[0]);
	UNTIL(d.resolving);
	turn_to("127.0.0.1", port[1]);
	ticks_pass();
	look_ups_end();
	fd = answer(at[1]);
	UNTIL(!link_free(&s.link[1]));
	assert_int_equal(taken(at[0]), -1);
	look_ups_last();
	close(fd);
	UNTIL(d.resolving);
	turn_to("", 0);
	look_ups_end();
	UNTIL(!d.resolving);
	ticks_pass();
	assert_int_equal(d.addresses, 0);
	look_ups_last();
	turn_to("a..b", 8100);
	UNTIL(d.resolving);
	turn_to("127.0.0.1", port[0]); /* that the other was not found is not said of this one */
	look_ups_end();
	fd = answer(at[0]);
	UNTIL(!link_free(&s.link[1]));
	assert_int_equal(taken(at[1]), -1);
	close(fd);
	close(at[0]);
	close(at[1]);
	dialer_end();
	assert_int_equal(log_count("no collector"), 0);
}

/* The agent ends while a name is looked up: that is called off. */
static void closed_while_looking_up(void **state)
{
	uint16_t port;
	int at;

	(void)state;
	begin(NULL);
	at = desk(&port);
	look_ups_last();
	dial_to("127.0.0.1", port);
	UNTIL(d.resolving);
	dialer_close(&d);
	UNTIL(!d.resolving);
	look_ups_end();
	ticks_pass();
	assert_int_equal(taken(at), -1);
	close(at);
	dialer_end();
	assert_int_equal(log_count("no collector"), 0);
}

/* A collector that has answered and not proved itself: it is not dialled beside that. */
static void waits_for_proof(void **state)
{
	uint16_t port[2];
	int at[2], fd, other;

	(void)state;
	begin(secure_with(key, 1));
	at[0] = desk(&port[0]);
	at[1] = desk(&port[1]);
	dial_to("127.0.0.1", port[0]);
	fd = answer(at[0]);
	UNTIL(pending_peers_dialling(&s.peers));
	ticks_pass();
	assert_int_equal(taken(at[0]), -1);
	assert_true(link_free(&s.link[1]));
	turn_to("127.0.0.1", port[1]);
	other = answer(at[1]);
	UNTIL(pending_peers_dialling(&s.peers));
	assert_int_equal(taken(at[0]), -1);
	close(fd);
	close(other);
	close(at[0]);
	close(at[1]);
	dialer_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_OF_DIALER(turned),
		TEST_OF_DIALER(leaves_others_alone),
		TEST_OF_DIALER(turned_while_looking_up),
		TEST_OF_DIALER(closed_while_looking_up),
		TEST_OF_DIALER(waits_for_proof),
	};

	dialer_start();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
