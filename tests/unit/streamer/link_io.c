/*
 * Both transports of a link over a pair of sockets: what is sent arrives, whole and in order,
 * however small the sockets' buffers are; and each end learns that the other one is gone.
 */
#include "agent/net/link_io.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "tests/unit/descriptors.h"
#include "tests/unit/temporary.h"

#define BYTES 100000

struct scene {
	struct link_io a, b; /* a has accepted */
	struct secure *secure;
	unsigned descriptors;
};

static struct scene s;
static uint8_t sent[BYTES], came[BYTES];

static void begin(void)
{
	int pair[2];

	s = (struct scene){.descriptors = descriptors_open(), .secure = s.secure};
	for (size_t i = 0; i < BYTES; i++)
		sent[i] = (uint8_t)(i * 7 + i / 256);
	memset(came, 0, sizeof(came));
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair),
			 0);
	s.a = (struct link_io){.fd = pair[0]};
	s.b = (struct link_io){.fd = pair[1]};
}

/* With a session each; skips the test where TLS is not built in. */
static void begin_tls(void)
{
	struct secret key = {.key_length = 32, .name = "test", .id = {1}};
	struct secure_options options = {.secrets = &key, .secret_count = 1};
	struct err_text err = {{0}};
	int r;

	memset(key.key, 1, key.key_length);
	r = secure_open(&options, &s.secure, &err);
	if (r == -ENOTSUP)
		skip();
	assert_int_equal(r, 0);
	begin();
	s.a.session = secure_session_new(s.secure, true, 0);
	s.b.session = secure_session_new(s.secure, false, 0);
	assert_true(s.a.session && s.b.session);
}

/* Shakes hands; the bytes that have come are counted. */
static void shake(void)
{
	struct err_text err = {{0}};
	size_t at_a = 0, at_b = 0;
	int a = 1, b = 1;

	for (int i = 0; (a || b) && i < 100; i++) {
		if (b)
			b = link_io_shake(&s.b, true, &at_b, &err);
		if (a)
			a = link_io_shake(&s.a, true, &at_a, &err);
		assert_true(a >= 0 && b >= 0);
	}
	assert_int_equal(a, 0);
	assert_int_equal(b, 0);
	assert_true(at_a > 100 && at_a < SECURE_SHAKE_BYTES);
	assert_true(at_b > 100 && at_b < SECURE_SHAKE_BYTES);
}

static void end(void)
{
	link_io_close(&s.a);
	link_io_close(&s.b);
	assert_int_equal(s.a.fd, -1);
	assert_null(s.a.session);
	link_io_close(&s.a); /* has no effect */
	if (s.secure)
		secure_close(s.secure);
	s.secure = NULL;
	assert_int_equal(descriptors_open(), s.descriptors);
}

/* What is there, at most `most` bytes at a time. Returns how much came in all. */
static size_t receive_into(struct link_io *io, size_t at, size_t most)
{
	struct err_text err = {{0}};
	bool fresh = true;
	ssize_t n;

	do {
		size_t room = sizeof(came) - at < most ? sizeof(came) - at : most;

		n = link_io_receive(io, came + at, room, fresh, &err);
		assert_true(n >= 0 && (size_t)n <= room);
		at += (size_t)n;
		fresh = !io->session;
	} while (n > 0);
	return at;
}

/* All bytes from `a`, while `b` takes them in pieces. Says how often a had to wait. */
static unsigned carry(size_t piece)
{
	size_t at = 0, got = 0;
	unsigned waits = 0;

	for (int i = 0; got < BYTES && i < 100000; i++) {
		ssize_t n = 0;

		if (at < BYTES) {
			n = link_io_send(&s.a, sent + at, BYTES - at);
			assert_true(n >= 0);
			at += (size_t)n;
		} else {
			assert_true(link_io_flush(&s.a) >= 0);
		}
		waits += n == 0;
		if (!n)
			got = receive_into(&s.b, got, piece);
	}
	assert_int_equal(at, BYTES);
	assert_int_equal(got, BYTES);
	assert_memory_equal(sent, came, BYTES);
	assert_false(link_io_waits(&s.a));
	assert_int_equal(link_io_flush(&s.a), 0);
	return waits;
}

static void small_buffers(void)
{
	int size = 4096;

	assert_int_equal(setsockopt(s.a.fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)), 0);
	assert_int_equal(setsockopt(s.b.fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)), 0);
}

static void test_plain(void **state)
{
	struct err_text err = {{0}};

	(void)state;
	begin();
	small_buffers();
	assert_true(carry(1000) > 1);
	assert_int_equal(link_io_receive(&s.b, came, 10, true, &err), 0); /* nothing is there */
	assert_int_equal(link_io_send(&s.a, "x", 1), 1);
	assert_int_equal(link_io_receive(&s.b, came, 10, false, &err), 0); /* nor has been read */
	errno = EBADF;							   /* of something else */
	assert_int_equal(link_io_receive(&s.b, came, 0, true, &err), 0);
	assert_int_equal(link_io_receive(&s.b, came, 10, true, &err), 1);
	assert_int_equal(came[0], 'x');
	link_io_close(&s.a);
	assert_int_equal(link_io_receive(&s.b, came, 10, true, &err), -ENODATA);
	assert_int_equal(link_io_send(&s.b, "x", 1), -EPIPE);
	end();
}

