/* The REST API and its connections: hostile requests, readers that stall or leave, and the end. */
#include "tests/unit/http/rest.h"

#include <errno.h>

static void say(int fd, const char *text)
{
	client_send(fd, text, strlen(text));
}

static void test_methods_and_hosts(void **state)
{
	struct answer a;
	int fd;

	(void)state;
	raw("POST /list HTTP/1.1\r\nContent-Length: 0\r\n" HOST, 405);
	raw("DELETE /list HTTP/1.1\r\n" HOST, 0);
	raw("GET /list HTTP/1.1\r\nHost: evil.example\r\n\r\n", 403);
	raw("GET /list HTTP/1.1\r\nHost: 127.0.0.1.evil.example\r\n\r\n", 403);
	raw("GET /list HTTP/1.1\r\nHost: localhost.evil.example\r\n\r\n", 403);
	raw("GET /list HTTP/1.1\r\nHost: 127.0.0.1:1234\r\n\r\n", 200);
	raw("GET /list HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", 200);
	raw("GET /list HTTP/1.0\r\n\r\n", 200);
	raw("GET /data/last/allocations HTTP/1.0\r\n\r\n", 200);
	/* Two on one connection, a long answer before a short one, and HEAD. */
	fd = client_connect(http_port(http));
	say(fd, "GET /data/last/allocations?count=3000 HTTP/1.1\r\n" HOST);
	client_read(fd, &a, false);
	assert_int_equal(a.status, 200);
	assert_true(a.complete);
	buf_done(&a.body);
	say(fd, "HEAD /list HTTP/1.1\r\n" HOST);
	client_read(fd, &a, true);
	assert_int_equal(a.status, 200);
	say(fd, "GET /list HTTP/1.1\r\n" HOST);
	client_read(fd, &a, false);
	assert_int_equal(a.status, 200);
	buf_done(&a.body);
	close(fd);
}

/* A request with a body that does not wait for the answer before: the connection ends, and
 * everybody else is answered as ever. */
static void test_bodies_that_come_early(void **state)
{
	static const char *const early[] = {
		"POST /data/last/sql HTTP/1.1\r\nContent-Length: 8\r\n" HOST "SELECT 1",
		"POST /data/last/control HTTP/1.1\r\nContent-Length: 8\r\n" HOST "SELECT 1",
		"POST /list HTTP/1.1\r\nContent-Length: 8\r\n" HOST "SELECT 1",
		"PUT /list HTTP/1.1\r\nContent-Length: 8\r\n" HOST "SELECT 1",
		"GET /list HTTP/1.1\r\nContent-Length: 8\r\n" HOST "SELECT 1",
		"POST /data/last/sql HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" HOST
		"8\r\nSELECT 1\r\n0\r\n\r\n",
		"POST /data/last/sql HTTP/1.1\r\nContent-Length: 8\r\n" HOST,
	};
	static const char *const first[] = {
		"GET /list HTTP/1.1\r\n" HOST,
		"GET /nowhere HTTP/1.1\r\n" HOST,
		"POST /data/last/sql HTTP/1.1\r\nContent-Length: 8\r\n" HOST "SELECT 2",
	};
	char text[1000];
	struct answer a;
	int fd;

	(void)state;
	for (size_t i = 0; i < sizeof(early) / sizeof(early[0]); i++)
		for (size_t k = 0; k < sizeof(first) / sizeof(first[0]); k++) {
			snprintf(text, sizeof(text), "%s%s", first[k], early[i]);
			fd = client_connect(http_port(http));
			say(fd, text);
			client_read(fd, &a, false);
			assert_int_equal(a.status, k == 1 ? 404 : 200);
			buf_done(&a.body);
			close(fd);
			json_decref(get_json("/list", 200));
		}
	/* One that waits is answered. */
	fd = client_connect(http_port(http));
	for (size_t k = 0; k < 4; k++) {
		say(fd, first[k % 2 * 2]);
		client_read(fd, &a, false);
		assert_int_equal(a.status, 200);
		buf_done(&a.body);
	}
	close(fd);
}

__attribute__((format(printf, 2, 3))) static size_t put(char *to, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(to, 200, format, args);
	va_end(args);
	return (size_t)n;
}

