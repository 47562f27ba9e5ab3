/* The REST API over a real connection: fields, pages, errors; hostile requests; readers that stall
 * or leave. */
#include <errno.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collector/columns/row_block.h"
#include "collector/http/server/http.h"
#include "collector/page/page.h"
#include "collector/recording/recording.h"
#include "collector/recording/row_reader.h"
#include "collector/recording/stream_id.h"
#include "tests/unit/http/client.h"
#include "tests/unit/query/recording.h"
#include "proto/columns.h"

#define SEED   11
#define EVENTS 5000

static struct http *http;
static struct test_recording t;
static char *path;
static char id[STREAM_ID_TEXT];

static int start(void **state)
{
	static const char *files[2];
	struct stack_node nodes[TEST_NODES];
	struct builder b;
	uint64_t random = SEED;
	struct err_text err = {0};
	struct http_options options = {.token = CLIENT_TOKEN, .files = files};

	(void)state;
	builder_init(&b, SEED);
	test_nodes(nodes, &random);
	test_first_batch(&b, nodes, TEST_NODES, "/nowhere/<script>alert(1)</script>.so", 0, false);
	test_random_events(&b, &random, EVENTS, false);
	builder_end(&b, 0);
	path = builder_save(&b, b.file.length);
	test_open(&t, &b);
	builder_done(&b);
	stream_id_format(id, recording_id(t.recording));
	files[0] = path;
	if (http_start(&options, &http, &err) < 0)
		fail_msg("%s", err.text);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	http_stop(http);
	test_close(&t);
	unlink(path);
	free(path);
	return 0;
}

static json_t *get_json(const char *target, int status)
{
	struct answer a;
	json_error_t error;
	json_t *json;

	client_get(http_port(http), target, &a);
	if (a.status != status || !a.complete)
		fail_msg("%s: status %d, complete %d: %.200s", target, a.status, a.complete,
			 (char *)a.body.data);
	json = json_loadb((char *)a.body.data, a.body.length, 0, &error);
	if (!json)
		fail_msg("%s: %s: %.200s", target, error.text, (char *)a.body.data);
	assert_non_null(strstr(a.head, "application/json"));
	buf_done(&a.body);
	return json;
}

static json_int_t number(const json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);

	if (!json_is_integer(value))
		fail_msg("%s is missing or no integer", key);
	return json_integer_value(value);
}

static void test_list(void **state)
{
	json_t *list = get_json("/list", 200), *line = json_array_get(list, 0);

	(void)state;
	assert_int_equal(json_array_size(list), 1);
	assert_string_equal(json_string_value(json_object_get(line, "id")), id);
	assert_string_equal(json_string_value(json_object_get(line, "executable")),
			    "/usr/bin/example");
	assert_string_equal(json_string_value(json_object_get(line, "state")), "ended");
	assert_true(number(line, "final_allocated_count") > 0);
	assert_true(number(line, "unique_backtrace_count") > 10);
	assert_true(number(line, "maximum_backtrace_depth") > 1);
	assert_true(json_is_true(json_object_get(line, "watched_from_start")));
	assert_true(json_is_true(json_object_get(line, "watched_to_end")));
	assert_int_equal(number(json_object_get(line, "timestamp"), "secs"), 1700000000);
	json_decref(list);
}

static void check_allocation(struct row_reader *reader, const json_t *a)
{
	uint64_t row = (uint64_t)number(a, "id");
	const struct row_block *block =
		row_reader_block(reader, (uint32_t)(row / ROWS_PER_BLOCK), ROWS_ALL, NULL);
	uint32_t i = (uint32_t)(row % ROWS_PER_BLOCK);
	json_t *death = json_object_get(a, "deallocation");
	char text[24];

	assert_int_equal(number(a, "address"), block->address[i]);
	snprintf(text, sizeof(text), "%016llX", (unsigned long long)block->address[i]);
	assert_string_equal(json_string_value(json_object_get(a, "address_s")), text);
	assert_int_equal(number(a, "size"), block->size[i]);
	assert_int_equal(number(a, "backtrace_id"), block->stack[i]);
	assert_int_equal(number(json_object_get(a, "timestamp_relative"), "fract_nsecs"),
			 block->birth_ns[i] % 1000000000);
	assert_int_equal(!death, block->end[i] == BLOCK_IN_USE);
	if (death && block->death_stack[i])
		assert_int_equal(number(death, "backtrace_id"), block->death_stack[i]);
	assert_int_equal(json_array_size(json_object_get(a, "backtrace")) > 0,
			 block->stack[i] != 0);
	assert_true(number(a, "position_in_chain") < number(a, "chain_length"));
	assert_int_equal(number(a, "position_in_chain") > 0, block->chain_previous[i] != NO_BLOCK);
	assert_int_equal(number(a, "position_in_chain") + 1 < number(a, "chain_length"),
			 block->chain_next[i] != NO_BLOCK);
}

