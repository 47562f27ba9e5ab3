/* Where the agent listens and dials, as users write it. */
#include "agent/net/endpoint.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "proto/discovery.h"

/* The address as text, "" for all addresses. */
static const char *text_of(const struct sockaddr_storage *at)
{
	static char text[INET6_ADDRSTRLEN];

	text[0] = '\0';
	if (at->ss_family == AF_INET)
		inet_ntop(AF_INET, &((const struct sockaddr_in *)(const void *)at)->sin_addr, text,
			  sizeof(text));
	else if (at->ss_family == AF_INET6)
		inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)(const void *)at)->sin6_addr,
			  text, sizeof(text));
	else
		assert_int_equal(at->ss_family, 0);
	return text;
}

static void where_to_listen(void **state)
{
	static const struct {
		const char *text, *address;
		uint16_t port;
	} good[] = {
		{"127.0.0.1:9000", "127.0.0.1", 9000},
		{"127.0.0.1", "127.0.0.1", 0},
		{"0.0.0.0:9000", "0.0.0.0", 9000},
		{"[::1]:9001", "::1", 9001},
		{":9002", "", 9002},
	};
	static const char *const bad[] = {"localhost:9000",
					  "1.2.3:9000",
					  "127.0.0.1:65536",
					  "127.0.0.1:x",
					  "[::g]:9000",
					  "",
					  "9000"};
	struct sockaddr_storage at;
	struct err_text err;
	uint16_t port;

	(void)state;
	for (unsigned i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		memset(&at, 0x55, sizeof(at));
		port = 0;
		assert_int_equal(endpoint_listen(good[i].text, &at, &port, &err), 0);
		assert_string_equal(text_of(&at), good[i].address);
		assert_int_equal(port, good[i].port);
	}
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		err.text[0] = '\0';
		assert_int_equal(endpoint_listen(bad[i], &at, &port, &err), -EINVAL);
		assert_non_null(strstr(err.text, bad[i]));
	}
}

static void where_to_dial(void **state)
{
	struct err_text err = {{0}};
	uint16_t port = 0;
	char host[16];

	(void)state;
	assert_int_equal(endpoint_collector("desk:9000", host, sizeof(host), &port, &err), 0);
	assert_string_equal(host, "desk");
	assert_int_equal(port, 9000);
	port = 0;
	assert_int_equal(endpoint_collector("desk", host, sizeof(host), &port, &err), 0);
	assert_int_equal(port, DISCOVERY_UDP_PORT);
	port = 7;
	assert_int_equal(endpoint_collector(NULL, host, sizeof(host), &port, &err), 0);
	assert_string_equal(host, "");
	assert_int_equal(port, 7);
	assert_string_equal(err.text, "");
	assert_int_equal(endpoint_collector(":9000", host, sizeof(host), &port, &err), -EINVAL);
	assert_non_null(strstr(err.text, "':9000'"));
	assert_int_equal(endpoint_collector("desk:0x", host, sizeof(host), &port, &err), -EINVAL);
	assert_int_equal(endpoint_collector("a-name-of-sixteen", host, sizeof(host), &port, &err),
			 -EINVAL);
}

/* Several: every item is checked. */
static void whom_to_dial(void **state)
{
	static char many[2000];
	static const char *const good[] = {"desk", "desk,10.0.0.5:9000", " desk , [::1]:7 ,::1,",
					   NULL};
	static const char *const bad[] = {"", ",", " , ", "desk,:9000", "desk:0,rack", many};

	(void)state;
	memset(many, 'a', sizeof(many) - 1);
	for (unsigned i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_int_equal(endpoint_collectors(good[i], NULL), 0);
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct err_text err = {{0}};

		assert_int_equal(endpoint_collectors(bad[i], &err), -EINVAL);
		assert_non_null(strstr(err.text, "--collector takes"));
	}
}

static void interfaces(void **state)
{
	struct sockaddr_storage at = {0};
	struct err_text err = {{0}};
	bool narrow = true;

	(void)state;
	assert_int_equal(endpoint_interface("no-such-one", &at, &narrow, &err), -EINVAL);
	assert_non_null(strstr(err.text, "'no-such-one'"));
	assert_true(narrow);
	if (endpoint_interface("lo", &at, &narrow, &err) < 0)
		skip(); /* it has no address */
	assert_false(narrow);
	assert_true(at.ss_family == AF_INET || at.ss_family == AF_INET6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(where_to_listen),
		cmocka_unit_test(whom_to_dial),
		cmocka_unit_test(where_to_dial),
		cmocka_unit_test(interfaces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
