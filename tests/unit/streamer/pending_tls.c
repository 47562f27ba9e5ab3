/* Connections that have not said yet who they are, with TLS. */
#include "tests/unit/streamer/pending.h"
#include "tests/unit/logged.h"

/* The other end of a TLS connection, in as many steps as it takes. Returns the result. */
static int shake(struct link_io *io)
{
	struct err_text err = {{0}};
	size_t came = 0;
	int r = 1;

	for (int i = 0; r == 1 && i < 20; i++) {
		r = link_io_shake(io, true, &came, &err);
		turn();
	}
	return r;
}

/* The agent's hello, in TLS, and the collector's. */
static void expect_linked_tls(struct link_io *io)
{
	struct err_text err = {{0}};
	uint8_t out[1000];
	ssize_t n = 0;

	for (int i = 0; !n && i < 10; i++)
		n = link_io_receive(io, out, sizeof(out), true, &err);
	assert_true(n > 0);
	assert_int_equal(s.welcomes, 0);
	n = (ssize_t)greeting(out);
	assert_int_equal(link_io_send(io, out, (size_t)n), n);
	turn();
	assert_int_equal(s.welcomes, 1);
	assert_true(s.proved);
}

static void test_tls(void **state)
{
	struct secure *secure = secure_with(key, 2), *other = secure_with(key + 2, 1);
	struct link_io io = {0};

	(void)state;
	logged_begin();
	begin(secure);
	io.fd = come_from(1);
	io.session = secure_session_new(secure, false, 1);
	assert_int_equal(places_taken(), 1);
	assert_int_equal(shake(&io), 0);
	assert_int_equal(links_taken(), 1);
	assert_int_equal(places_taken(), 0);
	expect_linked_tls(&io);
	link_io_close(&io);
	turn();
	assert_int_equal(links_taken(), 0);
	io.fd = come_from(1);
	io.session = secure_session_new(other, false, 0);
	assert_int_equal(shake(&io), -EACCES);
	assert_int_equal(places_taken(), 0);
	assert_int_equal(links_taken(), 0);
	assert_int_equal(logged("warn  refused host 1: "), 1);
	assert_int_equal(logged("it closed the connection"), 0);
	assert_int_equal(logged("refused"), 1);
	link_io_close(&io);
	secure_close(other);
	end();
	logged_end();
}

static void test_no_tls(void **state)
{
	struct secure *secure = secure_with(key, 2);
	static const uint8_t head[] = {0x16, 3, 1, 0x40, 0, 1, 0, 0xff, 0xff};
	uint8_t zeros[LINK_RAW] = {0};
	size_t sent = sizeof(head);
	int fd;

	(void)state;
	logged_begin();
	begin(secure);
	fd = come_from(1);
	greet(fd);
	expect_refusal(fd);
	turn();
	assert_int_equal(places_taken(), 0);
	fd = come_from(1);
	assert_int_equal(send(fd, head, 1, MSG_NOSIGNAL), 1); /* may become anything */
	turn();
	assert_true(is_open(fd));
	close(fd);
	turn();
	assert_int_equal(places_taken(), 0);
	assert_int_equal(logged("host 1: it closed the connection, before it had said who it is"),
			 1);
	fd = come_from(1);
	assert_int_equal(send(fd, head, sent, MSG_NOSIGNAL), sent);
	turn();
	for (size_t most = SECURE_SHAKE_BYTES; sent < most;) {
		size_t n = most - sent < sizeof(zeros) ? most - sent : sizeof(zeros);

		assert_int_equal(send(fd, zeros, n, MSG_NOSIGNAL), n);
		sent += n;
		turn();
		assert_true(is_open(fd));
	}
	assert_int_equal(send(fd, zeros, 1, MSG_NOSIGNAL), 1);
	turn();
	expect_closed(fd);
	assert_int_equal(places_taken(), 0);
	end();
	logged_end();
}

/* One dial with TLS. Returns what becomes of it at the other end. */
static int dial_to(struct link_io *io, struct secure *theirs)
{
	io->raw_at = io->raw_length = 0;
	io->fd = dial(0);
	assert_true(pending_peers_dialling(&s.peers));
	io->session = secure_session_new(theirs, true, 0);
	return shake(io);
}

/* Each key is offered in turn, as long as that is refused. */
static void test_dialled_tls(void **state)
{
	struct secure *secure = secure_with(key, 2), *theirs = secure_with(key + 1, 1),
		      *other = secure_with(key + 2, 1);
	struct link_io io = {0};

	(void)state;
	begin(secure);
	s.peers.paired = true;
	assert_int_equal(dial_to(&io, theirs), -EACCES);
	assert_int_equal(s.peers.key, 1);
	assert_false(pending_peers_dialling(&s.peers));
	assert_int_equal(s.peers.strangers.lines, 0); /* not worth a word yet */
	link_io_close(&io);
	assert_int_equal(dial_to(&io, theirs), 0);
	assert_int_equal(s.peers.key, 1);
	assert_int_equal(links_taken(), 1);
	assert_false(link_free(&s.link[0]));
	expect_linked_tls(&io);
	link_io_close(&io);
	turn();
	for (unsigned i = 2; i <= 5; i++) {
		assert_int_equal(dial_to(&io, other), -EACCES);
		assert_int_equal(s.peers.key, i);
		assert_int_equal(s.peers.strangers.lines, i >= 4); /* each was tried twice */
		link_io_close(&io);
	}
	s.peers.paired = false;
	assert_int_equal(dial_to(&io, other), -EACCES);
	assert_int_equal(s.peers.key, 5);
	link_io_close(&io);
	s.peers.paired = true;
	io.fd = dial(0);
	pending_peers_hang_up(&s.peers);
	turn();
	assert_false(pending_peers_dialling(&s.peers));
	close(io.fd);
	io.fd = dial(0);
	close(io.fd); /* this is no refusal of a key */
	turn();
	assert_false(pending_peers_dialling(&s.peers));
	assert_int_equal(s.peers.key, 5);
	secure_close(theirs);
	secure_close(other);
	end();
}

/* Without a key there is nobody to dial. */
static void test_no_key(void **state)
{
	struct secure *secure = secure_with(key, 0);
	uint8_t raw[100];
	int fd;

	(void)state;
	begin(secure);
	s.peers.paired = true;
	fd = dial(0);
	turn();
	assert_false(pending_peers_dialling(&s.peers));
	assert_true(recv(fd, raw, sizeof(raw), 0) <= 0);
	close(fd);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tls),
		cmocka_unit_test(test_no_tls),
		cmocka_unit_test(test_dialled_tls),
		cmocka_unit_test(test_no_key),
	};

	pending_start();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