static void test_allocations(void **state)
{
	json_t *all = get_json("/data/last/allocations", 200),
	       *list = json_object_get(all, "allocations"), *a;
	uint64_t rows = recording_rows(t.recording);
	struct row_reader *reader;
	size_t i;

	(void)state;
	assert_int_equal(number(all, "total_count"), rows);
	assert_int_equal(json_array_size(list), rows);
	assert_int_equal(row_reader_new(t.recording, &reader), 0);
	json_array_foreach(list, i, a)
	{
		assert_int_equal(number(a, "id"), i);
		check_allocation(reader, a);
	}
	row_reader_free(reader);
	json_decref(all);
}

static void test_pages(void **state)
{
	char target[256];
	json_int_t last = INT64_MAX;
	size_t seen = 0;

	(void)state;
	for (unsigned skip = 0; skip < 500; skip += 50) {
		json_t *page, *list, *a;
		size_t i;

		snprintf(target, sizeof(target),
			 "/data/%.10s/"
			 "allocations?sort_by=size&order=dsc&skip=%u&count=50&size_min=100",
			 id, skip);
		page = get_json(target, 200);
		list = json_object_get(page, "allocations");
		json_array_foreach(list, i, a)
		{
			assert_true(number(a, "size") <= last && number(a, "size") >= 100);
			last = number(a, "size");
			seen++;
		}
		json_decref(page);
	}
	assert_int_equal(seen, 500);
	json_decref(get_json("/data/last/allocations?count=0", 200));
	json_decref(get_json("/data/last/allocations?skip=18446744073709551615", 200));
	json_decref(get_json("/data/last/allocations?sort_by=address&count=1&lifetime=only_leaked",
			     200));
	json_decref(get_json("/data/last/allocations?function_regex=%5Btruncated%5D&count=1", 200));
}

static void test_other_paths(void **state)
{
	json_t *json = get_json("/data/last/backtrace/5", 200);
	struct answer a;

	(void)state;
	assert_true(json_array_size(json_object_get(json, "frames")) > 0);
	json_decref(json);
	client_get(http_port(http), "/data/last/export/flamegraph?lifetime=only_leaked", &a);
	assert_int_equal(a.status, 200);
	assert_non_null(strstr((char *)a.body.data, "<svg"));
	assert_null(strstr((char *)a.body.data, "<script>alert(1)"));
	buf_done(&a.body);
	client_get(http_port(http),
		   "/data/last/export/flamegraph/flame.svg?value=peak&weight=blocks", &a);
	assert_int_equal(a.status, 200);
	buf_done(&a.body);
	client_get(http_port(http), "/data/last/export/flamegraph.pl", &a);
	assert_int_equal(a.status, 200);
	assert_non_null(strstr((char *)a.body.data, ";"));
	buf_done(&a.body);
	client_get(http_port(http), "/", &a);
	assert_int_equal(a.status, 200);
	assert_non_null(strcasestr((char *)a.body.data, "<!doctype html>"));
	buf_done(&a.body);
}

static void refused(const char *target, int status, const char *parameter, const char *sentence)
{
	json_t *json = get_json(target, status);
	const char *error = json_string_value(json_object_get(json, "error"));
	const char *named = json_string_value(json_object_get(json, "parameter"));

	if (!error || !strstr(error, sentence))
		fail_msg("%s: \"%s\" does not say \"%s\"", target, error ? error : "", sentence);
	if (parameter && (!named || strcmp(named, parameter) != 0))
		fail_msg("%s: names \"%s\", not \"%s\"", target, named ? named : "", parameter);
	json_decref(json);
}

