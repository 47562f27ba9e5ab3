/*
 * TLS by certificates: which files are taken, what is said of those that are not, and what two ends
 * say of each other's. pem.h has the certificates.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/secure/secure.h"
#include "tests/unit/descriptors.h"
#include "tests/unit/secure/pem.h"
#include "tests/unit/temporary.h"

/* Its path; of eight of them at a time. */
static const char *file(const char *name, const char *text)
{
	static char paths[8][160];
	static unsigned next;
	char *path = paths[next++ % 8];
	FILE *f;

	snprintf(path, sizeof(paths[0]), "%s/%s", temporary_folder, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	assert_int_equal(chmod(path, 0600), 0);
	return path;
}

/* ---- files ---- */

struct sample {
	const char *cert, *cert_key, *ca; /* what the files hold; NULL: there is none */
	int result;
	const char *because; /* %s stands for the folder */
};

static const struct sample samples[] = {
	{good_pem, key_pem, ca_pem, 0, ""},
	{good_pem, other_key_pem, ca_pem, -EINVAL, "%s/key is not the key of the certificate"},
	{good_pem, locked_pem, ca_pem, -EINVAL,
	 "%s/key holds no private key in PEM form (without a password)"},
	{good_pem, "nothing", ca_pem, -EINVAL,
	 "%s/key holds no private key in PEM form (without a password)"},
	{good_pem, NULL, ca_pem, -ENOENT,
	 "cannot open the key of the certificate %s/key: No such file or directory"},
	{"nothing", key_pem, ca_pem, -EINVAL, "%s/cert holds no certificate in PEM form"},
	{NULL, key_pem, ca_pem, -ENOENT,
	 "cannot open the certificate %s/cert: No such file or directory"},
	{old_pem, key_pem, ca_pem, -EINVAL,
	 "the certificate %s/cert has expired on 2021-02-03 04:05 UTC"},
	{early_pem, key_pem, ca_pem, -EINVAL,
	 "the certificate %s/cert is valid only from 2110-01-02 03:04 UTC on, and here it is "},
};

static void put_files(const struct sample *s, struct secure_options *options)
{
	char none[160];

	*options = (struct secure_options){0};
	for (unsigned i = 0; i < 3; i++) {
		snprintf(none, sizeof(none), "%s/%s", temporary_folder,
			 (const char *const[]){"cert", "key", "ca"}[i]);
		remove(none);
	}
	options->cert = file("cert", s->cert ? s->cert : "");
	options->cert_key = file("key", s->cert_key ? s->cert_key : "");
	options->ca = file("ca", s->ca ? s->ca : "");
	if (!s->cert)
		remove(options->cert);
	if (!s->cert_key)
		remove(options->cert_key);
	if (!s->ca)
		remove(options->ca);
}

static void expect_text(const char *text, const char *because)
{
	char expected[400];
	const char *at = strstr(because, "%s");

	snprintf(expected, sizeof(expected), "%.*s%s%s", at ? (int)(at - because) : 0, because,
		 at ? temporary_folder : "", at ? at + 2 : because);
	if (strstr(because, "here it is")) /* and the date of today */
		assert_memory_equal(text, expected, strlen(expected));
	else
		assert_string_equal(text, expected);
}

static void files_are_checked(void **state)
{
	struct secure_options options;
	unsigned descriptors = descriptors_open();

	(void)state;
	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
		const struct sample *s = &samples[i];
		struct err_text err = {{0}}, again = {{0}};
		struct secure *secure = NULL;

		put_files(s, &options);
		assert_int_equal(secure_check_files(options.cert, options.cert_key, &err),
				 s->result);
		expect_text(err.text, s->because);
		assert_int_equal(secure_open(&options, &secure, &again), s->result);
		expect_text(again.text, s->because);
		if (!s->result) {
			assert_int_equal(secure_keys(secure), 1);
			assert_null(secure_remark(secure));
		} else {
			assert_null(secure);
		}
		secure_close(secure);
		assert_int_equal(descriptors_open(), descriptors);
	}
	assert_int_equal(chmod(options.cert_key, 0644), 0);
	put_files(&samples[0], &options);
	assert_int_equal(chmod(options.cert_key, 0644), 0);
	assert_int_equal(secure_check_files(options.cert, options.cert_key, NULL), -EPERM);
}

static void the_ca_is_checked(void **state)
{
	struct secure_options options;
	struct err_text err = {{0}};
	struct secure *secure = NULL;

	(void)state;
	put_files(&(struct sample){good_pem, key_pem, NULL, 0, NULL}, &options);
	assert_int_equal(secure_open(&options, &secure, &err), -ENOENT);
	expect_text(err.text, "cannot open the CA's certificate %s/ca: No such file or directory");
	put_files(&(struct sample){good_pem, key_pem, "nothing", 0, NULL}, &options);
	assert_int_equal(secure_open(&options, &secure, &err), -EINVAL);
	expect_text(err.text, "%s/ca holds no certificate in PEM form");
	assert_null(secure);
}

/* ---- two ends ---- */

struct end {
	struct secure *secure;
	struct secure_session *session;
	struct err_text err;
	int result;
};

