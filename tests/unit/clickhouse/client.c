/*
 * The client against a server that answers as it is told: cut, spoilt, endless or no answers. What
 * counts is which kind of error each becomes, and that rows are never sent twice.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/error.h"
#include "collector/clickhouse/client.h"
#include "collector/clickhouse/shards.h"

/* One answer a request; NULL: the connection is closed without one; SILENT: nothing comes. */
#define SILENT ((const char *)1)

struct server {
	int listener;
	uint16_t port;
	pthread_t thread;
	const char *answers[8];
	size_t count;
	atomic_size_t requests, connections;
	char last[8192]; /* request */
};

static struct server server;
static struct clickhouse *client;
static struct err_text err;

/* Reads one request: its header, and as many bytes as that says. Returns false at the end. */
static bool server_read(int fd)
{
	size_t n = 0, wanted = SIZE_MAX;

	while (n < wanted && n + 1 < sizeof(server.last)) {
		ssize_t r = read(fd, server.last + n, sizeof(server.last) - 1 - n);
		char *end, *length;

		if (r <= 0)
			return false;
		n += (size_t)r;
		server.last[n] = '\0';
		end = strstr(server.last, "\r\n\r\n");
		length = strcasestr(server.last, "Content-Length: ");
		if (end && length)
			wanted = (size_t)(end + 4 - server.last) + strtoul(length + 16, NULL, 10);
	}
	return true;
}

/* Adds the length of the body to an answer that has none. */
static bool server_write(int fd, const char *answer)
{
	const char *body = strstr(answer, "\r\n\r\n");
	char text[1024];
	int n;

	if (body && !strstr(answer, "Content-Length"))
		n = snprintf(text, sizeof(text), "%.*s\r\nContent-Length: %zu%s",
			     (int)(body - answer), answer, strlen(body + 4), body);
	else
		n = snprintf(text, sizeof(text), "%s", answer);
	return write(fd, text, (size_t)n) == n && !strstr(answer, "close");
}

static void server_talk(int fd)
{
	while (server_read(fd)) {
		size_t i = atomic_fetch_add(&server.requests, 1);
		const char *answer = i < server.count ? server.answers[i] : NULL;

		if (!answer)
			return;
		if (answer == SILENT) {
			while (server_read(fd))
				;
			return;
		}
		if (!server_write(fd, answer))
			return;
	}
}

static void *server_run(void *unused)
{
	(void)unused;
	for (;;) {
		int fd = accept(server.listener, NULL, NULL);

		if (fd < 0)
			return NULL;
		atomic_fetch_add(&server.connections, 1);
		server_talk(fd);
		close(fd);
	}
}

