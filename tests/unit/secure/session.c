/* Two ends of a TLS session in one program, by keys: who has the key, who has not, and what
 * strangers get. */
#include <dlfcn.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/error.h"
#include "base/secure/secure.h"
#include "base/secure/secure_state.h"

struct end {
	struct secure *secure;
	struct secure_session *session;
	struct err_text err;
	int result;
};

static struct secret make_secret(uint8_t filler)
{
	struct secret s = {.key_length = 32, .name = "test", .id = {filler}};

	memset(s.key, filler, s.key_length);
	return s;
}

static void open_end(struct end *e, const struct secret *secrets, size_t count, bool accepted,
		     size_t key)
{
	struct secure_options options = {.secrets = secrets, .secret_count = count};

	*e = (struct end){.result = 1};
	assert_int_equal(secure_open(&options, &e->secure, &e->err), 0);
	e->session = secure_session_new(e->secure, accepted, key);
	assert_non_null(e->session);
}

static void close_end(struct end *e)
{
	secure_session_free(e->session);
	secure_close(e->secure);
}

/* Everything that `from` has to say, to `to`, `most` bytes at a time. */
static size_t carry(struct end *from, struct end *to, size_t most)
{
	size_t total = 0, n;

	for (const uint8_t *data; data = secure_output(from->session, &n), n; total += n) {
		n = n < most ? n : most;
		secure_feed(to->session, data, n);
		if (to->result == 1)
			to->result = secure_shake(to->session, &to->err);
		secure_sent(from->session, n);
	}
	return total;
}

static void shake(struct end *client, struct end *server, size_t most)
{
	client->result = secure_shake(client->session, &client->err);
	for (int i = 0; i < 20; i++) {
		carry(client, server, most);
		carry(server, client, most);
	}
}

static void test_same_key(void **state)
{
	struct secret keys[3] = {make_secret(1), make_secret(2), make_secret(3)};
	struct end client, server;

	(void)state;
	for (size_t most = 1; most < 5000; most = most * 70 + 1) {
		open_end(&client, keys, 3, false, 1);
		open_end(&server, keys + 1, 2, true, 0);
		shake(&client, &server, most);
		if (client.result || server.result)
			fail_msg("client: %s; server: %s", client.err.text, server.err.text);
		close_end(&client);
		close_end(&server);
	}
}

static void test_bytes(void **state)
{
	struct secret key = make_secret(7);
	struct end client, server;
	uint8_t sent[SECURE_RECORD * 3], came[sizeof(sent)];
	size_t total = 0, at = 0, n;
	const uint8_t *data;

	(void)state;
	for (size_t i = 0; i < sizeof(sent); i++)
		sent[i] = (uint8_t)(i * 7);
	open_end(&client, &key, 1, false, 0);
	open_end(&server, &key, 1, true, 0);
	shake(&client, &server, 4096);
	while (at < sizeof(sent)) {
		ssize_t taken = secure_write(client.session, sent + at, sizeof(sent) - at);

		assert_int_equal(taken, SECURE_RECORD);
		at += (size_t)taken;
		assert_int_equal(secure_write(client.session, sent, 1), -EAGAIN);
		data = secure_output(client.session, &n);
		assert_true(n > SECURE_RECORD && n < SECURE_RECORD + 64);
		assert_null(memmem(data, n, sent, 64));
		secure_feed(server.session, data, n);
		for (ssize_t got;
		     (got = secure_read(server.session, came + total, 1000, &server.err));) {
			assert_true(got > 0);
			total += (size_t)got;
		}
		secure_sent(client.session, n);
	}
	assert_int_equal(total, sizeof(sent));
	assert_memory_equal(sent, came, sizeof(sent));
	secure_bye(client.session);
	data = secure_output(client.session, &n);
	secure_feed(server.session, data, n);
	assert_int_equal(secure_read(server.session, came, 1, &server.err), -ENODATA);
	close_end(&client);
	close_end(&server);
}

/* One byte is as good as many; and a farewell waits for what is to be sent, and for a handshake. */
static void test_little(void **state)
{
	struct secret key = make_secret(7);
	struct end client, server;
	const uint8_t *data;
	char came[2] = "";
	size_t n, m;

	(void)state;
	open_end(&client, &key, 1, false, 0);
	open_end(&server, &key, 1, true, 0);
	secure_bye(server.session);
	secure_output(server.session, &n);
	assert_int_equal(n, 0);
	shake(&client, &server, 4096);
	assert_int_equal(secure_write(client.session, "x", 0), 0);
	secure_output(client.session, &n);
	assert_int_equal(n, 0);
	assert_int_equal(secure_write(client.session, "x", 1), 1);
	secure_output(client.session, &n);
	secure_bye(client.session);
	data = secure_output(client.session, &m);
	assert_int_equal(n, m);
	secure_feed(server.session, data, m);
	assert_int_equal(secure_read(server.session, came, 2, &server.err), 1);
	assert_string_equal(came, "x");
	assert_int_equal(secure_read(server.session, came, 2, &server.err), 0);
	close_end(&client);
	close_end(&server);
}