static void open_end(struct end *e, const struct secure_options *options, bool accepted)
{
	*e = (struct end){.result = 1};
	if (secure_open(options, &e->secure, &e->err) < 0)
		fail_msg("%s", e->err.text);
	e->session = secure_session_new(e->secure, accepted, 0);
	assert_non_null(e->session);
}

static void close_end(struct end *e)
{
	secure_session_free(e->session);
	secure_close(e->secure);
}

static void carry(struct end *from, struct end *to)
{
	size_t n;
	const uint8_t *data = secure_output(from->session, &n);
	uint8_t byte;
	ssize_t got;

	if (!n)
		return;
	secure_feed(to->session, data, n);
	if (to->result == 1)
		to->result = secure_shake(to->session, &to->err);
	else if (!to->result && (got = secure_read(to->session, &byte, 1, &to->err)) < 0)
		to->result = (int)got; /* what the client is told behind its own end */
	secure_sent(from->session, n);
}

static void shake(struct end *client, struct end *server)
{
	client->result = secure_shake(client->session, &client->err);
	for (int i = 0; i < 20; i++) {
		carry(client, server);
		carry(server, client);
		if (client->result == 1 && secure_blocked(client->session))
			client->result = secure_shake(client->session, &client->err);
		if (server->result == 1 && secure_blocked(server->session))
			server->result = secure_shake(server->session, &server->err);
	}
}

static const struct {
	const char *client, *client_ca, *server, *server_ca;
	int client_result, server_result;
	const char *client_text, *server_text;
} pairs[] = {
	{good_pem, ca_pem, good_pem, ca_pem, 0, 0, "", ""},
	{good_pem, ca_pem, server_pem, ca_pem, 0, 0, "", ""},
	{server_pem, ca_pem, good_pem, ca_pem, -EACCES, -EACCES, "it refuses our certificate",
	 "its certificate is made for another purpose: give it both, serverAuth and clientAuth"},
	{self_pem, ca_pem, good_pem, ca_pem, -EACCES, -EACCES,
	 "it says that our certificate is not signed by its CA",
	 "its certificate is not signed by our CA"},
	{good_pem, ca_pem, self_pem, ca_pem, -EACCES, -EACCES,
	 "its certificate is not signed by our CA",
	 "it says that our certificate is not signed by its CA"},
	{good_pem, self_pem, good_pem, ca_pem, -EACCES, -EACCES,
	 "its certificate is not signed by our CA",
	 "it says that our certificate is not signed by its CA"},
};

static void ends_tell_why(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		struct secure_options ours = {.cert = file("c", pairs[i].client),
					      .cert_key = file("ck", key_pem),
					      .ca = file("cca", pairs[i].client_ca)},
				      theirs = {.cert = file("s", pairs[i].server),
						.cert_key = file("sk", key_pem),
						.ca = file("sca", pairs[i].server_ca)};
		struct end client, server;

		open_end(&client, &ours, false);
		open_end(&server, &theirs, true);
		shake(&client, &server);
		assert_string_equal(client.err.text, pairs[i].client_text);
		assert_string_equal(server.err.text, pairs[i].server_text);
		assert_int_equal(client.result, pairs[i].client_result);
		assert_int_equal(server.result, pairs[i].server_result);
		if (!client.result) {
			assert_true(secure_known(client.session));
			assert_string_equal(secure_identity(client.session), "");
			assert_int_equal(secure_rest(server.session), 0);
		}
		close_end(&client);
		close_end(&server);
	}
}

/* One has a key, the other one a certificate. */
static void kinds_do_not_mix(void **state)
{
	struct secret key = {.key_length = 32, .name = "test", .id = {1}};
	struct secure_options by_key = {.secrets = &key, .secret_count = 1},
			      by_file = {.cert = file("c", good_pem),
					 .cert_key = file("ck", key_pem),
					 .ca = file("ca", ca_pem)};
	struct end client, server;

	(void)state;
	open_end(&client, &by_key, false);
	open_end(&server, &by_file, true);
	shake(&client, &server);
	assert_int_equal(client.result, -EACCES);
	assert_string_equal(client.err.text,
			    "it shows a certificate, and does not have our key (--key)");
	assert_int_equal(server.result, -EACCES);
	assert_string_equal(server.err.text,
			    "it says that our certificate is not signed by its CA");
	close_end(&client);
	close_end(&server);
	for (int paired = 0; paired < 2; paired++) {
		by_key.paired = paired;
		open_end(&client, &by_file, false);
		open_end(&server, &by_key, true);
		shake(&client, &server);
		assert_int_equal(server.result, -EACCES);
		assert_string_equal(
			server.err.text,
			paired ? "it has no key: 'agent pair CODE' makes one, with the code of "
				 "'collector pair'"
			       : "it has no key (--key); does it have a certificate instead?");
		assert_int_equal(client.result, -EACCES);
		assert_string_equal(
			client.err.text,
			"it does not take our certificate: does it want a key (--key)?");
		close_end(&client);
		close_end(&server);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(files_are_checked),
		TEST_IN_FOLDER(the_ca_is_checked),
		TEST_IN_FOLDER(ends_tell_why),
		TEST_IN_FOLDER(kinds_do_not_mix),
	};

	if (secure_check_files("", "", NULL) == -ENOTSUP) {
		puts("SKIPPED: this build has no OpenSSL");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