static void test_errors(void **state)
{
	(void)state;
	refused("/data/last/allocations?size_min=big", 400, "size_min", "takes a size");
	refused("/data/last/allocations?sort_by=age", 400, "sort_by", "timestamp, address or size");
	refused("/data/last/allocations?order=up", 400, "order", "asc or dsc");
	refused("/data/last/allocations?count=-1", 400, "count", "whole number");
	refused("/data/last/allocations?count=99999999999999999999999999999", 400, "count",
		"whole number");
	refused("/data/last/allocations?colour=red", 400, "colour", "no parameter is called");
	refused("/data/last/allocations?size-min=1", 400, "size-min", "no parameter is called");
	refused("/data/last/allocations?function_regex=(", 400, "function_regex",
		"regular expression");
	refused("/data/last/export/flamegraph?value=all", 400, "value", "allocated");
	refused("/data/last/export/flamegraph?at=tea", 400, "at", "takes a time");
	refused("/data/last/backtrace/999999", 404, "backtrace_id", "id of a backtrace");
	refused("/data/last/backtrace/x", 404, "backtrace_id", "id of a backtrace");
	refused("/data/last/backtrace", 404, NULL, "nothing is served");
	refused("/data/ffffffff/allocations", 404, "id", "no recording begins");
	refused("/data/LAST/allocations", 404, "id", "hexadecimal");
	refused("/data//allocations", 404, NULL, "nothing is served");
	refused("/data/last", 404, NULL, "nothing is served");
	refused("/data/last/", 404, NULL, "nothing is served");
	refused("/list/x", 404, NULL, "nothing is served");
	refused("/list?x=1", 400, "x", "takes no parameters");
	refused("/favicon.ico", 404, NULL, "nothing is served");
}

static void raw(const char *text, int status)
{
	struct answer a;

	client_raw(http_port(http), text, strlen(text), &a);
	if (status ? a.status != status : a.status && a.status < 400)
		fail_msg("%.60s: status %d, not %d", text, a.status, status);
	buf_done(&a.body);
}

#define HOST "Host: localhost\r\n\r\n"

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

/* Every path of the description answers, and every parameter of it is refused by name where it is
 * nonsense, or taken. */
static void check_parameter(const char *where, const char *name)
{
	char target[256];
	struct answer a;

	snprintf(target, sizeof(target), "%s%c%s=%%01", where, strchr(where, '?') ? '&' : '?',
		 name);
	client_get(http_port(http), target, &a);
	if (a.status != 200 &&
	    ((a.status != 400 && a.status != 404) || !strstr((char *)a.body.data, name)))
		fail_msg("%s: status %d: %.200s", target, a.status, (char *)a.body.data);
	if (a.status == 400 && strstr((char *)a.body.data, "no parameter is called"))
		fail_msg("%s is described and not there", target);
	buf_done(&a.body);
}

static void check_path(const char *where, const json_t *parameters)
{
	char target[200];
	struct answer a;
	size_t i;
	json_t *parameter;

	snprintf(target, sizeof(target), "%s", where);
	if (strstr(where, "{id}"))
		snprintf(target, sizeof(target), "/data/last/%s", where + strlen("/data/{id}/"));
	if (strstr(target, "{number}"))
		return;
	if (strstr(target, "/diff"))
		strncat(target, "?base=last", sizeof(target) - strlen(target) - 1);
	if (!strcmp(target, "/data/last/sql"))
		strncat(target, "?query=select%201", sizeof(target) - strlen(target) - 1);
	if (strstr(target, "/source"))
		return; /* wants a file that debug information names: tests/e2e/rest-source.sh */
	if (strstr(target, "/live") || !strcmp(target, "/events"))
		return; /* they have no end as long as there may be more */
	if (strstr(target, "/flamegraph.html") && !page_asset_count)
		return; /* is a part of the page, which builds with sanitizers do not have */
	client_get(http_port(http), target, &a);
	if (a.status != 200)
		fail_msg("%s: status %d: %.200s", target, a.status, (char *)a.body.data);
	/* The program has no static objects, and a tree of nothing is empty. */
	if (!a.complete || (!a.body.length && !strstr(target, "/dynamic_")))
		fail_msg("%s: the answer is cut: %.200s", target,
			 a.body.length ? (char *)a.body.data : "");
	buf_done(&a.body);
	json_array_foreach(
		parameters, i,
		parameter) if (!strcmp(json_string_value(json_object_get(parameter, "in")),
				       "query"))
		check_parameter(target, json_string_value(json_object_get(parameter, "name")));
}

