/* Who may ask what: by Host, Origin, token and cookie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/error.h"
#include "collector/http/server/access.h"
#include "collector/http/server/token.h"

#define TOKEN "MFRGGZDFMZTWQ2LKNNWG23TPOA"
#define HOUR  3600000ull

static const char *const names[] = {"heap.example.org", "[2001:db8::1]", NULL};
static const struct access here = {.token = TOKEN, .local = true, .port = 8080};
static const struct access there = {.token = TOKEN, .https = true, .port = 8080};
static const struct access proxied = {.token = TOKEN, .https = true, .hosts = names, .port = 8080};

static int status_of(const struct access *rules, const struct claim *claim)
{
	struct access access = *rules;
	struct err_text err = {{0}};
	int status = 200;
	int r = access_check(&access, claim, 1000, &status, &err);

	assert_int_equal(r < 0, status != 200);
	assert_int_equal(r < 0, err.text[0] != 0);
	return status;
}

static void hosts(void **state)
{
	static const struct {
		const struct access *access;
		const char *host;
		int status;
	} rows[] = {
		{&here, "localhost", 200},
		{&here, "LOCALHOST:8080", 200},
		{&here, "127.0.0.1:8080", 200},
		{&here, "127.1.2.3", 200},
		{&here, "[::1]:8080", 200},
		{&here, NULL, 200},
		{&here, "", 403},
		{&here, "localhost.example.org", 403},
		{&here, "127.0.0.1.example.org", 403},
		{&here, "[::1].example.org", 403},
		{&here, "localhost,example.org", 403},
		{&there, "anything", 401},
		{&proxied, "heap.example.org", 401},
		{&proxied, "HEAP.example.org:443", 401},
		{&proxied, "[2001:db8::1]:443", 401},
		{&proxied, "[2001:db8::1", 403},
		{&proxied, "heap.example.org.", 403},
		{&proxied, "xheap.example.org", 403},
		{&proxied, "localhost", 403},
		{&proxied, "", 403},
		{&proxied, NULL, 403},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct claim claim = {.host = rows[i].host, .reads = true};

		assert_int_equal(status_of(rows[i].access, &claim), rows[i].status);
	}
}

static void origins(void **state)
{
	static const struct {
		const struct access *access;
		const char *host, *origin;
		int status;
	} rows[] = {
		{&here, "localhost:8080", "http://localhost:8080", 200},
		{&here, "localhost:8080", NULL, 200},
		{&here, "localhost:8080", "http://localhost", 403},
		{&here, "localhost:8080", "http://127.0.0.1:8080", 403},
		{&here, "localhost:8080", "https://localhost:8080", 403},
		{&here, "localhost:8080", "null", 403},
		{&here, "localhost:8080", "", 403},
		{&here, NULL, "http://", 403},
		{&there, "desk:8080", "https://desk:8080", 401},
		{&there, "desk:8080", "http://desk:8080", 403},
		{&proxied, "heap.example.org", "https://heap.example.org", 401},
		{&proxied, "heap.example.org", "https://heap.example.org:8443", 403},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct claim claim = {.host = rows[i].host, .origin = rows[i].origin};

		assert_int_equal(status_of(rows[i].access, &claim), rows[i].status);
		claim.reads = true; /* no CORS: the page can ask, and read nothing */
		if (rows[i].host)
			assert_int_not_equal(status_of(rows[i].access, &claim), 403);
	}
}

