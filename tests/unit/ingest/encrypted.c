/* What a link sends over TLS, of any length: whole, in order, and without a plain byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/secure/secure.h"
#include "collector/ingest/state.h"

#define RECORD	   16384 /* TLS takes so many bytes at a time */
#define LENGTH_MAX (4 * RECORD)

static struct secret key;
static struct secure *secure;
static struct secure_session *ours, *theirs;

static void pass(struct secure_session *from, struct secure_session *to)
{
	size_t length;
	const uint8_t *data = secure_output(from, &length);
	static uint8_t room[1u << 16];

	assert_true(length <= sizeof(room));
	if (!length)
		return;
	memcpy(room, data, length);
	secure_sent(from, length);
	secure_feed(to, room, length);
}

static void shake(void)
{
	int x = 1, y = 1;

	for (unsigned i = 0; i < 20 && (x || y); i++) {
		if (y)
			y = secure_shake(theirs, NULL);
		pass(theirs, ours);
		if (x)
			x = secure_shake(ours, NULL);
		pass(ours, theirs);
	}
	assert_int_equal(x, 0);
	assert_int_equal(y, 0);
}

static void receive(int fd, const uint8_t *expected, size_t length)
{
	static uint8_t raw[2 * LENGTH_MAX], plain[LENGTH_MAX + 1];
	size_t got = 0;
	ssize_t n = recv(fd, raw, sizeof(raw), MSG_DONTWAIT);

	if (!length) {
		assert_true(n < 0);
		return;
	}
	assert_true(n > (ssize_t)length);
	secure_feed(theirs, raw, (size_t)n);
	while ((n = secure_read(theirs, plain + got, sizeof(plain) - got, NULL)) > 0)
		got += (size_t)n;
	assert_int_equal(n, 0);
	assert_int_equal(got, length);
	assert_memory_equal(plain, expected, length);
}

static void any_length(void **state)
{
	static const size_t lengths[] = {0,
					 1,
					 2,
					 100,
					 RECORD - 1,
					 RECORD,
					 RECORD + 1,
					 RECORD + 2,
					 2 * RECORD,
					 2 * RECORD + 1,
					 3 * RECORD + 77};
	static uint8_t bytes[LENGTH_MAX];
	struct secure_options options = {.secrets = &key, .secret_count = 1};
	struct link *link = calloc(1, sizeof(*link));
	uv_loop_t loop;
	int pair[2], size = 1 << 20;

	(void)state;
	assert_int_equal(secure_open(&options, &secure, NULL), 0);
	ours = secure_session_new(secure, true, 0);
	theirs = secure_session_new(secure, false, 0);
	shake();
	link->session = ours;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	assert_int_equal(uv_loop_init(&loop), 0);
	assert_int_equal(uv_tcp_init(&loop, &link->tcp), 0);
	assert_int_equal(uv_tcp_open(&link->tcp, pair[0]), 0);
	for (size_t i = 0; i < LENGTH_MAX; i++)
		bytes[i] = (uint8_t)(i * 7 + i / 251);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		assert_int_equal(link_write(link, bytes, lengths[i]), 0);
		uv_run(&loop, UV_RUN_NOWAIT);
		receive(pair[1], bytes, lengths[i]);
	}
	uv_close((uv_handle_t *)&link->tcp, NULL);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&loop), 0);
	close(pair[1]);
	secure_session_free(ours);
	secure_session_free(theirs);
	secure_close(secure);
	free(link);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(any_length)};

	if (secret_make((uint8_t[SECRET_KEY_MIN]){1}, SECRET_KEY_MIN, "test", &key) < 0)
		return 77; /* without TLS */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