static json_t *question_about(const char *about)
{
	json_t *list = get_json("/questions", 200), *one, *found = NULL;
	size_t i;

	json_array_foreach(list, i, one)
	{
		if (!strcmp(json_string_value(json_object_get(one, "path")), about))
			found = json_incref(one);
	}
	json_decref(list);
	return found;
}

/* A reader that does not read: its question is there until it leaves. */
static void test_questions(void **state)
{
	static const char request[] = "GET /data/last/allocations?size_min=1 HTTP/1.1\r\n" HOST;
	json_t *question = NULL;
	int fd = client_connect_small(http_port(http));

	(void)state;
	client_send(fd, request, sizeof(request) - 1);
	for (unsigned tries = 0; !question && tries < 2000; tries++) {
		question = question_about("/data/last/allocations");
		if (question && number(question, "blocks") < 1) {
			json_decref(question);
			question = NULL;
		}
	}
	assert_non_null(question);
	assert_true(number(question, "blocks_done") <= number(question, "blocks"));
	assert_true(json_is_false(json_object_get(question, "cancelled")));
	json_decref(question);
	close(fd);
	for (unsigned tries = 0;
	     (question = question_about("/data/last/allocations")) && tries < 2000; tries++)
		json_decref(question);
	assert_null(question);
	refused("/questions?x=1", 400, "x", "takes no parameters");
}

/* A statement that ends by its limits only. */
#define ENDLESS                                                                                    \
	"with%20recursive%20n(i)%20as%20(select%201%20union%20all%20select%20i%2B1%20from%20n)%"   \
	"20select%20count(*)%20from%20n"

static unsigned questions_in(const char *about, const char *where)
{
	json_t *list = get_json("/questions", 200), *one;
	unsigned count = 0;
	size_t i;

	json_array_foreach(list, i, one) count +=
		!strcmp(json_string_value(json_object_get(one, "path")), about) &&
		!strcmp(json_string_value(json_object_get(one, "state")), where);
	json_decref(list);
	return count;
}

static void await_questions(const char *about, const char *where, unsigned wanted)
{
	unsigned count = UINT_MAX;

	for (unsigned tries = 0; count != wanted && tries < 3000; tries++) {
		usleep(tries ? 10000 : 0);
		count = questions_in(about, where);
	}
	assert_int_equal(count, wanted);
}

/* One statement runs at a time, all else is answered meanwhile, and who hangs up ends what it asked
 * for. */
static void test_sql_turns(void **state)
{
	static const char sql[] = "GET /data/last/sql?query=" ENDLESS " HTTP/1.1\r\n" HOST;
	static const char filter[] =
		"GET /data/last/report?custom_filter=(" ENDLESS ")%3E0 HTTP/1.1\r\n" HOST;
	int first = client_connect(http_port(http)), second = client_connect(http_port(http)),
	    third = client_connect(http_port(http));

	(void)state;
	client_send(first, sql, sizeof(sql) - 1);
	await_questions("/data/last/sql", "running", 1);
	client_send(second, sql, sizeof(sql) - 1);
	await_questions("/data/last/sql", "waiting", 1);
	client_send(third, filter, sizeof(filter) - 1);
	await_questions("/data/last/report", "waiting", 1);
	json_decref(get_json("/data/last/allocations?count=1", 200));
	assert_int_equal(questions_in("/data/last/sql", "running"), 1);
	assert_int_equal(questions_in("/data/last/sql", "waiting"), 1);
	close(second); /* of those that wait */
	await_questions("/data/last/sql", "waiting", 0);
	assert_int_equal(questions_in("/data/last/sql", "running"), 1);
	close(first); /* of one that runs */
	await_questions("/data/last/sql", "running", 0);
	await_questions("/data/last/report", "running", 1);
	close(third);
	await_questions("/data/last/report", "running", 0);
	refused("/data/last/sql?query=select%201&timeout=61s", 400, "timeout", "up to 60s");
	refused("/data/last/sql?query=" ENDLESS "&timeout=100ms", 422, NULL, "limit of time");
	refused("/data/last/report?custom_filter=1&custom_filter=2", 400, "custom_filter", "twice");
}