/* A peer that wants to be answered again and again, and takes no answer, is left. */
static void test_no_reader(void **state)
{
	void *library = dlopen("libssl.so.3", RTLD_NOW | RTLD_NOLOAD);
	int (*key_update)(SSL *, int) = NULL;
	struct secret key = make_secret(7);
	struct end client, server;
	const uint8_t *data;
	ssize_t got = 0;
	char came[2];
	size_t n;

	(void)state;
	if (library)
		*(void **)&key_update = dlsym(library, "SSL_key_update");
	assert_non_null(key_update);
	open_end(&client, &key, 1, false, 0);
	open_end(&server, &key, 1, true, 0);
	shake(&client, &server, 4096);
	assert_int_equal(server.result, 0);
	for (unsigned i = 0; i < 100000 && !got; i++) {
		assert_int_equal(key_update(client.session->ssl, SSL_KEY_UPDATE_REQUESTED), 1);
		assert_int_equal(secure_write(client.session, "x", 1), 1);
		data = secure_output(client.session, &n);
		secure_feed(server.session, data, n);
		while ((got = secure_read(server.session, came, 2, &server.err)) > 0)
			;
		secure_sent(client.session, n);
	}
	assert_int_equal(got, -EPROTO);
	assert_string_equal(server.err.text, "it asks for answers and does not read them");
	close_end(&client);
	close_end(&server);
	dlclose(library);
}

static void test_wrong_key(void **state)
{
	struct secret mine = make_secret(1), other = make_secret(2), posing = other;
	struct end client, server;

	(void)state;
	open_end(&client, &mine, 1, false, 0);
	open_end(&server, &other, 1, true, 0);
	shake(&client, &server, 4096);
	assert_int_equal(client.result, -EACCES);
	assert_int_equal(server.result, -EACCES);
	assert_non_null(strstr(server.err.text, "another one"));
	assert_non_null(strstr(client.err.text, "does not have our key"));
	close_end(&client);
	close_end(&server);
	/* The name of the right key, which travels in the open, and another key. */
	memcpy(posing.id, mine.id, sizeof(mine.id));
	open_end(&client, &posing, 1, false, 0);
	open_end(&server, &mine, 1, true, 0);
	shake(&client, &server, 4096);
	assert_int_equal(server.result, -EACCES);
	assert_int_equal(client.result, -EACCES);
	close_end(&client);
	close_end(&server);
}

/* Both tell the same bytes, of each session others, and of each label. */
static void test_export(void **state)
{
	struct secret key = make_secret(1);
	uint8_t ours[2][32], theirs[32], other[32];
	struct end client, server;

	(void)state;
	for (int i = 0; i < 2; i++) {
		open_end(&client, &key, 1, false, 0);
		open_end(&server, &key, 1, true, 0);
		assert_int_equal(secure_export(client.session, "EXPORTER-test", ours[i], 32),
				 -EPROTO);
		assert_string_equal(secure_identity(client.session), "");
		shake(&client, &server, 4096);
		assert_int_equal(secure_export(client.session, "EXPORTER-test", ours[i], 32), 0);
		assert_int_equal(secure_export(server.session, "EXPORTER-test", theirs, 32), 0);
		assert_int_equal(secure_export(server.session, "EXPORTER-other", other, 32), 0);
		assert_memory_equal(ours[i], theirs, 32);
		assert_memory_not_equal(ours[i], other, 32);
		assert_string_equal(secure_identity(client.session), "0100000000000000");
		assert_string_equal(secure_identity(server.session), "0100000000000000");
		close_end(&client);
		close_end(&server);
	}
	assert_memory_not_equal(ours[0], ours[1], 32);
}