/* What was read ahead comes first, and in pieces, without a look at the socket. */
static void test_read_ahead(void **state)
{
	struct err_text err = {{0}};
	struct link_io moved = {.fd = -1};

	(void)state;
	begin();
	memcpy(s.b.raw, "0123456789", 10);
	s.b.raw_at = 2;
	s.b.raw_length = 10;
	assert_int_equal(link_io_send(&s.a, "x", 1), 1);
	assert_int_equal(link_io_receive(&s.b, came, 3, true, &err), 3);
	assert_memory_equal(came, "234", 3);
	link_io_move(&moved, &s.b);
	assert_int_equal(s.b.fd, -1);
	assert_int_equal(link_io_receive(&moved, came, 100, false, &err), 5);
	assert_memory_equal(came, "56789", 5);
	assert_int_equal(link_io_receive(&moved, came, 100, false, &err), 0);
	assert_int_equal(link_io_receive(&moved, came, 100, true, &err), 1);
	link_io_close(&moved);
	end();
}

static void test_tls(void **state)
{
	struct err_text err = {{0}};
	uint8_t raw[6000];
	int other;
	ssize_t n;

	(void)state;
	begin_tls();
	shake();
	assert_int_equal(link_io_send(&s.a, sent, 2 * SECURE_RECORD), SECURE_RECORD);
	n = recv(s.b.fd, raw, sizeof(raw), MSG_PEEK);
	assert_true(n > SECURE_RECORD);
	assert_null(memmem(raw, (size_t)n, sent, 64)); /* nobody else can read it */
	for (int i = 0; i < 10 && came[SECURE_RECORD - 1] != sent[SECURE_RECORD - 1]; i++)
		receive_into(&s.b, 0, BYTES);
	assert_memory_equal(came, sent, SECURE_RECORD);
	small_buffers();
	assert_true(carry(999) > 1);
	assert_true(carry(BYTES) > 1);
	assert_int_equal(link_io_receive(&s.b, came, 10, true, &err), 0);
	other = dup(s.a.fd); /* the socket stays open */
	link_io_close(&s.a); /* says that it ends */
	n = link_io_receive(&s.b, came, 10, true, &err);
	assert_int_equal(n, -ENODATA);
	close(other);
	end();
}

/* A record that was taken waits until the socket has room for it; nothing is taken meanwhile. */
static void test_waits(void **state)
{
	size_t got = 0;
	ssize_t n;

	(void)state;
	begin_tls();
	shake();
	small_buffers();
	assert_false(link_io_waits(&s.a));
	for (n = 1; n > 0;)
		n = link_io_send(&s.a, sent, 100);
	assert_int_equal(n, 0);
	assert_true(link_io_waits(&s.a));
	assert_int_equal(link_io_flush(&s.a), 1);
	assert_int_equal(link_io_send(&s.a, sent, 100), 0);
	for (int i = 0; i < 1000 && link_io_flush(&s.a); i++)
		got = receive_into(&s.b, 0, BYTES) ? 1 : got;
	assert_int_equal(got, 1);
	assert_false(link_io_waits(&s.a));
	assert_int_equal(link_io_flush(&s.a), 0);
	assert_int_equal(link_io_send(&s.a, sent, 100), 100);
	while (link_io_send(&s.a, sent, 100) > 0)
		;
	close(s.b.fd);
	s.b.fd = -1;
	assert_int_equal(link_io_flush(&s.a), -EPIPE);
	assert_int_equal(link_io_send(&s.a, sent, 100), -EPIPE);
	assert_int_equal(link_io_send_file(&s.a, -1, 0, 100), -EPIPE);
	end();
}

static int file_of(size_t length)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/file", temporary_folder);
	fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, sent, length), length);
	return fd;
}