/* A browser never closes half of a connection: who it asks for has gone at once. Another client may
 * still read. */
static void test_browser_gone(void **state)
{
	static const char sql[] = "GET /data/last/sql?query=" ENDLESS " HTTP/1.1\r\n"
				  "User-Agent: Mozilla/5.0 (X11; Linux x86_64)\r\n" HOST;
	int fd = client_connect(http_port(http));
	json_t *question;
	double seconds = 0;

	(void)state;
	client_send(fd, sql, sizeof(sql) - 1);
	await_questions("/data/last/sql", "running", 1);
	close(fd);
	while ((question = question_about("/data/last/sql"))) {
		seconds = json_number_value(json_object_get(question, "seconds"));
		json_decref(question);
		usleep(10000);
	}
	assert_true(seconds < 2); /* others: 3 */
}

static void test_description(void **state)
{
	json_t *description = get_json("/openapi.json", 200),
	       *paths = json_object_get(description, "paths"), *where;
	const char *name;

	(void)state;
	assert_true(json_object_size(paths) >= 30);
	json_object_foreach(paths, name, where) if (json_object_get(where, "get"))
		check_path(name, json_object_get(json_object_get(where, "get"), "parameters"));
	else /* what changes something is not asked so */
		assert_true(!strcmp(name, "/data/{id}/control") || !strcmp(name, "/snapshot") ||
			    !strcmp(name, "/import") || !strcmp(name, "/data/{id}/execute_script"));
	json_decref(description);
	raw("GET /data/last/control HTTP/1.1\r\n" HOST, 405);
	raw("GET /snapshot HTTP/1.1\r\n" HOST, 405);
	raw("GET /data/last/execute_script HTTP/1.1\r\n" HOST, 405);
}

/* Totals of the answers agree with each other. */
static void test_answers(void **state)
{
	json_t *report = get_json("/data/last/report", 200),
	       *tree = get_json("/data/last/tree?value=leaked&hide=yes", 200),
	       *leaks = get_json("/data/last/leaks", 200),
	       *peak = get_json("/data/last/peak?by=backtrace", 200),
	       *diff = get_json("/data/last/diff?base=last&value=peak", 200),
	       *groups = get_json("/data/last/allocation_groups?order=asc&skip=1&count=2", 200),
	       *list;

	(void)state;
	assert_int_equal(number(tree, "size"), number(json_object_get(report, "leaked"), "bytes"));
	assert_int_equal(number(tree, "count"),
			 number(json_object_get(report, "leaked"), "blocks"));
	assert_int_equal(number(json_object_get(leaks, "total"), "bytes"), number(tree, "size"));
	assert_true(json_equal(json_object_get(peak, "total"), json_object_get(report, "peak")));
	assert_int_equal(number(diff, "bytes"), 0);
	assert_int_equal(json_array_size(json_object_get(diff, "groups")), 0);
	list = json_object_get(groups, "allocations");
	assert_int_equal(json_array_size(list), 2);
	assert_true(number(json_object_get(json_array_get(list, 0), "only_matched"), "size") <=
		    number(json_object_get(json_array_get(list, 1), "only_matched"), "size"));
	json_decref(report);
	json_decref(tree);
	json_decref(leaks);
	json_decref(peak);
	json_decref(diff);
	json_decref(groups);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_allocations),
		cmocka_unit_test(test_pages),
		cmocka_unit_test(test_other_paths),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_methods_and_hosts),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_readers_that_leave),
		cmocka_unit_test(test_bodies_that_come_early),
		cmocka_unit_test(test_sql_turns),
		cmocka_unit_test(test_browser_gone),
		cmocka_unit_test(test_description),
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_questions),
		cmocka_unit_test(test_stop),
		cmocka_unit_test(test_start_errors),
	};

	if (argc > 1 && !strcmp(argv[1], "symbols-worker"))
		return symbols_worker_main();
	return cmocka_run_group_tests(tests, start, stop);
}