static void test_hostile(void **state)
{
	static const char nul[] = "GET /data/last\0/allocations HTTP/1.1\r\n" HOST;
	char *text = malloc(300000);
	struct answer a;
	size_t n;

	(void)state;
	raw("GET /list%00x HTTP/1.1\r\n" HOST, 0);
	raw("GET /list?a%00b=1 HTTP/1.1\r\n" HOST, 0);
	raw("GET /%zz HTTP/1.1\r\n" HOST, 0);
	raw("GET /% HTTP/1.1\r\n" HOST, 0);
	raw("GET /../../etc/passwd HTTP/1.1\r\n" HOST, 0);
	raw("GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\n" HOST, 0);
	raw("GET /data/..%2f..%2f/allocations HTTP/1.1\r\n" HOST, 0);
	raw("GET /data/%2Fetc%2Fpasswd/allocations HTTP/1.1\r\n" HOST, 0);
	raw("GET\r\n\r\n", 0);
	raw("\r\n\r\n\r\n", 0);
	raw("\x16\x03\x01\x02\x01\x01", 0);
	raw("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 0);
	client_raw(http_port(http), nul, sizeof(nul) - 1, &a);
	assert_true(a.status == 0 || a.status >= 400);
	buf_done(&a.body);
	/* A long path, a long parameter, many parameters, many headers. */
	n = put(text, "GET /");
	memset(text + n, 'a', 200000);
	snprintf(text + n + 200000, 64, " HTTP/1.1\r\n" HOST);
	raw(text, 0);
	n = put(text, "GET /data/last/allocations?function_regex=");
	memset(text + n, 'a', 200000);
	snprintf(text + n + 200000, 64, " HTTP/1.1\r\n" HOST);
	raw(text, 0);
	n = put(text, "GET /data/last/allocations?");
	for (unsigned i = 0; i < 2000; i++)
		n += put(text + n, "a&");
	snprintf(text + n, 64, " HTTP/1.1\r\n" HOST);
	raw(text, 0);
	n = put(text, "GET /list HTTP/1.1\r\n");
	for (unsigned i = 0; i < 5000; i++)
		n += put(text + n, "X-Header-%u: %u\r\n", i, i);
	snprintf(text + n, 64, HOST);
	raw(text, 0);
	free(text);
	json_decref(get_json("/list", 200));
}

static void test_readers_that_leave(void **state)
{
	int fds[60];
	struct answer a;

	(void)state;
	for (unsigned i = 0; i < 60; i++) {
		static const char request[] = "GET /data/last/allocations HTTP/1.1\r\n" HOST;
		char some[100];

		fds[i] = client_connect(http_port(http));
		client_send(fds[i], request, sizeof(request) - 1);
		if (i % 3 == 0)
			close(fds[i]);
		else if (i % 3 == 1)
			assert_true(recv(fds[i], some, sizeof(some), 0) > 0);
	}
	/* Those that read nothing hold nobody up. */
	json_decref(get_json("/data/last/allocations?count=10", 200));
	for (unsigned i = 0; i < 60; i++)
		if (i % 3 == 1)
			close(fds[i]);
	for (unsigned i = 2; i < 60; i += 3) {
		client_read(fds[i], &a, false);
		assert_true(a.complete);
		buf_done(&a.body);
		close(fds[i]);
	}
}

/* The other server is stopped in the middle of everything. */
static void test_stop(void **state)
{
	static const char request[] = "GET /data/last/allocations?sort_by=size HTTP/1.1\r\n" HOST;
	const char *files[] = {path, NULL};
	struct http_options options = {.files = files};
	struct http *other;
	struct err_text err = {0};
	int fds[20];

	(void)state;
	assert_int_equal(http_start(&options, &other, &err), 0);
	for (unsigned i = 0; i < 20; i++) {
		fds[i] = client_connect(http_port(other));
		client_send(fds[i], request, i ? sizeof(request) - 1 : 10);
	}
	usleep(20000);
	http_stop(other);
	for (unsigned i = 0; i < 20; i++)
		close(fds[i]);
}

static void test_start_errors(void **state)
{
	const char *files[] = {"/nowhere/x.heapcast", NULL};
	struct http_options options = {.port = http_port(http)};
	struct http *other;
	struct err_text err = {0};

	(void)state;
	assert_int_equal(http_start(&options, &other, &err), -EADDRINUSE);
	assert_non_null(strstr(err.text, "in use"));
	options.address = "not an address";
	assert_int_equal(http_start(&options, &other, &err), -EINVAL);
	options = (struct http_options){.files = files};
	assert_int_equal(http_start(&options, &other, &err), -ENOENT);
	assert_non_null(strstr(err.text, "/nowhere/x.heapcast"));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_methods_and_hosts),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_readers_that_leave),
		cmocka_unit_test(test_bodies_that_come_early),
		cmocka_unit_test(test_stop),
		cmocka_unit_test(test_start_errors),
	};

	if (is_symbols_worker(argc, argv))
		return symbols_worker_main();
	return cmocka_run_group_tests(tests, start, stop);
}