static void tokens(void **state)
{
	static const struct {
		const char *authorization;
		bool good;
	} rows[] = {
		{"Bearer " TOKEN, true},
		{"bearer   " TOKEN, true},
		{NULL, false},
		{"", false},
		{"Bearer", false},
		{"Bearer ", false},
		{"Bearer x" TOKEN, false},
		{"Bearer " TOKEN "A", false},
		{"Bearer " TOKEN " x", false},
		{"Bearer " TOKEN TOKEN, false},
		{"Bearer MFRGGZDFMZTWQ2", false},
		{TOKEN, false},
		{"Basic eDpNRlJHR1pERk1aVFdRMkxLTk5XRzIzVFBPQQ==", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct claim claim = {
			.host = "localhost", .authorization = rows[i].authorization, .reads = true};

		assert_int_equal(status_of(&here, &claim), 200);
		assert_int_equal(status_of(&there, &claim), rows[i].good ? 200 : 401);
		claim.reads = false;
		assert_int_equal(status_of(&here, &claim), 200); /* a question by POST */
		claim.needs_token = true;
		assert_int_equal(status_of(&here, &claim), rows[i].good ? 200 : 401);
		assert_int_equal(status_of(&there, &claim), rows[i].good ? 200 : 401);
		claim.brings_token = true;
		assert_int_equal(status_of(&there, &claim), 200);
	}
}

static void forms(void **state)
{
	static const struct {
		const char *body, *token;
	} rows[] = {
		{"token=abc", "abc"},
		{"a=b&token=abc&c=d", "abc"},
		{"token=abc&token=d", "abc"},
		{"token=+a%2Bb%20c%0d%0A", "a+bc"},
		{"token=%", "%"},
		{"token=%4", "%4"},
		{"token=%4g%00%26", "%4g&"},
		{"xtoken=abc", ""},
		{"token", ""},
		{"", ""},
		{"&&token=", ""},
	};
	char token[TOKEN_MAX + 1], body[2 * TOKEN_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		token_in_form(rows[i].body, token);
		assert_string_equal(token, rows[i].token);
	}
	memset(body, 'x', sizeof(body));
	memcpy(body, "token=", 6);
	body[sizeof(body) - 1] = '\0';
	token_in_form(body, token);
	assert_int_equal(strlen(token), TOKEN_MAX);
}

static int asked_with(struct access *access, const char *cookie, uint64_t now_ms)
{
	const struct claim claim = {.host = "desk", .cookie = cookie, .reads = true};
	struct err_text err = {{0}};
	int status = 200;

	access_check(access, &claim, now_ms, &status, &err);
	return status;
}

static void cookies(void **state)
{
	struct access access = there;
	char value[LOGIN_TEXT], cookie[COOKIE_MAX], text[2 * COOKIE_MAX];

	(void)state;
	assert_int_equal(asked_with(&access, "__Host-heapcast-8080=", 1000), 401);
	assert_int_equal(logins_add(&access.logins, 1000, value), 0);
	access_write_cookie(&access, value, cookie);
	assert_non_null(strstr(cookie, "; HttpOnly; SameSite=Strict; Secure"));
	*strchr(cookie, ';') = 0;
	assert_int_equal(asked_with(&access, cookie, 1000), 200);
	assert_int_equal(status_of(&access, &(struct claim){.cookie = cookie,
							    .authorization = "Bearer old"}),
			 200);
	snprintf(text, sizeof(text), "a=b;  %s; c", cookie);
	assert_int_equal(asked_with(&access, text, 1000), 200);
	snprintf(text, sizeof(text), "a%s", cookie);
	assert_int_equal(asked_with(&access, text, 1000), 401);
	snprintf(text, sizeof(text), "%sA", cookie);
	assert_int_equal(asked_with(&access, text, 1000), 401);
	assert_int_equal(asked_with(&access, cookie, 1000 + 12 * HOUR - 1), 200);
	assert_int_equal(asked_with(&access, cookie, 1000 + 12 * HOUR), 401);
	logins_remove(&access.logins, "");
	assert_int_equal(asked_with(&access, cookie, 1000), 200);
	logins_remove(&access.logins, value);
	assert_int_equal(asked_with(&access, cookie, 1000), 401);

	/* The oldest gives way. */
	assert_int_equal(logins_add(&access.logins, 2000, value), 0);
	for (unsigned i = 0; i < LOGINS_MAX; i++) {
		char other[LOGIN_TEXT];

		assert_true(logins_know(&access.logins, value, 2000));
		assert_int_equal(logins_add(&access.logins, 3000 + i, other), 0);
		assert_string_not_equal(other, value);
	}
	assert_false(logins_know(&access.logins, value, 2000));

	/* Never on loopback. */
	access.local = true;
	access.logins = (struct logins){0};
	logins_add(&access.logins, 1000, value);
	access_write_cookie(&access, value, cookie);
	assert_int_equal(status_of(&access, &(struct claim){.host = "localhost",
							    .cookie = cookie,
							    .needs_token = true}),
			 401);
}

static int try_from(struct access *access, const char *forwarded, const char *token,
		    uint64_t now_ms)
{
	const struct claim claim = {.forwarded_for = forwarded};
	const struct stranger_address from = access_from(access, &claim);
	struct err_text err = {{0}};
	int status = 200;

	access_try(access, token, &from, now_ms, &status, &err);
	return status;
}

static void tries(void **state)
{
	struct access access = proxied;
	char address[32];

	(void)state;
	for (unsigned i = 0; i < TRIES_AT_ONCE; i++)
		assert_int_equal(try_from(&access, "1.1.1.1, 192.0.2.1", "wrong", 5000), 401);
	assert_int_equal(try_from(&access, "2.2.2.2,192.0.2.1", TOKEN, 5000), 429);
	assert_int_equal(try_from(&access, "192.0.2.2", TOKEN, 5000), 200);
	assert_int_equal(try_from(&access, NULL, TOKEN, 5000), 200);
	assert_int_equal(try_from(&access, "192.0.2.1", TOKEN, 5999), 429);
	assert_int_equal(try_from(&access, "192.0.2.1", "wrong", 6000), 401);
	assert_int_equal(try_from(&access, "192.0.2.1", TOKEN, 6000), 429);
	assert_int_equal(try_from(&access, "192.0.2.1", TOKEN, 7000), 200);
	assert_int_equal(try_from(&access, "192.0.2.1", TOKEN, 7000), 200);

	/* A crowd takes the places of those who are forgiven first. */
	for (unsigned i = 0; i < 10; i++)
		try_from(&access, "192.0.2.1", "wrong", 20000);
	for (unsigned i = 0; i < 2 * TRIES_ADDRESSES; i++) {
		snprintf(address, sizeof(address), "10.0.%u.%u", i / 256, i % 256);
		assert_int_equal(try_from(&access, address, "wrong", 20000), 401);
	}
	assert_int_equal(try_from(&access, "192.0.2.1", TOKEN, 20000), 429);

	/* Without a proxy the header is anybody's. */
	access.hosts = NULL;
	for (unsigned i = 0; i < TRIES_AT_ONCE; i++)
		assert_int_equal(try_from(&access, i % 2 ? "9.9.9.9" : NULL, "wrong", 90000), 401);
	assert_int_equal(try_from(&access, "9.9.9.10", TOKEN, 90000), 429);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hosts), cmocka_unit_test(origins), cmocka_unit_test(tokens),
		cmocka_unit_test(forms), cmocka_unit_test(cookies), cmocka_unit_test(tries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