/* Of a file: from any place, and an error where it is shorter than it was. */
static void send_file(size_t most)
{
	int fd = file_of(10000);
	size_t got = 0;
	off_t at = 5;
	ssize_t n;

	n = link_io_send_file(&s.a, fd, at, 10);
	assert_int_equal(n, 10);
	while (got < 10)
		got = receive_into(&s.b, got, BYTES);
	assert_int_equal(got, 10);
	assert_memory_equal(came, sent + 5, 10);
	memset(came, 0, 10);
	for (at = 0, got = 0; at < 10000; at += n) {
		n = link_io_send_file(&s.a, fd, at, (size_t)(10000 - at));
		assert_true(n >= 0 && (size_t)n <= most);
		got = receive_into(&s.b, got, BYTES);
	}
	for (int i = 0; i < 100 && got < 10000; i++)
		got = receive_into(&s.b, got, BYTES);
	assert_int_equal(got, 10000);
	assert_memory_equal(came, sent, 10000);
	assert_int_equal(link_io_send_file(&s.a, fd, 10000, 1), -EIO);
	assert_int_equal(link_io_send_file(&s.a, fd, 9999, 2), 1);
	got = 0;
	while (!got)
		got = receive_into(&s.b, 0, BYTES);
	assert_int_equal(link_io_send_file(&s.a, -1, 0, 1), -EBADF);
	small_buffers();
	for (n = 1; n > 0;)
		n = link_io_send_file(&s.a, fd, 0, 4000);
	assert_int_equal(n, 0);
	assert_int_equal(link_io_send_file(&s.a, fd, 0, 4000), 0);
	close(fd);
}

static void test_file_plain(void **state)
{
	(void)state;
	begin();
	send_file(10000);
	link_io_close(&s.b);
	end();
}

static void test_file_tls(void **state)
{
	(void)state;
	begin_tls();
	shake();
	send_file(SECURE_RECORD);
	end();
}

/* Bytes that came before the session was made, and in small pieces. */
static void test_shake_pieces(void **state)
{
	struct err_text err = {{0}};
	struct link_io moved = {.fd = -1};
	size_t at_b = 0, at_a = 0;
	uint8_t raw[2000];
	ssize_t length;
	int a = 1, b;

	(void)state;
	begin_tls();
	assert_int_equal(link_io_shake(&s.b, false, &at_b, &err), 1);
	length = recv(s.a.fd, raw, sizeof(raw), MSG_DONTWAIT);
	assert_true(length > 10 && length <= LINK_RAW);
	memcpy(s.a.raw, raw, 10); /* as a listener reads them ahead */
	s.a.raw_length = 10;
	assert_int_equal(link_io_shake(&s.a, false, &at_a, &err), 1);
	assert_int_equal(s.a.raw_at, 10);
	assert_int_equal(link_io_shake(&s.a, true, &at_a, &err), 1); /* nothing is there */
	assert_int_equal(at_a, 0);
	for (ssize_t i = 10; i < length; i++) {
		assert_int_equal(send(s.b.fd, raw + i, 1, MSG_NOSIGNAL), 1);
		a = link_io_shake(&s.a, i % 2, &at_a, &err);
		assert_int_equal(a, 1);
	}
	assert_int_equal(link_io_shake(&s.a, true, &at_a, &err), 1);
	for (int i = 0; i < 10 && at_a < (size_t)length - 10; i++)
		assert_int_equal(link_io_shake(&s.a, true, &at_a, &err), 1);
	assert_int_equal(at_a, length - 10);
	b = link_io_shake(&s.b, true, &at_b, &err);
	for (int i = 0; b == 1 && i < 10; i++)
		b = link_io_shake(&s.b, true, &at_b, &err);
	assert_int_equal(b, 0);
	assert_int_equal(link_io_send(&s.b, "early", 5), 5); /* arrives with its last words */
	for (int i = 0; a == 1 && i < 10; i++)
		a = link_io_shake(&s.a, true, &at_a, &err);
	assert_int_equal(a, 0);
	assert_true(s.a.raw_at < s.a.raw_length);
	link_io_move(&moved, &s.a);
	assert_int_equal(link_io_receive(&moved, came, 3, false, &err), 3);
	assert_int_equal(link_io_receive(&moved, came + 3, 100, false, &err), 2);
	assert_memory_equal(came, "early", 5);
	link_io_close(&moved);
	end();
}

static void test_shake_fails(void **state)
{
	struct err_text err = {{0}};
	size_t bytes = 0;

	(void)state;
	begin_tls();
	assert_int_equal(send(s.b.fd, "GET / ", 6, MSG_NOSIGNAL), 6);
	assert_int_equal(send(s.b.fd, sent, 500, MSG_NOSIGNAL), 500);
	assert_true(link_io_shake(&s.a, true, &bytes, &err) < 0);
	assert_int_equal(bytes, 506);
	end();
	begin_tls();
	link_io_close(&s.b);
	bytes = 0;
	assert_int_equal(link_io_shake(&s.a, true, &bytes, &err), -ENODATA);
	assert_int_equal(bytes, 0);
	end();
	begin_tls();
	link_io_close(&s.a);
	assert_int_equal(link_io_shake(&s.b, true, &bytes, &err), -EPIPE); /* can't say hello */
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),	     cmocka_unit_test(test_read_ahead),
		cmocka_unit_test(test_tls),	     cmocka_unit_test(test_waits),
		TEST_IN_FOLDER(test_file_plain),     TEST_IN_FOLDER(test_file_tls),
		cmocka_unit_test(test_shake_pieces), cmocka_unit_test(test_shake_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