/* Keys come and go while sessions are there, and while handshakes are under way. */
static void test_rekey(void **state)
{
	struct secret keys[3] = {make_secret(1), make_secret(2), make_secret(3)};
	struct end client, server;

	(void)state;
	open_end(&client, keys, 2, false, 1);
	open_end(&server, keys, 3, true, 0);
	shake(&client, &server, 4096);
	assert_int_equal(server.result, 0);
	assert_int_equal(secure_rekey(server.secure, keys + 1, 2, NULL), 0); /* numbers change */
	assert_true(secure_known(server.session));
	assert_int_equal(secure_find(server.secure, keys[1].id), 0);
	assert_int_equal(secure_rekey(server.secure, keys, 1, NULL), 0);
	assert_false(secure_known(server.session));
	assert_int_equal(secure_find(server.secure, keys[1].id), secure_keys(server.secure));
	close_end(&client);
	close_end(&server);
	/* Revoked in the middle. */
	open_end(&client, keys, 2, false, 1);
	open_end(&server, keys, 2, true, 0);
	client.result = secure_shake(client.session, &client.err);
	carry(&client, &server, 4096);
	carry(&server, &client, 4096);
	assert_int_equal(secure_rekey(server.secure, keys, 1, NULL), 0);
	carry(&client, &server, 4096);
	assert_int_equal(server.result, -EACCES);
	assert_non_null(strstr(server.err.text, "revoked"));
	close_end(&client);
	close_end(&server);
	/* None is left: nobody comes in, and nothing is shown. */
	open_end(&client, keys, 2, false, 1);
	open_end(&server, keys, 2, true, 0);
	assert_int_equal(secure_rekey(server.secure, NULL, 0, NULL), 0);
	shake(&client, &server, 4096);
	assert_true(server.result < 0);
	assert_true(client.result < 0);
	close_end(&client);
	close_end(&server);
}

static void test_no_tls(void **state)
{
	static const char *const strangers[] = {"GET / HTTP/1.0\r\n\r\n",
						"\x04\x22\x4d\x18\x60\x40\x82 and more of it"};
	struct secret key = make_secret(1);
	struct end end;

	(void)state;
	for (int accepted = 0; accepted < 2; accepted++)
		for (int i = 0; i < 2; i++) {
			open_end(&end, &key, 1, accepted, 0);
			if (!accepted)
				assert_int_equal(secure_shake(end.session, &end.err), 1);
			secure_feed(end.session, strangers[i], strlen(strangers[i]));
			assert_int_equal(secure_shake(end.session, &end.err), -EPROTO);
			assert_non_null(strstr(end.err.text, "speaks no TLS"));
			close_end(&end);
		}
	open_end(&end, &key, 1, false, 0);
	assert_int_equal(secure_shake(end.session, &end.err), 1);
	secure_feed(end.session, secure_refusal, sizeof(secure_refusal));
	assert_int_equal(secure_shake(end.session, &end.err), -EPROTO);
	assert_non_null(strstr(end.err.text, "speaks no TLS"));
	close_end(&end);
}

static void test_first(void **state)
{
	(void)state;
	assert_int_equal(secure_first("", 0), SECURE_FIRST_UNKNOWN);
	assert_int_equal(secure_first("\x16", 1), SECURE_FIRST_UNKNOWN);
	assert_int_equal(secure_first("\x16\x03\x01", 3), SECURE_FIRST_HANDSHAKE);
	assert_int_equal(secure_first(secure_refusal, 2), SECURE_FIRST_REFUSAL);
	assert_int_equal(secure_first("\x04\x22", 2), SECURE_FIRST_OTHER);
	assert_int_equal(secure_first("\x16\x04", 2), SECURE_FIRST_OTHER);
}

static void test_options(void **state)
{
	struct secret key = make_secret(1);
	struct secure_options both = {.secrets = &key, .secret_count = 1, .ca = "ca"};
	struct secure_options half = {.cert = "cert", .ca = "ca"};
	struct secure_options none = {0};
	struct secure *secure;
	struct err_text err = {{0}};

	(void)state;
	assert_false(secure_wanted(&none));
	assert_true(secure_wanted(&half));
	assert_true(secure_wanted(&(struct secure_options){.secret_count = 1}));
	assert_true(secure_wanted(&(struct secure_options){.paired = true}));
	assert_true(secure_wanted(&(struct secure_options){.cert = "cert"}));
	assert_true(secure_wanted(&(struct secure_options){.cert_key = "key"}));
	assert_true(secure_wanted(&(struct secure_options){.ca = "ca"}));
	assert_int_equal(secure_open(&both, &secure, &err), -EINVAL);
	assert_non_null(strstr(err.text, "not both"));
	assert_int_equal(secure_open(&half, &secure, &err), -EINVAL);
	assert_non_null(strstr(err.text, "--cert-key is missing"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first),	  cmocka_unit_test(test_options),
		cmocka_unit_test(test_same_key),  cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_wrong_key), cmocka_unit_test(test_no_tls),
		cmocka_unit_test(test_export),	  cmocka_unit_test(test_rekey),
		cmocka_unit_test(test_little),	  cmocka_unit_test(test_no_reader),
	};
	struct secret key = make_secret(1);
	struct secure_options options = {.secrets = &key, .secret_count = 1};
	struct secure *secure = NULL;
	struct err_text err = {{0}};

	if (secure_open(&options, &secure, &err) == -ENOTSUP) {
		printf("SKIPPED: %s\n", err.text);
		return 77;
	}
	secure_close(secure);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