static void listen_on_loopback(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(at);

	server.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(server.listener >= 0);
	assert_int_equal(bind(server.listener, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(server.listener, 8), 0);
	assert_int_equal(getsockname(server.listener, (struct sockaddr *)&at, &length), 0);
	server.port = ntohs(at.sin_port);
}

/* A server with these answers, and a client of it. */
static void begin(size_t count, const char *const *answers)
{
	struct clickhouse_url url = {.user = "me", .password = "hush", .database = "db"};

	memset(&server, 0, sizeof(server));
	memcpy(server.answers, answers, count * sizeof(*answers));
	server.count = count;
	listen_on_loopback();
	assert_int_equal(pthread_create(&server.thread, NULL, server_run, NULL), 0);
	url.count = 1;
	url.hosts[0] = (struct clickhouse_host){.name = "127.0.0.1", .port = server.port};
	err.text[0] = '\0';
	assert_int_equal(clickhouse_open(&url, &client, &err), 0);
	clickhouse_set_patience(client, 20000, 20000);
}

static void stop_listening(void)
{
	shutdown(server.listener, SHUT_RDWR);
	pthread_join(server.thread, NULL);
	close(server.listener);
}

static void end(void)
{
	clickhouse_close(client);
	client = NULL;
	stop_listening();
}

#define OK(body) "HTTP/1.1 200 OK\r\n\r\n" body
#define BEGIN(...)                                                                                 \
	begin(sizeof((const char *[]){__VA_ARGS__}) / sizeof(const char *),                        \
	      (const char *[]){__VA_ARGS__})

static int ask(size_t most, char *out, size_t size)
{
	struct buf answer = {.limit = most};
	int r = clickhouse_query(client, 0, "SELECT 1", NULL, 0, &answer, &err);

	if (out)
		snprintf(out, size, "%.*s", (int)answer.length,
			 answer.data ? (const char *)answer.data : "");
	buf_done(&answer);
	assert_null(strstr(err.text, "hush"));
	return r;
}

static int insert(void)
{
	return clickhouse_query(client, 0, "INSERT INTO t FORMAT RowBinary", "rows", 4, NULL, &err);
}

static void test_request(void **state)
{
	char got[64];

	(void)state;
	BEGIN(OK("hello"), OK(""));
	assert_int_equal(ask(64, got, sizeof(got)), 0);
	assert_string_equal(got, "hello");
	assert_non_null(strstr(server.last, "POST /?wait_end_of_query=1"));
	assert_non_null(strstr(server.last, "&database=db"));
	assert_non_null(strstr(server.last, "X-ClickHouse-User: me\r\n"));
	assert_non_null(strstr(server.last, "X-ClickHouse-Key: hush\r\n"));
	assert_non_null(strstr(server.last, "\r\n\r\nSELECT 1"));
	assert_null(strstr(server.last, "Expect"));
	assert_int_equal(insert(), 0);
	assert_non_null(strstr(server.last, "&query=INSERT%20INTO%20t%20FORMAT%20RowBinary"));
	assert_non_null(strstr(server.last, "\r\n\r\nrows"));
	assert_int_equal(server.connections, 1); /* it is kept */
	end();
}

/* Numbers are a form, as a browser would send it: ClickHouse's manual, "External Data". */
static void test_numbers(void **state)
{
	static const uint64_t numbers[] = {0, 7, UINT64_MAX};
	struct buf answer = {.limit = 64};

	(void)state;
	BEGIN(OK("hello"), OK(""), OK(""), NULL, OK("again"), OK(""), SILENT);
	assert_int_equal(
		clickhouse_query_about(client, 0, "SELECT n IN numbers", numbers, 3, &answer, &err),
		0);
	assert_string_equal(buf_text(&answer), "hello");
	assert_non_null(strstr(server.last, "&database=db"));
	assert_non_null(strstr(server.last, "&query=SELECT%20n%20IN%20numbers"
					    "&numbers_structure=number+UInt64"
					    "&numbers_format=TabSeparated "));
	assert_non_null(strstr(server.last, "X-ClickHouse-Key: hush\r\n"));
	assert_non_null(strstr(server.last, "Content-Type: multipart/form-data; "
					    "boundary=heapcast-numbers\r\n"));
	assert_non_null(strstr(server.last, "\r\n\r\n--heapcast-numbers\r\n"
					    "Content-Disposition: form-data; name=\"numbers\"; "
					    "filename=\"numbers\"\r\n\r\n"
					    "0\n7\n18446744073709551615\n"
					    "\r\n--heapcast-numbers--\r\n"));
	assert_int_equal(clickhouse_query_about(client, 0, "SELECT 2", NULL, 0, &answer, &err), 0);
	assert_int_equal(ask(64, NULL, 0), 0); /* the next request is no form */
	assert_non_null(strstr(server.last, "Content-Type: application/octet-stream\r\n"));
	/* It may be asked again, and has not lost anything where no answer comes. */
	assert_int_equal(clickhouse_query_about(client, 0, "SELECT 3", numbers, 3, &answer, &err),
			 0);
	assert_string_equal(buf_text(&answer), "helloagain");
	buf_done(&answer);
	assert_int_equal(ask(64, NULL, 0), 0);
	clickhouse_set_patience(client, 20000, 200);
	assert_int_equal(ask(64, NULL, 0), -ETIMEDOUT);
	assert_non_null(strstr(err.text, "does not answer"));
	end();
}

static void test_unreachable(void **state)
{
	(void)state;
	BEGIN(OK(""));
	stop_listening();
	assert_int_equal(insert(), -EHOSTUNREACH);
	assert_non_null(strstr(err.text, "127.0.0.1:"));
	clickhouse_close(client);
}

/* The connection breaks after the rows were sent: who knows what became of them. */
static void test_unknown(void **state)
{
	(void)state;
	BEGIN(NULL);
	assert_int_equal(insert(), -ETIMEDOUT);
	assert_int_equal(server.requests, 1);
	end();
	BEGIN("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nclose");
	assert_int_equal(ask(1000, NULL, 0), -ETIMEDOUT);
	end();
	BEGIN(SILENT);
	clickhouse_set_patience(client, 20000, 200);
	assert_int_equal(insert(), -ETIMEDOUT);
	end();
}

/* A kept connection breaks: libcurl by itself would send the rows once more. */
static void test_sent_once(void **state)
{
	(void)state;
	BEGIN(OK(""), NULL, OK(""));
	assert_int_equal(ask(64, NULL, 0), 0);
	assert_int_equal(insert(), -ETIMEDOUT);
	assert_int_equal(server.requests, 2);
	assert_int_equal(ask(64, NULL, 0), 0);
	end();
	BEGIN(OK(""), NULL, OK("ok")); /* a question may be asked again */
	assert_int_equal(ask(64, NULL, 0), 0);
	assert_int_equal(ask(64, NULL, 0), 0);
	end();
}

static void test_refused(void **state)
{
	char got[64];

	(void)state;
	BEGIN("HTTP/1.1 404 Not Found\r\n\r\n"
	      "Code: 60, e.displayText() = DB::Exception: no, e.what() = DB::E\n",
	      "HTTP/1.1 500 Oh\r\n\r\nCode: 252. DB::Exception: many",
	      "HTTP/1.1 502 Bad Gateway\r\n\r\n<html>\x1b[1m\nb",
	      "HTTP/1.1 403 No\r\n\r\nX-ClickHouse-Key: hush");
	assert_int_equal(insert(), -EREMOTEIO);
	assert_int_equal(clickhouse_code(client), 60);
	assert_non_null(strstr(err.text, "no (code 60)"));
	assert_int_equal(ask(64, got, sizeof(got)), -EAGAIN);
	assert_string_equal(got, "");
	assert_int_equal(clickhouse_code(client), 252);
	assert_int_equal(insert(), -ETIMEDOUT);
	assert_int_equal(clickhouse_code(client), 0);
	assert_null(strchr(err.text, 0x1b));
	assert_int_equal(ask(64, NULL, 0), -EACCES);
	end();
}

static void test_appended(void **state)
{
	char got[64];

	(void)state;
	BEGIN(OK("\x01\x02"
		 "Code: 395, e.displayText() = DB::Exception: late"));
	assert_int_equal(ask(1000, got, sizeof(got)), -EREMOTEIO);
	assert_int_equal(clickhouse_code(client), 395);
	assert_string_equal(got, "");
	end();
}

static void test_too_large(void **state)
{
	(void)state;
	BEGIN(OK("0123456789"), OK("0123456789"));
	assert_int_equal(ask(9, NULL, 0), -EMSGSIZE);
	assert_non_null(strstr(err.text, "more than 9 bytes"));
	assert_int_equal(ask(10, NULL, 0), 0);
	end();
}

static void test_no_clickhouse(void **state)
{
	(void)state;
	BEGIN("SSH-2.0-OpenSSH_9.2\r\nclose");
	assert_int_equal(ask(64, NULL, 0), -EPROTO);
	end();
	BEGIN(OK("html"), OK("html"));
	assert_int_equal(clickhouse_prepare(client, &err), -EPROTO);
	end();
}

static void *stop_it(void *unused)
{
	(void)unused;
	while (!atomic_load(&server.requests))
		usleep(1000);
	clickhouse_stop(client);
	return NULL;
}

static void test_stopped(void **state)
{
	pthread_t thread;

	(void)state;
	BEGIN(SILENT);
	assert_int_equal(pthread_create(&thread, NULL, stop_it, NULL), 0);
	assert_int_equal(insert(), -ECANCELED);
	pthread_join(thread, NULL);
	assert_int_equal(insert(), -ECANCELED);
	assert_int_equal(server.requests, 1);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_request),	      cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_unreachable),   cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_sent_once),     cmocka_unit_test(test_refused),
		cmocka_unit_test(test_appended),      cmocka_unit_test(test_too_large),
		cmocka_unit_test(test_no_clickhouse), cmocka_unit_test(test_stopped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
